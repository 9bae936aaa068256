//! The private hosts a person opened for fetching. Pure. Invariant: an opening holds for the host
//! as it is written, never for another name that leads to the same place.

use reqwest::Url;

/// Hosts that may be asked although they are of the house.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Openings(Vec<Opening>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Opening {
    /// As the URL parser spells it.
    host: String,
    /// Every port when missing.
    port: Option<u16>,
}

impl Openings {
    /// Takes `host`, `host:port`, `[address]` or `[address]:port`; what is none of these opens
    /// nothing.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>) -> Openings {
        Openings(texts.into_iter().filter_map(opening).collect())
    }

    pub(crate) fn hold(&self, url: &Url) -> bool {
        let (host, port) = (url.host_str(), url.port_or_known_default());
        let fits = |one: &Opening| {
            Some(one.host.as_str()) == host && (one.port.is_none() || one.port == port)
        };
        self.0.iter().any(fits)
    }
}

fn opening(text: &str) -> Option<Opening> {
    let text = text.trim();
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') && !host.ends_with(':') => {
            (host, Some(port.parse().ok()?))
        }
        _ => (text, None),
    };
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    let is_host = url.path() == "/" && url.username().is_empty() && url.port().is_none();
    let host = url.host_str().filter(|_| is_host)?.to_owned();
    Some(Opening { host, port })
}

#[cfg(test)]
#[path = "openings_tests.rs"]
mod tests;
