//! The user's own programs that installing and running need: found on the path, asked for their
//! version.

use crate::discovery::DiscoveryContext;
use hob_exec::{SandboxMode, SpawnPlan};
use hob_kit::host_environment::EnvVars;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The oldest Python 3 minor version that the local model's server supports.
pub const PYTHON_MINOR_MIN: u32 = 10;
/// Names to try: the user's `python3`, then the newest first.
const PYTHONS: &[&str] = &[
    "python3",
    "python3.14",
    "python3.13",
    "python3.12",
    "python3.11",
    "python3.10",
];
/// Makes Python ignore its working folder, the user's site folder and `PYTHON*` variables.
pub(crate) const ISOLATED: &str = "-I";
const REASON: &str = "a program is asked for its version";
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Prints Python's version, `pip` if it has pip, and its path.
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
pub struct PythonProgram {
    /// The program itself, not a wrapper that selects one.
    pub program: PathBuf,
    pub minor: u32,
    pub has_pip: bool,
}

/// Finds the first Python on the path that is new enough, preferably with pip.
pub async fn find_python(context: &DiscoveryContext<'_>) -> Option<PythonProgram> {
    let mut without_pip = None;
    for name in PYTHONS {
        let Some(program) = find_on_path(context.env, name) else {
            continue;
        };
        match ask_python(context, &program).await {
            Some(found) if found.has_pip => return Some(found),
            Some(found) => without_pip = without_pip.or(Some(found)),
            None => {}
        }
    }
    without_pip
}

async fn ask_python(context: &DiscoveryContext<'_>, program: &Path) -> Option<PythonProgram> {
    // Runs in `/`, which contains no Python module. Isolated: a question about the version must not
    // run the user's `usercustomize.py` or obey `PYTHON*` variables.
    let argv = [
        program.as_os_str(),
        ISOLATED.as_ref(),
        "-c".as_ref(),
        ASK_PYTHON.as_ref(),
    ];
    let argv = argv.map(OsString::from).to_vec();
    let walls = SandboxMode::Unsandboxed { reason: REASON };
    let mut plan = SpawnPlan::new(argv, PathBuf::from("/"), walls);
    plan.deadline = Some(ANSWER_TIMEOUT);
    let child = context.spawner.spawn(plan).await.ok()?;
    let exit = child.wait().await.ok().filter(|exit| exit.is_success())?;
    parse_python(&exit.stdout.text())
}

/// Parses Python's answer; none if it is too old.
fn parse_python(text: &str) -> Option<PythonProgram> {
    // A wrapper may print other lines first.
    let line = text.lines().find_map(|line| line.strip_prefix("hob "))?;
    let mut words = line.splitn(4, ' ');
    let major: u32 = words.next()?.parse().ok()?;
    let minor: u32 = words.next()?.parse().ok()?;
    let has_pip = words.next()? == "pip";
    let program = PathBuf::from(words.next()?.trim());
    // `sys.executable` can be empty.
    let is_new = major == 3 && minor >= PYTHON_MINOR_MIN && program.is_absolute();
    is_new.then_some(PythonProgram {
        program,
        minor,
        has_pip,
    })
}

/// Finds a program on the user's path.
pub fn find_on_path(env: &EnvVars, name: &str) -> Option<PathBuf> {
    hob_exec::programs::find_in_path(env.os("PATH")?, name)
}

#[cfg(test)]
#[path = "programs_tests.rs"]
mod tests;
