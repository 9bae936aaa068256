//! A person's own command line: what a loop watches with, or what a job runs. Nobody is asked for
//! it, because setting it was the person's act; it runs behind the walls of every other command.
//!
//! Invariant: what runs is the string as it was set, and nothing else.

use super::{Errand, Said, argv, check_command, commands, limits, network, walls};
use crate::Ground;
use crate::spot::Refused;
use hob_exec::{Plan, Walls};
use hob_wire::NetworkGrant;
use std::path::PathBuf;

/// A command line that a person set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCommand {
    /// For bash.
    pub command: String,
    /// The folder it runs in and may change; without one it runs in `/` and changes nothing.
    pub workspace: Option<String>,
    pub network: NetworkGrant,
}

impl OwnCommand {
    /// Whether it could ever be run, or the reason.
    pub fn check(&self) -> Result<(), String> {
        check_command(&self.command).map_err(|Refused(reason)| reason)
    }

    /// The plan of a run, or why there is none. Waits for the disk, and at the first run for what
    /// the machine can enforce.
    pub async fn plan(&self, ground: &Ground) -> Result<Plan, String> {
        let planned = self.planned(ground).await;
        planned.map_err(|Refused(reason)| reason)
    }

    async fn planned(&self, ground: &Ground) -> Result<Plan, Refused> {
        check_command(&self.command)?;
        let commands = commands(ground)?;
        if self.workspace.is_none() {
            let home = commands.home();
            let mut policy = walls::looking_only(home, ground.hidden());
            policy.network = network::access(self.network);
            let argv = argv(&self.command).iter().map(Into::into).collect();
            let mut plan = Plan::new(argv, PathBuf::from("/"), Walls::Policy(policy));
            plan.limits = limits(&commands.settings.borrow());
            return Ok(plan);
        }
        let own = self.clone();
        let checked = tokio::task::spawn_blocking(move || {
            let said = Said {
                command: &own.command,
                cwd: None,
                network: own.network,
                hosts: None,
            };
            Errand::within(own.workspace.as_deref(), said)
        });
        let interrupted = |_| Err(Refused("Looking around was interrupted.".to_owned()));
        let errand = checked.await.unwrap_or_else(interrupted)?;
        errand.plan(ground).await
    }
}
