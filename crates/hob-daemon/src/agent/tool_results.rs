//! Finished permission questions, tool calls and probes of a run, turned into journal entries.
//! Several that finish together become one write.

use super::driver::{FinishedWork, RunDriver};
use super::journal::{EntryData, JournalEntry};
use super::replayed_run::text_result;
use super::step_draft::StepDraft;
use super::tool_client::{self, ExecutionOutcome, PermissionOutcome};
use futures_util::{FutureExt, StreamExt};
use hob_core::turn::{ProbeResult, TurnCallState, TurnEvent};
use hob_store::StoreError;
use hob_wire::ToolResult;
use hob_wire::rooms::permission::PermissionDenial;
use hob_wire::rooms::tool::ToolProbeResult;

impl RunDriver {
    /// Writes the end of a question or a tool, and of all others that have ended by now.
    pub(super) async fn apply_finished_work(
        &mut self,
        first: FinishedWork,
    ) -> Result<(), StoreError> {
        let mut draft = StepDraft::default();
        let mut next = Some(first);
        while let Some(done) = next {
            if self.may_come_from_stop(&done) {
                self.discard_outcome(&done);
            } else {
                self.draft_finished(done, &mut draft);
            }
            // One write for all that are ready: each write costs a sync of the disk.
            next = self.in_flight.next().now_or_never().flatten();
        }
        if draft.entries.is_empty() {
            // Nothing to write, but a renewed approval may have queued a tool that had begun before
            // a restart.
            if self.slot.is_some() {
                self.start_slot_work();
            }
            return Ok(());
        }
        self.charge_children(&mut draft).await?;
        self.advance(draft).await
    }

    fn draft_finished(&mut self, done: FinishedWork, draft: &mut StepDraft) {
        let at = self.now_ms();
        match done {
            FinishedWork::Permission { call, outcome } => {
                self.asking.remove(&call);
                self.waits_for_person = self.waits_for_person && !self.asking.is_empty();
                self.draft_permission(call, outcome, draft);
            }
            FinishedWork::Execution { call, outcome } => {
                self.running.remove(&call);
                draft.entries.push(tool_ended_entry(call, outcome, at));
            }
            FinishedWork::Probe { call, probed } => {
                self.running.remove(&call);
                draft.entries.push(probed_entry(call, probed, at));
            }
        }
    }

    fn draft_permission(
        &mut self,
        call: String,
        outcome: PermissionOutcome,
        draft: &mut StepDraft,
    ) {
        let at = self.now_ms();
        let state = self.replayed.state_of(&call);
        let entries = &mut draft.entries;
        match (outcome, state) {
            (PermissionOutcome::Allowed { ticket, digest }, Some(TurnCallState::Asked)) => {
                self.tickets.insert(call.clone(), ticket);
                let data = EntryData {
                    approved: digest,
                    ..EntryData::default()
                };
                entries.push(JournalEntry::with_data(decided_event(call, true, at), data));
            }
            // No call begins during a drain. The next start asks again, and this approval is in the
            // journal.
            (PermissionOutcome::Allowed { .. }, Some(TurnCallState::Allowed))
                if self.is_draining() => {}
            (PermissionOutcome::Allowed { ticket, .. }, Some(TurnCallState::Allowed)) => {
                self.tickets.insert(call.clone(), ticket);
                entries.push(JournalEntry::new(TurnEvent::Begun { call, at }));
            }
            (PermissionOutcome::Allowed { ticket, .. }, Some(TurnCallState::Begun)) => {
                self.tickets.insert(call.clone(), ticket);
                self.run_or_ask(call);
            }
            (
                PermissionOutcome::Denied(denial) | PermissionOutcome::Unreachable(denial),
                Some(TurnCallState::Asked | TurnCallState::Allowed),
            ) => {
                let reason = denial.reason.clone();
                entries.push(refused_entry(call, reason, Some(*denial), at));
            }
            (PermissionOutcome::Impossible { reason }, Some(TurnCallState::Allowed)) => {
                entries.push(refused_entry(call, reason, None, at));
            }
            (
                PermissionOutcome::Denied(denial) | PermissionOutcome::Unreachable(denial),
                Some(TurnCallState::Begun),
            ) => {
                let reason = denial.reason;
                // The call may have happened before the restart, so the model must not read this as
                // a plain denial.
                let text = format!("It started before a restart and was not repeated: {reason}");
                entries.push(tool_done_entry(text_result(&call, text, true), at));
            }
            (PermissionOutcome::Impossible { reason }, Some(TurnCallState::Asked)) => {
                let begun = TurnEvent::Begun {
                    call: call.clone(),
                    at,
                };
                // Recorded as a failed call, not as a denied one: nobody refused it.
                entries.push(JournalEntry::new(decided_event(call.clone(), true, at)));
                entries.push(JournalEntry::new(begun));
                entries.push(tool_done_entry(text_result(&call, reason, true), at));
            }
            (PermissionOutcome::Impossible { reason }, Some(TurnCallState::Begun)) => {
                let outcome = ExecutionOutcome::Unanswered(reason);
                entries.push(tool_ended_entry(call, outcome, at));
            }
            // The call was settled in the meantime; a late answer changes nothing.
            _ => {}
        }
    }
}

/// The journal entry of a call that does not begin.
fn refused_entry(
    call: String,
    reason: String,
    denial: Option<PermissionDenial>,
    at: u64,
) -> JournalEntry {
    let mut data = result_data(text_result(&call, reason, true));
    data.denial = denial;
    JournalEntry::with_data(decided_event(call, false, at), data)
}

/// The journal entry of a tool call that ended.
pub(super) fn tool_ended_entry(call: String, outcome: ExecutionOutcome, at: u64) -> JournalEntry {
    match outcome {
        ExecutionOutcome::Answered(result) => tool_done_entry(result, at),
        ExecutionOutcome::Unanswered(why) => {
            let text = format!("The tool did not answer: {why}");
            let mut data = result_data(text_result(&call, text, true));
            data.known = Some(format!("It started, and then: {why}"));
            JournalEntry::with_data(TurnEvent::Unanswered { call, at }, data)
        }
    }
}

fn tool_done_entry(result: ToolResult, at: u64) -> JournalEntry {
    let event = TurnEvent::ToolDone {
        call: result.id.clone(),
        failed: result.is_error,
        at,
    };
    JournalEntry::with_data(event, result_data(result))
}

fn probed_entry(call: String, probed: ToolProbeResult, at: u64) -> JournalEntry {
    let (found, data) = match probed {
        ToolProbeResult::Yes { outcome } => {
            let failed = outcome.is_error;
            let result = tool_client::to_tool_result(call.clone(), outcome);
            (ProbeResult::Happened { failed }, result_data(result))
        }
        ToolProbeResult::No => (ProbeResult::DidNot, EntryData::default()),
        ToolProbeResult::Unknown { known } => {
            let known = Some(known);
            let data = EntryData {
                known,
                ..EntryData::default()
            };
            (ProbeResult::Unknown, data)
        }
    };
    JournalEntry::with_data(TurnEvent::Probed { call, found, at }, data)
}

pub(super) fn decided_event(call: String, allowed: bool, at: u64) -> TurnEvent {
    TurnEvent::Decided { call, allowed, at }
}

pub(super) fn result_data(result: ToolResult) -> EntryData {
    EntryData {
        result: Some(result),
        ..EntryData::default()
    }
}
