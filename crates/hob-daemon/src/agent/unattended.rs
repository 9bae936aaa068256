//! Runs that nobody watches: those of loops, jobs, webhooks and the heartbeat, and the runs they
//! start. Invariant: such a run waits for no person; where one would be asked, it ends and says why.

use super::draft::Draft;
use super::driver::Driver;
use super::journal::{Entry, PurseName, With};
use super::story::Story;
use hob_core::turn::{CallState, Effect, Event, Phase};
use hob_core::unattended::is_unattended_key;
use hob_store::Purse;
use hob_wire::work::DoubtAnswer;

impl Driver {
    /// Whether nobody is there whom this run could wait for.
    pub(super) fn is_unattended_work(&self) -> bool {
        self.params.unattended && is_unattended_key(&self.row.session_key)
    }

    /// Ends a run that would wait for a person who is not there: for a word about a call in doubt,
    /// or for money that a former version let it wait for.
    pub(super) fn end_vain_wait(
        &self,
        story: &mut Story,
        effects: &mut Vec<Effect>,
        draft: &mut Draft,
    ) {
        if !self.is_unattended_work() || story.cause().is_some() {
            return;
        }
        let at = self.at();
        let in_doubt = story.turn.calls().iter();
        let mut in_doubt = in_doubt.filter(|call| call.state == CallState::InDoubt);
        let entry = if let Some(call) = in_doubt.next() {
            let (tool, call) = (call.spec.tool.clone(), call.spec.id.clone());
            draft.message = Some(doubt_sentence(&tool));
            let answer = DoubtAnswer::GiveUp;
            Entry::new(Event::Resolved { call, answer, at })
        } else if *story.turn.phase() == Phase::Paused {
            let purse = story.stopped_by;
            draft.message = Some(match purse {
                Some(purse) => format!(
                    "The {} budget was used up, and nobody is there to allow more.",
                    name(purse)
                ),
                None => "A budget was used up, and nobody is there to allow more.".to_owned(),
            });
            let with = With {
                purse,
                ..With::default()
            };
            Entry::with(Event::Unaffordable { at }, with)
        } else {
            return;
        };
        story.take(&entry, effects);
        draft.entries.push(entry);
    }
}

/// What follows for whoever reads that a ceiling ended a run.
pub(super) fn unaffordable_sentence(purse: Purse) -> &'static str {
    match purse {
        Purse::Day => {
            "Nobody is there to allow more, so the run ended; the next day (UTC) has a budget of its own."
        }
        Purse::Session | Purse::Total => {
            "Nobody is there to allow more, so the run ended; raise the setting to go on."
        }
    }
}

fn doubt_sentence(tool: &str) -> String {
    format!(
        "It was cut off in the middle of a call ({tool}), and nobody is there to say whether that call happened."
    )
}

fn name(purse: PurseName) -> &'static str {
    match purse {
        PurseName::Session => "session's",
        PurseName::Day => "day's",
        PurseName::Total => "total",
    }
}
