//! No file links to a package registry: the person who builds hob chooses where packages come from.

use super::TidyFinding;
use crate::source::ProjectFile;
use crate::workspace::Workspace;

/// Parts of a link's host that make it a registry.
const REGISTRIES: &[&str] = &[
    "crates.io",
    "docs.rs",
    "lib.rs",
    "npmjs",
    "pypi",
    "registry",
    "mirror",
    "proxy",
];

/// The only source a lockfile may name: cargo's own default.
const LOCK_SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(super) fn check(_: &Workspace, pages: &[ProjectFile]) -> Vec<TidyFinding> {
    // This rule and its tests must name the registries they refuse.
    let others = pages
        .iter()
        .filter(|page| !page.path.starts_with("xtask/src/tidy/links"));
    others.flat_map(check_page).collect()
}

fn check_page(page: &ProjectFile) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (index, text) in page.text.lines().enumerate() {
        let refused = if page.path == "Cargo.lock" {
            foreign_source(text)
        } else {
            registry(text)
        };
        if let Some(what) = refused {
            findings.push(TidyFinding::new(
                &page.path,
                index + 1,
                what,
                "Name the package, not where it lies.",
            ));
        }
    }
    findings
}

fn foreign_source(line: &str) -> Option<String> {
    let source = line.strip_prefix("source = \"")?.strip_suffix('"')?;
    (source != LOCK_SOURCE).then(|| format!("the lockfile takes a crate from {source}"))
}

fn registry(line: &str) -> Option<String> {
    let mut hosts = line.split("://").skip(1).map(|rest| {
        let end = rest.find(['/', ' ', ')', '"', '`', '>']);
        &rest[..end.unwrap_or(rest.len())]
    });
    let host = hosts.find(|host| REGISTRIES.iter().any(|name| host.contains(name)))?;
    Some(format!("this links to the registry {host}"))
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
