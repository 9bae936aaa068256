//! The background processes of each session.
//!
//! Invariants: only the session that started a process finds it; what ended and was told is
//! forgotten; what ended and was not makes room when it is needed.

use crate::commands::{Commands, ProxyReport, Spawned, left_behind};
use crate::outcome::said;
use crate::spot::Refused;
use hob_exec::order::{Cause, Ended};
use hob_exec::output::Source;
use hob_exec::spawner::BACKGROUND_MAX;
use hob_exec::{Child, Exit, Plan, ProcessId, Stdin};
use hob_wire::rooms::tool::Executed;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Processes of one session at once.
const OF_SESSION_MAX: usize = 16;
/// How long a process may take to read what is written to it.
const WRITE_WAIT: Duration = Duration::from_secs(10);
/// How often a poll that waits looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Whose each process is, and how far it was polled; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owners(Arc<Mutex<BTreeMap<u64, Owned>>>);

#[derive(Clone, Debug)]
struct Owned {
    session: Option<String>,
    stdout_at: u64,
    stderr_at: u64,
    network: Option<ProxyReport>,
}

impl Owners {
    // A std mutex: held to look up or change the table, never over an await.
    fn table(&self) -> MutexGuard<'_, BTreeMap<u64, Owned>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A process that was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) child: Arc<Child>,
}

impl Found {
    pub(super) async fn write(&self, text: &str, close: bool) -> Result<(), Refused> {
        let written = self.child.write_stdin(text.as_bytes());
        let Ok(written) = tokio::time::timeout(WRITE_WAIT, written).await else {
            let told = "It does not read its input; a part may have been written.";
            return Err(Refused(told.to_owned()));
        };
        written?;
        if close {
            self.child.close_stdin().await;
        }
        Ok(())
    }
}

impl Commands {
    pub(super) async fn start(
        &self,
        session: Option<String>,
        mut plan: Plan,
        hosts: &[String],
    ) -> Result<Executed, Refused> {
        let mine = |owned: &&Owned| owned.session == session;
        if self.owners.table().values().filter(mine).count() >= OF_SESSION_MAX {
            return Err(Refused(format!(
                "This session has {OF_SESSION_MAX} processes, which is the most; kill or poll one first."
            )));
        }
        plan.stdin = Stdin::Open;
        self.make_room();
        let Spawned { child, report } = self.spawn(plan, hosts).await?;
        let level = child.level();
        let ProcessId(id) = self.spawner.keep(child)?;
        let owned = Owned {
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
        Ok(Executed {
            metadata: Some(metadata),
            ..said(text)
        })
    }

    /// A process of this session.
    pub(super) fn find(&self, session: Option<&str>, id: u64) -> Result<Found, Refused> {
        let mine = |owned: &Owned| owned.session.as_deref() == session;
        let is_mine = self.owners.table().get(&id).is_some_and(mine);
        let child = self.spawner.process(ProcessId(id)).filter(|_| is_mine);
        let missing = || {
            Refused(format!(
                "There is no process {id} in this session, or its end was told already."
            ))
        };
        let child = child.ok_or_else(missing)?;
        Ok(Found { child })
    }

    pub(super) fn listed(&self, session: Option<&str>) -> Executed {
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
        Executed {
            metadata: Some(json!({ "processes": processes })),
            ..said(text)
        }
    }

    /// What a process printed since the last poll; how it ended, if it did.
    pub(super) async fn poll(
        &self,
        session: Option<&str>,
        id: u64,
        wait_ms: u64,
    ) -> Result<Executed, Refused> {
        let Found { child } = self.find(session, id)?;
        let until = tokio::time::Instant::now() + Duration::from_millis(wait_ms);
        loop {
            // Looked at before the output, so that what came last is not missed.
            let runs = child.is_running();
            let (text, bytes) = self.since(id, &child);
            if !runs {
                return self.ended(id, &child, text).await;
            }
            if bytes > 0 || tokio::time::Instant::now() >= until {
                let text = if text.is_empty() {
                    "(nothing new; it runs)".to_owned()
                } else {
                    format!("{text}(it runs)")
                };
                return Ok(Executed {
                    metadata: Some(json!({ "id": id, "running": true })),
                    ..said(text)
                });
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    pub(super) async fn kill(&self, session: Option<&str>, id: u64) -> Result<Executed, Refused> {
        let Found { child } = self.find(session, id)?;
        // How it ended is told below.
        let _ = child.cancel().await;
        let (text, _) = self.since(id, &child);
        self.ended(id, &child, text).await
    }

    /// Tells how a process ended, and forgets it.
    async fn ended(&self, id: u64, child: &Child, text: String) -> Result<Executed, Refused> {
        let exit = child.wait().await;
        self.spawner.forget(ProcessId(id));
        let network = self.owners.table().remove(&id).and_then(|it| it.network);
        let exit = exit?;
        let mut metadata = json!({
            "id": id,
            "running": false,
            "exitCode": exit.ended.code(),
            "cause": exit.cause,
            "sandbox": exit.level.name(),
        });
        let mut text = format!("{text}({})", end(&exit));
        if let Some(network) = &network {
            network.add_to(&mut metadata);
            text = format!("{text}\n({})", network.line());
        }
        let mut answer = Executed {
            metadata: Some(metadata),
            ..said(text)
        };
        left_behind(&mut answer, &exit.left_behind);
        Ok(answer)
    }

    /// What came since the last poll, and how many bytes.
    fn since(&self, id: u64, child: &Child) -> (String, u64) {
        let mut table = self.owners.table();
        let Some(owned) = table.get_mut(&id) else {
            return (String::new(), 0);
        };
        let mut text = String::new();
        let mut bytes = 0;
        let streams = [
            (Source::Stdout, &mut owned.stdout_at, ""),
            (Source::Stderr, &mut owned.stderr_at, "[stderr]\n"),
        ];
        for (source, at, title) in streams {
            let since = child.since(source, *at);
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

    /// Forgets the oldest process that ended, when there are too many.
    fn make_room(&self) {
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

fn end(exit: &Exit) -> String {
    match (exit.cause, exit.ended) {
        (Cause::Itself, Ended::Code(code)) => format!("it ended with exit code {code}"),
        (Cause::Itself, Ended::Signal(signal)) => format!("it was ended by signal {signal}"),
        (Cause::Processes, _) => "it had too many processes and was ended".to_owned(),
        (Cause::Replaced, _) => "its script was replaced while it ran, so it was ended".to_owned(),
        (Cause::Disk, _) => "a disk was nearly full, so it was ended".to_owned(),
        (Cause::Cancelled | Cause::Deadline, _) => {
            "it was ended with everything it had started".to_owned()
        }
    }
}
