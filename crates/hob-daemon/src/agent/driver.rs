//! The driver of one run: a task that feeds the turn machine and carries out its effects.
//!
//! - [`RunDriver::drive`]: the loop; `advance` writes, `effects` starts work, `model_results` and
//!   `tool_results` take what came back, `stopping` ends work, `commands` handles requests of
//!   people
//!
//! Invariants: the meaning of an input is on disk before any of it is carried out; the driver is
//! the only writer of its run; a run that waits only for people holds no slot.

use super::agent_context::AgentContext;
use super::journal::JournalEntry;
use super::live_runs::{DriverCommand, LiveView};
use super::model_call::ModelCall;
use super::replayed_run::ReplayedRun;
use super::step_draft::{StepDraft, user_content};
use super::tool_client::{ExecutionOutcome, PermissionOutcome, ToolClient};
use super::views;
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, OptionFuture};
use futures_util::stream::FuturesUnordered;
use hob_core::child_runs::depth;
use hob_core::failover::ModelFailover;
use hob_core::turn::{TurnCallState, TurnEvent, TurnPhase};
use hob_models::{ModelError, ModelReply};
use hob_store::{LedgerWrite, NewMessage, RunRow, RunSummary, StoreError};
use hob_wire::rooms::agent::{AgentRunParams, RunView};
use hob_wire::rooms::tool::ToolProbeResult;
use hob_wire::{Role, TokenUsage, ToolCall};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Time after which an unanswered permission question counts as waiting for a person.
pub(super) const ASK_GRACE: Duration = Duration::from_millis(150);
/// Longest sleep before the deadline is checked again. The wall clock may jump.
const DEADLINE_CHECK_MAX: Duration = Duration::from_mins(1);

/// A run and all its work in progress.
pub(crate) struct RunDriver {
    pub(super) shared: Arc<AgentContext>,
    pub(super) row: RunRow,
    pub(super) params: AgentRunParams,
    pub(super) replayed: ReplayedRun,
    pub(super) summary: RunSummary,
    /// Number of journal entries.
    pub(super) index: u64,
    pub(super) live_view: Arc<LiveView>,
    pub(super) tool_client: ToolClient,
    /// Tickets of approved calls that have not started yet.
    pub(super) tickets: BTreeMap<String, Option<String>>,
    /// Permission questions, tool calls and probes in progress.
    pub(super) in_flight: FuturesUnordered<BoxFuture<'static, FinishedWork>>,
    /// Calls with an open permission question.
    pub(super) asking: BTreeSet<String>,
    /// Calls in execution.
    pub(super) running: BTreeSet<String>,
    /// The model call with a ledger reservation.
    pub(super) pending_call: Option<PendingModelCall>,
    /// Its reply, once the request is started.
    pub(super) model_reply: Option<BoxFuture<'static, Result<ModelReply, ModelError>>>,
    pub(super) attempts: StepAttempts,
    /// Work that waits for a slot.
    pub(super) slot_work: VecDeque<SlotWork>,
    pub(super) slot: Option<OwnedSemaphorePermit>,
    /// True while a person is asked for a permission.
    pub(super) waits_for_person: bool,
}

/// Attempts of the current step.
#[derive(Debug, Default)]
pub(super) struct StepAttempts {
    pub(super) failover: Option<ModelFailover>,
    /// Delay before the next attempt.
    pub(super) wait_ms: u64,
    /// Token limit after a provider rejected the conversation as too long.
    pub(super) room_cap: Option<u64>,
    pub(super) context_cuts: u32,
}

/// A model call with an open ledger row.
#[derive(Clone, Debug)]
pub(super) struct PendingModelCall {
    pub(super) key: String,
    pub(super) model_call: ModelCall,
    /// Set when the request was sent, and when any part of the answer arrived.
    pub(super) sent: Arc<AtomicBool>,
    pub(super) received: Arc<AtomicBool>,
}

/// Work that has ended.
#[derive(Debug)]
pub(super) enum FinishedWork {
    Permission {
        call: String,
        outcome: PermissionOutcome,
    },
    Execution {
        call: String,
        outcome: ExecutionOutcome,
    },
    Probe {
        call: String,
        probed: ToolProbeResult,
    },
}

/// Work that needs a slot.
#[derive(Debug)]
pub(super) enum SlotWork {
    Model,
    Run(String),
    Probe(String),
}

/// The next input of the driver loop.
enum DriverInput {
    Stop,
    Command(Option<DriverCommand>),
    ModelResult(Result<ModelReply, ModelError>),
    Finished(FinishedWork),
    Slot(Option<OwnedSemaphorePermit>),
    Deadline,
    AskTimeout,
}

/// The result of driving a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriveOutcome {
    /// The run has ended.
    Over,
    /// hob is stopping; the run resumes at the next start.
    Left,
}

impl RunDriver {
    /// Loads a run from the store and replays its journal.
    pub(crate) async fn load(
        shared: &Arc<AgentContext>,
        row: RunRow,
    ) -> Result<RunDriver, StoreError> {
        let store = &shared.deps.store;
        let params = store.run_params(&row.id).await?;
        let params: AgentRunParams = serde_json::from_value(params).map_err(|error| {
            StoreError::Internal(format!(
                "the parameters of run {} are damaged: {error}",
                row.id
            ))
        })?;
        let replayed = views::replay(store, &row).await?;
        let calls = replayed.calls.clone();
        let transcripts = &shared.deps.transcripts;
        let transcript = transcripts.feed(row.id, row.session_id, &row.session_key);
        let live_view = LiveView::new(row.clone(), calls, shared.emitter.clone(), transcript);
        let live_view = Arc::new(live_view);
        let only = params.tools.clone();
        // An old one may be in the middle of a step, whose calls the transcript shows.
        if row.journal_len > 0
            && let Err(error) = live_view.transcript().load_stored().await
        {
            // Followers ask again when the run writes its next message.
            tracing::debug!(run = %row.id, "the transcript cannot be read yet: {error}");
        }
        let driver = RunDriver {
            tool_client: ToolClient {
                caller: shared.deps.bus.caller("agent"),
                tool_list: Arc::clone(&shared.tools),
                run_id: row.id,
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
            replayed,
            live_view,
            tickets: BTreeMap::new(),
            in_flight: FuturesUnordered::new(),
            asking: BTreeSet::new(),
            running: BTreeSet::new(),
            pending_call: None,
            model_reply: None,
            attempts: StepAttempts::default(),
            slot_work: VecDeque::new(),
            slot: None,
            waits_for_person: false,
        };
        driver.begin_transcript();
        Ok(driver)
    }

    /// Drives the run to its end, starting with the given slot.
    pub(crate) async fn drive(
        &mut self,
        slot: OwnedSemaphorePermit,
    ) -> Result<DriveOutcome, StoreError> {
        let mut commands = self.shared.live.register_driver(&self.row, &self.live_view);
        self.slot = Some(slot);
        self.start_or_resume().await?;
        while self.replayed.cause().is_none() {
            self.release_idle_slot();
            match self.next_input(&mut commands).await {
                // The registry keeps the sender while this run is driven, so `None` means the same
                // as a stop.
                DriverInput::Stop | DriverInput::Command(None) => {
                    self.record_left().await;
                    return Ok(DriveOutcome::Left);
                }
                DriverInput::Command(Some(command)) => self.handle_command(command).await?,
                DriverInput::ModelResult(answer) => self.apply_model_result(answer).await?,
                DriverInput::Finished(done) => self.apply_finished_work(done).await?,
                DriverInput::Slot(slot) => {
                    self.slot = slot;
                    self.start_slot_work();
                }
                DriverInput::Deadline => self.check_deadline().await?,
                DriverInput::AskTimeout => self.mark_waiting().await?,
            }
        }
        Ok(DriveOutcome::Over)
    }

    /// Aborts a run that has no driver.
    pub(crate) async fn cancel(mut self) -> Result<RunView, StoreError> {
        if self.replayed.cause().is_none() {
            let mut draft = StepDraft::default();
            // A run that never began has no model call to lose.
            if self.index > 0 {
                self.record_lost_call(&mut draft);
            }
            let at = self.now_ms();
            draft
                .entries
                .push(JournalEntry::new(TurnEvent::Cancelled { at }));
            self.advance(draft).await?;
        }
        Ok(self.view())
    }

    /// Ends a run that cannot be driven, with this reason.
    pub(crate) async fn park(mut self, reason: &str) -> Result<RunView, StoreError> {
        let mut draft = StepDraft::default();
        let at = self.now_ms();
        if self.index == 0 {
            draft
                .entries
                .push(JournalEntry::new(TurnEvent::Begin { at }));
        }
        self.record_lost_call(&mut draft);
        // The machine itself gives up after this many restarts without progress; the journal then
        // explains the end.
        for _ in 0..=self.row.limits.resumes {
            draft
                .entries
                .push(JournalEntry::new(TurnEvent::Restarted { at }));
        }
        draft
            .entries
            .push(JournalEntry::new(TurnEvent::Cancelled { at }));
        draft.message = Some(reason.to_owned());
        self.advance(draft).await?;
        Ok(self.view())
    }

    pub(crate) fn view(&self) -> RunView {
        self.live_view.view()
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.shared.now_ms()
    }

    /// A call of this run, as the model requested it.
    pub(super) fn tool_call(&self, id: &str) -> Option<ToolCall> {
        self.replayed.call(id).map(|view| view.call.clone())
    }

    /// Writes the first input: the run begins, or resumes after a restart.
    async fn start_or_resume(&mut self) -> Result<(), StoreError> {
        let at = self.now_ms();
        let mut draft = StepDraft::default();
        if self.index == 0 {
            let task = user_content(&self.params.task, &self.params.images);
            draft.messages.push(NewMessage::new(Role::User, task));
            draft
                .entries
                .push(JournalEntry::new(TurnEvent::Begin { at }));
        } else {
            self.record_lost_call(&mut draft);
            draft
                .entries
                .push(JournalEntry::new(TurnEvent::Restarted { at }));
        }
        self.advance(draft).await
    }

    /// Records that the model call in progress at a crash may have cost its reservation.
    fn record_lost_call(&self, draft: &mut StepDraft) {
        // `unasked` means that a drain deferred the call: nothing was reserved or sent.
        if *self.replayed.turn.phase() != TurnPhase::Model || self.replayed.unasked {
            return;
        }
        let (step, attempt) = self.replayed.turn.step_and_attempt();
        let call_key = self.call_key(step, attempt);
        draft.ledger.push(LedgerWrite::Unknown { call_key });
        draft.entries.push(JournalEntry::new(TurnEvent::Lost {
            tokens: 0,
            micro_dollars: self.replayed.reserved,
            at: self.now_ms(),
        }));
        draft.cost = Some(self.cost_with(TokenUsage::default(), self.replayed.reserved));
    }

    async fn next_input(&mut self, commands: &mut mpsc::Receiver<DriverCommand>) -> DriverInput {
        let tasks = &self.shared.deps.tasks;
        let (stop, drain) = (tasks.stop_token(), tasks.drain_token());
        let may_leave = !self.has_work_under_way();
        let needs_slot = self.slot.is_none() && !self.slot_work.is_empty();
        let slots = self.shared.slots(depth(&self.row.session_key));
        let is_ask_pending = !self.waits_for_person && self.waits_for_permission();
        let deadline = self.time_to_deadline();
        tokio::select! {
            // The stop comes first: failures that it causes must not be recorded as results.
            biased;
            () = stop.cancelled() => DriverInput::Stop,
            // Work in progress is finished during a drain; a run without any leaves at once.
            () = drain.cancelled(), if may_leave => DriverInput::Stop,
            command = commands.recv() => DriverInput::Command(command),
            Some(answer) = OptionFuture::from(self.model_reply.as_mut()) => DriverInput::ModelResult(answer),
            Some(done) = self.in_flight.next(), if !self.in_flight.is_empty() => DriverInput::Finished(done),
            slot = slots.acquire_owned(), if needs_slot => DriverInput::Slot(slot.ok()),
            () = tokio::time::sleep(deadline) => DriverInput::Deadline,
            () = tokio::time::sleep(ASK_GRACE), if is_ask_pending => DriverInput::AskTimeout,
        }
    }

    /// Releases the slot while the run waits only for people.
    fn release_idle_slot(&mut self) {
        let idle =
            self.slot_work.is_empty() && self.running.is_empty() && self.model_reply.is_none();
        let in_doubt = |call: &hob_core::turn::TurnCall| {
            let settled = [
                TurnCallState::InDoubt,
                TurnCallState::Done,
                TurnCallState::Denied,
            ];
            settled.contains(&call.state)
        };
        let only_doubts = match self.replayed.turn.phase() {
            TurnPhase::Paused => true,
            TurnPhase::Tools { calls } => calls.iter().all(in_doubt),
            _ => false,
        };
        // `in_flight` also holds probes and tool calls, which need the slot.
        if idle
            && self.in_flight.len() == self.asking.len()
            && (self.waits_for_person || only_doubts)
        {
            self.slot = None;
        }
    }

    fn waits_for_permission(&self) -> bool {
        !self.asking.is_empty() && self.running.is_empty() && self.model_reply.is_none()
    }

    fn time_to_deadline(&self) -> Duration {
        // The run's clock stands still while it waits for a person.
        if self.replayed.turn.waits_for_person() {
            return DEADLINE_CHECK_MAX;
        }
        let left = self
            .replayed
            .turn
            .deadline_at()
            .saturating_sub(self.now_ms());
        // At least 1 ms, so that an overdue deadline does not spin the loop.
        Duration::from_millis(left).clamp(Duration::from_millis(1), DEADLINE_CHECK_MAX)
    }

    /// Ends the run if its time is used up; otherwise writes nothing.
    async fn check_deadline(&mut self) -> Result<(), StoreError> {
        let at = self.now_ms();
        if !self.replayed.turn.is_overdue(at) {
            return Ok(());
        }
        self.advance(StepDraft::of(JournalEntry::new(TurnEvent::Tick { at })))
            .await
    }

    async fn mark_waiting(&mut self) -> Result<(), StoreError> {
        self.waits_for_person = true;
        self.advance(StepDraft::default()).await
    }

    /// True if the request of this model call was sent.
    pub(super) fn was_sent(call: &PendingModelCall) -> bool {
        call.sent.load(Ordering::Relaxed)
    }
}

impl std::fmt::Debug for RunDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunDriver")
            .field("run", &self.row.id)
            .finish_non_exhaustive()
    }
}
