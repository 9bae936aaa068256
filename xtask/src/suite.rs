//! `cargo xtask test`: every test of the project, fastest checks first. In CI the README's first
//! command comes last.

use crate::sabotage::{self, PatchSelection};
use crate::tools::Toolbox;
use crate::workspace::Workspace;
use crate::{first_answer, package_check, shell, tidy};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    let target = Workspace::load()?.target;
    let (with_first_answer, arguments) = first_answer::wanted(arguments);
    let toolbox = Toolbox::prepare(&target)?;
    let runner = TestRunner::find()?;
    let reports = ReportFile::fresh(&target.join("faults"), "test")?;
    let tidy = tidy::run(false)?;
    // After clippy, with which it shares the checked dependencies.
    let sabotage = sabotage::check(&target, PatchSelection::ByCommit)?;
    build_fault_binary(&target)?;
    shell::step("doc tests");
    let doc_tests = shell::succeeds(shell::cargo().args([
        "test",
        "--quiet",
        "--workspace",
        "--doc",
        "--locked",
    ]))?;
    shell::step("tests");
    let mut tests = runner.command("default");
    tests.args(["--workspace", "--locked"]).args(arguments);
    let passed = shell::succeeds(toolbox.equip(&mut tests).env("HOB_FIGURES", &reports.path))?;
    for line in reports.not_run() {
        shell::warn(&line);
    }
    let packed = package_check::run(&target);
    let answered = !with_first_answer || first_answer::run(&target)?;
    let steps = [
        ("tidy", tidy),
        ("sabotage patches", sabotage),
        ("doc tests", doc_tests),
        ("tests", passed),
        ("packages", packed),
        ("first answer", answered),
    ];
    for (step, _) in steps.iter().filter(|(_, is_well)| !is_well) {
        shell::warn(&format!("xtask: {step} failed"));
    }
    Ok(steps.iter().all(|(_, is_well)| *is_well))
}

/// Builds hob with failpoints as `hob-faults`, beside the ordinary binary. The shipped build never
/// has failpoints, so these are two files.
pub(crate) fn build_fault_binary(target: &Path) -> Result<()> {
    shell::step("fault binary");
    // With `--workspace` its dependencies get the features that the tests need, so they are built
    // only once.
    let built = shell::succeeds(shell::cargo().args([
        "build",
        "--workspace",
        "--bin",
        "hob",
        "--features",
        "hob/failpoints",
        "--locked",
    ]))?;
    if !built {
        bail!("hob does not build with its failpoints");
    }
    let debug = target.join("debug");
    std::fs::copy(debug.join("hob"), debug.join("hob-faults")).context("cannot copy hob")?;
    Ok(())
}

/// The test runner: nextest, or plain cargo where that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestRunner {
    Nextest,
    Cargo,
}

impl TestRunner {
    pub(crate) fn find() -> Result<TestRunner> {
        if shell::quietly(shell::cargo().args(["nextest", "--version"])) {
            return Ok(TestRunner::Nextest);
        }
        let advice = "Get it with `cargo install --locked cargo-nextest`.";
        if shell::in_ci() {
            bail!("cargo-nextest is missing. {advice}");
        }
        shell::warn(&format!(
            "cargo-nextest is missing, so plain `cargo test` runs the tests. {advice}"
        ));
        Ok(TestRunner::Cargo)
    }

    /// The command that runs tests; the profile is one of `.config/nextest.toml`.
    pub(crate) fn command(self, profile: &str) -> Command {
        let mut command = shell::cargo();
        match self {
            TestRunner::Nextest => command.args(["nextest", "run", "--profile", profile]),
            TestRunner::Cargo => command.args(["test", "--no-fail-fast"]),
        };
        command
    }
}

/// The file in which tests leave figures (`FIGURE N …`) and what they could not try (`NOT RUN …`).
pub(crate) struct ReportFile {
    pub(crate) path: PathBuf,
}

impl ReportFile {
    /// An empty file of this name.
    pub(crate) fn fresh(folder: &Path, name: &str) -> Result<ReportFile> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{name}.txt"));
        std::fs::write(&path, "").with_context(|| format!("cannot write {}", path.display()))?;
        Ok(ReportFile { path })
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn not_run(&self) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| line.starts_with("NOT RUN"));
        lines
    }
}
