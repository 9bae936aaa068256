//! A command line that a person set: the check of a loop, or the command of a job. It runs without
//! a question, because the person set it, and in the same sandbox as every other command.
//!
//! Invariant: exactly the string that was set runs.

use super::{
    CommandArguments, SandboxedCommand, argv, check_command, command_runner, limits, network,
    sandbox_policy,
};
use crate::ToolEnv;
use crate::workspace_path::ToolRefusal;
use hob_exec::{SandboxMode, SpawnPlan};
use hob_wire::NetworkGrant;
use std::path::PathBuf;

/// A command line that a person set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserCommand {
    /// The command line, for bash.
    pub command: String,
    /// The folder it runs in and may change; without one it runs in `/` and changes nothing.
    pub workspace: Option<String>,
    pub network: NetworkGrant,
}

impl UserCommand {
    /// Checks whether it can ever run; the error is the reason.
    pub fn check(&self) -> Result<(), String> {
        check_command(&self.command).map_err(|ToolRefusal(reason)| reason)
    }

    /// Plans a run. Waits for the disk, and the first time for the probe of the sandbox support.
    pub async fn plan(&self, env: &ToolEnv) -> Result<SpawnPlan, String> {
        let planned = self.planned(env).await;
        planned.map_err(|ToolRefusal(reason)| reason)
    }

    async fn planned(&self, env: &ToolEnv) -> Result<SpawnPlan, ToolRefusal> {
        check_command(&self.command)?;
        let commands = command_runner(env)?;
        // Without a workspace there is nothing to scan, so the policy is made without waiting for the disk.
        if self.workspace.is_none() {
            let home = commands.home();
            let mut policy = sandbox_policy::read_only_policy(home, env.hidden());
            policy.network = network::access(self.network);
            let argv = argv(&self.command).iter().map(Into::into).collect();
            let mut plan = SpawnPlan::new(argv, PathBuf::from("/"), SandboxMode::Policy(policy));
            plan.limits = limits(&commands.settings.borrow());
            return Ok(plan);
        }
        let own = self.clone();
        let checked = tokio::task::spawn_blocking(move || {
            let arguments = CommandArguments {
                command: &own.command,
                cwd: None,
                network: own.network,
                hosts: None,
            };
            SandboxedCommand::in_workspace(own.workspace.as_deref(), arguments)
        });
        let interrupted = |_| {
            Err(ToolRefusal(
                "Checking the workspace was interrupted.".to_owned(),
            ))
        };
        let sandboxed = checked.await.unwrap_or_else(interrupted)?;
        sandboxed.plan(env).await
    }
}
