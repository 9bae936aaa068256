//! The private hosts that the user allowed for fetching. Pure. Invariant: an entry is valid for the
//! host as written, never for another name that resolves to the same address.

use reqwest::Url;

/// Private hosts that may be requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrivateHosts(Vec<PrivateHost>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct PrivateHost {
    /// The host, as the URL parser spells it.
    host: String,
    /// `None` for every port.
    port: Option<u16>,
}

impl PrivateHosts {
    /// Parses `host`, `host:port`, `[address]` or `[address]:port`. Other texts are ignored.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>) -> PrivateHosts {
        PrivateHosts(texts.into_iter().filter_map(opening).collect())
    }

    pub(crate) fn contains(&self, url: &Url) -> bool {
        let (host, port) = (url.host_str(), url.port_or_known_default());
        let fits = |one: &PrivateHost| {
            Some(one.host.as_str()) == host && (one.port.is_none() || one.port == port)
        };
        self.0.iter().any(fits)
    }
}

fn opening(text: &str) -> Option<PrivateHost> {
    let text = text.trim();
    let (host, port) = match text.rsplit_once(':') {
        // A bare IPv6 address such as `::1` has colons but no port.
        Some((host, port)) if !port.ends_with(']') && !host.ends_with(':') => {
            (host, Some(port.parse().ok()?))
        }
        _ => (text, None),
    };
    // Parsed like the URL of a request, so that both spell the host in the same way.
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    let is_host = url.path() == "/" && url.username().is_empty() && url.port().is_none();
    let host = url.host_str().filter(|_| is_host)?.to_owned();
    Some(PrivateHost { host, port })
}

#[cfg(test)]
#[path = "private_hosts_tests.rs"]
mod tests;
