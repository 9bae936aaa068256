//! A crate names no dependency that its code does not: an idle one still costs every build.

use super::Finding;
use crate::source::Page;
use crate::workspace::{Member, Workspace};

pub(super) fn check(workspace: &Workspace, pages: &[Page]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &workspace.members {
        for dependency in &member.dependencies {
            if !is_named(member, &dependency.name, pages) {
                findings.push(Finding::new(
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

/// Whether any Rust file below the crate's folder has the dependency's name as a word.
fn is_named(member: &Member, dependency: &str, pages: &[Page]) -> bool {
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
