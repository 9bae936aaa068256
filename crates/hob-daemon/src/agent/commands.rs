//! Commands for a run in progress: abort, steer, resolve a call in doubt, allow more money.

use super::driver::RunDriver;
use super::journal::{EntryData, JournalEntry, SteeringText};
use super::live_runs::{DriverCommand, RunAction};
use super::replayed_run::text_result;
use super::step_draft::StepDraft;
use hob_core::turn::{TurnCallState, TurnEvent, TurnPhase};
use hob_store::StoreError;
use hob_wire::work::DoubtAnswer;
use hob_wire::{ErrorCode, WireError};

impl RunDriver {
    /// Handles a command and replies with the run's view after it.
    pub(super) async fn handle_command(
        &mut self,
        command: DriverCommand,
    ) -> Result<(), StoreError> {
        let entry = match self.journal_entry_for(command.action) {
            Ok(entry) => entry,
            Err(error) => {
                let _ = command.reply.send(Err(error));
                return Ok(());
            }
        };
        if let Some(entry) = entry {
            self.advance(StepDraft::of(entry)).await?;
        }
        // The caller may be gone; the command took effect anyway.
        let _ = command.reply.send(Ok(self.view()));
        Ok(())
    }

    /// The journal entry of a command; `None` for a steering text that was taken before.
    fn journal_entry_for(&self, action: RunAction) -> Result<Option<JournalEntry>, WireError> {
        let at = self.now_ms();
        match action {
            RunAction::Abort => Ok(Some(JournalEntry::new(TurnEvent::Cancelled { at }))),
            RunAction::Steer(steering) if self.has_steering(&steering) => Ok(None),
            RunAction::Steer(steering) => {
                let data = EntryData {
                    steering: Some(steering),
                    ..EntryData::default()
                };
                Ok(Some(JournalEntry::with_data(
                    TurnEvent::Steered { at },
                    data,
                )))
            }
            RunAction::Resolve {
                call,
                answer,
                result,
            } => self.resolution_entry(call, answer, result).map(Some),
            RunAction::Allow { micro_dollars } => {
                if *self.replayed.turn.phase() != TurnPhase::Paused {
                    let message = "This run does not wait for money.";
                    return Err(WireError::new(ErrorCode::Conflict, message));
                }
                let data = EntryData {
                    budget: self.replayed.stopped_by,
                    allowance: Some(micro_dollars),
                    ..EntryData::default()
                };
                Ok(Some(JournalEntry::with_data(
                    TurnEvent::MoneyAllowed { at },
                    data,
                )))
            }
        }
    }

    /// True if this run took the text before, as steering or as its task.
    fn has_steering(&self, steering: &SteeringText) -> bool {
        let key = steering.key.as_deref();
        let is_task = key.is_some() && self.params.idempotency_key.as_deref() == key;
        is_task || self.replayed.knows_steering_key(key)
    }

    fn resolution_entry(
        &self,
        call: String,
        answer: DoubtAnswer,
        result: Option<String>,
    ) -> Result<JournalEntry, WireError> {
        if self.replayed.state_of(&call) != Some(TurnCallState::InDoubt) {
            let message = format!("The call '{call}' of this run is not in doubt.");
            return Err(WireError::new(ErrorCode::Conflict, message));
        }
        let happened = (answer == DoubtAnswer::Happened).then(|| {
            let text = result.unwrap_or_else(|| "It happened; its result is not known.".into());
            text_result(&call, text, false)
        });
        let data = EntryData {
            result: happened,
            ..EntryData::default()
        };
        let at = self.now_ms();
        Ok(JournalEntry::with_data(
            TurnEvent::Resolved { call, answer, at },
            data,
        ))
    }
}
