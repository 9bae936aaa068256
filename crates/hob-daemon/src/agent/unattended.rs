//! Unattended runs: those of loops, jobs, webhooks and the heartbeat, and their children.
//! Invariant: an unattended run waits for no person; where one would be asked, it ends and gives
//! the reason.

use super::driver::RunDriver;
use super::journal::{BudgetName, EntryData, JournalEntry};
use super::replayed_run::ReplayedRun;
use super::step_draft::StepDraft;
use hob_core::turn::{TurnCallState, TurnEffect, TurnEvent, TurnPhase};
use hob_core::unattended::is_unattended_key;
use hob_store::BudgetScope;
use hob_wire::work::DoubtAnswer;

impl RunDriver {
    /// True if no person is there for this run to wait for.
    pub(super) fn is_unattended_work(&self) -> bool {
        self.params.unattended && is_unattended_key(&self.row.session_key)
    }

    /// Ends an unattended run that would wait for a person: about a call in doubt, or for money.
    pub(super) fn end_unattended_wait(
        &self,
        replayed: &mut ReplayedRun,
        effects: &mut Vec<TurnEffect>,
        draft: &mut StepDraft,
    ) {
        if !self.is_unattended_work() || replayed.cause().is_some() {
            return;
        }
        let at = self.now_ms();
        let in_doubt = replayed.turn.calls().iter();
        let mut in_doubt = in_doubt.filter(|call| call.state == TurnCallState::InDoubt);
        let entry = if let Some(call) = in_doubt.next() {
            let (tool, call) = (call.spec.tool.clone(), call.spec.id.clone());
            draft.message = Some(doubt_sentence(&tool));
            let answer = DoubtAnswer::GiveUp;
            JournalEntry::new(TurnEvent::Resolved { call, answer, at })
        } else if *replayed.turn.phase() == TurnPhase::Paused {
            let budget = replayed.stopped_by;
            draft.message = Some(match budget {
                Some(budget) => format!(
                    "The {} budget was used up, and nobody is there to allow more.",
                    budget_label(budget)
                ),
                None => "A budget was used up, and nobody is there to allow more.".to_owned(),
            });
            let data = EntryData {
                budget,
                ..EntryData::default()
            };
            JournalEntry::with_data(TurnEvent::Unaffordable { at }, data)
        } else {
            return;
        };
        replayed.apply(&entry, effects);
        draft.entries.push(entry);
    }
}

/// The advice for the reader when a ceiling ended a run.
pub(super) fn unaffordable_sentence(budget: BudgetScope) -> &'static str {
    match budget {
        BudgetScope::Day => {
            "Nobody is there to allow more, so the run ended; the next day (UTC) has a budget of its own."
        }
        BudgetScope::Session | BudgetScope::Total => {
            "Nobody is there to allow more, so the run ended; raise the setting to go on."
        }
    }
}

fn doubt_sentence(tool: &str) -> String {
    format!(
        "It was interrupted during a call ({tool}), and nobody is there to say if that call happened."
    )
}

fn budget_label(budget: BudgetName) -> &'static str {
    match budget {
        BudgetName::Session => "session's",
        BudgetName::Day => "day's",
        BudgetName::Total => "total",
    }
}
