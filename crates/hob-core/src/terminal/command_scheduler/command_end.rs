//! How a command is made to end: asked politely, then less so. Pure.

use super::words::Effect;

/// Between control and C and the first signal, and between the signals.
const STEP_MS: u64 = 1_000;
/// Between two kills: a line of several programs starts the next one when one is gone.
const KILL_AGAIN_MS: u64 = 250;
/// Kills before the terminal is given up.
const KILLS_MAX: u8 = 8;
/// Between two interruptions of a shell that asks for the rest of a line: one that comes while it
/// prepares to read is lost.
const PRESS_MS: u64 = 250;
/// How often it is interrupted.
const PRESSES_MAX: u8 = 16;

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
    /// So often, because the shell itself has it.
    Pressed(u8),
    Terminated,
    Killed {
        times: u8,
    },
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
        let (step, wait_ms) = match cause {
            Cause::Cancelled | Cause::Deadline => (Step::Interrupted, STEP_MS),
            Cause::Incomplete | Cause::Unbegun => (Step::Pressed(1), PRESS_MS),
        };
        Ending {
            cause,
            step,
            due_ms: now_ms.saturating_add(wait_ms),
        }
    }

    /// Takes the next step if it is due; false when there is none left.
    pub(super) fn advance(&mut self, now_ms: u64, out: &mut Vec<Effect>) -> bool {
        if now_ms < self.due_ms {
            return true;
        }
        let (step, effect, wait_ms) = match self.step {
            Step::Pressed(count @ ..PRESSES_MAX) => {
                (Step::Pressed(count + 1), Effect::Interrupt, PRESS_MS)
            }
            Step::Interrupted => (Step::Terminated, Effect::Terminate, STEP_MS),
            Step::Pressed(_) | Step::Killed { times: KILLS_MAX } => return false,
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
