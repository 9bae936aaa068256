//! The hosts that a command may reach through the proxy. Pure.
//!
//! Invariant: a list lets through what its words say and nothing else: `example.org` is that name,
//! `*.example.org` all below it and not itself; with a port, only that port. The rules of permission
//! read the same words in the same way.

use reqwest::Url;

/// Hosts in one list.
pub const HOSTS_MAX: usize = 32;
/// A name of the DNS has 253 letters at the most; a star, brackets and a port come to it.
const HOST_BYTES_MAX: usize = 264;

/// A list of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHosts(Vec<AllowedHost>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct AllowedHost {
    /// As the URL parser spells it.
    name: String,
    /// All names below it, itself not.
    is_below: bool,
    /// Every port when missing.
    port: Option<u16>,
}

impl AllowedHosts {
    /// Reads a list; the error is a sentence that says which word is wrong and what to write.
    pub fn new<T: AsRef<str>>(texts: &[T]) -> Result<AllowedHosts, String> {
        if texts.is_empty() || texts.len() > HOSTS_MAX {
            return Err(format!(
                "`hosts` takes 1 to {HOSTS_MAX} hosts; leave it out to reach any."
            ));
        }
        let read = texts.iter().map(|text| {
            let text = text.as_ref();
            allowed_host(text).ok_or_else(|| {
                let shown: String = text.chars().take(80).collect();
                format!(
                    "`hosts` takes names such as 'example.org', '*.example.org' or 'example.org:8443', not '{}'.",
                    shown.escape_debug()
                )
            })
        });
        Ok(AllowedHosts(read.collect::<Result<_, _>>()?))
    }

    /// Whether a host, as the URL parser spells it, may be reached at this port.
    pub(super) fn allow(&self, host: &str, port: u16) -> bool {
        self.0.iter().any(|one| {
            let is_name = if one.is_below {
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
    // Another spelling of an address would never fit what programs ask for.
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
