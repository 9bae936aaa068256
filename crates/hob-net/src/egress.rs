//! The egress policy: the only place that decides which addresses may be requested. Pure.
//!
//! An address from the configuration may be anywhere ([`check`]). An address from a model
//! ([`check_page`]) must be on the open internet, or a private host that the user listed. It must
//! also be spelled so that every reader, including the permission rules, sees the same host.
//!
//! Invariant: a request that was not allowed here is never sent.

use crate::NetError;
use crate::address::reserved;
use crate::private_hosts::PrivateHosts;
use reqwest::Url;
use std::net::IpAddr;

const URL_BYTES_MAX: usize = 8 * 1024;

/// Ports of protocols that could take the lines of an HTTP request for their own. Browsers refuse
/// the same ports. All others are allowed, because many sites use unusual ones.
const PORTS_REFUSED: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// A URL that may be requested.
#[derive(Clone, Debug)]
pub(crate) struct AllowedUrl {
    pub(crate) url: Url,
    /// Host and port, for messages.
    pub(crate) host: String,
}

/// Checks an address from the configuration.
pub(crate) fn check(text: &str) -> Result<AllowedUrl, NetError> {
    if text.len() > URL_BYTES_MAX {
        return refused("it is too long");
    }
    let Ok(url) = Url::parse(text) else {
        return refused("it is not a URL");
    };
    check_url(url)
}

/// Checks an address from a model. The flag is true for a private host that the user listed.
pub(crate) fn check_page(
    text: &str,
    private_hosts: &PrivateHosts,
) -> Result<(AllowedUrl, bool), NetError> {
    let allowed = check(text)?;
    check_spelling(text, &allowed.url)?;
    let is_private_host = check_place(&allowed.url, private_hosts)?;
    Ok((allowed, is_private_host))
}

/// Like [`check_page`] for the target of a redirect, which is already parsed.
pub(crate) fn check_redirect(
    url: Url,
    private_hosts: &PrivateHosts,
) -> Result<(AllowedUrl, bool), NetError> {
    if url.as_str().len() > URL_BYTES_MAX {
        return refused("it is too long");
    }
    let allowed = check_url(url)?;
    let is_private_host = check_place(&allowed.url, private_hosts)?;
    Ok((allowed, is_private_host))
}

/// Checks a host and port from a program. The spelling must be the plain one.
pub(crate) fn check_authority(
    authority: &str,
    private_hosts: &PrivateHosts,
) -> Result<(AllowedUrl, bool), NetError> {
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    let has_port =
        port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    // With a path, a query or a user name in it, another part would become the host.
    if !has_port || authority.contains(['/', '?', '#', '@']) {
        return refused("it is not a host and a port");
    }
    // Any scheme would do, because only the host and the port of the URL are used.
    check_page(&format!("http://{authority}/"), private_hosts)
}

/// Checks an address that a program gave in binary form, so that there is no spelling to check.
pub(crate) fn check_address(
    address: IpAddr,
    port: u16,
    private_hosts: &PrivateHosts,
) -> Result<(AllowedUrl, bool), NetError> {
    let place = std::net::SocketAddr::new(address, port);
    let Ok(url) = Url::parse(&format!("http://{place}/")) else {
        return refused("it is not an address");
    };
    check_redirect(url, private_hosts)
}

fn check_url(url: Url) -> Result<AllowedUrl, NetError> {
    if !matches!(url.scheme(), "http" | "https") {
        return refused("only http and https are supported");
    }
    if !url.username().is_empty() || url.password().is_some() {
        // A password in an address would end up in logs and lists.
        return refused("it contains a user name or a password");
    }
    let Some(name) = url.host_str() else {
        return refused("it names no host");
    };
    let host = match url.port() {
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    };
    Ok(AllowedUrl { url, host })
}

/// Checks that the host is spelled plainly. A URL parser repairs `http:\\host`, `http://ho%73t` and
/// `http://0x7f.1`, and a reader that does not would see another host.
fn check_spelling(text: &str, url: &Url) -> Result<(), NetError> {
    let odd = |letter: char| letter.is_control() || letter == ' ' || letter == '\\';
    if text.contains(odd) {
        return refused("it contains a space, a backslash or a control character");
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return refused("it does not begin with http:// or https://");
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = match authority.rsplit_once(':') {
        // A colon inside brackets belongs to an IPv6 address, not to a port.
        Some((host, port)) if !port.ends_with(']') => host,
        _ => authority,
    };
    let real = url.host_str().unwrap_or_default();
    let is_plain = scheme.eq_ignore_ascii_case(url.scheme()) && host.eq_ignore_ascii_case(real);
    // `example.org.` is the same host as `example.org`, but rules for the one do not match the other.
    if is_plain && !real.ends_with('.') {
        return Ok(());
    }
    let real = real.trim_end_matches('.');
    refused(&format!("its host is not spelled plainly; write {real}"))
}

/// Returns true for a private host that the user listed. An error if the host is reserved, as far as
/// that is visible without a DNS lookup.
fn check_place(url: &Url, private_hosts: &PrivateHosts) -> Result<bool, NetError> {
    if private_hosts.contains(url) {
        return Ok(true);
    }
    let port = url.port_or_known_default().unwrap_or_default();
    if PORTS_REFUSED.contains(&port) {
        return refused(&format!("port {port} is not allowed"));
    }
    let host = url.host_str().unwrap_or_default();
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = literal.parse::<IpAddr>()
        && let Some(what) = reserved(address)
    {
        return refused(&private(host, what));
    }
    Ok(false)
}

/// The message for an address that is not on the open internet.
pub(crate) fn private(host: &str, what: &str) -> String {
    format!(
        "{host} is not on the open internet ({what}); the user can allow it with the setting web.private_hosts"
    )
}

fn refused<T>(why: &str) -> Result<T, NetError> {
    Err(NetError::Refused(why.to_owned()))
}

#[cfg(test)]
#[path = "egress_tests.rs"]
mod tests;
