//! `CommandRunner` that a person set, run in the sandbox with their grants: a loop's monitor, a job's
//! command. Setting one is the person's act and is recorded with its bytes; running it asks nobody.
//!
//! Invariants: exactly the string that was set is run; nothing of it, nor anything it started,
//! outlives its deadline or its stop; the kept output is bounded; a command that fails or hangs is
//! an outcome, never an error.

use crate::RoomContext;
use hob_core::permission::{PreparedCall, to_audit_value};
use hob_exec::shim_protocol::{ExitCause, WaitStatus};
use hob_exec::{ChildExit, OutputMode};
use hob_kit::mask::SecretMask;
use hob_store::{AuditedDecision, NewAuditEntry, Store};
use hob_tools::{CommandRunner, SpawnedCommand, ToolEnv, UserCommand, left_behind_note};
use hob_wire::rooms::loops::MonitorOutput;
use hob_wire::work::ToolContext;
use hob_wire::{NetworkGrant, WireError};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Default timeout of a command.
pub const TIMEOUT_MS: u64 = 30_000;
/// Longest timeout of a command.
pub const TIMEOUT_MS_MAX: u64 = 60 * 60 * 1_000;
/// Bytes of head and tail kept of each stream.
pub const OUTPUT_BYTES_MAX: usize = 16 * 1_024;
/// Most commands running at once; others wait.
const RUNNING_MAX: usize = 32;

/// A command that a person set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledCommand {
    /// The command line, for bash.
    pub command: String,
    /// The folder that it runs in and may change; without one it runs in `/` and may change
    /// nothing.
    pub workspace: Option<String>,
    pub network: NetworkGrant,
    /// Default [`TIMEOUT_MS`], at most [`TIMEOUT_MS_MAX`].
    pub timeout_ms: Option<u64>,
}

impl ScheduledCommand {
    /// Returns an error sentence for a command that can never run.
    pub fn check(&self) -> Result<(), String> {
        self.to_user_command().check()?;
        let timeout = self.timeout_ms.unwrap_or(TIMEOUT_MS);
        if !(1..=TIMEOUT_MS_MAX).contains(&timeout) {
            return Err(format!(
                "A command may take between 1 and {TIMEOUT_MS_MAX} ms, not {timeout}."
            ));
        }
        Ok(())
    }

    fn to_user_command(&self) -> UserCommand {
        UserCommand {
            command: self.command.clone(),
            workspace: self.workspace.clone(),
            network: self.network,
        }
    }

    /// A hash of everything that determines what is run.
    fn digest(&self) -> String {
        let work = PreparedCall {
            tool: "own".to_owned(),
            fingerprint: String::new(),
            args: json!({ "command": self.command, "network": self.network }),
            context: ToolContext {
                workspace: self.workspace.clone(),
                ..ToolContext::default()
            },
            state: None,
        };
        work.digest()
    }
}

/// The outcome of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandOutcome {
    /// Missing if the command was killed or did not start.
    pub exit_code: Option<i32>,
    /// Head and tail, with a note about the omitted part.
    pub stdout: String,
    pub stderr: String,
    pub duration_ms: u64,
    /// The reason for a missing exit code.
    pub problem: Option<String>,
}

impl CommandOutcome {
    pub fn is_success(&self) -> bool {
        self.exit_code == Some(0)
    }

    /// The output as a loop shows it.
    pub fn into_output(self, at: u64) -> MonitorOutput {
        MonitorOutput {
            at,
            duration_ms: self.duration_ms,
            exit_code: self.exit_code,
            stdout: self.stdout,
            stderr: self.stderr,
            problem: self.problem,
        }
    }

    fn add_to_stderr(&mut self, line: &str) {
        if !self.stderr.is_empty() && !self.stderr.ends_with('\n') {
            self.stderr.push('\n');
        }
        self.stderr.push('(');
        self.stderr.push_str(line);
        self.stderr.push_str(")\n");
    }

    fn not_run(problem: String) -> CommandOutcome {
        CommandOutcome {
            problem: Some(problem),
            ..CommandOutcome::default()
        }
    }
}

/// Runs scheduled commands. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ScheduledCommandRunner {
    tool_env: ToolEnv,
    commands: CommandRunner,
    mask: SecretMask,
    slots: Arc<Semaphore>,
}

impl ScheduledCommandRunner {
    /// hob's own folders are hidden from every command. Its secrets are masked in the output: a loop
    /// shows it to its model, and jobs store it.
    pub fn new(context: &RoomContext, commands: CommandRunner) -> ScheduledCommandRunner {
        let tool_env = ToolEnv::new(context.clock.clone(), context.home.folders());
        ScheduledCommandRunner {
            tool_env: tool_env.with_commands(commands.clone()),
            commands,
            mask: context.mask.clone(),
            slots: Arc::new(Semaphore::new(RUNNING_MAX)),
        }
    }

    /// Runs a command to its end, its deadline or until `stop` is cancelled. Nothing it started is
    /// left then.
    pub async fn run(
        &self,
        scheduled: &ScheduledCommand,
        stop: &CancellationToken,
    ) -> CommandOutcome {
        let stopped = || CommandOutcome::not_run("It was stopped before it began.".to_owned());
        let begun = async {
            // The semaphore is never closed.
            let slot = self.slots.acquire().await;
            let own = scheduled.to_user_command();
            (slot, own.plan(&self.tool_env).await)
        };
        // The slot is held until the command has ended.
        let (_slot, plan) = tokio::select! {
            begun = begun => begun,
            () = stop.cancelled() => return stopped(),
        };
        let mut plan = match plan {
            Ok(plan) => plan,
            Err(reason) => return CommandOutcome::not_run(reason),
        };
        let timeout_ms = scheduled
            .timeout_ms
            .unwrap_or(TIMEOUT_MS)
            .min(TIMEOUT_MS_MAX);
        plan.deadline = Some(Duration::from_millis(timeout_ms.max(1)));
        plan.output_mode = OutputMode::Kept;
        plan.mask = Some(self.mask.clone());
        plan.limits.kept_output_bytes = OUTPUT_BYTES_MAX;
        let SpawnedCommand { child, report } = match self.commands.spawn(plan, &[]).await {
            Ok(spawned) => spawned,
            Err(error) => return CommandOutcome::not_run(error.to_string()),
        };
        let ended = tokio::select! {
            ended = child.wait() => ended,
            () = stop.cancelled() => child.cancel().await,
        };
        let mut outcome = match ended {
            Ok(exit) => outcome_of_exit(&exit, timeout_ms),
            Err(error) => CommandOutcome::not_run(error.to_string()),
        };
        if let Some(line) = report.and_then(|report| report.refusal()) {
            outcome.add_to_stderr(&line);
        }
        outcome
    }
}

fn outcome_of_exit(exit: &ChildExit, timeout_ms: u64) -> CommandOutcome {
    let problem = match (exit.cause, exit.status) {
        (ExitCause::Itself, WaitStatus::Code(_)) => None,
        (ExitCause::Itself, WaitStatus::Signal(signal)) => {
            Some(format!("It was ended by signal {signal}."))
        }
        (ExitCause::Cancelled, _) => {
            Some("It was stopped with everything it had started.".to_owned())
        }
        (ExitCause::Deadline, _) => Some(format!(
            "It took longer than {timeout_ms} ms and was ended with everything it had started."
        )),
        (ExitCause::Processes, _) => Some(
            "It had too many processes and was ended with everything it had started.".to_owned(),
        ),
        (ExitCause::Replaced, _) => {
            Some("Its script was replaced while it ran, so it was ended.".to_owned())
        }
        (ExitCause::Disk, _) => {
            Some("A disk it writes to was nearly full, so it was ended.".to_owned())
        }
    };
    CommandOutcome {
        exit_code: problem.is_none().then(|| exit.status.code()),
        stdout: exit.stdout.text(),
        stderr: exit.stderr.text() + &left_behind_note(&exit.left_behind),
        duration_ms: u64::try_from(exit.duration.as_millis()).unwrap_or(u64::MAX),
        problem,
    }
}

/// Records that `by` set a command for `owner` (`loop:NAME`, `cron:NAME`): the person's own act,
/// bound to these bytes. Without this record it is not set.
pub async fn record_command(
    store: &Store,
    mask: &SecretMask,
    by: &str,
    owner: &str,
    scheduled: &ScheduledCommand,
) -> Result<(), WireError> {
    let matter = json!({
        "for": owner,
        "command": scheduled.command,
        "workspace": scheduled.workspace,
        "network": scheduled.network,
    });
    let mut matter = to_audit_value(&matter, &|text| mask.apply(text).into_owned());
    // Added after masking: a digest looks like a secret and would be masked.
    matter["digest"] = json!(scheduled.digest());
    let entry = NewAuditEntry {
        act: "own-act",
        by: by.to_owned(),
        session_key: None,
        run_id: None,
        tool: Some("command".to_owned()),
        matter,
    };
    let decision = AuditedDecision {
        entries: vec![entry],
        ..AuditedDecision::default()
    };
    store.record_decision(decision).await?;
    Ok(())
}
