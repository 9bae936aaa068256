//! Every crate in the lockfile has a permissive licence, and crates whose versions must agree occur
//! once.

use super::TidyFinding;
use crate::workspace::Workspace;

const LOCKFILE: &str = "Cargo.lock";

/// Permissive licences.
const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    // The licence of certificate lists, which are data.
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Two versions of one of these would not share their types, or not link at all.
const SINGLE: &[&str] = &[
    "axum",
    "libsqlite3-sys",
    "reqwest",
    "rusqlite",
    "rustls",
    "tokio",
    "tokio-tungstenite",
];

pub(super) fn check(workspace: &Workspace) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let license = package.license.as_deref().unwrap_or_default();
        if !is_permissive(license) {
            findings.push(TidyFinding::new(
                LOCKFILE,
                1,
                format!(
                    "`{}` {} has the licence '{license}'",
                    package.name, package.version
                ),
                "Choose another crate: only permissive licences are shipped.",
            ));
        }
    }
    for name in SINGLE {
        let versions: Vec<&str> = workspace
            .packages
            .iter()
            .filter(|package| package.name == *name)
            .map(|package| package.version.as_str())
            .collect();
        if versions.len() > 1 {
            findings.push(TidyFinding::new(
                LOCKFILE,
                1,
                format!("`{name}` is there as {}", versions.join(" and ")),
                "Bring its users to one version.",
            ));
        }
    }
    findings
}

/// Reads an SPDX expression. `OR` needs one permissive side, `AND` both; an exception (`WITH …`)
/// only gives more. The old `/` means `OR`.
fn is_permissive(expression: &str) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    either(&mut words) && words.next().is_none()
}

type LicenceWords<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(words: &mut LicenceWords<'_>) -> bool {
    let mut permissive = both(words);
    while words.next_if_eq(&"OR").is_some() {
        permissive |= both(words);
    }
    permissive
}

fn both(words: &mut LicenceWords<'_>) -> bool {
    let mut permissive = one(words);
    while words.next_if_eq(&"AND").is_some() {
        permissive &= one(words);
    }
    permissive
}

fn one(words: &mut LicenceWords<'_>) -> bool {
    match words.next() {
        Some("(") => {
            let permissive = either(words);
            permissive & words.next_if_eq(&")").is_some()
        }
        Some(name) => {
            if words.next_if_eq(&"WITH").is_some() {
                words.next();
            }
            PERMISSIVE.contains(&name)
        }
        None => false,
    }
}

#[cfg(test)]
#[path = "licences_tests.rs"]
mod tests;
