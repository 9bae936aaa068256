//! How a command is made to end: asked politely, then less so. Pure.

use super::words::Effect;

/// Between control and C and the first signal, and between the signals.
const STEP_MS: u64 = 1_000;
/// Between two kills: a line of several programs starts the next one when one is gone.
const KILL_AGAIN_MS: u64 = 250;
/// Kills before the terminal is given up.
const KILLS_MAX: u8 = 8;

/// Why a command is made to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cause {
    Cancelled,
    Deadline,
    /// Its line is not complete.
    Incomplete,
    /// It was taken and does not begin.
    Unbegun,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Interrupted,
    Terminated,
    Killed { times: u8 },
}

/// A command on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ending {
    pub(super) cause: Cause,
    step: Step,
    pub(super) due_ms: u64,
}

impl Ending {
    pub(super) fn begin(cause: Cause, now_ms: u64, out: &mut Vec<Effect>) -> Ending {
        out.push(Effect::Interrupt);
        Ending {
            cause,
            step: Step::Interrupted,
            due_ms: now_ms.saturating_add(STEP_MS),
        }
    }

    /// Takes the next step if it is due; false when there is none left.
    pub(super) fn advance(&mut self, now_ms: u64, out: &mut Vec<Effect>) -> bool {
        if now_ms < self.due_ms {
            return true;
        }
        let (step, effect, wait_ms) = match self.step {
            Step::Interrupted => (Step::Terminated, Effect::Terminate, STEP_MS),
            Step::Killed { times: KILLS_MAX } => return false,
            Step::Killed { times } => {
                let times = times + 1;
                (Step::Killed { times }, Effect::Kill, KILL_AGAIN_MS)
            }
            Step::Terminated => (Step::Killed { times: 1 }, Effect::Kill, KILL_AGAIN_MS),
        };
        out.push(effect);
        self.step = step;
        self.due_ms = now_ms.saturating_add(wait_ms);
        true
    }
}
