//! Whose turn it is: one task that owns it. Each session's runs go one after the other in the
//! order they were accepted, which the store knows; sessions take turns for the slots.
//!
//! Invariants: no more runs are at work than there are slots, resumed ones included; a run that
//! fails inside hob is tried a few times, then ended, and holds up nobody but its own session.

use super::draft::Draft;
use super::driver::{Driver, Ending};
use super::family;
use super::live::Told;
use super::shared::Shared;
use super::views;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select_all};
use hob_core::family::DEPTH_MAX;
use hob_kit::failpoint;
use hob_store::{RunRow, StepWrite, StoreError};
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::{RunCompleted, RunCompletedPayload, RunOf, RunState, RunView};
use hob_wire::work::Cause;
use hob_wire::{RunId, SessionId};
use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Words waiting for the owner.
const INBOX_MAX: usize = 1_024;
/// How often a driver may fall over before its run is ended.
const FALLS_MAX: u32 = 3;
/// The wait after a driver's first fall; it doubles.
const FALL_WAIT: Duration = Duration::from_millis(200);

/// Why a run ended whose driver fell over again and again.
const TRIED_IN_VAIN: &str = "It failed inside hob each time it was tried.";

/// How the room speaks to the owner.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    words: mpsc::Sender<Word>,
}

#[derive(Debug)]
enum Word {
    /// A session has, or may have, something to run.
    Look(Place),
    /// A session's turn is over.
    Ended { place: Place, turn: Turn },
}

/// A session, and how many generations it is below one that a person started.
#[derive(Clone, Copy, Debug)]
struct Place {
    session: SessionId,
    depth: usize,
}

impl Place {
    fn of(row: &RunRow) -> Self {
        Place {
            session: row.session_id,
            depth: hob_core::family::depth(&row.session_key).min(DEPTH_MAX),
        }
    }
}

/// What became of a session's turn.
#[derive(Debug)]
enum Turn {
    /// It had nothing to run.
    Idle,
    /// A run went to its end, or changed hands.
    Ran,
    /// The driver of this run fell over.
    Fell(RunId),
    /// The house is closing, or this run cannot be helped: it waits for the next start.
    Stuck,
}

/// Where a session stands.
#[derive(Debug, PartialEq, Eq)]
enum Lane {
    Ready,
    Busy { look_again: bool },
    Stuck,
}

/// The task that owns all this.
pub(crate) struct Owner {
    shared: Arc<Shared>,
    queue: Queue,
    words: mpsc::Receiver<Word>,
    lanes: HashMap<SessionId, Lane>,
    /// Those whose turn it is, by generation.
    ready: [VecDeque<Place>; DEPTH_MAX + 1],
    /// The run of a session whose driver fell over, and how often.
    falls: HashMap<SessionId, (RunId, u32)>,
}

impl Queue {
    pub(crate) fn new(shared: &Arc<Shared>) -> (Queue, Owner) {
        let (sender, words) = mpsc::channel(INBOX_MAX);
        let queue = Queue { words: sender };
        let owner = Owner {
            shared: Arc::clone(shared),
            queue: queue.clone(),
            words,
            lanes: HashMap::new(),
            ready: Default::default(),
            falls: HashMap::new(),
        };
        (queue, owner)
    }

    /// Says that the session of this run has something to run.
    pub(crate) async fn look(&self, row: &RunRow) {
        // The owner ends only with the house.
        let _ = self.words.send(Word::Look(Place::of(row))).await;
    }
}

impl Owner {
    /// Takes up what a former daemon left, in the order it came, then gives turns for ever.
    pub(crate) async fn run(mut self) {
        self.take_up().await;
        let drain = self.shared.parts.tasks.drain_token();
        loop {
            let wanted = (0..self.ready.len()).filter(|depth| !self.ready[*depth].is_empty());
            let slots: Vec<_> = wanted.map(|depth| self.slot(depth)).collect();
            let is_wanted = !slots.is_empty();
            tokio::select! {
                biased;
                // Runs that wait for their turn get it at the next start.
                () = drain.cancelled() => return,
                word = self.words.recv() => match word {
                    Some(word) => self.hear(word),
                    None => return,
                },
                (depth, slot) = first(slots), if is_wanted => match slot {
                    Some(slot) => self.start_next(depth, slot),
                    None => return,
                },
            }
        }
    }

    /// A slot of this generation, once there is one.
    fn slot(&self, depth: usize) -> BoxFuture<'static, (usize, Option<OwnedSemaphorePermit>)> {
        let slots = self.shared.slots(depth);
        async move { (depth, slots.acquire_owned().await.ok()) }.boxed()
    }

    /// Runs that were not finished when the last daemon ended. They are read as lines only; each
    /// is loaded when it has a slot.
    async fn take_up(&mut self) {
        let mut wait = FALL_WAIT;
        if failpoint::broken(102) {
            return;
        }
        loop {
            // A run whose own row is damaged cannot be taken up; it is ended and says why.
            let unfinished = async {
                self.shared.parts.store.end_damaged_runs().await?;
                self.shared.parts.store.unfinished_runs().await
            };
            match unfinished.await {
                Ok(runs) => {
                    if !runs.is_empty() {
                        tracing::info!(runs = runs.len(), "unfinished runs are taken up");
                    }
                    for run in &runs {
                        self.look(Place::of(run));
                    }
                    return;
                }
                Err(error) => tracing::error!("unfinished runs cannot be read yet: {error}"),
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(Duration::from_secs(10));
        }
    }

    fn hear(&mut self, word: Word) {
        match word {
            Word::Look(place) => self.look(place),
            Word::Ended { place, turn } => self.ended(place, &turn),
        }
    }

    fn look(&mut self, place: Place) {
        match self.lanes.get_mut(&place.session) {
            Some(Lane::Busy { look_again }) => *look_again = true,
            Some(Lane::Ready) => {}
            Some(Lane::Stuck) | None => self.make_ready(place),
        }
    }

    fn make_ready(&mut self, place: Place) {
        self.lanes.insert(place.session, Lane::Ready);
        self.ready[place.depth].push_back(place);
    }

    fn ended(&mut self, place: Place, turn: &Turn) {
        let session = place.session;
        let asked = self.lanes.remove(&session) == Some(Lane::Busy { look_again: true });
        match turn {
            Turn::Idle if !asked => {}
            Turn::Idle => self.make_ready(place),
            Turn::Ran => {
                self.falls.remove(&session);
                self.make_ready(place);
            }
            Turn::Fell(run) => {
                let fallen = self.falls.entry(session).or_insert((*run, 0));
                let before = if fallen.0 == *run { fallen.1 } else { 0 };
                *fallen = (*run, before + 1);
                self.make_ready(place);
            }
            Turn::Stuck => {
                self.lanes.insert(session, Lane::Stuck);
            }
        }
    }

    /// Gives a slot to the session of this generation that waits longest.
    fn start_next(&mut self, depth: usize, slot: OwnedSemaphorePermit) {
        let Some(place) = self.ready[depth].pop_front() else {
            return;
        };
        let session = place.session;
        self.lanes.insert(session, Lane::Busy { look_again: false });
        let turn = SessionTurn {
            shared: Arc::clone(&self.shared),
            queue: self.queue.clone(),
            session,
            fallen: self.falls.get(&session).copied(),
        };
        let queue = self.queue.clone();
        let tasks = &self.shared.parts.tasks;
        tasks.spawn("agent run", async move {
            let turn = Box::pin(turn.take(slot)).await;
            let _ = queue.words.send(Word::Ended { place, turn }).await;
        });
    }
}

/// One session's turn: the first of its runs that has not ended.
struct SessionTurn {
    shared: Arc<Shared>,
    queue: Queue,
    session: SessionId,
    /// The run whose driver fell over before, and how often.
    fallen: Option<(RunId, u32)>,
}

impl SessionTurn {
    async fn take(self, slot: OwnedSemaphorePermit) -> Turn {
        if self.shared.parts.tasks.is_draining() {
            return Turn::Stuck;
        }
        let session = SessionRef::Id(self.session);
        let row = match self.shared.parts.store.next_run(&session).await {
            Ok(Some(row)) => row,
            Ok(None) | Err(StoreError::NotFound(_)) => return Turn::Idle,
            Err(StoreError::DamagedRow(_)) => {
                let ended = self.shared.parts.store.end_damaged_runs().await;
                return match ended {
                    Ok(ended) if !ended.is_empty() => Turn::Ran,
                    _ => Turn::Stuck,
                };
            }
            Err(error) => {
                tracing::error!("the next run of a session cannot be read: {error}");
                drop(slot);
                return self.pause(1, Turn::Ran).await;
            }
        };
        let run = row.id;
        let fallen = self.fallen.filter(|(fallen, _)| *fallen == run);
        let falls = fallen.map_or(0, |(_, falls)| falls);
        if falls > FALLS_MAX && !failpoint::broken(20) {
            return Box::pin(self.give_up(row, TRIED_IN_VAIN)).await;
        }
        if family::is_orphan(&self.shared, &row).await {
            let _ = family::end_run(&self.shared, &self.queue, run).await;
            return Turn::Ran;
        }
        let driven = AssertUnwindSafe(self.drive(row.clone(), slot)).catch_unwind();
        match driven.await {
            // Trying again would find it as damaged.
            Ok(Err(StoreError::DamagedRow(damaged))) => {
                self.shared.live.put_down(&run);
                return self.end_unreadable(row, damaged.message).await;
            }
            Ok(Ok(Ending::Over)) => return Turn::Ran,
            Ok(Ok(Ending::Left)) => return self.leave(run, Told::Left),
            Ok(Err(error)) if is_final(&error) => {
                tracing::error!(%run, "the run cannot go on: {error}");
                return self.leave(run, Told::Stuck(error.to_string()));
            }
            // Another try reads the same: the run ends, and its session is free.
            Ok(Err(error @ StoreError::Damaged { .. })) => {
                tracing::error!(%run, "a part of the run cannot be read: {error}");
                self.shared.live.put_down(&run);
                return Box::pin(self.give_up(row, &error.to_string())).await;
            }
            Ok(Err(error)) => tracing::warn!(%run, "the run's driver ended: {error}"),
            Err(_) => tracing::error!(%run, "the run's driver panicked; it is taken up again"),
        }
        self.shared.live.put_down(&run);
        self.pause(falls, Turn::Fell(run)).await
    }

    /// Leaves a run to the next start; those who wait for it are told so.
    fn leave(&self, run: RunId, told: Told) -> Turn {
        self.shared.live.tell(&run, told);
        Turn::Stuck
    }

    async fn drive(&self, row: RunRow, slot: OwnedSemaphorePermit) -> Result<Ending, StoreError> {
        let run = row.id;
        failpoint::reach_with("run.drive", &row.task);
        let mut driver = Driver::load(&self.shared, row).await?;
        let ending = driver.drive(slot).await?;
        if ending == Ending::Over {
            let view = driver.view();
            drop(driver);
            // Whoever called nothing started nothing.
            let has_calls = !view.calls.is_empty();
            self.shared.live.end(&run, view);
            if has_calls {
                family::end_children(&self.shared, &self.queue, run).await;
            }
        }
        Ok(ending)
    }

    /// Ends a run that cannot be driven, for this reason.
    async fn give_up(&self, row: RunRow, reason: &str) -> Turn {
        let run = row.id;
        let parked = async {
            match Driver::load(&self.shared, row.clone()).await {
                Ok(driver) => driver.park(reason).await,
                // What it was cannot be read any more; that it ended can be written all the same.
                Err(error) => {
                    fail_unreadable(&self.shared, row, Cause::Parked, unreadable(&error)).await
                }
            }
        };
        Box::pin(self.ended(run, parked)).await
    }

    /// Ends a run of which something stored is damaged.
    async fn end_unreadable(&self, row: RunRow, message: String) -> Turn {
        let run = row.id;
        let mut shown = row.clone();
        shown.summary.state = RunState::Done;
        shown.summary.cause = Some(Cause::Parked);
        shown.summary.message = Some(message.clone());
        let ended = async {
            match fail_unreadable(&self.shared, row, Cause::Parked, message).await {
                // Not its journal but its own row, which takes no step any more.
                Err(StoreError::DamagedRow(_)) => {
                    self.shared.parts.store.end_damaged_runs().await?;
                    Ok(views::view(&shown, Vec::new()))
                }
                ended => ended,
            }
        };
        self.ended(run, ended).await
    }

    async fn ended(
        &self,
        run: RunId,
        parked: impl Future<Output = Result<RunView, StoreError>>,
    ) -> Turn {
        match AssertUnwindSafe(parked).catch_unwind().await {
            Ok(Ok(view)) => {
                self.shared.live.end(&run, view);
                Turn::Ran
            }
            Ok(Err(error)) => {
                tracing::error!(%run, "the run cannot even be ended: {error}");
                self.leave(run, Told::Stuck(error.to_string()))
            }
            Err(_) => {
                tracing::error!(%run, "ending the run panicked; it is left alone until the next start");
                self.leave(run, Told::Stuck("ending it failed".to_owned()))
            }
        }
    }

    async fn pause(&self, falls: u32, turn: Turn) -> Turn {
        let stop = self.shared.parts.tasks.stop_token();
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(FALL_WAIT * 2_u32.pow(falls.min(6))) => {}
        }
        turn
    }
}

/// The first of these; there must be one.
async fn first<T>(some: Vec<BoxFuture<'static, T>>) -> T {
    select_all(some).await.0
}

/// Ends a run whose journal or parameters cannot be read.
pub(super) async fn fail_unreadable(
    shared: &Shared,
    mut row: RunRow,
    cause: Cause,
    message: String,
) -> Result<RunView, StoreError> {
    let summary = &mut row.summary;
    summary.state = RunState::Done;
    summary.cause = Some(cause);
    summary.message = Some(message);
    summary.ended_at = Some(shared.now_ms());
    let completed = RunCompletedPayload {
        of: RunOf {
            session_key: row.session_key.clone(),
            run_id: row.id,
        },
        response: summary.text.clone(),
        success: false,
        cause,
        message: summary.message.clone(),
        cost: summary.cost,
        model: summary.model.clone(),
        notes: summary.notes.clone(),
        denied: Vec::new(),
    };
    let mut draft = Draft::default();
    draft.event::<RunCompleted>(&completed);
    let mut write = StepWrite::new(row.id, row.journal_len, summary.clone());
    write.events = draft.events;
    shared.parts.store.write_step(write).await?;
    Ok(views::view(&row, Vec::new()))
}

/// Why a run cannot be read any more.
pub(super) fn unreadable(error: &StoreError) -> String {
    match error {
        StoreError::DamagedRow(damaged) => damaged.message.clone(),
        error => format!("What the run had written cannot be read any more: {error}"),
    }
}

/// Whether this daemon can do nothing more for any run.
fn is_final(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Closed | StoreError::Fenced { .. } | StoreError::Replaced { .. }
    )
}
