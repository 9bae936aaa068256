//! The destination of a proxy request: its check and the connection to it.
//!
//! Invariant: a connection is made only to an address that was resolved once and checked, of a host
//! that the grant allows, and never to a port on which this process listens.

use super::AllowedHosts;
use crate::egress::{self, AllowedUrl};
use crate::own_listener::is_own_listener;
use crate::{NetError, PrivateHosts, WebClient};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpStream;

/// The time in which a host must be resolved and connected.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(15);
/// The addresses of one host that are tried.
const TRIES_MAX: usize = 4;

/// A destination as the program sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProxyDestination {
    /// `host:port`.
    Authority(String),
    /// An `http:` URL.
    Url(String),
    Address(SocketAddr),
}

impl ProxyDestination {
    /// The host for display. It is not checked yet and may contain anything.
    pub(super) fn printable(&self) -> String {
        match self {
            ProxyDestination::Authority(text) => text.clone(),
            // The rest of the URL may contain secrets.
            ProxyDestination::Url(text) => {
                let rest = text
                    .split_once("://")
                    .map_or(text.as_str(), |(_, rest)| rest);
                let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
                let authority = &rest[..end];
                let host = authority
                    .rsplit_once('@')
                    .map_or(authority, |(_, host)| host);
                host.to_owned()
            }
            ProxyDestination::Address(address) => address.to_string(),
        }
    }
}

/// The rules for destinations.
#[derive(Clone, Debug)]
pub(super) struct ProxyPolicy {
    pub(super) web: WebClient,
    pub(super) private_hosts: PrivateHosts,
    /// `None` for every host.
    pub(super) hosts: Option<AllowedHosts>,
}

impl ProxyPolicy {
    /// Checks a destination without a lookup. The flag is true for a listed private host.
    pub(super) fn check(
        &self,
        destination: &ProxyDestination,
    ) -> Result<(AllowedUrl, bool), NetError> {
        let private_hosts = &self.private_hosts;
        let (place, is_private_host) = match destination {
            ProxyDestination::Authority(text) => egress::check_authority(text, private_hosts)?,
            ProxyDestination::Url(text) => egress::check_page(text, private_hosts)?,
            ProxyDestination::Address(address) => {
                egress::check_address(address.ip(), address.port(), private_hosts)?
            }
        };
        let host = place.url.host_str().unwrap_or_default();
        let port = place.url.port_or_known_default().unwrap_or_default();
        // Checked before the lookup: a DNS query can carry data out, too.
        if let Some(hosts) = &self.hosts
            && !hosts.allow(host, port)
        {
            return Err(NetError::Refused(format!(
                "{host} is not in the `hosts` of this call; add it there to reach it"
            )));
        }
        Ok((place, is_private_host))
    }

    /// Connects to a checked destination.
    pub(super) async fn connect(
        &self,
        place: &AllowedUrl,
        is_private_host: bool,
    ) -> Result<TcpStream, NetError> {
        let reached = async {
            let addresses = self.web.addresses(place, is_private_host).await?;
            let port = place.url.port_or_known_default().unwrap_or_default();
            reach(place, &addresses, port).await
        };
        let stream = match tokio::time::timeout(CONNECT_TIME_MAX, reached).await {
            Ok(reached) => reached?,
            Err(_) => return unreachable(place, "it did not answer in time"),
        };
        // Only a private host that the user listed can be this machine.
        if is_private_host {
            refuse_own(place, &stream).await?;
        }
        // Small messages in a tunnel must not be delayed.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
}

async fn reach(place: &AllowedUrl, addresses: &[IpAddr], port: u16) -> Result<TcpStream, NetError> {
    let mut last = "it has no address".to_owned();
    // One after the other: the time limit of the caller covers all attempts.
    for address in addresses.iter().take(TRIES_MAX) {
        match TcpStream::connect(SocketAddr::new(*address, port)).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error.to_string(),
        }
    }
    unreachable(place, &last)
}

/// Refuses a connection to hob's own listeners: it would come from hob's process, which they trust.
async fn refuse_own(place: &AllowedUrl, stream: &TcpStream) -> Result<(), NetError> {
    let (Ok(peer), Ok(local)) = (stream.peer_addr(), stream.local_addr()) else {
        return unreachable(place, "the connection was lost");
    };
    // A connection to another own address of this machine has the same address at both ends.
    if !peer.ip().to_canonical().is_loopback() && peer.ip() != local.ip() {
        return Ok(());
    }
    let port = peer.port();
    // If the check itself fails, the connection is refused too.
    let looked = tokio::task::spawn_blocking(move || is_own_listener(port)).await;
    match looked {
        Ok(Ok(false)) => Ok(()),
        _ => Err(NetError::Refused(format!(
            "{} is hob itself, which commands cannot reach",
            place.host
        ))),
    }
}

fn unreachable<T>(place: &AllowedUrl, reason: &str) -> Result<T, NetError> {
    Err(NetError::Connect {
        host: place.host.clone(),
        reason: reason.to_owned(),
    })
}
