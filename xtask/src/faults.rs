//! `cargo xtask faults`: runs the fault tests against the built binary and prints one table.
//! `--break N` builds a copy of hob with the sabotage patch of fault N and succeeds only if the
//! tests of that fault go red.
//!
//! The list of faults is read from the table in the tests, so there is only one.

use crate::sabotage::{self, PatchSelection, SabotagePatch, SabotageTree};
use crate::shell;
use crate::suite::{ReportFile, TestRunner, build_fault_binary};
use crate::tools::Toolbox;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::path::Path;

/// The file with the table of faults.
const TABLE: &str = "crates/hob/tests/it/faults/mod.rs";
/// The report of nextest, as configured in `.config/nextest.toml`.
const OUTCOMES: &str = "target/nextest/faults/junit.xml";

/// The fault test that is a soak, and its default length.
const SOAK: u32 = 100;
const SOAK_MINUTES: u64 = 10;

/// One row of the tests' table of faults.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FaultTest {
    pub(crate) number: u32,
    pub(crate) test: String,
    pub(crate) expects: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TestVerdict {
    Held,
    Failed,
    NotRun,
}

/// The parsed arguments.
#[derive(Debug, Default, PartialEq, Eq)]
struct FaultOptions {
    breaking: Vec<u32>,
    /// Only check that every sabotage patch applies and compiles.
    check_patches: bool,
    kills: Option<u64>,
    seed: Option<u64>,
    /// Length of the soak; without it, the short form of the ordinary tests.
    soak_minutes: Option<u64>,
    only: Vec<u32>,
}

pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    let faults = read_faults()?;
    let options = read_options(arguments, &faults)?;
    if TestRunner::find()? != TestRunner::Nextest {
        bail!("the table is made from nextest's report: `cargo install --locked cargo-nextest`");
    }
    let target = Workspace::load()?.target;
    if options.check_patches {
        return sabotage::check(&target, PatchSelection::All);
    }
    let runner = FaultRunner {
        toolbox: Toolbox::prepare(&target)?,
        reports: ReportFile::fresh(&target.join("faults"), "figures")?,
        options: &options,
    };
    if options.breaking.is_empty() {
        build_fault_binary(&target)?;
        return runner.try_all(&faults);
    }
    let tree = SabotageTree::new(&target);
    let patches = sabotage::read_patches()?;
    let is_wanted = |number: u32| options.breaking.contains(&number);
    let wanted: Vec<&SabotagePatch> = patches.iter().filter(|it| is_wanted(it.number)).collect();
    for fault in sabotage::uncovered(&faults, &patches) {
        if is_wanted(fault.number) {
            shell::warn(&format!("{} has no sabotage", fault.test));
        }
    }
    let mut all_red = !wanted.is_empty();
    for patch in wanted {
        all_red &= runner.try_broken(patch, &tree, &faults)?;
    }
    Ok(all_red)
}

/// Reads the table of the tests.
pub(crate) fn read_faults() -> Result<Vec<FaultTest>> {
    let path = shell::root().join(TABLE);
    let table = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    read_table(&table)
}

/// `cargo xtask soak`: the fault test that does everything at once, for minutes instead of seconds.
pub(crate) fn soak(arguments: &[String]) -> Result<bool> {
    let mut all = vec![SOAK.to_string()];
    if !arguments.iter().any(|argument| argument == "--minutes") {
        all.extend(["--minutes".to_owned(), SOAK_MINUTES.to_string()]);
    }
    all.extend_from_slice(arguments);
    run(&all)
}

/// Runs fault tests and collects their reports.
struct FaultRunner<'a> {
    toolbox: Toolbox,
    reports: ReportFile,
    options: &'a FaultOptions,
}

impl FaultRunner<'_> {
    fn try_all(&self, faults: &[FaultTest]) -> Result<bool> {
        let wanted: Vec<&FaultTest> = faults
            .iter()
            .filter(|fault| {
                self.options.only.is_empty() || self.options.only.contains(&fault.number)
            })
            .collect();
        let outcomes = self.outcomes(&wanted, None)?;
        let reports = self.reports.lines();
        let rows: Vec<FaultRow> = wanted
            .iter()
            .map(|fault| FaultRow::new(fault, &outcomes, &reports))
            .collect();
        shell::say(&render(&rows));
        let failed = rows
            .iter()
            .filter(|row| row.verdict == TestVerdict::Failed)
            .count();
        let not_run = rows
            .iter()
            .filter(|row| row.verdict == TestVerdict::NotRun)
            .count();
        shell::say(&format!(
            "{} held, {failed} failed, {not_run} not run",
            rows.len() - failed - not_run
        ));
        Ok(failed == 0 && (not_run == 0 || !shell::in_ci()))
    }

    /// Tests a build with this patch; returns whether every test that it covers went red.
    fn try_broken(
        &self,
        patch: &SabotagePatch,
        tree: &SabotageTree,
        faults: &[FaultTest],
    ) -> Result<bool> {
        shell::step(&format!("build with {}: {}", patch.name, patch.sentence));
        let binary = tree.build(patch)?;
        let covered: Vec<&FaultTest> = faults.iter().filter(|it| patch.covers(it)).collect();
        let outcomes = self.outcomes(&covered, Some(&binary))?;
        let reports = self.reports.lines();
        let mut all_red = true;
        for fault in covered {
            let verdict = FaultRow::new(fault, &outcomes, &reports).verdict;
            all_red &= verdict == TestVerdict::Failed;
            let what = match verdict {
                TestVerdict::Failed => "went red, as it must",
                TestVerdict::Held => "STAYED GREEN: it does not guard what it says",
                TestVerdict::NotRun => "could not run here",
            };
            shell::say(&format!("{}: {} {what}", patch.name, fault.test));
        }
        Ok(all_red)
    }

    /// Runs the tests of these faults, with the sabotaged binary if there is one, and returns each
    /// test's verdict.
    fn outcomes(
        &self,
        faults: &[&FaultTest],
        sabotaged: Option<&Path>,
    ) -> Result<Vec<(String, TestVerdict)>> {
        shell::step("fault tests");
        let outcomes = shell::root().join(OUTCOMES);
        remove(&outcomes)?;
        let tests: Vec<String> = faults
            .iter()
            .map(|fault| format!("test(/::{}$/)", fault.test))
            .collect();
        let mut command = TestRunner::Nextest.command("faults");
        command.args(["--package", "hob", "--locked", "-E", &tests.join(" | ")]);
        command.env("HOB_FIGURES", &self.reports.path);
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        for (name, value) in [
            ("HOB_FAULT_KILLS", number(self.options.kills)),
            ("HOB_FAULT_SEED", number(self.options.seed)),
            ("HOB_SOAK_MINUTES", number(self.options.soak_minutes)),
        ] {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        if let Some(binary) = sabotaged {
            command.env("HOB_FAULT_BIN", binary);
        }
        // Whether they pass is read from the report, which a failed build does not write.
        shell::succeeds(self.toolbox.equip(&mut command))?;
        let report = std::fs::read_to_string(&outcomes).context("the fault tests did not run")?;
        Ok(read_outcomes(&report))
    }
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

fn read_options(arguments: &[String], faults: &[FaultTest]) -> Result<FaultOptions> {
    let mut options = FaultOptions::default();
    let mut rest = arguments.iter();
    let known = |text: &str| -> Result<u32> {
        let number = text
            .parse()
            .with_context(|| format!("'{text}' is no fault's number"))?;
        if !faults.iter().any(|fault| fault.number == number) {
            bail!("fault {number} has no test");
        }
        Ok(number)
    };
    while let Some(argument) = rest.next() {
        let mut value = || {
            let value = rest.next();
            value.with_context(|| format!("{argument} needs a value"))
        };
        match argument.as_str() {
            "--break" => match value()?.as_str() {
                "all" => options.breaking = faults.iter().map(|fault| fault.number).collect(),
                number => options.breaking.push(known(number)?),
            },
            "--patches" => options.check_patches = true,
            "--kills" => options.kills = Some(value()?.parse().context("--kills takes a number")?),
            "--seed" => options.seed = Some(value()?.parse().context("--seed takes a number")?),
            "--minutes" => {
                let minutes = value()?.parse().context("--minutes takes a number")?;
                options.soak_minutes = Some(minutes);
            }
            number => options.only.push(known(number)?),
        }
    }
    Ok(options)
}

/// Reads `const FAULTS: &[Fault] = &[Fault { number, test, expects }, …]`.
fn read_table(text: &str) -> Result<Vec<FaultTest>> {
    let file = syn::parse_file(text).context("the table of faults is not Rust")?;
    let rows = file.items.into_iter().find_map(|item| match item {
        syn::Item::Const(item) if item.ident == "FAULTS" => match *item.expr {
            syn::Expr::Reference(reference) => match *reference.expr {
                syn::Expr::Array(array) => Some(array.elems),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let rows = rows.with_context(|| format!("{TABLE} has no `const FAULTS: &[Fault]`"))?;
    rows.iter().map(read_row).collect()
}

fn read_row(row: &syn::Expr) -> Result<FaultTest> {
    let syn::Expr::Struct(row) = row else {
        bail!("a row of the table of faults is not `Fault {{ … }}`");
    };
    let field = |name: &str| {
        let field = row.fields.iter().find(|field| match &field.member {
            syn::Member::Named(ident) => ident == name,
            syn::Member::Unnamed(_) => false,
        });
        match field.map(|field| &field.expr) {
            Some(syn::Expr::Lit(literal)) => Ok(&literal.lit),
            _ => bail!("a row of the table of faults has no plain `{name}`"),
        }
    };
    let text = |name: &str| match field(name)? {
        syn::Lit::Str(text) => Ok(text.value()),
        _ => bail!("`{name}` of a fault is not a text"),
    };
    let number = match field("number")? {
        syn::Lit::Int(number) => number.base10_parse()?,
        _ => bail!("`number` of a fault is not a number"),
    };
    Ok(FaultTest {
        number,
        test: text("test")?,
        expects: text("expects")?,
    })
}

/// Reads each test's name and end from a `JUnit` report.
fn read_outcomes(report: &str) -> Vec<(String, TestVerdict)> {
    let cases = report.split("<testcase ").skip(1);
    cases
        .filter_map(|case| {
            let name = case.split_once("name=\"")?.1.split_once('"')?.0;
            let case = case.split("</testcase>").next()?;
            let has_failed = case.contains("<failure") || case.contains("<error");
            let verdict = if has_failed {
                TestVerdict::Failed
            } else {
                TestVerdict::Held
            };
            Some((name.to_owned(), verdict))
        })
        .collect()
}

fn verdict(test: &str, outcomes: &[(String, TestVerdict)]) -> TestVerdict {
    let named = outcomes
        .iter()
        .find(|(name, _)| name.rsplit("::").next() == Some(test));
    named.map_or(TestVerdict::NotRun, |(_, verdict)| *verdict)
}

/// One line of the printed table.
#[derive(Debug)]
struct FaultRow {
    number: u32,
    fault: String,
    expects: String,
    verdict: TestVerdict,
    figures: String,
}

impl FaultRow {
    fn new(fault: &FaultTest, outcomes: &[(String, TestVerdict)], reports: &[String]) -> FaultRow {
        let after = |prefix: &str| -> Vec<&str> {
            let prefix = format!("{prefix} {} ", fault.number);
            let of_this = reports.iter().filter_map(|line| line.strip_prefix(&prefix));
            of_this.collect()
        };
        let not_run = after("NOT RUN");
        let figures = if not_run.is_empty() {
            after("FIGURE")
        } else {
            not_run.clone()
        };
        let verdict = match verdict(&fault.test, outcomes) {
            TestVerdict::Held if !not_run.is_empty() => TestVerdict::NotRun,
            other => other,
        };
        let words = fault.test.split('_').skip(1).collect::<Vec<_>>();
        FaultRow {
            number: fault.number,
            fault: words.join(" "),
            expects: fault.expects.clone(),
            verdict,
            figures: figures.join("; "),
        }
    }
}

fn render(rows: &[FaultRow]) -> String {
    let width = |text: fn(&FaultRow) -> &str, least: usize| {
        let widest = rows.iter().map(|row| text(row).chars().count()).max();
        widest.unwrap_or_default().max(least)
    };
    let fault = width(|row| &row.fault, "fault".len());
    let expects = width(|row| &row.expects, "expects".len());
    let line = |number: &str, name: &str, expectation: &str, verdict: &str, figures: &str| {
        format!("{number:>3}  {name:<fault$}  {expectation:<expects$}  {verdict:<7}  {figures}\n")
    };
    let mut text = line("#", "fault", "expects", "verdict", "figures");
    for row in rows {
        let verdict = match row.verdict {
            TestVerdict::Held => "held",
            TestVerdict::Failed => "FAILED",
            TestVerdict::NotRun => "not run",
        };
        let number = row.number.to_string();
        text.push_str(&line(
            &number,
            &row.fault,
            &row.expects,
            verdict,
            &row.figures,
        ));
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
#[path = "faults_tests.rs"]
mod tests;
