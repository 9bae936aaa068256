//! Which addresses may be asked: the one place where that is decided. Pure.
//!
//! Two kinds of askers. A person who configured a model's address may have put it anywhere
//! ([`check`]). An address that a model came up with ([`check_page`]) must lead to the open
//! internet, or to a private host that the person opened by name; and it must be spelled in the
//! one way in which every reader, the rules of permission included, sees the same host.
//!
//! Invariant: a request that was not allowed here is never sent.

use crate::NetError;
use crate::address::reserved;
use crate::openings::Openings;
use hob_kit::failpoint;
use reqwest::Url;
use std::net::IpAddr;

const URL_BYTES_MAX: usize = 8 * 1024;

/// Ports on which other protocols listen that would take the lines of a request for their own: the
/// ones browsers refuse too. Every other port may be asked; many sites live on odd ones.
const PORTS_REFUSED: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// An address that may be asked.
#[derive(Clone, Debug)]
pub(crate) struct Allowed {
    pub(crate) url: Url,
    /// Host and port, for messages.
    pub(crate) host: String,
}

/// Takes an address as a person wrote it into the configuration.
pub(crate) fn check(text: &str) -> Result<Allowed, NetError> {
    if text.len() > URL_BYTES_MAX {
        return refused("it is too long");
    }
    let Ok(url) = Url::parse(text) else {
        return refused("it is not a URL");
    };
    check_url(url)
}

/// Takes an address that came from a model, and whether it is one that a person opened.
pub(crate) fn check_page(text: &str, openings: &Openings) -> Result<(Allowed, bool), NetError> {
    let allowed = check(text)?;
    check_spelling(text, &allowed.url)?;
    let is_open = check_place(&allowed.url, openings)?;
    Ok((allowed, is_open))
}

/// The same for the place a redirect names; its spelling is the parser's own.
pub(crate) fn check_moved(url: Url, openings: &Openings) -> Result<(Allowed, bool), NetError> {
    if url.as_str().len() > URL_BYTES_MAX {
        return refused("it is too long");
    }
    let allowed = check_url(url)?;
    let is_open = check_place(&allowed.url, openings)?;
    Ok((allowed, is_open))
}

/// Takes a host and port that a program named; the spelling must be the plain one.
pub(crate) fn check_authority(
    authority: &str,
    openings: &Openings,
) -> Result<(Allowed, bool), NetError> {
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    let has_port =
        port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    // A path, a query or a user name here would make a host of something else.
    if !has_port || authority.contains(['/', '?', '#', '@']) {
        return refused("it is not a host and a port");
    }
    check_page(&format!("http://{authority}/"), openings)
}

/// Takes an address that a program named in binary form, so that there is no spelling to check.
pub(crate) fn check_address(
    address: IpAddr,
    port: u16,
    openings: &Openings,
) -> Result<(Allowed, bool), NetError> {
    let place = std::net::SocketAddr::new(address, port);
    let Ok(url) = Url::parse(&format!("http://{place}/")) else {
        return refused("it is not an address");
    };
    check_moved(url, openings)
}

/// Why an address that a name led to may not be asked.
pub(crate) fn forbidden(address: IpAddr) -> Option<&'static str> {
    reserved(address).filter(|_| !failpoint::broken(69))
}

fn check_url(url: Url) -> Result<Allowed, NetError> {
    if !matches!(url.scheme(), "http" | "https") {
        return refused("only http and https are spoken");
    }
    if !url.username().is_empty() || url.password().is_some() {
        // A password in an address would end up in logs and lists.
        return refused("it holds a user name or a password");
    }
    let Some(name) = url.host_str() else {
        return refused("it names no host");
    };
    let host = match url.port() {
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    };
    Ok(Allowed { url, host })
}

/// A parser mends much: `http:\\host`, `http://ho%73t`, `http://0x7f.1`. Whoever reads such an
/// address in another way sees another host, so only the plain spelling is taken.
fn check_spelling(text: &str, url: &Url) -> Result<(), NetError> {
    let odd = |letter: char| letter.is_control() || letter == ' ' || letter == '\\';
    if text.contains(odd) {
        return refused("it holds a space, a backslash or a control character");
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return refused("it does not begin with http:// or https://");
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        _ => authority,
    };
    let real = url.host_str().unwrap_or_default();
    let is_plain = scheme.eq_ignore_ascii_case(url.scheme()) && host.eq_ignore_ascii_case(real);
    if is_plain && !real.ends_with('.') {
        return Ok(());
    }
    let real = real.trim_end_matches('.');
    refused(&format!("its host has another, plain spelling: {real}"))
}

/// Whether the place is opened; an error if it is neither that nor the open internet's, as far as
/// can be seen without asking for the name's addresses.
fn check_place(url: &Url, openings: &Openings) -> Result<bool, NetError> {
    if openings.hold(url) {
        return Ok(true);
    }
    let port = url.port_or_known_default().unwrap_or_default();
    if PORTS_REFUSED.contains(&port) {
        return refused(&format!("port {port} is not one of the web"));
    }
    let host = url.host_str().unwrap_or_default();
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = literal.parse::<IpAddr>()
        && let Some(what) = forbidden(address)
    {
        return refused(&private(host, what));
    }
    Ok(false)
}

/// What is said of an address that is not the open internet's.
pub(crate) fn private(host: &str, what: &str) -> String {
    format!(
        "{host} is not on the open internet ({what}); a person can open it with the setting web.private_hosts"
    )
}

fn refused<T>(why: &str) -> Result<T, NetError> {
    Err(NetError::Refused(why.to_owned()))
}

#[cfg(test)]
#[path = "egress_tests.rs"]
mod tests;
