//! What people tell a run while it is driven: stop, these words too, it happened, here is money.

use super::draft::Draft;
use super::driver::Driver;
use super::journal::{Entry, With, Words};
use super::live::{Command, Letter};
use super::shared::refused;
use super::story::told;
use hob_core::turn::{CallState, Event, Phase};
use hob_store::StoreError;
use hob_wire::work::DoubtAnswer;
use hob_wire::{ErrorCode, WireError};

impl Driver {
    /// Takes a command and answers with the run after it.
    pub(super) async fn hear(&mut self, letter: Letter) -> Result<(), StoreError> {
        let entry = match self.entry_of(letter.command) {
            Ok(entry) => entry,
            Err(error) => {
                let _ = letter.reply.send(Err(error));
                return Ok(());
            }
        };
        if let Some(entry) = entry {
            self.advance(Draft::of(entry)).await?;
        }
        // Whoever asked may have gone; what was done stays done.
        let _ = letter.reply.send(Ok(self.view()));
        Ok(())
    }

    /// What a command means for the journal; nothing when it was heard before.
    fn entry_of(&self, command: Command) -> Result<Option<Entry>, WireError> {
        let at = self.at();
        match command {
            Command::Abort => Ok(Some(Entry::new(Event::Cancelled { at }))),
            Command::Steer(words) if self.knows_words(&words) => Ok(None),
            Command::Steer(words) => {
                let with = With {
                    words: Some(words),
                    ..With::default()
                };
                Ok(Some(Entry::with(Event::Steered { at }, with)))
            }
            Command::Resolve {
                call,
                answer,
                result,
            } => self.resolution(call, answer, result).map(Some),
            Command::Allow { micro_dollars } => {
                if *self.story.turn.phase() != Phase::Paused {
                    let message = "This run does not wait for money.";
                    return Err(refused(ErrorCode::Conflict, message));
                }
                let with = With {
                    purse: self.story.stopped_by,
                    allowance: Some(micro_dollars),
                    ..With::default()
                };
                Ok(Some(Entry::with(Event::MoneyAllowed { at }, with)))
            }
        }
    }

    /// Whether these words were taken before, by this run or as its task.
    fn knows_words(&self, words: &Words) -> bool {
        let key = words.key.as_deref();
        let is_task = key.is_some() && self.params.idempotency_key.as_deref() == key;
        is_task || self.story.knows_words(key)
    }

    fn resolution(
        &self,
        call: String,
        answer: DoubtAnswer,
        result: Option<String>,
    ) -> Result<Entry, WireError> {
        if self.story.state_of(&call) != Some(CallState::InDoubt) {
            let message = format!("The call '{call}' of this run is not in doubt.");
            return Err(refused(ErrorCode::Conflict, message));
        }
        let happened = (answer == DoubtAnswer::Happened).then(|| {
            let text = result.unwrap_or_else(|| "It happened; what it gave is not known.".into());
            told(&call, text, false)
        });
        let with = With {
            result: happened,
            ..With::default()
        };
        let at = self.at();
        Ok(Entry::with(Event::Resolved { call, answer, at }, with))
    }
}
