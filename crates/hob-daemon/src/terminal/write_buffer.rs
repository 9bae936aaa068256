//! Batches the changes of one terminal for the store, and retries a write that fails.
//!
//! Invariants: changes are written in the order they happened; one write at a time is in flight,
//! and later changes form the next one; a waiter is told of an end only after it is on disk.

use hob_store::{CommandWrite, Store, StoreError, TerminalWrite};
use hob_wire::CommandId;
use hob_wire::rooms::terminal::{TerminalCommand, TerminalInfo};
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// A change that nobody waits for is written after this time, together with later ones.
const GATHER_TIME: Duration = Duration::from_millis(50);
/// Time until a failed write is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

type InFlightWrite = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// Changes of one terminal on their way to the store, and the callers who wait for them.
pub(super) struct WriteBuffer {
    store: Store,
    terminal: i64,
    pending: TerminalWrite,
    /// The status that was last given to the store.
    last_status: TerminalInfo,
    due: Option<Instant>,
    in_flight: Option<(InFlightWrite, Arc<TerminalWrite>)>,
    /// Successful writes.
    writes: u64,
    waiters: Vec<CommandEndWaiter>,
}

/// A caller that waits for the ends of commands.
struct CommandEndWaiter {
    left: BTreeSet<CommandId>,
    ended: Vec<TerminalCommand>,
    reply: oneshot::Sender<Vec<TerminalCommand>>,
}

impl WriteBuffer {
    pub(super) fn new(store: Store, terminal: i64, status: TerminalInfo) -> WriteBuffer {
        WriteBuffer {
            store,
            terminal,
            pending: empty(terminal),
            last_status: status,
            due: None,
            in_flight: None,
            writes: 0,
            waiters: Vec::new(),
        }
    }

    /// Adds the start or the end of a command, and the offset of the recording that it belongs to.
    /// The end of one of hob's commands is written at once, because somebody may wait for it.
    pub(super) fn push_command(&mut self, write: CommandWrite, offset: u64) {
        let is_waited = write.command.state.is_final() && write.shell_id.is_none();
        self.pending.commands.push(write);
        self.pending.reached = Some(offset);
        // The offset goes with the command in one write: after a crash a mark is either stored with
        // its effect, or processed again.
        self.schedule(if is_waited {
            Duration::ZERO
        } else {
            GATHER_TIME
        });
    }

    /// Sets the terminal's status, unless it equals the one written last.
    pub(super) fn set_status(&mut self, status: TerminalInfo, is_urgent: bool) {
        if !is_newsworthy(&self.last_status, &status) {
            // A change that was taken back before its write needs none.
            self.pending.status = None;
            return;
        }
        if self.pending.status.is_none() || is_urgent {
            self.schedule(if is_urgent {
                Duration::ZERO
            } else {
                GATHER_TIME
            });
        }
        self.pending.status = Some(status);
    }

    /// Moves the stored offset forward, if something is to be written anyway.
    pub(super) fn advance_offset(&mut self, offset: u64) {
        // Not worth a write of its own: a restart merely reads some bytes again.
        if !self.pending.is_empty() {
            self.pending.reached = Some(offset);
        }
    }

    /// Sends these commands to `reply` once the ends of all of them are stored.
    pub(super) fn notify_on_end(
        &mut self,
        ids: impl IntoIterator<Item = CommandId>,
        reply: oneshot::Sender<Vec<TerminalCommand>>,
    ) {
        // Callers that gave up are removed here, because their commands may run for days.
        self.waiters.retain(|wait| !wait.reply.is_closed());
        let left: BTreeSet<CommandId> = ids.into_iter().collect();
        if left.is_empty() {
            // The caller may be gone.
            let _ = reply.send(Vec::new());
            return;
        }
        self.waiters.push(CommandEndWaiter {
            left,
            ended: Vec::new(),
            reply,
        });
    }

    /// Returns true if this command has ended, but its end is not stored yet.
    pub(super) fn has_unwritten_end(&self, id: CommandId) -> bool {
        let flown = self.in_flight.iter().flat_map(|(_, write)| &write.commands);
        let mut all = self.pending.commands.iter().chain(flown);
        all.any(|write| write.command.id == id && write.command.state.is_final())
    }

    /// Returns the number of successful writes.
    pub(super) fn writes(&self) -> u64 {
        self.writes
    }

    /// Returns when the next write is due; none while one is in flight.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.filter(|_| self.in_flight.is_none())
    }

    /// Starts a write if one is due.
    pub(super) fn start_write(&mut self, now: Instant) {
        if self.next_due().is_none_or(|due| due > now) {
            return;
        }
        self.due = None;
        if self.pending.is_empty() {
            return;
        }
        let write = std::mem::replace(&mut self.pending, empty(self.terminal));
        // Set before the write succeeds, because a failed write is queued again with its status.
        if let Some(status) = &write.status {
            self.last_status.clone_from(status);
        }
        let write = Arc::new(write);
        let (store, written) = (self.store.clone(), Arc::clone(&write));
        let flight = Box::pin(async move { store.write_terminal(written).await });
        self.in_flight = Some((flight, write));
    }

    /// Waits for the write in flight and returns what is stored now. Never returns when there is none.
    pub(super) async fn wait_written(&mut self) -> Option<Arc<TerminalWrite>> {
        let Some((flight, _)) = &mut self.in_flight else {
            return std::future::pending().await;
        };
        let written = flight.as_mut().await;
        let (_, write) = self.in_flight.take()?;
        match written {
            Ok(()) => {
                self.writes += 1;
                self.notify_waiters(&write);
                Some(write)
            }
            Err(error) => {
                tracing::warn!("what happened in a terminal was not written: {error}");
                self.requeue(&write);
                None
            }
        }
    }

    /// Writes everything, and retries until it succeeds.
    pub(super) async fn flush(&mut self) {
        while self.in_flight.is_some() || !self.pending.is_empty() {
            let now = Instant::now();
            if self.in_flight.is_none() {
                match self.due {
                    // A time this far away is the pause after a failed write and is not skipped.
                    Some(due) if due > now + GATHER_TIME => tokio::time::sleep_until(due).await,
                    _ => self.due = Some(now),
                }
                self.start_write(Instant::now());
            }
            self.wait_written().await;
        }
    }

    fn schedule(&mut self, within: Duration) {
        let at = Instant::now() + within;
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    fn notify_waiters(&mut self, write: &TerminalWrite) {
        for ended in &write.commands {
            let command = &ended.command;
            if !command.state.is_final() {
                continue;
            }
            let mut place = 0;
            while place < self.waiters.len() {
                let wait = &mut self.waiters[place];
                if wait.left.remove(&command.id) {
                    wait.ended.push(command.clone());
                }
                if wait.left.is_empty() {
                    // Another waiter takes this place, so the index stays.
                    let wait = self.waiters.swap_remove(place);
                    // The waiter may be gone.
                    let _ = wait.reply.send(wait.ended);
                } else {
                    place += 1;
                }
            }
        }
    }

    /// Puts a failed write back in front of the changes that came since.
    fn requeue(&mut self, write: &TerminalWrite) {
        let mut again = write.clone();
        let since = std::mem::replace(&mut self.pending, empty(self.terminal));
        again.commands.extend(since.commands);
        again.reached = since.reached.or(again.reached);
        again.status = since.status.or(again.status);
        self.pending = again;
        self.due = Some(Instant::now() + RETRY_AFTER);
    }
}

/// Returns true if the status differs in more than its commands, which have events of their own.
fn is_newsworthy(before: &TerminalInfo, now: &TerminalInfo) -> bool {
    let of = |it: &TerminalInfo| (it.state, it.columns, it.rows, it.attached);
    of(before) != of(now) || before.folder != now.folder || before.detail != now.detail
}

fn empty(terminal: i64) -> TerminalWrite {
    TerminalWrite {
        terminal,
        ..TerminalWrite::default()
    }
}
