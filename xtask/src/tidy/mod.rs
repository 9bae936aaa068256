//! `cargo xtask tidy`: the project's rules that a machine can check, one file each. Every rule has
//! a test in which it fires.

mod dependencies;
mod figures;
mod foreign_products;
mod headers;
mod layers;
mod licences;
mod links;
mod map;
mod names;
mod panics;
mod purity;
mod sizes;
mod unused;

use crate::shell;
use crate::source::{ProjectFile, RustSource, pages};
use crate::workspace::Workspace;
use anyhow::Result;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

/// A violated rule: where, what, and how to fix it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TidyFinding {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) what: String,
    pub(crate) remedy: &'static str,
}

impl TidyFinding {
    fn new(path: &str, line: usize, what: impl Into<String>, remedy: &'static str) -> TidyFinding {
        TidyFinding {
            path: path.to_owned(),
            line,
            what: what.into(),
            remedy,
        }
    }
}

impl fmt::Display for TidyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}. {}",
            self.path, self.line, self.what, self.remedy
        )
    }
}

type SourceRule = fn(&RustSource) -> Vec<TidyFinding>;
type WorkspaceRule = fn(&Workspace) -> Vec<TidyFinding>;
type ProjectRule = fn(&Workspace, &[ProjectFile]) -> Vec<TidyFinding>;

/// Rules about one Rust file.
const SOURCE_RULES: &[SourceRule] = &[
    headers::check,
    sizes::check,
    panics::check,
    names::check,
    purity::check,
];

/// Rules about our crates and their dependencies.
const WORKSPACE_RULES: &[WorkspaceRule] =
    &[layers::check, licences::check, purity::check_dependencies];

/// Rules about the text of the whole project.
const PROJECT_RULES: &[ProjectRule] = &[
    dependencies::check,
    foreign_products::check,
    map::check,
    links::check,
    unused::check,
];

/// Names that `--figures` lists as shared by most types.
const MOST_SHARED_ROWS: usize = 40;

/// Checks everything; with `fast`, all but clippy. Returns whether no rule is violated.
pub(crate) fn run(fast: bool) -> Result<bool> {
    shell::step("tidy");
    let workspace = Workspace::load()?;
    let pages = pages(&shell::root())?;
    let findings = check(&workspace, &pages);
    for finding in &findings {
        shell::warn(&finding.to_string());
    }
    let formatted = shell::succeeds(shell::cargo().args(["fmt", "--all", "--check", "--", "-l"]))?;
    if !formatted {
        shell::warn("The code is not formatted. Run `cargo fmt --all`.");
    }
    let linted = fast || clippy()?;
    let rust = pages.iter().filter(|page| is_rust(page)).count();
    shell::say(&format!(
        "tidy: {} in {rust} Rust files of {} crates{}",
        count(findings.len()),
        workspace.members.len(),
        if fast { ", clippy not run" } else { "" },
    ));
    Ok(findings.is_empty() && formatted && linted)
}

/// Prints the figures of the code's language and size.
pub(crate) fn print_figures() -> Result<()> {
    let figures = figures::CodeFigures::of(&pages(&shell::root())?);
    shell::say(&figures.table());
    shell::say(&format!(
        "\nshared most: {}",
        figures.most_shared(MOST_SHARED_ROWS)
    ));
    Ok(())
}

fn check(workspace: &Workspace, pages: &[ProjectFile]) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for page in pages.iter().filter(|page| is_rust(page)) {
        match RustSource::parse(&page.path, &page.text) {
            Ok(source) => findings.extend(SOURCE_RULES.iter().flat_map(|rule| rule(&source))),
            Err(error) => findings.push(TidyFinding::new(
                &page.path,
                error.span().start().line,
                format!("this is not Rust: {error}"),
                "Mend it.",
            )),
        }
    }
    findings.extend(WORKSPACE_RULES.iter().flat_map(|rule| rule(workspace)));
    findings.extend(PROJECT_RULES.iter().flat_map(|rule| rule(workspace, pages)));
    findings.sort();
    findings
}

fn clippy() -> Result<bool> {
    shell::step("clippy");
    shell::succeeds(shell::cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        // The fault build's code is code too.
        "--all-features",
        "--locked",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ]))
}

fn is_rust(page: &ProjectFile) -> bool {
    Path::new(&page.path).extension() == Some(OsStr::new("rs"))
}

fn count(findings: usize) -> String {
    match findings {
        0 => "nothing to mend".to_owned(),
        1 => "1 thing to mend".to_owned(),
        many => format!("{many} things to mend"),
    }
}

#[cfg(test)]
#[path = "fixtures_tests.rs"]
mod fixtures;
