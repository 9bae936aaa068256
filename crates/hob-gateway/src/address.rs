//! Parser for listen addresses; accepts only loopback. Pure.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The default port.
const DEFAULT_PORT: u16 = 7717;

/// Parses `127.0.0.1:7717`, `[::1]:7717` or `localhost:7717`. The error says what to do instead.
pub(crate) fn parse(text: &str) -> Result<SocketAddr, String> {
    // Not resolved: /etc/hosts could map localhost to another address.
    let local = text.strip_prefix("localhost:");
    let parsed = match local.map(str::parse::<u16>) {
        Some(Ok(port)) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port),
        Some(Err(_)) => return Err(not_an_address(text)),
        None => text.parse().map_err(|_| not_an_address(text))?,
    };
    if parsed.ip().is_loopback() {
        return Ok(parsed);
    }
    let port = match parsed.port() {
        0 => DEFAULT_PORT,
        port => port,
    };
    Err(format!(
        "{text} can be reached from other machines, and hob listens on loopback only. Keep 127.0.0.1:{port} and reach it from elsewhere with: ssh -L {port}:127.0.0.1:{port} HOST"
    ))
}

fn not_an_address(text: &str) -> String {
    format!("'{text}' is not an address such as 127.0.0.1:7717")
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
