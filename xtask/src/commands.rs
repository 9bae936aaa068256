//! The command table: one row a command, from which the help derives.

use crate::{faults, shell, suite, tidy};
use anyhow::{Result, bail};

struct Entry {
    name: &'static str,
    usage: &'static str,
    summary: &'static str,
    /// Answers whether all is well.
    run: fn(&[String]) -> Result<bool>,
}

const COMMANDS: &[Entry] = &[
    Entry {
        name: "tidy",
        usage: "[--fast|--figures]",
        summary: "Check the rules of the house, or print its figures; --fast: no clippy",
        run: run_tidy,
    },
    Entry {
        name: "test",
        usage: "[--first-answer] [NEXTEST ARGS]",
        summary: "Run every test, tidy first; asked for or in CI, a first answer last",
        run: suite::run,
    },
    Entry {
        name: "faults",
        usage: "[--break N|all] [--kills N] [--seed N] [--minutes N] [N…]",
        summary: "Run the fault tests and print their figures",
        run: faults::run,
    },
    Entry {
        name: "soak",
        usage: "[--minutes N] [--seed N]",
        summary: "Do everything at once for ten minutes: nothing may grow or be lost",
        run: faults::soak,
    },
    Entry {
        name: "docs",
        usage: "",
        summary: "Write the generated pages under docs/ anew",
        run: run_docs,
    },
    Entry {
        name: "bench",
        usage: "[BENCH ARGS]",
        summary: "Run the benchmarks beside their yardsticks",
        run: run_bench,
    },
];

/// Runs the command that the arguments name. Answers whether all is well.
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
        "The workshop of hob.\n\nUsage: cargo xtask COMMAND\n\n{}",
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

/// The generated pages are what their own tests expect; told to update, the tests write them.
fn run_docs(arguments: &[String]) -> Result<bool> {
    if !arguments.is_empty() {
        bail!("docs takes no arguments");
    }
    let mut tests = shell::cargo();
    tests.args(["test", "--quiet", "--workspace", "--test", "it", "docs::"]);
    shell::succeeds(tests.env("HOB_UPDATE_DOCS", "1"))
}

/// The benchmarks drive the binary as it is packaged, against the scripted model server, so these
/// are built first; each by itself, so that neither gets what the other asks of a shared crate.
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
