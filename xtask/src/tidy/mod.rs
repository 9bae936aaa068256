//! The rules of the house that a machine can check. One file a rule; each has a test that sees it
//! fire, because a rule that never fires is no rule.

mod dependencies;
mod figures;
mod floors;
mod headers;
mod licences;
mod links;
mod map;
mod names;
mod panics;
mod purity;
mod sizes;
mod unused;

use crate::shell;
use crate::source::{Page, Source, pages};
use crate::workspace::Workspace;
use anyhow::Result;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

/// Something to mend: where, what, and how.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) what: String,
    pub(crate) remedy: &'static str,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>, remedy: &'static str) -> Finding {
        Finding {
            path: path.to_owned(),
            line,
            what: what.into(),
            remedy,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}. {}",
            self.path, self.line, self.what, self.remedy
        )
    }
}

type SourceRule = fn(&Source) -> Vec<Finding>;
type WorkspaceRule = fn(&Workspace) -> Vec<Finding>;
type ProjectRule = fn(&Workspace, &[Page]) -> Vec<Finding>;

/// Rules about one Rust file.
const SOURCE_RULES: &[SourceRule] = &[
    headers::check,
    sizes::check,
    panics::check,
    names::check,
    purity::check,
];

/// Rules about our crates and what they depend on.
const WORKSPACE_RULES: &[WorkspaceRule] =
    &[floors::check, licences::check, purity::check_dependencies];

/// Rules about the text of the whole project.
const PROJECT_RULES: &[ProjectRule] =
    &[dependencies::check, map::check, links::check, unused::check];

/// Names that `--figures` lists as shared by most types.
const MOST_SHARED_ROWS: usize = 40;

/// Checks everything; with `fast`, all but clippy. Answers whether the house is in order.
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
    let figures = figures::Figures::of(&pages(&shell::root())?);
    shell::say(&figures.table());
    shell::say(&format!(
        "\nshared most: {}",
        figures.most_shared(MOST_SHARED_ROWS)
    ));
    Ok(())
}

fn check(workspace: &Workspace, pages: &[Page]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in pages.iter().filter(|page| is_rust(page)) {
        match Source::parse(&page.path, &page.text) {
            Ok(source) => findings.extend(SOURCE_RULES.iter().flat_map(|rule| rule(&source))),
            Err(error) => findings.push(Finding::new(
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

fn is_rust(page: &Page) -> bool {
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
