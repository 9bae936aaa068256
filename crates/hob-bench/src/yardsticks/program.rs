//! A program started bare and waited for, its output read to the end.

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs it in a folder; it must succeed and print `lines` lines, or any number.
#[expect(
    clippy::disallowed_methods,
    reason = "a yardstick stands on nothing of ours"
)]
pub(crate) fn run(words: &[&str], folder: &Path, lines: Option<usize>) -> Result<Duration> {
    let [program, arguments @ ..] = words else {
        bail!("no program is named");
    };
    let started = Instant::now();
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .with_context(|| format!("start {program}; is it installed?"))?;
    let elapsed = started.elapsed();
    let printed = String::from_utf8_lossy(&output.stdout).lines().count();
    if !output.status.success() || lines.is_some_and(|lines| lines != printed) {
        bail!("{words:?} ended with {} and {printed} lines", output.status);
    }
    Ok(elapsed)
}
