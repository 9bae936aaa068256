//! Where a program wants to go, whether it may, and the connection.
//!
//! Invariant: a connection is made only to an address that was looked up once and checked, of a
//! host that the grant allows, and never to a port that this very process listens on.

use super::AllowedHosts;
use crate::egress::{self, Allowed};
use crate::own_listener::is_own_listener;
use crate::{NetError, Openings, Web};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpStream;

/// How long finding and reaching a host may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(15);
/// Addresses of one host that are tried.
const TRIES_MAX: usize = 4;

/// Where a program wants to go, as it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// `host:port`.
    Authority(String),
    /// An `http:` URL.
    Url(String),
    Address(SocketAddr),
}

impl Destination {
    /// For people; not yet checked, so it may hold anything.
    pub(super) fn shown(&self) -> String {
        match self {
            Destination::Authority(text) => text.clone(),
            // The rest of an address may hold secrets.
            Destination::Url(text) => {
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
            Destination::Address(address) => address.to_string(),
        }
    }
}

/// What decides about a destination.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    pub(super) web: Web,
    pub(super) openings: Openings,
    /// Every host when missing.
    pub(super) hosts: Option<AllowedHosts>,
}

impl Policy {
    /// Checks a destination by its words alone; true if it is one that a person opened.
    pub(super) fn check(&self, destination: &Destination) -> Result<(Allowed, bool), NetError> {
        let openings = &self.openings;
        let (place, is_open) = match destination {
            Destination::Authority(text) => egress::check_authority(text, openings)?,
            Destination::Url(text) => egress::check_page(text, openings)?,
            Destination::Address(address) => {
                egress::check_address(address.ip(), address.port(), openings)?
            }
        };
        let host = place.url.host_str().unwrap_or_default();
        let port = place.url.port_or_known_default().unwrap_or_default();
        // Before the name is looked up: a look-up tells the world, too.
        if let Some(hosts) = &self.hosts
            && !hosts.allow(host, port)
        {
            return Err(NetError::Refused(format!(
                "{host} is not among the `hosts` that were asked for; name it there to reach it"
            )));
        }
        Ok((place, is_open))
    }

    /// Connects to a checked place.
    pub(super) async fn connect(
        &self,
        place: &Allowed,
        is_open: bool,
    ) -> Result<TcpStream, NetError> {
        let reached = async {
            let addresses = self.web.addresses(place, is_open).await?;
            let port = place.url.port_or_known_default().unwrap_or_default();
            reach(place, &addresses, port).await
        };
        let stream = match tokio::time::timeout(CONNECT_TIME_MAX, reached).await {
            Ok(reached) => reached?,
            Err(_) => return unreachable(place, "it did not answer in time"),
        };
        // Only where a person opened a private host can it be this machine.
        if is_open {
            refuse_own(place, &stream).await?;
        }
        // Small messages of a tunnel must not wait for each other.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
}

async fn reach(place: &Allowed, addresses: &[IpAddr], port: u16) -> Result<TcpStream, NetError> {
    let mut last = "it has no address".to_owned();
    for address in addresses.iter().take(TRIES_MAX) {
        match TcpStream::connect(SocketAddr::new(*address, port)).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error.to_string(),
        }
    }
    unreachable(place, &last)
}

/// A connection to hob's own listeners would come from hob itself, which they trust.
async fn refuse_own(place: &Allowed, stream: &TcpStream) -> Result<(), NetError> {
    let (Ok(peer), Ok(local)) = (stream.peer_addr(), stream.local_addr()) else {
        return unreachable(place, "the connection was lost");
    };
    if !peer.ip().to_canonical().is_loopback() && peer.ip() != local.ip() {
        return Ok(());
    }
    let port = peer.port();
    let looked = tokio::task::spawn_blocking(move || is_own_listener(port)).await;
    match looked {
        Ok(Ok(false)) => Ok(()),
        _ => Err(NetError::Refused(format!(
            "{} is hob itself, which no command reaches",
            place.host
        ))),
    }
}

fn unreachable<T>(place: &Allowed, reason: &str) -> Result<T, NetError> {
    Err(NetError::Connect {
        host: place.host.clone(),
        reason: reason.to_owned(),
    })
}
