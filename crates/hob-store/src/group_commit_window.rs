//! Whom the writer still takes along before it commits: whoever came while it ran the commands
//! before, and those it has just answered, who usually come straight back. Without the latter,
//! among many busy callers each sync would serve only the half that missed the one before.
//!
//! Invariants: a lone caller is never kept waiting; those who come back are given a fixed share of
//! the time the batch before took, once a batch, and nothing for a while when nobody came.

use crate::lanes::{Lanes, Queued};
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Tact {
    /// Callers known to be about, and how long they may take; none once they were waited for.
    expected: Option<(usize, Duration)>,
    /// Batches to go without waiting, because it did not help.
    pause: u32,
}

impl Tact {
    /// The share of a batch's own time that may be spent on waiting in the next.
    const SHARE: u32 = 4;
    const WITHIN_MAX: Duration = Duration::from_millis(2);
    const PAUSE: u32 = 8;

    /// A batch of `commands` took this long and is about to be answered, while `waiting` others
    /// are queued.
    pub(crate) fn answered(&mut self, commands: usize, waiting: usize, took: Duration) {
        let within = (took / Tact::SHARE).min(Tact::WITHIN_MAX);
        self.expected = Some((commands + waiting, within));
    }

    /// Takes along who came, or comes within the moment; false when the batch should commit.
    pub(crate) fn take_along(&mut self, lanes: &Lanes, batch: &mut Vec<Queued>) -> bool {
        if lanes.join(batch) > 0 {
            return true;
        }
        let Some((callers, within)) = self.expected.take() else {
            return false;
        };
        let missing = callers.saturating_sub(batch.len());
        if missing == 0 || batch.is_empty() {
            return false;
        }
        if self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        lanes.gather(missing, within);
        let came = lanes.join(batch);
        if came == 0 || came < missing / 8 {
            self.pause = Tact::PAUSE;
        }
        came > 0
    }
}
