//! Runs a short program of the system for a command of hob, as the user and outside the sandbox:
//! the service manager, tmux.
//!
//! Invariant: it ends within [`TIME_MAX`].

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use hob_exec::{SandboxMode, SpawnPlan, Spawner, SpawnerParts};
use hob_kit::tasks::TaskGroup;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The longest run of such a program.
const TIME_MAX: Duration = Duration::from_secs(30);
/// The variables by which programs find the session of the user.
const SESSION_VARIABLES: [&str; 2] = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// The end of a program.
#[derive(Clone, Debug)]
pub(crate) struct ProcessResult {
    pub(crate) is_success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program to its end.
pub(crate) async fn run(
    context: &CommandContext,
    argv: Vec<OsString>,
    reason: &'static str,
) -> Result<ProcessResult, CommandFailure> {
    let name = argv.first().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let failed = |why: String| CommandFailure::failed(format!("{name} cannot be run: {why}."));
    let spawner = Spawner::new(SpawnerParts {
        shim: hob_exec::spawner::own_shim(),
        env: context.host.env.clone(),
        tasks: TaskGroup::new(),
        sandbox_support: None,
    });
    let sandbox = SandboxMode::Unsandboxed { reason };
    let mut plan = SpawnPlan::new(argv, PathBuf::from("/"), sandbox);
    plan.deadline = Some(TIME_MAX);
    for variable in SESSION_VARIABLES {
        if let Some(value) = context.host.env.os(variable) {
            plan.env.push((variable.into(), value.into()));
        }
    }
    let child = spawner.spawn(plan).await;
    let child = child.map_err(|error| failed(error.to_string()))?;
    let exit = child
        .wait()
        .await
        .map_err(|error| failed(error.to_string()))?;
    Ok(ProcessResult {
        is_success: exit.is_success(),
        stdout: exit.stdout.text(),
        stderr: exit.stderr.text(),
    })
}
