//! What terminals have done, as figures for `/metrics`.

use hob_wire::rooms::terminal::{CommandState, TerminalCommand};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counted since the start.
#[derive(Debug, Default)]
pub struct Tally {
    succeeded: AtomicU64,
    failed: AtomicU64,
    cancelled: AtomicU64,
    timed_out: AtomicU64,
    lost: AtomicU64,
    ran_ms: AtomicU64,
}

/// What was counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Commands by outcome: `succeeded`, `failed`, `cancelled`, `timeout`, `lost`.
    pub ended: [(&'static str, u64); 5],
    /// Milliseconds that commands ran.
    pub ran_ms: u64,
}

impl Tally {
    pub(super) fn ended(&self, command: &TerminalCommand) {
        let count = match command.state {
            CommandState::Done if command.exit_code == Some(0) => &self.succeeded,
            CommandState::Done => &self.failed,
            CommandState::Cancelled => &self.cancelled,
            CommandState::Timeout => &self.timed_out,
            CommandState::Queued | CommandState::Running | CommandState::Lost => &self.lost,
        };
        count.fetch_add(1, Ordering::Relaxed);
        let ran_ms = command.duration_ms.unwrap_or_default();
        self.ran_ms.fetch_add(ran_ms, Ordering::Relaxed);
    }

    pub fn figures(&self) -> Figures {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Figures {
            ended: [
                ("succeeded", of(&self.succeeded)),
                ("failed", of(&self.failed)),
                ("cancelled", of(&self.cancelled)),
                ("timeout", of(&self.timed_out)),
                ("lost", of(&self.lost)),
            ],
            ran_ms: of(&self.ran_ms),
        }
    }
}
