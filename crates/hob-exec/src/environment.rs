//! The environment of a child: a short list of variables of the person's own, and what the plan
//! adds. Invariant: no other variable of the daemon reaches a child, so no key or token does.

use hob_kit::failpoint;
use hob_kit::world::Env;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// What passes.
pub const PASSED: &[&str] = &[
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

/// The variables of a child.
pub(crate) fn of_child(env: &Env, added: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let mut variables = BTreeMap::from([(OsString::from("PATH"), OsString::from(PATH_DEFAULT))]);
    let leaked = failpoint::broken(75).then_some(&"OPENAI_API_KEY");
    for name in PASSED.iter().chain(leaked) {
        if let Some(value) = env.os(name) {
            variables.insert(OsString::from(name), value.to_owned());
        }
    }
    variables.extend(added.iter().cloned());
    variables.into_iter().collect()
}

/// The port of the proxy on the loopback of a child's own network. Each child has a network
/// namespace for itself, so all of them can use the same number.
pub const PROXY_PORT: u16 = 3128;

/// Names under which programs look for a proxy. `ALL_PROXY` names the HTTP proxy too: the same port
/// speaks SOCKS5, but Python's `httpx` fails at a SOCKS address unless another package is
/// installed, even where it would not use it.
const PROXY_NAMES: &[&str] = &[
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "all_proxy",
    "http_proxy",
    "https_proxy",
];

/// The variables of a child whose network leads through the proxy. They replace those of the plan.
pub(crate) fn proxied(variables: &mut Vec<(OsString, OsString)>) {
    let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
    let mut all: Vec<(&str, &str)> = PROXY_NAMES.iter().map(|name| (*name, &*proxy)).collect();
    // Even the loopback is reached through the proxy, or not at all. Node reads proxies only if told.
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
