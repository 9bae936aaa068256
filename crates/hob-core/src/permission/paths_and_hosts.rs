//! Paths and hosts of a call, read lexically. What cannot be determined is marked unknown. Pure.
//!
//! The result decides only whether a person is asked. That a tool stays inside the workspace is
//! enforced where the file is opened, and the target of a connection is checked where it is made.

/// A path of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallPath {
    Known {
        /// The components from the root, without `.` and `..`.
        steps: Vec<String>,
        /// It was written without `..`: with symlinks, a `..` may lead elsewhere than its text
        /// says.
        straight: bool,
    },
    /// It is not a string, or relative to nothing.
    Unknown,
}

/// A host of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallHost {
    pub(super) name: String,
    pub(super) port: Option<u16>,
}

/// The hosts of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostPattern {
    name: HostName,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostName {
    Any,
    /// All subdomains of this name, but not the name itself.
    Below(String),
    Exactly(String),
}

impl CallPath {
    /// Resolves `path` lexically, from `base` if it is relative.
    pub(super) fn resolve(path: &str, base: Option<&str>) -> CallPath {
        let start = match (path.starts_with('/'), base) {
            (true, _) => Vec::new(),
            (false, Some(base)) => match folder_steps(base) {
                Some(steps) => steps,
                None => return CallPath::Unknown,
            },
            (false, None) => return CallPath::Unknown,
        };
        // For the system a zero byte ends the path, so the rest would be misread.
        if path.contains('\0') {
            return CallPath::Unknown;
        }
        let mut steps = start;
        let mut straight = true;
        for step in path.split('/') {
            match step {
                "" | "." => {}
                ".." => {
                    straight = false;
                    // Above the root there is nothing, so there `..` stays where it is.
                    steps.pop();
                }
                name => steps.push(name.to_owned()),
            }
        }
        CallPath::Known { steps, straight }
    }
}

/// Returns the components of an absolute path without `..`.
pub(super) fn folder_steps(path: &str) -> Option<Vec<String>> {
    if !path.starts_with('/') {
        return None;
    }
    match CallPath::resolve(path, None) {
        CallPath::Known {
            steps,
            straight: true,
        } => Some(steps),
        _ => None,
    }
}

/// Returns the path of these components.
pub(super) fn path_of(steps: &[String]) -> String {
    format!("/{}", steps.join("/"))
}

impl CallHost {
    /// Parses the host of a URL, or a bare host. Anything ambiguous is `None`.
    pub(super) fn parse(text: &str) -> Option<CallHost> {
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
        // Some URL parsers treat a backslash as a slash, so the host ends there too.
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        // A bare host with a path is ambiguous.
        if scheme.is_none() && end < rest.len() {
            return None;
        }
        let (name, port) = parse_host_port(&rest[..end])?;
        Some(CallHost {
            name,
            port: port.or(default),
        })
    }
}

impl CallHost {
    /// Parses a host that limits a call's network: a name or `*.name`; the star stays in the name.
    pub(super) fn parse_limit(text: &str) -> Option<CallHost> {
        let (star, rest) = match text.strip_prefix("*.") {
            Some(rest) => ("*.", rest),
            None => ("", text),
        };
        let (name, port) = parse_host_port(rest)?;
        let name = format!("{star}{name}");
        Some(CallHost { name, port })
    }
}

impl HostPattern {
    /// Parses `*`, `*.example.org` or `example.org`, each with or without `:PORT`.
    pub(super) fn parse(text: &str) -> Option<HostPattern> {
        if text == "*" {
            let name = HostName::Any;
            return Some(HostPattern { name, port: None });
        }
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (name, port) = parse_host_port(rest)?;
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

    /// Returns true if a call limited to `host` could reach a host of this pattern.
    pub(super) fn overlaps(&self, host: &CallHost) -> bool {
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
        // A missing port on either side means any port.
        let ports = self.port.zip(host.port);
        names && ports.is_none_or(|(one, other)| one == other)
    }

    pub(super) fn matches(&self, host: &CallHost) -> bool {
        let name = match &self.name {
            HostName::Any => true,
            HostName::Exactly(name) => *name == host.name,
            HostName::Below(name) => host
                .name
                .strip_suffix(name.as_str())
                // A dot alone is no name, so `.example.org` is not below `example.org`.
                .is_some_and(|above| above.len() > 1 && above.ends_with('.')),
        };
        name && self.port.is_none_or(|port| host.port == Some(port))
    }
}

/// Parses a host name, lower-cased, and its port.
fn parse_host_port(text: &str) -> Option<(String, Option<u16>)> {
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
        // An address with several colons but no brackets fails below, at its port.
        None => match text.split_once(':') {
            Some((name, port)) => (name.to_owned(), Some(port)),
            None => (text.to_owned(), None),
        },
    };
    let port = match port {
        None => None,
        // `parse` alone would accept a sign.
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().ok()?)
        }
        Some(_) => return None,
    };
    // A final dot names the same host.
    let name = name.strip_suffix('.').unwrap_or(&name).to_ascii_lowercase();
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let is_name = name.starts_with('[') || name.bytes().all(of_name);
    (!name.is_empty() && is_name).then_some((name, port))
}

#[cfg(test)]
#[path = "paths_and_hosts_tests.rs"]
mod tests;
