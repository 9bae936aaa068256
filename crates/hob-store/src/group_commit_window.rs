//! Group commit: before a commit the writer waits briefly for callers that were just answered, who
//! usually come straight back. Commands that arrived meanwhile join at once. Without the wait, each
//! sync among many busy callers would serve only the half that missed the sync before.
//!
//! Invariants: a lone caller never waits; the wait is a fixed share of the last batch's time, once
//! per batch, and is skipped for a while after nobody came.

use crate::writer_queue::{QueuedWrite, WriterQueue};
use std::time::Duration;

/// The wait for returning callers before a commit.
#[derive(Debug, Default)]
pub(crate) struct GroupCommitWindow {
    /// The number of active callers and the time they get; none once they were waited for.
    expected: Option<(usize, Duration)>,
    /// Batches that skip the wait, because the last one did not help.
    pause: u32,
}

impl GroupCommitWindow {
    /// The share of a batch's time that the next one may wait: one in this many.
    const SHARE: u32 = 4;
    const WITHIN_MAX: Duration = Duration::from_millis(2);
    const PAUSE: u32 = 8;

    /// Records a batch of `commands` that took this long and is about to be answered, while
    /// `waiting` others are queued.
    pub(crate) fn note_batch(&mut self, commands: usize, waiting: usize, took: Duration) {
        let within = (took / GroupCommitWindow::SHARE).min(GroupCommitWindow::WITHIN_MAX);
        self.expected = Some((commands + waiting, within));
    }

    /// Adds commands that arrived or arrive within the window; false when the batch should commit.
    pub(crate) fn gather_more(
        &mut self,
        queue: &WriterQueue,
        batch: &mut Vec<QueuedWrite>,
    ) -> bool {
        if queue.add_arrivals(batch) > 0 {
            return true;
        }
        // Taken, not read: a second round of the same batch does not wait again.
        let Some((callers, within)) = self.expected.take() else {
            return false;
        };
        let missing = callers.saturating_sub(batch.len());
        // A lone caller is the whole batch, so nobody is missing and it commits at once.
        if missing == 0 || batch.is_empty() {
            return false;
        }
        if self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        queue.wait_for_commands(missing, within);
        let came = queue.add_arrivals(batch);
        // Few came back: these callers do not write in a loop, and waiting only slows the rest.
        if came == 0 || came < missing / 8 {
            self.pause = GroupCommitWindow::PAUSE;
        }
        came > 0
    }
}
