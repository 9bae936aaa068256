//! Every dependency of a crate is used in its code: an unused one still costs every build.

use super::TidyFinding;
use crate::source::ProjectFile;
use crate::workspace::{Workspace, WorkspaceCrate};

pub(super) fn check(workspace: &Workspace, pages: &[ProjectFile]) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for member in &workspace.members {
        for dependency in &member.dependencies {
            if !is_named(member, &dependency.name, pages) {
                findings.push(TidyFinding::new(
                    &member.manifest,
                    member.line_of(&dependency.name),
                    format!("`{}` does not use `{}`", member.name, dependency.name),
                    "Take the line out.",
                ));
            }
        }
    }
    findings
}

/// True if a Rust file below the crate's folder contains the dependency's name as a word.
fn is_named(member: &WorkspaceCrate, dependency: &str, pages: &[ProjectFile]) -> bool {
    let folder = member.manifest.trim_end_matches("Cargo.toml");
    let word = dependency.replace('-', "_");
    pages
        .iter()
        .filter(|page| page.path.starts_with(folder) && super::is_rust(page))
        .any(|page| {
            page.text
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|found| found == word)
        })
}

#[cfg(test)]
#[path = "unused_tests.rs"]
mod tests;
