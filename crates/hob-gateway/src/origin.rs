//! Which pages and names may reach a listener: the Host and Origin checks, before anything else.
//! Pure.
//!
//! A browser on this machine is a confused deputy: any page can make it connect to loopback, and
//! a page whose name was rebound to 127.0.0.1 is even same-origin with us. The Host it then sends
//! is the page's name, and the Origin is the page's own: both are compared with exact lists.
//!
//! Invariant: a request passes only if it names exactly one host, that host is on the list in
//! exactly this spelling, and its Origin is absent or `http://` plus a host on the list.

use crate::refusal::Refusal;
use axum::http::{HeaderMap, Uri, header};
use std::net::SocketAddr;

/// The names a listener answers to.
#[derive(Clone, Debug)]
pub(crate) struct HostList {
    hosts: Vec<String>,
}

impl HostList {
    /// Those of a listener bound to `local`.
    pub(crate) fn of(local: SocketAddr) -> Self {
        let port = local.port();
        let mut hosts = vec![
            format!("127.0.0.1:{port}"),
            format!("localhost:{port}"),
            format!("[::1]:{port}"),
        ];
        if !hosts.contains(&local.to_string()) {
            hosts.push(local.to_string());
        }
        if port == 80 {
            // Clients leave out the scheme's own port.
            let bare = |host: &String| host.trim_end_matches(":80").to_owned();
            hosts.extend(hosts.iter().map(bare).collect::<Vec<_>>());
        }
        HostList { hosts }
    }

    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        self.check_host(uri, headers)?;
        self.check_origin(headers)
    }

    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        if hob_kit::failpoint::broken(40) {
            return Ok(());
        }
        let mut named = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (named.next(), named.next()) else {
            return Err(Refusal::bad_request(
                "A request needs exactly one Host header.",
            ));
        };
        if !self.names(host.as_bytes()) {
            return Err(Refusal::forbidden(format!(
                "This host name is not served here; use {}.",
                self.hosts[0]
            )));
        }
        match uri.authority() {
            Some(authority) if authority.as_str().as_bytes() != host.as_bytes() => Err(
                Refusal::bad_request("The request line and the Host header name different hosts."),
            ),
            _ => Ok(()),
        }
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if hob_kit::failpoint::broken(39) {
            return Ok(());
        }
        let mut named = headers.get_all(header::ORIGIN).iter();
        let own = match (named.next(), named.next()) {
            (None, _) => true,
            (Some(origin), None) => origin
                .as_bytes()
                .strip_prefix(b"http://")
                .is_some_and(|host| self.names(host)),
            (Some(_), Some(_)) => false,
        };
        if own {
            return Ok(());
        }
        Err(Refusal::forbidden(
            "Pages of other origins may not talk to hob.",
        ))
    }

    fn names(&self, host: &[u8]) -> bool {
        self.hosts.iter().any(|known| known.as_bytes() == host)
    }
}

#[cfg(test)]
#[path = "origin_tests.rs"]
mod tests;
