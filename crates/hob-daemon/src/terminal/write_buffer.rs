//! What happened in a terminal on its way to the record: gathered, written together, written again
//! if that fails.
//!
//! Invariants: things are written in the order they happened; one write at a time is under way, and
//! what happens meanwhile becomes the next; nobody hears of an end that is not on disk.

use hob_store::{CommandWrite, Store, StoreError, TerminalWrite};
use hob_wire::CommandId;
use hob_wire::rooms::terminal::{Terminal, TerminalCommand};
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// What nobody waits for is written after this, with what came meanwhile.
const GATHER: Duration = Duration::from_millis(50);
/// Until a write that failed is tried again.
const AGAIN: Duration = Duration::from_secs(1);

type Flight = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

pub(super) struct Notebook {
    store: Store,
    terminal: i64,
    pending: TerminalWrite,
    /// What was last said of the terminal.
    told: Terminal,
    due: Option<Instant>,
    flight: Option<(Flight, Arc<TerminalWrite>)>,
    waits: Vec<Wait>,
}

/// Somebody waits for the ends of commands.
struct Wait {
    left: BTreeSet<CommandId>,
    ended: Vec<TerminalCommand>,
    reply: oneshot::Sender<Vec<TerminalCommand>>,
}

impl Notebook {
    pub(super) fn new(store: Store, terminal: i64, told: Terminal) -> Notebook {
        Notebook {
            store,
            terminal,
            pending: empty(terminal),
            told,
            due: None,
            flight: None,
            waits: Vec::new(),
        }
    }

    /// Notes that a command began or ended, with what was recorded up to `reached`. One of hob's
    /// that ended is written at once, because somebody waits for it.
    pub(super) fn command(&mut self, write: CommandWrite, reached: u64) {
        let is_waited = write.command.state.is_final() && write.shell_id.is_none();
        self.pending.commands.push(write);
        self.pending.reached = Some(reached);
        self.want(if is_waited { Duration::ZERO } else { GATHER });
    }

    /// Notes what the terminal does now, unless that is what was written last.
    pub(super) fn status(&mut self, status: Terminal, is_urgent: bool) {
        if !is_news(&self.told, &status) {
            self.pending.status = None;
            return;
        }
        if self.pending.status.is_none() || is_urgent {
            self.want(if is_urgent { Duration::ZERO } else { GATHER });
        }
        self.pending.status = Some(status);
    }

    /// Notes that the recording was lived through up to here, if something is written anyway.
    pub(super) fn reached(&mut self, reached: u64) {
        if !self.pending.is_empty() {
            self.pending.reached = Some(reached);
        }
    }

    /// Tells `reply` the ends of these, once they are on record.
    pub(super) fn wait(
        &mut self,
        ids: impl IntoIterator<Item = CommandId>,
        reply: oneshot::Sender<Vec<TerminalCommand>>,
    ) {
        self.waits.retain(|wait| !wait.reply.is_closed());
        let left: BTreeSet<CommandId> = ids.into_iter().collect();
        if left.is_empty() {
            // Whoever asked may have gone.
            let _ = reply.send(Vec::new());
            return;
        }
        self.waits.push(Wait {
            left,
            ended: Vec::new(),
            reply,
        });
    }

    /// Whether this command's end is noted and not told yet.
    pub(super) fn is_ending(&self, id: CommandId) -> bool {
        let flown = self.flight.iter().flat_map(|(_, write)| &write.commands);
        let mut all = self.pending.commands.iter().chain(flown);
        all.any(|write| write.command.id == id && write.command.state.is_final())
    }

    /// When there is something to write.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.filter(|_| self.flight.is_none())
    }

    /// Begins to write what is due.
    pub(super) fn begin(&mut self, now: Instant) {
        if self.due().is_none_or(|due| due > now) {
            return;
        }
        self.due = None;
        if self.pending.is_empty() {
            return;
        }
        let write = std::mem::replace(&mut self.pending, empty(self.terminal));
        if let Some(status) = &write.status {
            self.told.clone_from(status);
        }
        let write = Arc::new(write);
        let (store, written) = (self.store.clone(), Arc::clone(&write));
        let flight = Box::pin(async move { store.write_terminal(written).await });
        self.flight = Some((flight, write));
    }

    /// Waits for the end of the write that is under way; answers what is on record now. For ever
    /// when there is none.
    pub(super) async fn written(&mut self) -> Option<Arc<TerminalWrite>> {
        let Some((flight, _)) = &mut self.flight else {
            return std::future::pending().await;
        };
        let written = flight.as_mut().await;
        let (_, write) = self.flight.take()?;
        match written {
            Ok(()) => {
                self.tell(&write);
                Some(write)
            }
            Err(error) => {
                tracing::warn!("what happened in a terminal was not written: {error}");
                self.put_back(&write);
                None
            }
        }
    }

    /// Writes everything, as long as that takes.
    pub(super) async fn finish(&mut self) {
        while self.flight.is_some() || !self.pending.is_empty() {
            let now = Instant::now();
            if self.flight.is_none() {
                match self.due {
                    Some(due) if due > now + GATHER => tokio::time::sleep_until(due).await,
                    _ => self.due = Some(now),
                }
                self.begin(Instant::now());
            }
            self.written().await;
        }
    }

    fn want(&mut self, within: Duration) {
        let at = Instant::now() + within;
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    fn tell(&mut self, write: &TerminalWrite) {
        for ended in &write.commands {
            let command = &ended.command;
            if !command.state.is_final() {
                continue;
            }
            let mut place = 0;
            while place < self.waits.len() {
                let wait = &mut self.waits[place];
                if wait.left.remove(&command.id) {
                    wait.ended.push(command.clone());
                }
                if wait.left.is_empty() {
                    let wait = self.waits.swap_remove(place);
                    // Whoever waited may have gone.
                    let _ = wait.reply.send(wait.ended);
                } else {
                    place += 1;
                }
            }
        }
    }

    /// What came since follows what was not written.
    fn put_back(&mut self, write: &TerminalWrite) {
        let mut again = write.clone();
        let since = std::mem::replace(&mut self.pending, empty(self.terminal));
        again.commands.extend(since.commands);
        again.reached = since.reached.or(again.reached);
        again.status = since.status.or(again.status);
        self.pending = again;
        self.due = Some(Instant::now() + AGAIN);
    }
}

/// Whether others should hear of it: what runs is told by the commands themselves.
fn is_news(told: &Terminal, now: &Terminal) -> bool {
    let of = |it: &Terminal| (it.state, it.columns, it.rows, it.attached);
    of(told) != of(now) || told.folder != now.folder || told.detail != now.detail
}

fn empty(terminal: i64) -> TerminalWrite {
    TerminalWrite {
        terminal,
        ..TerminalWrite::default()
    }
}
