//! When the writer gives callers a moment to come back. Among many busy callers a batch would
//! otherwise hold only those who missed the one before, and every sync serve half of them.
//!
//! Invariants: a lone caller is never kept waiting; the moment is a fixed share of what the batch
//! before took, and is not given for a while when nobody came.

use crate::lanes::{BATCH_COMMANDS_MAX, Company, Lanes};
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Tact {
    /// Callers of the batch just answered, and the moment they get.
    just_answered: Option<Company>,
    /// Batches to go without waiting, because it did not help.
    pause: u32,
}

impl Tact {
    /// The share of a batch's own time that may be spent on waiting for the next.
    const SHARE: u32 = 4;
    const WITHIN_MAX: Duration = Duration::from_millis(2);
    const PAUSE: u32 = 8;

    /// A batch of `commands` took this long and is being answered.
    pub(crate) fn answered(&mut self, commands: usize, took: Duration) {
        let within = (took / Tact::SHARE).min(Tact::WITHIN_MAX);
        self.just_answered = (commands > 1).then_some(Company { commands, within });
    }

    /// Waits for those just answered, if that is worth while.
    pub(crate) fn gather(&mut self, lanes: &Lanes) {
        let Some(mut company) = self.just_answered.take() else {
            return;
        };
        if self.pause > 0 {
            self.pause -= 1;
            return;
        }
        let waiting = lanes.waiting();
        let expected = company.commands;
        company.commands = (waiting + expected).min(BATCH_COMMANDS_MAX);
        let came = lanes.gather(company).saturating_sub(waiting);
        if came == 0 || came < expected / 8 {
            self.pause = Tact::PAUSE;
        }
    }
}
