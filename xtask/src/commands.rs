//! The command table. The help is derived from it.

use crate::workspace::Workspace;
use crate::{dist, faults, package_check, recording, shell, suite, tidy};
use anyhow::{Result, bail};

struct XtaskCommand {
    name: &'static str,
    usage: &'static str,
    summary: &'static str,
    /// Returns whether everything passed.
    run: fn(&[String]) -> Result<bool>,
}

const COMMANDS: &[XtaskCommand] = &[
    XtaskCommand {
        name: "tidy",
        usage: "[--fast|--figures]",
        summary: "Check the project's rules, or print its figures; --fast: no clippy",
        run: run_tidy,
    },
    XtaskCommand {
        name: "test",
        usage: "[--first-answer] [NEXTEST ARGS]",
        summary: "Run every test, tidy first; asked for or in CI, a first answer last",
        run: suite::run,
    },
    XtaskCommand {
        name: "faults",
        usage: "[--break N|all] [--patches] [--kills N] [--seed N] [--minutes N] [N…]",
        summary: "Run the fault tests and print their figures; --break: see them fail",
        run: faults::run,
    },
    XtaskCommand {
        name: "soak",
        usage: "[--minutes N] [--seed N]",
        summary: "Do everything at once for ten minutes: nothing may grow or be lost",
        run: faults::soak,
    },
    XtaskCommand {
        name: "docs",
        usage: "",
        summary: "Write the generated pages under docs/ anew",
        run: run_docs,
    },
    XtaskCommand {
        name: "picture",
        usage: "",
        summary: "Record the session of the README's picture, docs/session.svg",
        run: recording::run,
    },
    XtaskCommand {
        name: "dist",
        usage: "",
        summary: "Make the packages: a tarball, a .deb, checksums and the install script",
        run: dist::run,
    },
    XtaskCommand {
        name: "packages",
        usage: "",
        summary: "Install and remove the packages of the debug build below a bare root",
        run: run_packages,
    },
    XtaskCommand {
        name: "bench",
        usage: "[BENCH ARGS]",
        summary: "Run the benchmarks beside their yardsticks",
        run: run_bench,
    },
];

/// Runs the command that the arguments name. Returns whether everything passed.
pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    let Some((name, rest)) = arguments.split_first() else {
        shell::say(&help());
        return Ok(false);
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        shell::say(&help());
        return Ok(true);
    }
    match COMMANDS.iter().find(|entry| entry.name == name) {
        Some(entry) => (entry.run)(rest),
        None => bail!("there is no command '{name}'\n\n{}", help()),
    }
}

fn help() -> String {
    let rows = COMMANDS.iter().map(|entry| {
        let call = format!("{} {}", entry.name, entry.usage);
        format!("  {}\n      {}", call.trim_end(), entry.summary)
    });
    let rows: Vec<String> = rows.collect();
    format!(
        "Development commands of hob.\n\nUsage: cargo xtask COMMAND\n\n{}",
        rows.join("\n")
    )
}

fn run_tidy(arguments: &[String]) -> Result<bool> {
    match arguments {
        [] => tidy::run(false),
        [flag] if flag == "--fast" => tidy::run(true),
        [flag] if flag == "--figures" => tidy::print_figures().map(|()| true),
        _ => bail!("tidy takes --fast, --figures or nothing"),
    }
}

/// Writes the generated pages, by running their tests in update mode.
fn run_docs(arguments: &[String]) -> Result<bool> {
    if !arguments.is_empty() {
        bail!("docs takes no arguments");
    }
    let mut tests = shell::cargo();
    tests.args(["test", "--quiet", "--workspace", "--test", "it", "docs::"]);
    shell::succeeds(tests.env("HOB_UPDATE_DOCS", "1"))
}

/// Tries the packages of a debug build.
fn run_packages(arguments: &[String]) -> Result<bool> {
    if !arguments.is_empty() {
        bail!("packages takes no arguments");
    }
    let mut build = shell::cargo();
    build.args(["build", "--quiet", "--workspace", "--bins", "--locked"]);
    Ok(shell::succeeds(&mut build)? && package_check::run(&Workspace::load()?.target))
}

/// Builds hob and the scripted model server with the `dist` profile, then runs the benchmarks. Each
/// package is built by itself, because building them together would unify their features.
fn run_bench(arguments: &[String]) -> Result<bool> {
    for package in ["hob", "hob-sim"] {
        let mut build = shell::cargo();
        build.args(["build", "--quiet", "--profile", "dist", "-p", package]);
        if !shell::succeeds(&mut build)? {
            return Ok(false);
        }
    }
    let mut bench = shell::cargo();
    bench.args([
        "run",
        "--quiet",
        "--profile",
        "dist",
        "-p",
        "hob-bench",
        "--",
    ]);
    shell::succeeds(bench.args(arguments))
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
