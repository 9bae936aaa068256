//! The environment of a child: a short list of the user's variables, and those of the plan.
//!
//! Invariant: no other variable of the daemon reaches a child, so no key or token does.

use hob_kit::host_environment::EnvVars;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Variables that every child inherits.
pub const INHERITED: &[&str] = &[
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NUMERIC",
    "LC_TIME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TZ",
    "USER",
];

pub(crate) const PATH_DEFAULT: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Returns the variables of a child: the inherited ones, overridden by `added`.
pub(crate) fn child_variables(
    env: &EnvVars,
    added: &[(OsString, OsString)],
) -> Vec<(OsString, OsString)> {
    let mut variables = BTreeMap::from([(OsString::from("PATH"), OsString::from(PATH_DEFAULT))]);
    for name in INHERITED {
        if let Some(value) = env.os(name) {
            variables.insert(OsString::from(name), value.to_owned());
        }
    }
    variables.extend(added.iter().cloned());
    variables.into_iter().collect()
}

/// The port of the proxy on the loopback of a child's own network. Each child has its own network
/// namespace, so all of them can use the same number.
pub const PROXY_PORT: u16 = 3128;

/// Variables in which programs look for a proxy. `ALL_PROXY` also names the HTTP proxy, although
/// the same port speaks SOCKS5: Python's `httpx` fails at a SOCKS address unless another package is
/// installed, even where it would not use it.
const PROXY_NAMES: &[&str] = &[
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "all_proxy",
    "http_proxy",
    "https_proxy",
];

/// Sets the proxy variables of a child whose network leads through the proxy. They replace those of
/// the plan.
pub(crate) fn set_proxy_variables(variables: &mut Vec<(OsString, OsString)>) {
    let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
    let mut all: Vec<(&str, &str)> = PROXY_NAMES.iter().map(|name| (*name, &*proxy)).collect();
    // `NO_PROXY` is emptied, because even loopback addresses are reachable only through the proxy.
    // Node reads proxy variables only with `NODE_USE_ENV_PROXY`.
    all.extend([
        ("NO_PROXY", ""),
        ("no_proxy", ""),
        ("NODE_USE_ENV_PROXY", "1"),
    ]);
    variables.retain(|(name, _)| !all.iter().any(|(set, _)| name == set));
    variables.extend(
        all.into_iter()
            .map(|(name, value)| (name.into(), value.into())),
    );
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
