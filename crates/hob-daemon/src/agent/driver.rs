//! One run, driven: a task of its own that feeds the turn machine and carries out what it says.
//!
//! - [`Driver::drive`]: the loop; `advance` writes, `work` carries out, `answers` reads what came
//!   back, `stopping` ends things, `commands` hears people
//!
//! Invariants: what an input means is on disk before anything of it is carried out; the driver is
//! the only writer of its run; while a run waits for nothing but people it holds no slot.

use super::draft::{Draft, content};
use super::hands::{Asked, Hands, Ran};
use super::journal::Entry;
use super::live::{Letter, Now};
use super::order::Order;
use super::shared::Shared;
use super::story::Story;
use super::views;
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, OptionFuture};
use futures_util::stream::FuturesUnordered;
use hob_core::failover::Failover;
use hob_core::family::depth;
use hob_core::turn::{CallState, Event, Phase};
use hob_kit::failpoint;
use hob_models::{ModelError, Reply};
use hob_store::{LedgerWrite, NewMessage, RunRow, RunSummary, StoreError};
use hob_wire::rooms::agent::{RunParams, RunView};
use hob_wire::rooms::tool::Probed;
use hob_wire::{Role, ToolCall, Usage};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// How long a permission may take before a person is taken to be asked.
pub(super) const ASK_PATIENCE: Duration = Duration::from_millis(150);
/// The longest the clock is trusted before the deadline is looked at again.
const DEADLINE_LOOK: Duration = Duration::from_mins(1);

/// A run and everything that is under way for it.
pub(crate) struct Driver {
    pub(super) shared: Arc<Shared>,
    pub(super) row: RunRow,
    pub(super) params: RunParams,
    pub(super) story: Story,
    pub(super) summary: RunSummary,
    /// Entries of the journal.
    pub(super) index: u64,
    pub(super) now: Arc<Now>,
    pub(super) hands: Hands,
    /// Approvals that were not taken up yet.
    pub(super) tickets: BTreeMap<String, Option<String>>,
    /// Questions and tools under way.
    pub(super) work: FuturesUnordered<BoxFuture<'static, Done>>,
    /// Calls whose permission is asked for.
    pub(super) asking: BTreeSet<String>,
    /// Calls that run.
    pub(super) running: BTreeSet<String>,
    /// The model call that money is reserved for.
    pub(super) call: Option<OpenCall>,
    /// Its answer, once it is asked.
    pub(super) answer: Option<BoxFuture<'static, Result<Reply, ModelError>>>,
    pub(super) tries: Tries,
    /// What waits for a slot.
    pub(super) todo: VecDeque<Todo>,
    pub(super) slot: Option<OwnedSemaphorePermit>,
    /// A person is asked for a permission.
    pub(super) waiting: bool,
}

/// How often the present step was tried.
#[derive(Debug, Default)]
pub(super) struct Tries {
    pub(super) failover: Option<Failover>,
    /// How long to wait before the next.
    pub(super) wait_ms: u64,
    /// The room left after a provider found the conversation too long.
    pub(super) room_cap: Option<u64>,
    pub(super) squeezes: u32,
}

/// A model call in the ledger.
#[derive(Clone, Debug)]
pub(super) struct OpenCall {
    pub(super) key: String,
    pub(super) order: Order,
    /// Whether the request went out, and whether anything came back.
    pub(super) sent: Arc<AtomicBool>,
    pub(super) heard: Arc<AtomicBool>,
}

/// Something that was under way and has ended.
#[derive(Debug)]
pub(super) enum Done {
    Asked { call: String, asked: Asked },
    Ran { call: String, ran: Ran },
    Probed { call: String, probed: Probed },
}

/// Work that needs a slot.
#[derive(Debug)]
pub(super) enum Todo {
    Model,
    Run(String),
    Probe(String),
}

/// What the loop meets next.
enum Input {
    Stop,
    Letter(Option<Letter>),
    Answer(Result<Reply, ModelError>),
    Done(Done),
    Slot(Option<OwnedSemaphorePermit>),
    Deadline,
    Patience,
}

/// How driving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The run is over.
    Over,
    /// The house is closing: the run goes on at the next start.
    Left,
}

impl Driver {
    /// Reads everything a run is from the store.
    pub(crate) async fn load(shared: &Arc<Shared>, row: RunRow) -> Result<Driver, StoreError> {
        let kept = &shared.parts.store;
        let params = kept.run_params(&row.id).await?;
        let params: RunParams = serde_json::from_value(params).map_err(|error| {
            StoreError::Internal(format!(
                "the parameters of run {} are damaged: {error}",
                row.id
            ))
        })?;
        let story = views::replay(kept, &row).await?;
        let calls = story.calls.clone();
        let now = Arc::new(Now::new(row.clone(), calls, shared.emitter.clone()));
        let only = params.tools.clone();
        Ok(Driver {
            hands: Hands {
                caller: shared.parts.bus.caller("agent"),
                tools: Arc::clone(&shared.tools),
                run: row.id,
                session_key: row.session_key.clone(),
                workspace: params.workspace.clone(),
                ceiling: params.ceiling,
                channel: params.channel.clone(),
                unattended: params.unattended,
                is_child: params.parent.is_some(),
                only: only.map(|names| names.into_iter().collect()),
            },
            shared: Arc::clone(shared),
            summary: row.summary.clone(),
            index: row.journal_len,
            row,
            params,
            story,
            now,
            tickets: BTreeMap::new(),
            work: FuturesUnordered::new(),
            asking: BTreeSet::new(),
            running: BTreeSet::new(),
            call: None,
            answer: None,
            tries: Tries::default(),
            todo: VecDeque::new(),
            slot: None,
            waiting: false,
        })
    }

    /// Drives the run to its end, beginning with the slot it was given.
    pub(crate) async fn drive(&mut self, slot: OwnedSemaphorePermit) -> Result<Ending, StoreError> {
        let mut letters = self.shared.live.take_up(&self.row, &self.now);
        self.slot = Some(slot);
        self.enter().await?;
        while self.story.cause().is_none() {
            self.rest();
            match self.next(&mut letters).await {
                // The registry holds the letters' other end as long as this run is driven.
                Input::Stop | Input::Letter(None) => {
                    self.note_left().await;
                    return Ok(Ending::Left);
                }
                Input::Letter(Some(letter)) => self.hear(letter).await?,
                Input::Answer(answer) => self.answered(answer).await?,
                Input::Done(done) => self.took(done).await?,
                Input::Slot(slot) => {
                    self.slot = slot;
                    self.start_todo();
                }
                Input::Deadline => self.look_at_clock().await?,
                Input::Patience => self.note_waiting().await?,
            }
        }
        Ok(Ending::Over)
    }

    /// Ends a run that nobody drives, for an abort.
    pub(crate) async fn cancel(mut self) -> Result<RunView, StoreError> {
        if self.story.cause().is_none() {
            let mut draft = Draft::default();
            if self.index > 0 {
                self.lose_cut_call(&mut draft);
            }
            let at = self.at();
            draft.entries.push(Entry::new(Event::Cancelled { at }));
            self.advance(draft).await?;
        }
        Ok(self.view())
    }

    /// Ends a run that cannot be driven, for this reason.
    pub(crate) async fn park(mut self, reason: &str) -> Result<RunView, StoreError> {
        let mut draft = Draft::default();
        let at = self.at();
        if self.index == 0 {
            draft.entries.push(Entry::new(Event::Begin { at }));
        }
        self.lose_cut_call(&mut draft);
        // Each counts as a restart in vain, so the machine itself gives up.
        for _ in 0..=self.row.limits.resumes {
            draft.entries.push(Entry::new(Event::Restarted { at }));
        }
        draft.entries.push(Entry::new(Event::Cancelled { at }));
        draft.message = Some(reason.to_owned());
        self.advance(draft).await?;
        Ok(self.view())
    }

    pub(crate) fn view(&self) -> RunView {
        self.now.view()
    }

    pub(super) fn at(&self) -> u64 {
        self.shared.now_ms()
    }

    /// A call of this run, as the model asked for it.
    pub(super) fn tool_call(&self, id: &str) -> Option<ToolCall> {
        self.story.call(id).map(|view| view.call.clone())
    }

    /// The first input: the run begins, or goes on after a restart.
    async fn enter(&mut self) -> Result<(), StoreError> {
        let at = self.at();
        let mut draft = Draft::default();
        if self.index == 0 {
            let task = content(&self.params.task, &self.params.images);
            draft.messages.push(NewMessage::new(Role::User, task));
            draft.entries.push(Entry::new(Event::Begin { at }));
        } else {
            self.lose_cut_call(&mut draft);
            draft.entries.push(Entry::new(Event::Restarted { at }));
        }
        self.advance(draft).await
    }

    /// Notes that the model call a crash cut off may have cost what it was reserved for.
    fn lose_cut_call(&self, draft: &mut Draft) {
        if *self.story.turn.phase() != Phase::Model || self.story.unasked {
            return;
        }
        let (step, attempt) = self.story.turn.place();
        let call_key = self.call_key(step, attempt);
        draft.ledger.push(LedgerWrite::Unknown { call_key });
        draft.entries.push(Entry::new(Event::Lost {
            tokens: 0,
            micro_dollars: self.story.reserved,
            at: self.at(),
        }));
        draft.cost = Some(self.cost_with(Usage::default(), self.story.reserved));
    }

    async fn next(&mut self, letters: &mut mpsc::Receiver<Letter>) -> Input {
        let tasks = &self.shared.parts.tasks;
        let (stop, drain) = (tasks.stop_token(), tasks.drain_token());
        let may_leave = !self.has_work_under_way();
        let needs_slot = self.slot.is_none() && !self.todo.is_empty();
        let slots = self.shared.slots(depth(&self.row.session_key));
        let patient = !self.waiting && self.waits_for_permission();
        let deadline = self.until_deadline();
        tokio::select! {
            // A stop first: what ends because of it is for the next start to look at.
            biased;
            () = stop.cancelled() => Input::Stop,
            () = drain.cancelled(), if may_leave => Input::Stop,
            letter = letters.recv() => Input::Letter(letter),
            Some(answer) = OptionFuture::from(self.answer.as_mut()) => Input::Answer(answer),
            Some(done) = self.work.next(), if !self.work.is_empty() => Input::Done(done),
            slot = slots.acquire_owned(), if needs_slot => Input::Slot(slot.ok()),
            () = tokio::time::sleep(deadline) => Input::Deadline,
            () = tokio::time::sleep(ASK_PATIENCE), if patient => Input::Patience,
        }
    }

    /// Gives the slot back while only people are waited for.
    fn rest(&mut self) {
        let idle = self.todo.is_empty() && self.running.is_empty() && self.answer.is_none();
        let in_doubt = |call: &hob_core::turn::Call| {
            let settled = [CallState::InDoubt, CallState::Done, CallState::Denied];
            settled.contains(&call.state)
        };
        let only_doubts = match self.story.turn.phase() {
            Phase::Paused => true,
            Phase::Tools { calls } => calls.iter().all(in_doubt),
            _ => false,
        };
        if idle && self.work.len() == self.asking.len() && (self.waiting || only_doubts) {
            self.slot = None;
        }
    }

    fn waits_for_permission(&self) -> bool {
        !self.asking.is_empty() && self.running.is_empty() && self.answer.is_none()
    }

    fn until_deadline(&self) -> Duration {
        if failpoint::broken(56) {
            return DEADLINE_LOOK;
        }
        // No time passes for the run meanwhile.
        if self.story.turn.waits_for_a_person() {
            return DEADLINE_LOOK;
        }
        let left = self.story.turn.deadline_at().saturating_sub(self.at());
        Duration::from_millis(left).clamp(Duration::from_millis(1), DEADLINE_LOOK)
    }

    /// Ends a run whose time is used up. Nothing is written as long as it is not.
    async fn look_at_clock(&mut self) -> Result<(), StoreError> {
        let at = self.at();
        if !self.story.turn.is_overdue(at) {
            return Ok(());
        }
        self.advance(Draft::of(Entry::new(Event::Tick { at })))
            .await
    }

    async fn note_waiting(&mut self) -> Result<(), StoreError> {
        self.waiting = true;
        self.advance(Draft::default()).await
    }

    /// Whether the request of the present model call went out.
    pub(super) fn was_sent(call: &OpenCall) -> bool {
        call.sent.load(Ordering::Relaxed)
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver")
            .field("run", &self.row.id)
            .finish_non_exhaustive()
    }
}
