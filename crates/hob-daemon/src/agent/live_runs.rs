//! Runs that are being driven now: the text of the present attempt, who may speak to the driver,
//! and who waits for the end.
//!
//! Invariants: a piece of text is in the view before its delta is on the bus, so that a client
//! which listens first and then asks has no gap; an attempt's text begins empty.

use super::journal::Words;
use hob_bus::{Emitter, SessionTag};
use hob_kit::failpoint;
use hob_models::Piece;
use hob_store::{RunRow, RunSummary};
use hob_wire::rooms::agent::{
    CallView, DeltaKind, DoubtAnswer, RunDelta, RunDeltaPayload, RunOf, RunServer,
    RunServerPayload, RunView,
};
use hob_wire::{RunId, SessionId, WireError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot, watch};

/// Words waiting for one driver.
const INBOX_MAX: usize = 64;

/// What a driver is told.
#[derive(Debug)]
pub(crate) enum Command {
    Abort,
    Steer(Words),
    Resolve {
        call: String,
        answer: DoubtAnswer,
        result: Option<String>,
    },
    Allow {
        micro_dollars: u64,
    },
}

/// A command and where its answer goes: the run after it.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) command: Command,
    pub(crate) reply: oneshot::Sender<Result<RunView, WireError>>,
}

/// Every run that is driven or waited for.
#[derive(Debug, Default)]
pub(crate) struct Live {
    // A std mutex: held for a lookup, never over an await.
    runs: Mutex<HashMap<RunId, Arc<LiveRun>>>,
}

/// What those who wait for a run are told.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    /// It ended.
    Ended(Arc<RunView>),
    /// hob is stopping; the run goes on at the next start.
    Left,
    /// This daemon can do nothing more for it, for this reason.
    Stuck(String),
}

/// Waits for what is told of a run.
#[derive(Debug)]
pub(crate) struct Waiter(watch::Receiver<Option<Told>>);

/// One run, as long as it is driven or waited for.
#[derive(Debug)]
pub(crate) struct LiveRun {
    told: watch::Sender<Option<Told>>,
    driven: Mutex<Option<Driven>>,
}

#[derive(Debug)]
struct Driven {
    session: SessionId,
    inbox: mpsc::Sender<Letter>,
    now: Arc<Now>,
}

impl Live {
    /// Waits for a run from now on: whatever is told of it after this is heard.
    pub(crate) fn wait_for(&self, run: RunId) -> Waiter {
        let mut runs = lock(&self.runs);
        // Under the lock, so that the place cannot be removed as one that nobody waits at.
        Waiter(place(&mut runs, run).told.subscribe())
    }

    pub(crate) fn find(&self, run: &RunId) -> Option<Arc<LiveRun>> {
        lock(&self.runs).get(run).cloned()
    }

    /// The run of this session that is driven now.
    pub(crate) fn of_session(&self, session: SessionId) -> Option<Arc<LiveRun>> {
        let runs = lock(&self.runs);
        let of_it = |live: &&Arc<LiveRun>| {
            let driven = lock(&live.driven);
            driven.as_ref().is_some_and(|it| it.session == session)
        };
        runs.values().find(of_it).cloned()
    }

    /// Says that a driver has the run; gives what the driver is spoken to by.
    pub(crate) fn take_up(&self, row: &RunRow, now: &Arc<Now>) -> mpsc::Receiver<Letter> {
        let (inbox, letters) = mpsc::channel(INBOX_MAX);
        let place = place(&mut lock(&self.runs), row.id);
        *lock(&place.driven) = Some(Driven {
            session: row.session_id,
            inbox,
            now: Arc::clone(now),
        });
        letters
    }

    /// Ends a run's life here; whoever waits is told.
    pub(crate) fn end(&self, run: &RunId, view: RunView) {
        self.tell(run, Told::Ended(Arc::new(view)));
    }

    /// Nobody drives the run any more, and those who wait for it are told why.
    pub(crate) fn tell(&self, run: &RunId, told: Told) {
        let place = lock(&self.runs).remove(run);
        if let Some(place) = place {
            *lock(&place.driven) = None;
            place.told.send_replace(Some(told));
        }
    }

    /// The driver is gone and the run has not ended: it will be taken up again, and those who wait
    /// for it wait on.
    pub(crate) fn put_down(&self, run: &RunId) {
        let mut runs = lock(&self.runs);
        if let Some(place) = runs.get(run) {
            *lock(&place.driven) = None;
            if place.told.receiver_count() == 0 {
                runs.remove(run);
            }
        }
    }
}

impl LiveRun {
    /// Whether a driver has it.
    pub(crate) fn view(&self) -> Option<RunView> {
        lock(&self.driven).as_ref().map(|driven| driven.now.view())
    }

    /// Gives a command to the driver; none when it has gone meanwhile.
    pub(crate) async fn tell(&self, command: Command) -> Option<Result<RunView, WireError>> {
        let inbox = lock(&self.driven)
            .as_ref()
            .map(|driven| driven.inbox.clone())?;
        let (reply, answer) = oneshot::channel();
        inbox.send(Letter { command, reply }).await.ok()?;
        answer.await.ok()
    }
}

impl Waiter {
    /// What is told; nothing when the run's place was given up.
    pub(crate) async fn told(&mut self) -> Option<Told> {
        let told = self.0.wait_for(Option::is_some).await.ok()?;
        told.clone()
    }
}

/// The run's place, made if it has none.
fn place(runs: &mut HashMap<RunId, Arc<LiveRun>>, run: RunId) -> Arc<LiveRun> {
    let made = runs.entry(run).or_insert_with(|| {
        let (told, _) = watch::channel(None);
        Arc::new(LiveRun {
            told,
            driven: Mutex::new(None),
        })
    });
    Arc::clone(made)
}

/// A run as it stands this moment, and the voice of its present attempt.
#[derive(Debug)]
pub(crate) struct Now {
    voice: Arc<Voice>,
    written: Mutex<Written>,
}

/// What was written last.
#[derive(Debug)]
struct Written {
    row: RunRow,
    calls: Vec<CallView>,
}

impl Now {
    pub(crate) fn new(row: RunRow, calls: Vec<CallView>, emitter: Emitter) -> Self {
        let of = RunOf {
            session_key: row.session_key.clone(),
            run_id: row.id,
        };
        let voice = Voice::new(emitter, of, row.session_id.to_string());
        voice.begin(row.summary.step, row.summary.attempt);
        Now {
            voice: Arc::new(voice),
            written: Mutex::new(Written { row, calls }),
        }
    }

    pub(crate) fn of(&self) -> &RunOf {
        &self.voice.of
    }

    pub(crate) fn voice(&self) -> &Arc<Voice> {
        &self.voice
    }

    /// Shows what was written.
    pub(crate) fn wrote(&self, summary: RunSummary, calls: Vec<CallView>) {
        let mut written = lock(&self.written);
        written.row.summary = summary;
        written.calls = calls;
    }

    pub(crate) fn view(&self) -> RunView {
        let written = lock(&self.written);
        let mut view = super::views::view(&written.row, written.calls.clone());
        if view.cause.is_none() {
            let spoken = lock(&self.voice.spoken);
            view.step = spoken.step;
            view.attempt = spoken.attempt;
            view.text.clone_from(&spoken.text);
            if failpoint::broken(103) {
                view.text.clear();
            }
        }
        view
    }
}

/// Says an answer piece by piece, as deltas.
#[derive(Debug)]
pub(crate) struct Voice {
    emitter: Emitter,
    of: RunOf,
    tag: SessionTag,
    spoken: Mutex<Spoken>,
}

/// What the present attempt has said.
#[derive(Debug, Default)]
struct Spoken {
    step: u32,
    attempt: u32,
    text: String,
    thinking_bytes: u64,
    tool_bytes: u64,
    tool_index: Option<usize>,
}

impl Voice {
    /// A voice in the session with this id.
    pub(crate) fn new(emitter: Emitter, of: RunOf, session: String) -> Self {
        let named = of.session_key != session;
        Voice {
            emitter,
            tag: SessionTag {
                key: named.then(|| of.session_key.as_str().into()),
                id: session.into(),
            },
            of,
            spoken: Mutex::default(),
        }
    }

    /// Begins an attempt: what a former one said is void.
    pub(crate) fn begin(&self, step: u32, attempt: u32) {
        *lock(&self.spoken) = Spoken {
            step,
            attempt,
            ..Spoken::default()
        };
    }

    /// The text of the present attempt.
    pub(crate) fn text(&self) -> String {
        lock(&self.spoken).text.clone()
    }

    /// Tells which server of this machine gets the prompt, before it does.
    pub(crate) fn name_server(&self, server: String, model: String) {
        let payload = RunServerPayload {
            of: self.of.clone(),
            server,
            model,
        };
        self.emitter
            .emit::<RunServer>(Some(self.tag.clone()), &payload);
    }

    /// Says a piece of the answer.
    pub(crate) fn say(&self, piece: Piece) {
        let mut spoken = lock(&self.spoken);
        let Some((kind, offset, delta)) = spoken.take(piece) else {
            return;
        };
        let payload = RunDeltaPayload {
            of: self.of.clone(),
            step: spoken.step,
            attempt: spoken.attempt,
            offset,
            kind,
            delta,
            cost: None,
        };
        // Under the lock, so that deltas leave in the order of their offsets.
        self.emitter
            .emit::<RunDelta>(Some(self.tag.clone()), &payload);
    }
}

impl Spoken {
    /// What a piece adds; nothing if it is no part of the answer.
    fn take(&mut self, piece: Piece) -> Option<(DeltaKind, u64, String)> {
        let taken = match piece {
            Piece::Server { .. } => return None,
            Piece::Text(text) => {
                let offset = self.text.len() as u64;
                self.text.push_str(&text);
                (DeltaKind::Text, offset, text)
            }
            Piece::Thinking(text) => {
                let offset = self.thinking_bytes;
                self.thinking_bytes += text.len() as u64;
                (DeltaKind::Thinking, offset, text)
            }
            Piece::Tool { index, name, delta } => {
                let offset = self.tool_bytes;
                let text = match self.tool_index.replace(index) {
                    Some(before) if before == index => delta,
                    Some(_) => format!("\n{name} {delta}"),
                    None => format!("{name} {delta}"),
                };
                self.tool_bytes += text.len() as u64;
                (DeltaKind::Tool, offset, text)
            }
        };
        Some(taken)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
