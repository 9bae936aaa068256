//! The Host and Origin checks, the first checks of every request. Pure.
//!
//! A browser on this machine is a confused deputy: any page can make it connect to loopback, and a
//! page whose name was rebound to 127.0.0.1 (DNS rebinding) is even same-origin with hob. Such a
//! request has the page's name as Host and Origin, so both are compared with exact lists.
//!
//! Invariant: a request passes only if it has exactly one Host, that host is on the list in exactly
//! this spelling, and its Origin is absent or `http://` plus a host on the list.

use crate::http_error::HttpError;
use axum::http::{HeaderMap, Uri, header};
use std::net::SocketAddr;

/// The host names that a listener accepts.
#[derive(Clone, Debug)]
pub(crate) struct HostList {
    hosts: Vec<String>,
}

impl HostList {
    /// Builds the list for a listener bound to `local`.
    pub(crate) fn for_listener(local: SocketAddr) -> Self {
        let port = local.port();
        let mut hosts = vec![
            format!("127.0.0.1:{port}"),
            format!("localhost:{port}"),
            format!("[::1]:{port}"),
        ];
        // Another loopback address, such as 127.0.0.2.
        if !hosts.contains(&local.to_string()) {
            hosts.push(local.to_string());
        }
        if port == 80 {
            // Clients leave out the default port of the scheme.
            let bare = |host: &String| host.trim_end_matches(":80").to_owned();
            hosts.extend(hosts.iter().map(bare).collect::<Vec<_>>());
        }
        HostList { hosts }
    }

    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), HttpError> {
        self.check_host(uri, headers)?;
        self.check_origin(headers)
    }

    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), HttpError> {
        let mut named = headers.get_all(header::HOST).iter();
        // Two Host headers could make a proxy and hob see different hosts.
        let (Some(host), None) = (named.next(), named.next()) else {
            return Err(HttpError::bad_request(
                "A request needs exactly one Host header.",
            ));
        };
        if !self.contains(host.as_bytes()) {
            return Err(HttpError::forbidden(format!(
                "This host name is not served here; use {}.",
                self.hosts[0]
            )));
        }
        // An absolute request line may name another host than the header; proxies and servers
        // disagree about which one counts.
        match uri.authority() {
            Some(authority) if authority.as_str().as_bytes() != host.as_bytes() => {
                Err(HttpError::bad_request(
                    "The request line and the Host header name different hosts.",
                ))
            }
            _ => Ok(()),
        }
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), HttpError> {
        let mut named = headers.get_all(header::ORIGIN).iter();
        let own = match (named.next(), named.next()) {
            // Programs other than browsers usually send no Origin.
            (None, _) => true,
            // The listener has no TLS, so a page of its own never has `https`.
            (Some(origin), None) => origin
                .as_bytes()
                .strip_prefix(b"http://")
                .is_some_and(|host| self.contains(host)),
            (Some(_), Some(_)) => false,
        };
        if own {
            return Ok(());
        }
        Err(HttpError::forbidden(
            "Pages of other origins may not talk to hob.",
        ))
    }

    fn contains(&self, host: &[u8]) -> bool {
        self.hosts.iter().any(|known| known.as_bytes() == host)
    }
}

#[cfg(test)]
#[path = "origin_tests.rs"]
mod tests;
