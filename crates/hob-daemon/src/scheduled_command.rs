//! A command that a person set, run in the sandbox with what it was granted: a loop's monitor, a
//! job's command. Setting one is the person's act and is recorded with its bytes; running it asks
//! nobody.
//!
//! Invariants: what runs is exactly the string that was set; nothing of it outlives its deadline
//! or its stop, whatever it started; what is kept of its output is bounded; a command that fails
//! or hangs is an outcome, never an error.

use hob_core::permission::{Work, recorded};
use hob_exec::order::{Cause, Ended};
use hob_exec::{Exit, Feed};
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::mask::Mask;
use hob_store::{Judgement, NewEntry, Store};
use hob_tools::{Commands, Ground, OwnCommand, Spawned, left_behind_note};
use hob_wire::rooms::loops::MonitorOutput;
use hob_wire::work::ToolContext;
use hob_wire::{NetworkGrant, WireError};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// How long a command may take, unless told.
pub const TIMEOUT_MS: u64 = 30_000;
/// The longest a command may be given.
pub const TIMEOUT_MS_MAX: u64 = 60 * 60 * 1_000;
/// Head and tail kept of each stream.
pub const OUTPUT_BYTES_MAX: usize = 16 * 1_024;
/// Commands at work at once; the others wait for their turn.
const AT_ONCE_MAX: usize = 32;

/// What a person set to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// For bash.
    pub command: String,
    /// The folder it runs in and may change; without one it runs in `/` and changes nothing.
    pub workspace: Option<String>,
    pub network: NetworkGrant,
    /// [`TIMEOUT_MS`] when missing, [`TIMEOUT_MS_MAX`] at the most.
    pub timeout_ms: Option<u64>,
}

impl Errand {
    /// Refuses what could never be run, in a sentence.
    pub fn check(&self) -> Result<(), String> {
        self.own().check()?;
        let timeout = self.timeout_ms.unwrap_or(TIMEOUT_MS);
        if !(1..=TIMEOUT_MS_MAX).contains(&timeout) {
            return Err(format!(
                "A command may take between 1 and {TIMEOUT_MS_MAX} ms, not {timeout}."
            ));
        }
        Ok(())
    }

    fn own(&self) -> OwnCommand {
        OwnCommand {
            command: self.command.clone(),
            workspace: self.workspace.clone(),
            network: self.network,
        }
    }

    /// A hash of everything that decides what is run.
    fn digest(&self) -> String {
        let work = Work {
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

/// How a command went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Missing when it was ended or did not start.
    pub exit_code: Option<i32>,
    /// Head and tail, with what is missing between them named.
    pub stdout: String,
    pub stderr: String,
    pub duration_ms: u64,
    /// Why it has no exit code.
    pub problem: Option<String>,
}

impl Outcome {
    pub fn is_success(&self) -> bool {
        self.exit_code == Some(0)
    }

    /// As a loop shows it.
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

    fn refused(problem: String) -> Outcome {
        Outcome {
            problem: Some(problem),
            ..Outcome::default()
        }
    }
}

/// Runs errands; cheap to clone.
#[derive(Clone, Debug)]
pub struct Errands {
    ground: Ground,
    commands: Commands,
    mask: Mask,
    turns: Arc<Semaphore>,
}

impl Errands {
    /// `home` is hob's own, which no command is shown.
    pub fn new(commands: Commands, home: &Home, clock: Clock) -> Errands {
        let ground = Ground::new(clock, home.folders());
        Errands {
            ground: ground.with_commands(commands.clone()),
            commands,
            mask: Mask::new(),
            turns: Arc::new(Semaphore::new(AT_ONCE_MAX)),
        }
    }

    /// The same, where these secrets are taken out of what commands print: a loop shows it to its
    /// model, and jobs keep it.
    #[must_use]
    pub fn with_mask(mut self, mask: Mask) -> Errands {
        self.mask = mask;
        self
    }

    /// Runs one to its end, its deadline or until `stop` is cancelled; nothing of it is left then.
    pub async fn run(&self, errand: &Errand, stop: &CancellationToken) -> Outcome {
        let stopped = || Outcome::refused("It was stopped before it began.".to_owned());
        let begun = async {
            // The semaphore is never closed.
            let turn = self.turns.acquire().await;
            let own = errand.own();
            (turn, own.plan(&self.ground).await)
        };
        let (_turn, plan) = tokio::select! {
            begun = begun => begun,
            () = stop.cancelled() => return stopped(),
        };
        let mut plan = match plan {
            Ok(plan) => plan,
            Err(reason) => return Outcome::refused(reason),
        };
        let timeout_ms = errand.timeout_ms.unwrap_or(TIMEOUT_MS).min(TIMEOUT_MS_MAX);
        plan.deadline = Some(Duration::from_millis(timeout_ms.max(1)));
        plan.feed = Feed::Kept;
        plan.mask = Some(self.mask.clone());
        plan.limits.kept_output_bytes = OUTPUT_BYTES_MAX;
        let Spawned { child, report } = match self.commands.spawn(plan, &[]).await {
            Ok(spawned) => spawned,
            Err(error) => return Outcome::refused(error.to_string()),
        };
        let ended = tokio::select! {
            ended = child.wait() => ended,
            () = stop.cancelled() => child.cancel().await,
        };
        let mut outcome = match ended {
            Ok(exit) => outcome(&exit, timeout_ms),
            Err(error) => Outcome::refused(error.to_string()),
        };
        if let Some(line) = report.and_then(|report| report.refusal()) {
            outcome.add_to_stderr(&line);
        }
        outcome
    }
}

fn outcome(exit: &Exit, timeout_ms: u64) -> Outcome {
    let problem = match (exit.cause, exit.ended) {
        (Cause::Itself, Ended::Code(_)) => None,
        (Cause::Itself, Ended::Signal(signal)) => Some(format!("It was ended by signal {signal}.")),
        (Cause::Cancelled, _) => Some("It was stopped with everything it had started.".to_owned()),
        (Cause::Deadline, _) => Some(format!(
            "It took longer than {timeout_ms} ms and was ended with everything it had started."
        )),
        (Cause::Processes, _) => Some(
            "It had too many processes and was ended with everything it had started.".to_owned(),
        ),
        (Cause::Replaced, _) => {
            Some("Its script was replaced while it ran, so it was ended.".to_owned())
        }
        (Cause::Disk, _) => {
            Some("A disk it writes to was nearly full, so it was ended.".to_owned())
        }
    };
    Outcome {
        exit_code: problem.is_none().then(|| exit.ended.code()),
        stdout: exit.stdout.text(),
        stderr: exit.stderr.text() + &left_behind_note(&exit.left_behind),
        duration_ms: u64::try_from(exit.duration.as_millis()).unwrap_or(u64::MAX),
        problem,
    }
}

/// Records that `by` set a command to be run for `owner` (`loop:NAME`, `cron:NAME`): the person's
/// own act, bound to these bytes. Without its record it is not set.
pub async fn record_set(
    store: &Store,
    mask: &Mask,
    by: &str,
    owner: &str,
    errand: &Errand,
) -> Result<(), WireError> {
    let matter = json!({
        "for": owner,
        "command": errand.command,
        "workspace": errand.workspace,
        "network": errand.network,
    });
    let mut matter = recorded(&matter, &|text| mask.apply(text).into_owned());
    // A digest looks like a token, and is none.
    matter["digest"] = json!(errand.digest());
    let entry = NewEntry {
        act: "own-act",
        by: by.to_owned(),
        session_key: None,
        run_id: None,
        tool: Some("command".to_owned()),
        matter,
    };
    let judgement = Judgement {
        entries: vec![entry],
        ..Judgement::default()
    };
    store.judge(judgement).await?;
    Ok(())
}
