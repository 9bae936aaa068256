//! The only place that writes a run. Inputs go into the journal together with everything they mean;
//! work starts only after that write.

use super::agent_context::AgentContext;
use super::driver::{PendingModelCall, RunDriver};
use super::journal::{EntryData, JournalEntry};
use super::model_call::{self, ModelCall};
use super::replayed_run::ReplayedRun;
use super::settings::format_dollars;
use super::step_draft::StepDraft;
use super::transcript_inputs::CommittedStep;
use super::unattended::unaffordable_sentence;
use hob_core::turn::{TurnCallState, TurnEffect, TurnEvent, TurnPhase};
use hob_store::{BudgetScope, CostReservation, RunSummary, StepWrite, StoreError, WrittenStep};
use hob_wire::TokenUsage;
use hob_wire::rooms::agent::{Cost, RunCompleted, RunCompletedPayload, RunState};
use hob_wire::work::RunEndCause;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Most notes kept for one run.
const NOTES_MAX: usize = 32;
/// Most denied calls listed in `run.completed`.
const DENIED_MAX: usize = 32;
/// Shortest wait before a failed write is retried; it doubles up to the longest.
const WRITE_WAIT_MIN: Duration = Duration::from_millis(50);
const WRITE_WAIT_MAX: Duration = Duration::from_secs(5);

impl RunDriver {
    /// Writes a draft with everything that follows from it, then starts the resulting work.
    pub(super) async fn advance(&mut self, mut draft: StepDraft) -> Result<(), StoreError> {
        // Read once, so that one write is wholly before or wholly after the drain began.
        let draining = self.is_draining();
        // The machine is stepped on a copy: if the write fails, the driver still holds what is on
        // disk.
        let mut replayed = self.replayed.clone();
        let mut effects = Vec::new();
        let mut call_entry = None;
        for (index, entry) in draft.entries.iter().enumerate() {
            let before = effects.len();
            replayed.apply(entry, &mut effects);
            if effects[before..].iter().any(calls_model) {
                call_entry = Some(index);
            }
        }
        self.end_unattended_wait(&mut replayed, &mut effects, &mut draft);
        if effects.contains(&TurnEffect::StopAll) {
            // Results that the stopped tools still returned belong to this write, so that the end
            // of the run and their outcome are recorded together.
            for entry in self.stop_all().await {
                replayed.apply(&entry, &mut Vec::new());
                draft.entries.push(entry);
            }
        }
        if !draining {
            self.begin_calls(&mut replayed, &effects, &mut draft);
        }
        // Messages come before the model call is prepared: its prompt must contain them.
        draft.add_messages(&self.replayed, &replayed);
        let mut model_call = match call_entry.filter(|_| *replayed.turn.phase() == TurnPhase::Model)
        {
            Some(index) if draining => {
                defer_model_call(index, &mut draft, &mut replayed);
                None
            }
            Some(index) => self.prepare_call(index, &mut draft, &mut replayed).await?,
            None => None,
        };
        // Collected before `commit` consumes the draft. Tools start only after the commit: a crash
        // in between leaves a call recorded as begun, which the next start repeats, probes or asks
        // about.
        let begun = draft.begun_calls();
        self.commit(draft, &mut replayed, &mut model_call).await?;
        self.replayed = replayed;
        for call in begun {
            self.run_or_ask(call);
        }
        // Calls recorded as begun must run. No other effect starts once hob drains.
        self.start_effects(
            if draining { Vec::new() } else { effects },
            model_call.is_some(),
        );
        Ok(())
    }

    /// Prepares the model call that the entry at `index` triggers. If it cannot be made, the run
    /// ends; during a drain the call is left to the next start.
    async fn prepare_call(
        &mut self,
        index: usize,
        draft: &mut StepDraft,
        replayed: &mut ReplayedRun,
    ) -> Result<Option<ModelCall>, StoreError> {
        match self.build_model_call(replayed, &draft.messages).await? {
            Ok(made) => {
                // The reservation is journaled with its cause, so that a crash after the write
                // knows what the lost call may have cost.
                let data = &mut draft.entries[index].data;
                data.reserved = made.reserved;
                data.asks = Some(made.candidate.id());
                replayed.reserved = made.reserved;
                replayed.model = Some(made.candidate.id());
                draft.notes.extend(made.notes.iter().cloned());
                return Ok(Some(made));
            }
            // The stop itself may have caused the failure.
            Err(_) if self.is_draining() => defer_model_call(index, draft, replayed),
            Err(reason) => {
                let at = self.now_ms();
                draft.apply(replayed, JournalEntry::new(TurnEvent::ModelFailed { at }));
                draft.message = Some(reason);
            }
        }
        Ok(None)
    }

    /// Writes a draft. If a budget ceiling forbids its model call, writes instead that the run is
    /// paused, or that it ends when it is unattended.
    async fn commit(
        &mut self,
        draft: StepDraft,
        replayed: &mut ReplayedRun,
        model_call: &mut Option<ModelCall>,
    ) -> Result<(), StoreError> {
        let over = match self.write_step(&draft, replayed, model_call.as_ref()).await {
            Err(StoreError::OverBudget {
                scope: which,
                limit,
                spent,
            }) => (which, limit, spent),
            written => return written,
        };
        let (budget, limit, spent) = over;
        let mut draft = draft;
        let at = self.now_ms();
        let (event, sentence) = if self.is_unattended_work() {
            (
                TurnEvent::Unaffordable { at },
                unaffordable_sentence(budget),
            )
        } else {
            (
                TurnEvent::OutOfMoney { at },
                "Allow more to go on, or stop the run.",
            )
        };
        let data = EntryData {
            budget: Some(budget.into()),
            ..EntryData::default()
        };
        // The refused write changed nothing, so the same draft is written again with this entry and
        // without the model call.
        draft.apply(replayed, JournalEntry::with_data(event, data));
        draft.message = Some(ceiling_sentence(budget, limit, spent, sentence));
        *model_call = None;
        self.write_step(&draft, replayed, None).await
    }

    pub(super) async fn write_step(
        &mut self,
        draft: &StepDraft,
        replayed: &ReplayedRun,
        model_call: Option<&ModelCall>,
    ) -> Result<(), StoreError> {
        let mut draft = draft.clone();
        // The draft is cloned because `commit` may need it for a second write.
        if let Some(cause) = replayed.cause() {
            self.close_run(&mut draft, replayed, cause);
        }
        let summary = self.summary_after(&draft, replayed);
        draft.add_events(self.live_view.run_of(), &self.replayed, replayed);
        if let Some(cause) = summary.cause {
            draft.event::<RunCompleted>(&self.completed_payload(&summary, cause, replayed));
        }
        let (step, attempt) = replayed.turn.step_and_attempt();
        let entries = draft.entries.len() as u64;
        let messages = draft.messages.iter();
        let origins = messages.map(|message| message.origin.clone()).collect();
        let write = StepWrite {
            journal: draft.entries.iter().map(JournalEntry::to_json).collect(),
            messages: draft.messages,
            ledger: draft.ledger,
            reserve: model_call.map(|model_call| CostReservation {
                call_key: self.call_key(step, attempt),
                model: model_call.candidate.id(),
                micro_dollars: model_call.reserved,
                ceilings: replayed.ceilings(self.shared.ceilings()),
            }),
            events: draft.events,
            steer_keys: draft
                .entries
                .iter()
                .filter_map(JournalEntry::steer_key)
                .collect(),
            // The store checks `index` against the journal's length: a second driver of the same
            // run gets a conflict.
            ..StepWrite::new(self.row.id, self.index, summary.clone())
        };
        let written = write_with_retry(&self.shared, write).await?;
        // Everything below runs only after the commit: memory never gets ahead of the disk.
        let first = written.messages.first().map(|message| message.seq);
        self.row.first_message = self.row.first_message.or(first);
        self.index += entries;
        self.summary = summary;
        if let Some(model_call) = model_call {
            self.pending_call = Some(PendingModelCall {
                key: self.call_key(step, attempt),
                model_call: model_call.clone(),
                sent: Arc::new(AtomicBool::new(false)),
                received: Arc::new(AtomicBool::new(false)),
            });
        }
        self.live_view
            .update(self.summary.clone(), replayed.calls.clone());
        self.tell_transcript(CommittedStep {
            messages: written.messages,
            origins,
            before: &self.replayed,
            after: replayed,
            summary: &self.summary,
        });
        Ok(())
    }

    /// Marks calls that hold a ticket as begun. The begin mark is in the same transaction as the
    /// approval, before the tool starts.
    fn begin_calls(
        &self,
        replayed: &mut ReplayedRun,
        effects: &[TurnEffect],
        draft: &mut StepDraft,
    ) {
        for effect in effects {
            let TurnEffect::Run { call, .. } = effect else {
                continue;
            };
            let allowed = replayed.state_of(call) == Some(TurnCallState::Allowed);
            if allowed && self.tickets.contains_key(call) {
                let call = call.clone();
                let at = self.now_ms();
                draft.apply(replayed, JournalEntry::new(TurnEvent::Begun { call, at }));
            }
        }
    }

    fn summary_after(&self, draft: &StepDraft, replayed: &ReplayedRun) -> RunSummary {
        let mut summary = self.summary.clone();
        let cause = replayed.cause();
        (summary.step, summary.attempt) = replayed.turn.step_and_attempt();
        summary.state = self.state_of(replayed);
        summary.resumed = replayed.resumed;
        summary.cause = cause;
        summary.success = cause == Some(RunEndCause::Answered);
        summary.model.clone_from(&replayed.model);
        summary.cost = draft.cost.unwrap_or(summary.cost);
        if let Some(text) = &draft.text {
            summary.text.clone_from(text);
        }
        summary.message.clone_from(&draft.message);
        for note in &draft.notes {
            summary
                .notes
                .retain(|former| !model_call::replaces_note(note, former));
            if summary.notes.len() < NOTES_MAX && !summary.notes.contains(note) {
                summary.notes.push(note.clone());
            }
        }
        // The time of the cause, not of the write, which may have been retried for long.
        let at = draft.entries.first().map(|entry| entry.event.at());
        if summary.started_at.is_none() && summary.step > 0 {
            summary.started_at = at;
        }
        if cause.is_some() {
            summary.ended_at = at.or(Some(self.now_ms()));
            // Without a model call the cost is known to be zero, not unknown.
            if summary.cost.calls == 0 {
                summary.cost.micro_dollars = Some(0);
            }
        }
        summary
    }

    fn state_of(&self, replayed: &ReplayedRun) -> RunState {
        let in_doubt = |state| state == TurnCallState::InDoubt;
        match replayed.turn.phase() {
            TurnPhase::Queued => RunState::Queued,
            TurnPhase::Tools { calls } if calls.iter().any(|call| in_doubt(call.state)) => {
                RunState::InDoubt
            }
            TurnPhase::Tools { .. } if self.waits_for_person => RunState::Waiting,
            TurnPhase::Model | TurnPhase::Tools { .. } => RunState::Running,
            TurnPhase::Paused => RunState::Paused,
            TurnPhase::Finished { .. } => RunState::Done,
        }
    }

    fn completed_payload(
        &self,
        summary: &RunSummary,
        cause: RunEndCause,
        replayed: &ReplayedRun,
    ) -> RunCompletedPayload {
        let denied = replayed.calls.iter().filter_map(|view| view.denial.clone());
        RunCompletedPayload {
            run: self.live_view.run_of().clone(),
            response: summary.text.clone(),
            success: summary.success,
            cause,
            message: summary.message.clone(),
            cost: summary.cost,
            model: summary.model.clone(),
            notes: summary.notes.clone(),
            denied: denied.take(DENIED_MAX).collect(),
        }
    }

    /// The ledger key of a model call, stable across restarts.
    pub(super) fn call_key(&self, step: u32, attempt: u32) -> String {
        super::ledger_key(self.row.id, step, attempt)
    }

    /// The run's cost after one more call. One unknown price makes the sum unknown.
    pub(super) fn cost_with(&self, usage: TokenUsage, micro_dollars: Option<u64>) -> Cost {
        add_cost(self.summary.cost, usage, micro_dollars)
    }
}

impl StepDraft {
    /// Calls that this write marks as begun.
    fn begun_calls(&self) -> Vec<String> {
        let begun = self.entries.iter().filter_map(|entry| match &entry.event {
            TurnEvent::Begun { call, .. } => Some(call.clone()),
            _ => None,
        });
        begun.collect()
    }

    /// Adds an entry whose effects are none or must not be carried out.
    fn apply(&mut self, replayed: &mut ReplayedRun, entry: JournalEntry) {
        replayed.apply(&entry, &mut Vec::new());
        self.entries.push(entry);
    }
}

/// The sum of a cost and one more call.
pub(crate) fn add_cost(cost: Cost, usage: TokenUsage, micro_dollars: Option<u64>) -> Cost {
    let known = match cost.calls {
        0 => Some(0),
        _ => cost.micro_dollars,
    };
    Cost {
        micro_dollars: known
            .zip(micro_dollars)
            .map(|(sum, price)| sum.saturating_add(price)),
        input_tokens: cost.input_tokens.saturating_add(usage.input_tokens),
        output_tokens: cost.output_tokens.saturating_add(usage.output_tokens),
        calls: cost.calls.saturating_add(1),
    }
}

/// Writes a step and retries transient failures: a full disk, a busy store.
async fn write_with_retry(
    shared: &AgentContext,
    write: StepWrite,
) -> Result<WrittenStep, StoreError> {
    let stop = shared.deps.tasks.stop_token();
    let mut wait = WRITE_WAIT_MIN;
    loop {
        let failed = match shared.deps.store.write_step(write.clone()).await {
            Err(error) if is_transient(&error) => error,
            done => return done,
        };
        tracing::warn!(run = %write.run, "a step could not be written yet: {failed}");
        tokio::select! {
            () = stop.cancelled() => return Err(failed),
            () = tokio::time::sleep(wait) => wait = (wait * 2).min(WRITE_WAIT_MAX),
        }
    }
}

/// Leaves the model call that the entry at `index` triggers to the next start. Nothing is reserved
/// and nothing is sent.
fn defer_model_call(index: usize, draft: &mut StepDraft, replayed: &mut ReplayedRun) {
    draft.entries[index].data.unasked = true;
    replayed.unasked = true;
}

fn calls_model(effect: &TurnEffect) -> bool {
    matches!(effect, TurnEffect::CallModel { .. })
}

/// True if a failed write may succeed later without help.
fn is_transient(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Full | StoreError::Io(_) | StoreError::Overloaded(_)
    )
}

fn ceiling_sentence(budget: BudgetScope, limit: u64, spent: u64, next: &str) -> String {
    format!(
        "The {budget} budget of {} does not cover the next model call ({} are spent or reserved). {next}",
        format_dollars(limit),
        format_dollars(spent)
    )
}
