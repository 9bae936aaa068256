//! `ARCHITECTURE.md` has fewer than 300 lines and names every crate.

use super::TidyFinding;
use crate::source::ProjectFile;
use crate::workspace::Workspace;

const MAP: &str = "ARCHITECTURE.md";
const MAP_LINES_MAX: usize = 299;

pub(super) fn check(workspace: &Workspace, pages: &[ProjectFile]) -> Vec<TidyFinding> {
    let text = pages.iter().find(|page| page.path == MAP);
    let text = text.map_or("", |page| page.text.as_str());
    let mut findings = Vec::new();
    let lines = text.lines().count();
    if lines > MAP_LINES_MAX {
        findings.push(TidyFinding::new(
            MAP,
            lines,
            format!("the map has {lines} lines, {MAP_LINES_MAX} is the most"),
            "Leave out what the code says itself.",
        ));
    }
    for member in &workspace.members {
        if !text.contains(&format!("`{}`", member.name)) {
            findings.push(TidyFinding::new(
                MAP,
                1,
                format!("`{}` is not on the map", member.name),
                "Say in a line what lives there.",
            ));
        }
    }
    findings
}

#[cfg(test)]
#[path = "map_tests.rs"]
mod tests;
