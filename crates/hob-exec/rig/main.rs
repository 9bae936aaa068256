//! What the tests of this crate start beside themselves: the shim alone, the recorder alone, and
//! a stand-in for the daemon that can be killed.

use hob_exec::{SandboxMode, SandboxPolicy, SpawnPlan, Spawner, SpawnerParts};
use hob_kit::host_environment::EnvVars;
use hob_kit::tasks::TaskGroup;
use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.first().and_then(|first| first.to_str()) {
        Some("parent") => match parent(&arguments[1..]) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Some(hob_exec::tmux::recording::SUBCOMMAND) => {
            hob_exec::tmux::recording::main(&arguments[1..])
        }
        _ => hob_exec::shim::main(&arguments),
    }
}

/// `parent PATH FOLDER SCRIPT [HIDDEN]`: runs the script in a sandbox (`PATH` says where bubblewrap
/// is looked for) that does not show `HIDDEN`, and waits.
fn parent(arguments: &[OsString]) -> Result<(), Box<dyn Error>> {
    let [search, folder, script, hidden @ ..] = arguments else {
        return Err("wrong arguments".into());
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let shim = vec![std::env::current_exe()?.into_os_string()];
        let found = EnvVars::from_pairs([("PATH", search.clone())]);
        let facts = hob_exec::spawner::probe(&shim, &found).await?;
        let spawner = Spawner::new(SpawnerParts {
            shim,
            env: EnvVars::from_pairs([("PATH", "/usr/bin:/bin")]),
            tasks: TaskGroup::new(),
            sandbox_support: Some(facts),
        });
        let folder = PathBuf::from(folder);
        let hidden = hidden.iter().map(PathBuf::from).collect();
        let policy = SandboxPolicy::workspace(std::slice::from_ref(&folder), None, hidden);
        let argv = vec!["bash".into(), "-c".into(), script.clone()];
        let child = spawner
            .spawn(SpawnPlan::new(argv, folder, SandboxMode::Policy(policy)))
            .await?;
        child.wait().await?;
        Ok(())
    })
}
