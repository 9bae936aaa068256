//! The background processes of each session.
//!
//! Invariants: only the session that started a process finds it; an ended process is forgotten
//! once its end is reported; an unreported one is forgotten when its slot is needed.

use crate::commands::{CommandRunner, ProxyReport, SpawnedCommand, append_left_behind};
use crate::outcome::succeeded;
use crate::workspace_path::ToolRefusal;
use hob_exec::output::ChildStream;
use hob_exec::shim_protocol::{ExitCause, WaitStatus};
use hob_exec::spawner::BACKGROUND_MAX;
use hob_exec::{Child, ChildExit, ProcessId, SpawnPlan, StdinSource};
use hob_wire::rooms::tool::ToolExecuteResult;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Processes of one session at once.
const OF_SESSION_MAX: usize = 16;
/// The longest wait for a process to read its input.
const WRITE_WAIT: Duration = Duration::from_secs(10);
/// The interval at which a waiting poll checks again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The owner and the poll positions of each process; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessOwners(Arc<Mutex<BTreeMap<u64, OwnedProcess>>>);

#[derive(Clone, Debug)]
struct OwnedProcess {
    session: Option<String>,
    stdout_at: u64,
    stderr_at: u64,
    network: Option<ProxyReport>,
}

impl ProcessOwners {
    // A std mutex: held to look up or change the table, never over an await.
    fn table(&self) -> MutexGuard<'_, BTreeMap<u64, OwnedProcess>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A process of the calling session.
#[derive(Debug)]
pub(super) struct FoundProcess {
    pub(super) child: Arc<Child>,
}

impl FoundProcess {
    pub(super) async fn write(&self, text: &str, close: bool) -> Result<(), ToolRefusal> {
        let written = self.child.write_stdin(text.as_bytes());
        let Ok(written) = tokio::time::timeout(WRITE_WAIT, written).await else {
            let reason = "It does not read its input; a part may have been written.";
            return Err(ToolRefusal(reason.to_owned()));
        };
        written?;
        if close {
            self.child.close_stdin().await;
        }
        Ok(())
    }
}

impl CommandRunner {
    pub(super) async fn start(
        &self,
        session: Option<String>,
        mut plan: SpawnPlan,
        hosts: &[String],
    ) -> Result<ToolExecuteResult, ToolRefusal> {
        let mine = |owned: &&OwnedProcess| owned.session == session;
        if self.owners.table().values().filter(mine).count() >= OF_SESSION_MAX {
            return Err(ToolRefusal(format!(
                "This session has {OF_SESSION_MAX} processes, which is the most; kill or poll one first."
            )));
        }
        plan.stdin = StdinSource::Open;
        self.forget_oldest_ended();
        let SpawnedCommand { child, report } = self.spawn(plan, hosts).await?;
        let level = child.level();
        let ProcessId(id) = self.spawner.keep_in_background(child)?;
        let owned = OwnedProcess {
            session,
            stdout_at: 0,
            stderr_at: 0,
            network: report.clone(),
        };
        self.owners.table().insert(id, owned);
        let mut metadata = json!({ "id": id, "sandbox": level.name() });
        let mut text = format!("Started as process {id}. Poll it to see what it prints.");
        if let Some(network) = &report {
            network.add_to(&mut metadata);
            text = format!("{text}\n({})", network.line());
        }
        Ok(ToolExecuteResult {
            metadata: Some(metadata),
            ..succeeded(text)
        })
    }

    /// A process of this session.
    pub(super) fn find(&self, session: Option<&str>, id: u64) -> Result<FoundProcess, ToolRefusal> {
        let mine = |owned: &OwnedProcess| owned.session.as_deref() == session;
        let is_mine = self.owners.table().get(&id).is_some_and(mine);
        let child = self.spawner.process(ProcessId(id)).filter(|_| is_mine);
        let missing = || {
            ToolRefusal(format!(
                "There is no process {id} in this session, or its end was reported already."
            ))
        };
        let child = child.ok_or_else(missing)?;
        Ok(FoundProcess { child })
    }

    pub(super) fn list_processes(&self, session: Option<&str>) -> ToolExecuteResult {
        let mut lines = Vec::new();
        let mut processes = Vec::new();
        for (ProcessId(id), child) in self.spawner.processes() {
            if self.find(session, id).is_err() {
                continue;
            }
            let state = if child.is_running() { "runs" } else { "ended" };
            let seconds = child.age().as_secs();
            lines.push(format!("{id}  {state}  {seconds} s  {}", child.command()));
            processes.push(json!({ "id": id, "state": state, "command": child.command() }));
        }
        let text = if lines.is_empty() {
            "Nothing runs in the background of this session.".to_owned()
        } else {
            lines.join("\n")
        };
        ToolExecuteResult {
            metadata: Some(json!({ "processes": processes })),
            ..succeeded(text)
        }
    }

    /// Returns the output since the last poll, and the exit if the process ended.
    pub(super) async fn poll(
        &self,
        session: Option<&str>,
        id: u64,
        wait_ms: u64,
    ) -> Result<ToolExecuteResult, ToolRefusal> {
        let FoundProcess { child } = self.find(session, id)?;
        let until = tokio::time::Instant::now() + Duration::from_millis(wait_ms);
        loop {
            // The state is read before the output, so that the last output is not missed.
            let runs = child.is_running();
            let (text, bytes) = self.new_output(id, &child);
            if !runs {
                return self.finish(id, &child, text).await;
            }
            if bytes > 0 || tokio::time::Instant::now() >= until {
                let text = if text.is_empty() {
                    "(nothing new; it runs)".to_owned()
                } else {
                    format!("{text}(it runs)")
                };
                return Ok(ToolExecuteResult {
                    metadata: Some(json!({ "id": id, "running": true })),
                    ..succeeded(text)
                });
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    pub(super) async fn kill(
        &self,
        session: Option<&str>,
        id: u64,
    ) -> Result<ToolExecuteResult, ToolRefusal> {
        let FoundProcess { child } = self.find(session, id)?;
        // `finish` reports how it ended.
        let _ = child.cancel().await;
        let (text, _) = self.new_output(id, &child);
        self.finish(id, &child, text).await
    }

    /// Reports how a process ended, and forgets it.
    async fn finish(
        &self,
        id: u64,
        child: &Child,
        text: String,
    ) -> Result<ToolExecuteResult, ToolRefusal> {
        // Forgotten even if the wait fails, so that a broken process does not keep its slot.
        let exit = child.wait().await;
        self.spawner.forget(ProcessId(id));
        let network = self.owners.table().remove(&id).and_then(|it| it.network);
        let exit = exit?;
        let mut metadata = json!({
            "id": id,
            "running": false,
            "exitCode": exit.status.code(),
            "cause": exit.cause,
            "sandbox": exit.level.name(),
        });
        let mut text = format!("{text}({})", exit_sentence(&exit));
        if let Some(network) = &network {
            network.add_to(&mut metadata);
            text = format!("{text}\n({})", network.line());
        }
        let mut answer = ToolExecuteResult {
            metadata: Some(metadata),
            ..succeeded(text)
        };
        append_left_behind(&mut answer, &exit.left_behind);
        Ok(answer)
    }

    /// The output since the last poll, and its bytes.
    fn new_output(&self, id: u64, child: &Child) -> (String, u64) {
        let mut table = self.owners.table();
        let Some(owned) = table.get_mut(&id) else {
            return (String::new(), 0);
        };
        let mut text = String::new();
        let mut bytes = 0;
        let streams = [
            (ChildStream::Stdout, &mut owned.stdout_at, ""),
            (ChildStream::Stderr, &mut owned.stderr_at, "[stderr]\n"),
        ];
        for (source, at, title) in streams {
            let since = child.output_since(source, *at);
            bytes += since.next - *at;
            *at = since.next;
            if since.text.is_empty() && since.missed_bytes == 0 {
                continue;
            }
            text.push_str(title);
            if since.missed_bytes > 0 {
                let missed = since.missed_bytes;
                text.push_str("[… ");
                text.push_str(&missed.to_string());
                text.push_str(" bytes not kept …]\n");
            }
            text.push_str(&since.text);
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        (text, bytes)
    }

    /// Forgets the oldest ended process if there are too many.
    fn forget_oldest_ended(&self) {
        let processes = self.spawner.processes();
        if processes.len() < BACKGROUND_MAX {
            return;
        }
        let ended = processes.iter().find(|(_, child)| !child.is_running());
        if let Some((ProcessId(id), _)) = ended {
            self.spawner.forget(ProcessId(*id));
            self.owners.table().remove(id);
        }
    }
}

fn exit_sentence(exit: &ChildExit) -> String {
    match (exit.cause, exit.status) {
        (ExitCause::Itself, WaitStatus::Code(code)) => format!("it ended with exit code {code}"),
        (ExitCause::Itself, WaitStatus::Signal(signal)) => {
            format!("it was ended by signal {signal}")
        }
        (ExitCause::Processes, _) => "it had too many processes and was ended".to_owned(),
        (ExitCause::Replaced, _) => {
            "its script was replaced while it ran, so it was ended".to_owned()
        }
        (ExitCause::Disk, _) => "a disk was nearly full, so it was ended".to_owned(),
        (ExitCause::Cancelled | ExitCause::Deadline, _) => {
            "it was ended with everything it had started".to_owned()
        }
    }
}
