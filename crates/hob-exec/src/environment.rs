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

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
