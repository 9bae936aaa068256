//! The one place where a run is written: inputs go into the journal together with all that they
//! mean, and only then is anything carried out.

use super::draft::Draft;
use super::driver::{Driver, OpenCall};
use super::journal::{Entry, With};
use super::order::{self, Order};
use super::settings::dollars;
use super::shared::Shared;
use super::story::Story;
use super::unattended::unaffordable_sentence;
use hob_core::turn::{CallState, Effect, Event, Phase};
use hob_store::{Purse, Reserve, RunSummary, StepWrite, StoreError, Written};
use hob_wire::Usage;
use hob_wire::rooms::agent::{Cost, RunCompleted, RunCompletedPayload, RunState};
use hob_wire::work::Cause;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Notes of one run.
const NOTES_MAX: usize = 32;
/// Denied calls that the end of a run names.
const DENIED_MAX: usize = 32;
/// The shortest and the longest wait before a write is tried again.
const WRITE_WAIT_MIN: Duration = Duration::from_millis(50);
const WRITE_WAIT_MAX: Duration = Duration::from_secs(5);

impl Driver {
    /// Takes what a draft says: writes it with everything it means, then carries it out.
    pub(super) async fn advance(&mut self, mut draft: Draft) -> Result<(), StoreError> {
        // Looked at once, so that one write is wholly before or wholly after the stop began.
        let draining = self.is_draining();
        let mut story = self.story.clone();
        let mut effects = Vec::new();
        let mut cause_of_call = None;
        for (index, entry) in draft.entries.iter().enumerate() {
            let before = effects.len();
            story.take(entry, &mut effects);
            if effects[before..].iter().any(calls_model) {
                cause_of_call = Some(index);
            }
        }
        self.end_vain_wait(&mut story, &mut effects, &mut draft);
        if effects.contains(&Effect::StopAll) {
            for entry in self.stop_all().await {
                story.take(&entry, &mut Vec::new());
                draft.entries.push(entry);
            }
        }
        if !draining {
            self.begin_calls(&mut story, &effects, &mut draft);
        }
        draft.tell_model(&self.story, &story);
        let mut order = match cause_of_call.filter(|_| *story.turn.phase() == Phase::Model) {
            Some(index) if draining => {
                leave_unasked(index, &mut draft, &mut story);
                None
            }
            Some(index) => self.prepare_call(index, &mut draft, &mut story).await?,
            None => None,
        };
        let begun = draft.begun();
        self.commit(draft, &mut story, &mut order).await?;
        self.story = story;
        for call in begun {
            self.run_or_ask(call);
        }
        // What was begun on disk is begun; nothing else is, once hob stops.
        self.carry_out(if draining { Vec::new() } else { effects }, order.is_some());
        Ok(())
    }

    /// Prepares the model call that the entry at `index` leads to. One that cannot be made ends the
    /// run; while hob stops it is left to the next start.
    async fn prepare_call(
        &mut self,
        index: usize,
        draft: &mut Draft,
        story: &mut Story,
    ) -> Result<Option<Order>, StoreError> {
        match self.order(story, &draft.messages).await? {
            Ok(made) => {
                let with = &mut draft.entries[index].with;
                with.reserved = made.reserved;
                with.asks = Some(made.candidate.id());
                story.reserved = made.reserved;
                story.model = Some(made.candidate.id());
                draft.notes.extend(made.notes.iter().cloned());
                return Ok(Some(made));
            }
            // What failed may have failed because of the stop.
            Err(_) if self.is_draining() => leave_unasked(index, draft, story),
            Err(reason) => {
                let at = self.at();
                draft.take(story, Entry::new(Event::ModelFailed { at }));
                draft.message = Some(reason);
            }
        }
        Ok(None)
    }

    /// Writes a draft; if a ceiling forbids its model call, writes that the run is paused, or that
    /// it ends where nobody is there to allow more.
    async fn commit(
        &mut self,
        draft: Draft,
        story: &mut Story,
        order: &mut Option<Order>,
    ) -> Result<(), StoreError> {
        let over = match self.write(&draft, story, order.as_ref()).await {
            Err(StoreError::OverBudget {
                which,
                limit,
                spent,
            }) => (which, limit, spent),
            written => return written,
        };
        let (purse, limit, spent) = over;
        let mut draft = draft;
        let at = self.at();
        let (event, sentence) = if self.is_unattended_work() {
            (Event::Unaffordable { at }, unaffordable_sentence(purse))
        } else {
            (
                Event::OutOfMoney { at },
                "Allow more to go on, or stop the run.",
            )
        };
        let with = With {
            purse: Some(purse.into()),
            ..With::default()
        };
        draft.take(story, Entry::with(event, with));
        draft.message = Some(ceiling_sentence(purse, limit, spent, sentence));
        *order = None;
        self.write(&draft, story, None).await
    }

    pub(super) async fn write(
        &mut self,
        draft: &Draft,
        story: &Story,
        order: Option<&Order>,
    ) -> Result<(), StoreError> {
        let mut draft = draft.clone();
        if let Some(cause) = story.cause() {
            self.close(&mut draft, story, cause);
        }
        let summary = self.summary_after(&draft, story);
        draft.tell_watchers(self.now.of(), &self.story, story);
        if let Some(cause) = summary.cause {
            draft.event::<RunCompleted>(&self.completed(&summary, cause, story));
        }
        let (step, attempt) = story.turn.place();
        let entries = draft.entries.len() as u64;
        let write = StepWrite {
            journal: draft.entries.iter().map(Entry::to_json).collect(),
            messages: draft.messages,
            ledger: draft.ledger,
            reserve: order.map(|order| Reserve {
                call_key: self.call_key(step, attempt),
                model: order.candidate.id(),
                micro_dollars: order.reserved,
                ceilings: story.ceilings(self.shared.ceilings()),
            }),
            events: draft.events,
            steer_keys: draft.entries.iter().filter_map(Entry::steer_key).collect(),
            ..StepWrite::new(self.row.id, self.index, summary.clone())
        };
        let written = write_patiently(&self.shared, write).await?;
        let first = written.messages.first().map(|message| message.seq);
        self.row.first_message = self.row.first_message.or(first);
        self.index += entries;
        self.summary = summary;
        if let Some(order) = order {
            self.call = Some(OpenCall {
                key: self.call_key(step, attempt),
                order: order.clone(),
                sent: Arc::new(AtomicBool::new(false)),
                heard: Arc::new(AtomicBool::new(false)),
            });
        }
        self.now.wrote(self.summary.clone(), story.calls.clone());
        Ok(())
    }

    /// Calls whose approval is at hand begin with this write: taking up an approval and the
    /// intent are one transaction.
    fn begin_calls(&self, story: &mut Story, effects: &[Effect], draft: &mut Draft) {
        for effect in effects {
            let Effect::Run { call, .. } = effect else {
                continue;
            };
            let allowed = story.state_of(call) == Some(CallState::Allowed);
            if allowed && self.tickets.contains_key(call) {
                let call = call.clone();
                let at = self.at();
                draft.take(story, Entry::new(Event::Begun { call, at }));
            }
        }
    }

    fn summary_after(&self, draft: &Draft, story: &Story) -> RunSummary {
        let mut summary = self.summary.clone();
        let cause = story.cause();
        (summary.step, summary.attempt) = story.turn.place();
        summary.state = self.state_of(story);
        summary.resumed = story.resumed;
        summary.cause = cause;
        summary.success = cause == Some(Cause::Answered);
        summary.model.clone_from(&story.model);
        summary.cost = draft.cost.unwrap_or(summary.cost);
        if let Some(text) = &draft.text {
            summary.text.clone_from(text);
        }
        summary.message.clone_from(&draft.message);
        for note in &draft.notes {
            summary
                .notes
                .retain(|former| !order::replaces(note, former));
            if summary.notes.len() < NOTES_MAX && !summary.notes.contains(note) {
                summary.notes.push(note.clone());
            }
        }
        let at = draft.entries.first().map(|entry| entry.event.at());
        if summary.started_at.is_none() && summary.step > 0 {
            summary.started_at = at;
        }
        if cause.is_some() {
            summary.ended_at = at.or(Some(self.at()));
            if summary.cost.calls == 0 {
                summary.cost.micro_dollars = Some(0);
            }
        }
        summary
    }

    fn state_of(&self, story: &Story) -> RunState {
        let in_doubt = |state| state == CallState::InDoubt;
        match story.turn.phase() {
            Phase::Queued => RunState::Queued,
            Phase::Tools { calls } if calls.iter().any(|call| in_doubt(call.state)) => {
                RunState::InDoubt
            }
            Phase::Tools { .. } if self.waiting => RunState::Waiting,
            Phase::Model | Phase::Tools { .. } => RunState::Running,
            Phase::Paused => RunState::Paused,
            Phase::Finished { .. } => RunState::Done,
        }
    }

    fn completed(&self, summary: &RunSummary, cause: Cause, story: &Story) -> RunCompletedPayload {
        let denied = story.calls.iter().filter_map(|view| view.denial.clone());
        RunCompletedPayload {
            of: self.now.of().clone(),
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

    /// What names a model call for ever.
    pub(super) fn call_key(&self, step: u32, attempt: u32) -> String {
        format!("{}/{step}/{attempt}", self.row.id)
    }

    /// The run's cost after one more call. An unknown price makes the sum unknown.
    pub(super) fn cost_with(&self, usage: Usage, micro_dollars: Option<u64>) -> Cost {
        add_cost(self.summary.cost, usage, micro_dollars)
    }
}

impl Draft {
    /// Calls that begin with this write.
    fn begun(&self) -> Vec<String> {
        let begun = self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Begun { call, .. } => Some(call.clone()),
            _ => None,
        });
        begun.collect()
    }

    /// Adds an entry whose effects are known to be none, or not to be carried out.
    fn take(&mut self, story: &mut Story, entry: Entry) {
        story.take(&entry, &mut Vec::new());
        self.entries.push(entry);
    }
}

/// A cost after one more call.
pub(crate) fn add_cost(cost: Cost, usage: Usage, micro_dollars: Option<u64>) -> Cost {
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

/// Writes, and waits out what passes by itself: a full disk, a busy store.
async fn write_patiently(shared: &Shared, write: StepWrite) -> Result<Written, StoreError> {
    let stop = shared.parts.tasks.stop_token();
    let mut wait = WRITE_WAIT_MIN;
    loop {
        let failed = match shared.parts.store.write_step(write.clone()).await {
            Err(error) if passes(&error) => error,
            done => return done,
        };
        tracing::warn!(run = %write.run, "a step could not be written yet: {failed}");
        tokio::select! {
            () = stop.cancelled() => return Err(failed),
            () = tokio::time::sleep(wait) => wait = (wait * 2).min(WRITE_WAIT_MAX),
        }
    }
}

/// Leaves the model call that the entry at `index` leads to for the next start: nothing is reserved
/// and nothing is sent.
fn leave_unasked(index: usize, draft: &mut Draft, story: &mut Story) {
    draft.entries[index].with.unasked = true;
    story.unasked = true;
}

fn calls_model(effect: &Effect) -> bool {
    matches!(effect, Effect::CallModel { .. })
}

/// Whether a write that failed may work by itself later.
fn passes(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Full | StoreError::Io(_) | StoreError::Overloaded(_)
    )
}

fn ceiling_sentence(purse: Purse, limit: u64, spent: u64, next: &str) -> String {
    format!(
        "The {purse} budget of {} does not cover the next model call ({} are spent or reserved). {next}",
        dollars(limit),
        dollars(spent)
    )
}
