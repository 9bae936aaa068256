//! The hosts that a command may reach through the proxy. Pure.
//!
//! Invariant: `example.org` allows that name, `*.example.org` every name below it but not itself,
//! and an entry with a port only that port. The permission rules read the same patterns in the same
//! way.

use reqwest::Url;

/// The most hosts in one list.
pub const HOSTS_MAX: usize = 32;
/// A DNS name has at most 253 characters; a star, brackets and a port may be added.
const HOST_BYTES_MAX: usize = 264;

/// A list of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHosts(Vec<AllowedHost>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct AllowedHost {
    /// The host, as the URL parser spells it.
    name: String,
    /// True for `*.NAME`: all names below it, but not itself.
    is_below: bool,
    /// `None` for every port.
    port: Option<u16>,
}

impl AllowedHosts {
    /// Parses a list. The error is a sentence that names the wrong entry and the right form.
    pub fn new<T: AsRef<str>>(texts: &[T]) -> Result<AllowedHosts, String> {
        if texts.is_empty() || texts.len() > HOSTS_MAX {
            return Err(format!(
                "`hosts` takes 1 to {HOSTS_MAX} hosts; leave it out to reach any."
            ));
        }
        let read = texts.iter().map(|text| {
            let text = text.as_ref();
            allowed_host(text).ok_or_else(|| {
                let printable: String = text.chars().take(80).collect();
                format!(
                    "`hosts` takes names such as 'example.org', '*.example.org' or 'example.org:8443', not '{}'.",
                    printable.escape_debug()
                )
            })
        });
        Ok(AllowedHosts(read.collect::<Result<_, _>>()?))
    }

    /// Returns true if a host, as the URL parser spells it, is allowed at this port.
    pub(super) fn allow(&self, host: &str, port: u16) -> bool {
        self.0.iter().any(|one| {
            let is_name = if one.is_below {
                // The dot before the name keeps `badexample.org` from matching `*.example.org`.
                let above = host.strip_suffix(one.name.as_str());
                above.is_some_and(|above| above.len() > 1 && above.ends_with('.'))
            } else {
                host == one.name
            };
            is_name && one.port.is_none_or(|wanted| wanted == port)
        })
    }
}

fn allowed_host(text: &str) -> Option<AllowedHost> {
    if text.len() > HOST_BYTES_MAX {
        return None;
    }
    let (is_below, rest) = match text.strip_prefix("*.") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (name, port) = match rest.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => {
            let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            (name, Some(port.parse().ok().filter(|_| is_number)?))
        }
        _ => (rest, None),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
    if name.is_empty() || !name.bytes().all(plain) {
        return None;
    }
    let url = Url::parse(&format!("http://{name}/")).ok()?;
    let spelled = url.host_str()?;
    // An entry in another spelling would never match, because hosts are compared as parsed.
    let is_plain = spelled.eq_ignore_ascii_case(name) && url.port().is_none();
    let is_address = spelled.starts_with('[') || spelled.parse::<std::net::Ipv4Addr>().is_ok();
    let name = spelled.to_owned();
    (is_plain && !name.ends_with('.') && !(is_below && is_address)).then_some(AllowedHost {
        name,
        is_below,
        port,
    })
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
