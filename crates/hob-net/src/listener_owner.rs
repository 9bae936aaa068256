//! Checks the owner of a server on this machine. Any user may listen on a free port and receive
//! what is sent there. A prompt must not go to another user only because a server of ours usually
//! listens on that port.
//!
//! The kernel of Linux reports the owner of each listening socket. Other systems do not; there every
//! listener passes.
//!
//! Invariants: every socket that could receive the connection must belong to a trusted user;
//! addresses outside this machine are not checked; no byte and no connection reaches a server before
//! it passed.

use crate::listening_sockets::{ListeningSocket, listening_sockets};
use crate::own_listener::is_own_listener;
use reqwest::Url;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Root is trusted, because it can read everything anyway.
const ROOT: u32 = 0;
/// The name that stands for every user.
const ANYONE: &str = "*";
const USERS_FILE: &str = "/etc/passwd";

/// The users whose servers may receive requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedUsers {
    anyone: bool,
    ids: BTreeSet<u32>,
}

/// The reason for which nothing is sent to a server on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UntrustedListener {
    /// It belongs to another user.
    #[error("Port {port} on this machine is served by user {user}, not by you")]
    Foreign {
        port: u16,
        /// The name of the user, or the number if there is no name.
        user: String,
    },
    /// There is no listening socket.
    #[error("No server listens on port {port} of this machine")]
    NotListening { port: u16 },
    #[error("The owner of the server on port {port} cannot be determined: {reason}")]
    Unreadable { port: u16, reason: String },
}

impl TrustedUsers {
    /// Trusts ourselves and root.
    pub fn ourselves() -> TrustedUsers {
        TrustedUsers {
            anyone: false,
            ids: BTreeSet::from([ROOT, rustix::process::geteuid().as_raw()]),
        }
    }

    /// Trusts ourselves, root and these users, by name or number; `*` for all. An unknown name is
    /// ignored.
    pub fn with_users(names: &[String]) -> TrustedUsers {
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

/// Checks that a server on this machine belongs to a trusted user. Other addresses pass. Blocks
/// briefly.
pub fn check_listener(url: &str, trusted: &TrustedUsers) -> Result<(), UntrustedListener> {
    let Some((addresses, port)) = local_target(url) else {
        return Ok(());
    };
    if trusted.anyone || !cfg!(target_os = "linux") {
        return Ok(());
    }
    let sockets = listening_sockets(port).map_err(|error| UntrustedListener::Unreadable {
        port,
        reason: error.to_string(),
    })?;
    check_owners(&sockets, &addresses, port, trusted)
}

/// Like [`check_listener`], without blocking this thread.
pub async fn check_listener_async(
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

/// Returns true if this process itself listens at a loopback URL. What cannot be found out counts as
/// no.
pub async fn is_own_server(url: String) -> bool {
    let looked = move || {
        let (_, port) = local_target(&url)?;
        is_own_listener(port).ok()
    };
    let looked = tokio::task::spawn_blocking(looked).await;
    looked.ok().flatten().unwrap_or(false)
}

fn check_owners(
    sockets: &[ListeningSocket],
    addresses: &[IpAddr],
    port: u16,
    trusted: &TrustedUsers,
) -> Result<(), UntrustedListener> {
    let mut is_there = false;
    let could_accept = |socket: &&ListeningSocket| accepts(socket.address, addresses);
    for user in sockets
        .iter()
        .filter(could_accept)
        .map(|socket| socket.user)
    {
        // Every matching socket is checked: the kernel may give the connection to any of them.
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
        Err(UntrustedListener::NotListening { port })
    }
}

/// Returns the loopback addresses and the port of a URL; `None` if it is not a loopback URL.
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
        // Linux connects to loopback for the unspecified address.
        ip if ip.is_unspecified() => Some((both(), port)),
        ip if ip.is_loopback() => Some((vec![ip], port)),
        _ => None,
    }
}

/// Returns true if a socket that listens on `address` could accept a connection to one of these.
fn accepts(address: IpAddr, wanted: &[IpAddr]) -> bool {
    wanted.iter().any(|wanted| match address {
        IpAddr::V4(any) if any.is_unspecified() => wanted.is_ipv4(),
        // Such a socket may accept IPv4 connections too; the kernel does not say whether it does.
        IpAddr::V6(any) if any.is_unspecified() => true,
        address => address == *wanted,
    })
}

/// Returns the number of a user from `NAME:x:ID:…` lines, or `name` itself if it is a number.
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
