//! Every external dependency has a row in `docs/dependencies.md` that justifies it; every row and
//! every workspace dependency is used by a crate.

use super::TidyFinding;
use crate::source::ProjectFile;
use crate::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};

const PAPER: &str = "docs/dependencies.md";
const MANIFEST: &str = "Cargo.toml";

pub(super) fn check(workspace: &Workspace, pages: &[ProjectFile]) -> Vec<TidyFinding> {
    let text = |path: &str| {
        let page = pages.iter().find(|page| page.path == path);
        page.map_or("", |page| page.text.as_str())
    };
    let named = named(workspace);
    let rows = rows(text(PAPER));
    let mut findings = Vec::new();
    for name in named.difference(&rows.keys().copied().collect()) {
        findings.push(TidyFinding::new(
            PAPER,
            1,
            format!("`{name}` is used and has no row"),
            "Add one: what it is for, why this one, who else could do it.",
        ));
    }
    for (name, row) in &rows {
        if !named.contains(name) {
            findings.push(TidyFinding::new(
                PAPER,
                row.line,
                format!("`{name}` has a row and is not used"),
                "Take the row out.",
            ));
        } else if !row.is_complete {
            findings.push(TidyFinding::new(
                PAPER,
                row.line,
                format!("the row of `{name}` has an empty cell"),
                "Say what it is for, why this one, and who else could do it.",
            ));
        }
    }
    for (name, line) in declared(text(MANIFEST)) {
        if !named.contains(name) && workspace.member(name).is_none() {
            findings.push(TidyFinding::new(
                MANIFEST,
                line,
                format!("`{name}` is declared for the workspace and used by nobody"),
                "Take the line out.",
            ));
        }
    }
    findings
}

/// Every external crate that one of our crates names, dev-dependencies included.
fn named(workspace: &Workspace) -> BTreeSet<&str> {
    let all = workspace
        .members
        .iter()
        .flat_map(|found| &found.dependencies);
    all.filter(|found| found.external)
        .map(|found| found.name.as_str())
        .collect()
}

struct DependencyRow {
    line: usize,
    is_complete: bool,
}

/// The rows of the page, ``| `name` | what | why | who else |``.
fn rows(paper: &str) -> BTreeMap<&str, DependencyRow> {
    let mut rows = BTreeMap::new();
    for (index, line) in paper.lines().enumerate() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells
            .first()
            .and_then(|cell| cell.strip_prefix('`')?.strip_suffix('`'));
        if let (true, Some(name)) = (line.starts_with('|'), name) {
            let row = DependencyRow {
                line: index + 1,
                is_complete: cells.len() == 4 && cells.iter().all(|cell| !cell.is_empty()),
            };
            rows.insert(name, row);
        }
    }
    rows
}

/// The names below `[workspace.dependencies]`, each with its line.
fn declared(manifest: &str) -> impl Iterator<Item = (&str, usize)> {
    manifest
        .lines()
        .enumerate()
        .skip_while(|(_, line)| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|(_, line)| !line.starts_with('['))
        .filter_map(|(index, line)| Some((line.split_once(['=', '.'])?.0.trim(), index + 1)))
}

#[cfg(test)]
#[path = "dependencies_tests.rs"]
mod tests;
