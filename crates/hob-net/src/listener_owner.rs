//! Whose program listens behind an address of this machine. Every user may take a free port, and
//! whoever has it gets what is sent there: a prompt must not go to another user because a server
//! of ours is usually found at that port.
//!
//! The kernel names the owner of each listening socket in `/proc/net/tcp` and `/proc/net/tcp6`.
//! Addresses there are hex, each 32-bit word in the machine's byte order. Other systems do not say;
//! there every listener passes.
//!
//! Invariants: of all sockets that could get the connection each must belong to somebody trusted;
//! addresses that are not this machine's own are not judged.

use reqwest::Url;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Root reads all that we have anyway.
const ROOT: u32 = 0;
/// The word that trusts every user.
const ANYONE: &str = "*";
const LISTENING: &str = "0A";
const USERS_FILE: &str = "/etc/passwd";

/// The users whose servers may be sent something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedUsers {
    anyone: bool,
    ids: BTreeSet<u32>,
}

/// Why nothing is sent to a server on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UntrustedListener {
    /// It is another user's.
    #[error("Port {port} on this machine is served by user {user}, not by you")]
    Foreign {
        port: u16,
        /// The user's name, or number where there is no name.
        user: String,
    },
    /// No listening socket is there.
    #[error("Nobody is known to listen on port {port} of this machine")]
    Nobody { port: u16 },
    #[error("Whose server listens on port {port} cannot be found out: {reason}")]
    Unreadable { port: u16, reason: String },
}

impl TrustedUsers {
    /// Ourselves and root.
    pub fn ourselves() -> TrustedUsers {
        TrustedUsers {
            anyone: false,
            ids: BTreeSet::from([ROOT, rustix::process::geteuid().as_raw()]),
        }
    }

    /// Ourselves, root, and these: names or numbers of users, `*` for all. A name that no user has
    /// trusts nobody.
    pub fn and(names: &[String]) -> TrustedUsers {
        let mut trusted = TrustedUsers::ourselves();
        trusted.anyone = names.iter().any(|name| name == ANYONE);
        if !names.is_empty() {
            let users = std::fs::read_to_string(USERS_FILE).unwrap_or_default();
            let ids = names.iter().filter_map(|name| id_of(name, &users));
            trusted.ids.extend(ids);
        }
        trusted
    }

    fn trusts(&self, user: u32) -> bool {
        self.anyone || self.ids.contains(&user)
    }
}

/// Whether something may be sent to this address: on this machine only to a listener of a trusted
/// user. Reads files of the kernel's, which takes well below a millisecond.
pub fn check_listener(url: &str, trusted: &TrustedUsers) -> Result<(), UntrustedListener> {
    let Some((addresses, port)) = local_target(url) else {
        return Ok(());
    };
    if trusted.anyone || !cfg!(target_os = "linux") {
        return Ok(());
    }
    let table = |path: &str| {
        std::fs::read_to_string(path).map_err(|error| UntrustedListener::Unreadable {
            port,
            reason: error.to_string(),
        })
    };
    let mut rows = table("/proc/net/tcp")?;
    // Missing where IPv6 is turned off.
    rows.push_str(&table("/proc/net/tcp6").unwrap_or_default());
    judge(&rows, &addresses, port, trusted)
}

/// The same without waiting for the files on this thread.
pub async fn check_listener_of(
    url: String,
    trusted: TrustedUsers,
) -> Result<(), UntrustedListener> {
    let checked = tokio::task::spawn_blocking(move || check_listener(&url, &trusted)).await;
    checked.unwrap_or_else(|error| {
        Err(UntrustedListener::Unreadable {
            port: 0,
            reason: error.to_string(),
        })
    })
}

fn judge(
    rows: &str,
    addresses: &[IpAddr],
    port: u16,
    trusted: &TrustedUsers,
) -> Result<(), UntrustedListener> {
    let mut is_there = false;
    for user in rows
        .lines()
        .filter_map(|row| listener(row, addresses, port))
    {
        is_there = true;
        if !trusted.trusts(user) {
            let users = std::fs::read_to_string(USERS_FILE).unwrap_or_default();
            let user = match name_of(user, &users) {
                Some(name) => format!("'{name}'"),
                None => user.to_string(),
            };
            return Err(UntrustedListener::Foreign { port, user });
        }
    }
    if is_there {
        Ok(())
    } else {
        Err(UntrustedListener::Nobody { port })
    }
}

/// The addresses that a URL may lead to if it leads to this machine by loopback, and its port.
fn local_target(url: &str) -> Option<(Vec<IpAddr>, u16)> {
    let url = Url::parse(url).ok()?;
    let host = url.host_str()?;
    let port = url.port_or_known_default()?;
    let both = || vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let name = host.trim_end_matches('.');
    if name.eq_ignore_ascii_case("localhost") || name.ends_with(".localhost") {
        return Some((both(), port));
    }
    let ip: IpAddr = host.trim_matches(['[', ']']).parse().ok()?;
    match ip.to_canonical() {
        // Linux takes the unspecified address for loopback.
        ip if ip.is_unspecified() => Some((both(), port)),
        ip if ip.is_loopback() => Some((vec![ip], port)),
        _ => None,
    }
}

/// The owner of a row, if it is a listening socket that could get a connection to one of these
/// addresses. A socket for every IPv6 address may take IPv4 too, and the table does not say.
fn listener(row: &str, addresses: &[IpAddr], port: u16) -> Option<u32> {
    let mut columns = row.split_ascii_whitespace().skip(1);
    let (address, its_port) = columns.next()?.split_once(':')?;
    let state = columns.nth(1)?;
    if state != LISTENING || u16::from_str_radix(its_port, 16) != Ok(port) {
        return None;
    }
    let address = address_of(address)?;
    let takes = |wanted: &IpAddr| match address {
        IpAddr::V4(any) if any.is_unspecified() => wanted.is_ipv4(),
        IpAddr::V6(any) if any.is_unspecified() => true,
        address => address == *wanted,
    };
    // Then: tx_queue:rx_queue, tr:tm->when, retrnsmt, uid.
    let user = columns.nth(3)?.parse().ok()?;
    addresses.iter().any(takes).then_some(user)
}

fn address_of(hex: &str) -> Option<IpAddr> {
    let word = |hex: &str| u32::from_str_radix(hex, 16).ok().map(u32::to_ne_bytes);
    let address = match hex.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(hex)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(hex.get(at * 8..at * 8 + 8)?)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(address.to_canonical())
}

/// The number of a user, by `NAME:x:ID:…` lines or itself.
fn id_of(name: &str, users: &str) -> Option<u32> {
    let mut lines = users.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(known, _)| *known == name);
    let id = found.and_then(|(_, rest)| rest.split(':').nth(1));
    id.unwrap_or(name).parse().ok()
}

fn name_of(id: u32, users: &str) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then_some(name)
    })
}

#[cfg(test)]
#[path = "listener_owner_tests.rs"]
mod tests;
