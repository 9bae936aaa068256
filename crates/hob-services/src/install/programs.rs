//! Programs of the person's own that installing and running need: found on their path, asked for
//! their version.

use crate::found::Place;
use hob_exec::{Plan, Walls};
use hob_kit::world::Env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The oldest Python that the local model's server runs on.
pub const PYTHON_MINOR_MIN: u32 = 10;
/// Newest first after the one the person means by `python3`.
const PYTHONS: &[&str] = &[
    "python3",
    "python3.14",
    "python3.13",
    "python3.12",
    "python3.11",
    "python3.10",
];
/// Python ignores the folder it runs in, the person's own site folder and PYTHON* variables.
pub(crate) const ISOLATED: &str = "-I";
const REASON: &str = "a program is asked for its version";
const PATIENCE: Duration = Duration::from_secs(20);
/// Prints where it is, what it is, and whether it has pip.
const ASK_PYTHON: &str = "\
import sys
try:
    import pip
    has = 'pip'
except Exception:
    has = 'none'
print('hob', sys.version_info[0], sys.version_info[1], has, sys.executable)
";

/// A Python that is new enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Python {
    /// The program itself, not a wrapper that picks one.
    pub program: PathBuf,
    pub minor: u32,
    pub has_pip: bool,
}

/// The first Python on the path that is new enough, one with pip before one without.
pub async fn python(place: &Place<'_>) -> Option<Python> {
    let mut without_pip = None;
    for name in PYTHONS {
        let Some(program) = on_path(place.env, name) else {
            continue;
        };
        match ask_python(place, &program).await {
            Some(found) if found.has_pip => return Some(found),
            Some(found) => without_pip = without_pip.or(Some(found)),
            None => {}
        }
    }
    without_pip
}

async fn ask_python(place: &Place<'_>, program: &Path) -> Option<Python> {
    // In a folder that holds nothing which Python would take for a module.
    // Isolated: without the person's own site folder and its `usercustomize.py`, and without
    // PYTHON* variables.
    let argv = [
        program.as_os_str(),
        ISOLATED.as_ref(),
        "-c".as_ref(),
        ASK_PYTHON.as_ref(),
    ];
    let argv = argv.map(OsString::from).to_vec();
    let walls = Walls::Unsandboxed { reason: REASON };
    let mut plan = Plan::new(argv, PathBuf::from("/"), walls);
    plan.deadline = Some(PATIENCE);
    let child = place.spawner.spawn(plan).await.ok()?;
    let exit = child.wait().await.ok().filter(|exit| exit.is_success())?;
    told(&exit.stdout.text())
}

/// Reads what Python printed; none if it is too old.
fn told(text: &str) -> Option<Python> {
    let line = text.lines().find_map(|line| line.strip_prefix("hob "))?;
    let mut words = line.splitn(4, ' ');
    let major: u32 = words.next()?.parse().ok()?;
    let minor: u32 = words.next()?.parse().ok()?;
    let has_pip = words.next()? == "pip";
    let program = PathBuf::from(words.next()?.trim());
    let is_new = major == 3 && minor >= PYTHON_MINOR_MIN && program.is_absolute();
    is_new.then_some(Python {
        program,
        minor,
        has_pip,
    })
}

/// A program of this name on the person's path.
pub fn on_path(env: &Env, name: &str) -> Option<PathBuf> {
    hob_exec::programs::find_in(env.os("PATH")?, name)
}

#[cfg(test)]
#[path = "programs_tests.rs"]
mod tests;
