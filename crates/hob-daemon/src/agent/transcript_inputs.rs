//! What a run tells the transcript of its session: what each write stored, and what followed from
//! it. Invariant: a transcript hears of a message only after it is on disk.

use super::driver::RunDriver;
use super::replayed_run::ReplayedRun;
use super::step_draft::doubt_sentence;
use crate::transcripts::TranscriptFeed;
use hob_core::transcript::TranscriptInput;
use hob_core::turn::TurnPhase;
use hob_store::{RunSummary, StepOrigin};
use hob_wire::Message;
use hob_wire::block::QuestionKind;
use hob_wire::rooms::agent::{CallView, ToolCallState};

/// A write of a run that was committed.
pub(super) struct CommittedStep<'s> {
    pub(super) messages: Vec<Message>,
    pub(super) origins: Vec<Option<StepOrigin>>,
    pub(super) before: &'s ReplayedRun,
    pub(super) after: &'s ReplayedRun,
    pub(super) summary: &'s RunSummary,
}

impl RunDriver {
    /// Tells the transcript that the run begins or resumes, and what it waits for.
    pub(super) fn begin_transcript(&self) {
        let feed = self.live_view.transcript();
        feed.begin_run();
        let unbegun = ReplayedRun::new(self.row.limits);
        let mut inputs = Vec::new();
        tell_calls(feed, &unbegun, &self.replayed, &mut inputs);
        tell_money(feed, &unbegun, &self.replayed, &self.summary, &mut inputs);
        feed.add_step(inputs);
    }

    /// Tells the transcript what a write changed.
    pub(super) fn tell_transcript(&self, step: CommittedStep<'_>) {
        let feed = self.live_view.transcript();
        let messages = step.messages.into_iter().zip(step.origins);
        let mut inputs: Vec<TranscriptInput> = messages
            .map(|(message, origin)| feed.message(message, origin))
            .collect();
        tell_calls(feed, step.before, step.after, &mut inputs);
        tell_money(feed, step.before, step.after, step.summary, &mut inputs);
        if let Some(cause) = step.summary.cause {
            inputs.push(TranscriptInput::RunEnded {
                run: self.row.id,
                cause,
                message: step.summary.message.clone(),
                notes: step.summary.notes.clone(),
            });
        }
        feed.add_step(inputs);
    }
}

/// Calls that began, came into doubt, or are in doubt no more.
fn tell_calls(
    feed: &TranscriptFeed,
    before: &ReplayedRun,
    after: &ReplayedRun,
    out: &mut Vec<TranscriptInput>,
) {
    let was_in_doubt = |id: &str| before.call(id).is_some_and(is_in_doubt);
    for view in &after.calls {
        let id = &view.call.id;
        let begins = view.result.is_none() && after.began.contains_key(id);
        if begins && !before.began.contains_key(id) {
            out.push(feed.call_begun(id));
        }
        match (was_in_doubt(id), is_in_doubt(view)) {
            (false, true) if after.cause().is_none() => {
                let sentence = doubt_sentence(view, after);
                out.push(feed.asked(QuestionKind::Doubt, Some(id), sentence));
            }
            (true, false) => out.push(feed.answered(Some(id))),
            _ => {}
        }
    }
}

/// The run waits for money, or it does no more.
fn tell_money(
    feed: &TranscriptFeed,
    before: &ReplayedRun,
    after: &ReplayedRun,
    summary: &RunSummary,
    out: &mut Vec<TranscriptInput>,
) {
    let is_paused = |run: &ReplayedRun| *run.turn.phase() == TurnPhase::Paused;
    match (is_paused(before), is_paused(after)) {
        (false, true) => {
            let sentence = summary.message.clone().unwrap_or_default();
            out.push(feed.asked(QuestionKind::Money, None, sentence));
        }
        (true, false) => out.push(feed.answered(None)),
        _ => {}
    }
}

fn is_in_doubt(view: &CallView) -> bool {
    view.state == ToolCallState::InDoubt
}
