//! Places, by their words only: folders and hosts. What the words cannot tell is said so. Pure.
//!
//! The words decide whether a person is asked; that a tool stays inside the workspace is enforced
//! where the file is opened, and where a connection leads is checked where it is made.

/// A path of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    At {
        /// From the root, without `.` and `..`.
        steps: Vec<String>,
        /// It was written without `..`: a step up may lead elsewhere than its words say.
        straight: bool,
    },
    /// It is no text, or relative to nothing.
    Unknown,
}

/// A host of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) port: Option<u16>,
}

/// Hosts that a rule speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostPattern {
    name: HostName,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostName {
    Any,
    /// All below this name, itself not.
    Below(String),
    Exactly(String),
}

impl Place {
    /// Where `path` leads, from `base` if it is relative.
    pub(super) fn of(path: &str, base: Option<&str>) -> Place {
        let start = match (path.starts_with('/'), base) {
            (true, _) => Vec::new(),
            (false, Some(base)) => match folder(base) {
                Some(steps) => steps,
                None => return Place::Unknown,
            },
            (false, None) => return Place::Unknown,
        };
        if path.contains('\0') {
            return Place::Unknown;
        }
        let mut steps = start;
        let mut straight = true;
        for step in path.split('/') {
            match step {
                "" | "." => {}
                ".." => {
                    straight = false;
                    steps.pop();
                }
                name => steps.push(name.to_owned()),
            }
        }
        Place::At { steps, straight }
    }
}

/// The steps of an absolute path without a step up.
pub(super) fn folder(path: &str) -> Option<Vec<String>> {
    if !path.starts_with('/') {
        return None;
    }
    match Place::of(path, None) {
        Place::At {
            steps,
            straight: true,
        } => Some(steps),
        _ => None,
    }
}

/// The path of these steps.
pub(super) fn path_of(steps: &[String]) -> String {
    format!("/{}", steps.join("/"))
}

impl Host {
    /// The host of a URL, or one named alone. Whatever could be read in two ways is none.
    pub(super) fn of(text: &str) -> Option<Host> {
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme), rest),
            None => (None, text),
        };
        let scheme = scheme.map(str::to_ascii_lowercase);
        let default = match scheme.as_deref() {
            None => None,
            Some("http" | "ws") => Some(80),
            Some("https" | "wss") => Some(443),
            Some(_) => return None,
        };
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        if scheme.is_none() && end < rest.len() {
            return None;
        }
        let (name, port) = named(&rest[..end])?;
        Some(Host {
            name,
            port: port.or(default),
        })
    }
}

impl Host {
    /// A host that limits a call's network: a name or `*.name`, whose star stays in the name.
    pub(super) fn of_limit(text: &str) -> Option<Host> {
        let (star, rest) = match text.strip_prefix("*.") {
            Some(rest) => ("*.", rest),
            None => ("", text),
        };
        let (name, port) = named(rest)?;
        let name = format!("{star}{name}");
        Some(Host { name, port })
    }
}

impl HostPattern {
    /// `*`, `*.example.org`, `example.org`, each with or without `:PORT`.
    pub(super) fn of(text: &str) -> Option<HostPattern> {
        if text == "*" {
            let name = HostName::Any;
            return Some(HostPattern { name, port: None });
        }
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (name, port) = named(rest)?;
        let name = if below {
            HostName::Below(name)
        } else {
            HostName::Exactly(name)
        };
        Some(HostPattern { name, port })
    }

    pub(super) fn is_any(&self) -> bool {
        self.name == HostName::Any
    }

    /// Whether a call that is limited to `host` could reach something that this speaks of.
    pub(super) fn overlaps(&self, host: &Host) -> bool {
        let is_below = |name: &str, of: &str| {
            name.strip_suffix(of)
                .is_some_and(|above| above.is_empty() || above.ends_with('.'))
        };
        let names = match (&self.name, host.name.strip_prefix("*.")) {
            (HostName::Any, _) => true,
            (HostName::Exactly(name), None) => *name == host.name,
            (HostName::Exactly(name), Some(suffix)) => is_below(name, suffix),
            (HostName::Below(name), None) => is_below(&host.name, name),
            (HostName::Below(name), Some(suffix)) => {
                is_below(name, suffix) || is_below(suffix, name)
            }
        };
        let ports = self.port.zip(host.port);
        names && ports.is_none_or(|(one, other)| one == other)
    }

    pub(super) fn fits(&self, host: &Host) -> bool {
        let name = match &self.name {
            HostName::Any => true,
            HostName::Exactly(name) => *name == host.name,
            HostName::Below(name) => host
                .name
                .strip_suffix(name.as_str())
                .is_some_and(|above| above.len() > 1 && above.ends_with('.')),
        };
        name && self.port.is_none_or(|port| host.port == Some(port))
    }
}

/// A host's name in small letters and its port.
fn named(text: &str) -> Option<(String, Option<u16>)> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            let is_address = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
            if !address.contains(':') || !address.bytes().all(is_address) {
                return None;
            }
            let port = match port {
                "" => None,
                port => Some(port.strip_prefix(':')?),
            };
            (format!("[{address}]"), port)
        }
        None => match text.split_once(':') {
            Some((name, port)) => (name.to_owned(), Some(port)),
            None => (text.to_owned(), None),
        },
    };
    let port = match port {
        None => None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().ok()?)
        }
        Some(_) => return None,
    };
    let name = name.strip_suffix('.').unwrap_or(&name).to_ascii_lowercase();
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let is_name = name.starts_with('[') || name.bytes().all(of_name);
    (!name.is_empty() && is_name).then_some((name, port))
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
