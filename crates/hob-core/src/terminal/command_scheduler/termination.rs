//! The termination of a command: an interrupt, then signals. Pure.

use super::types::SchedulerEffect;

/// The time between Ctrl-C and the first signal, and between signals.
const STEP_MS: u64 = 1_000;
/// The time between two kills: a line of several programs starts the next one when one is gone.
const KILL_AGAIN_MS: u64 = 250;
/// Kills before the terminal is given up.
const KILLS_MAX: u8 = 8;
/// The time between two interrupts of a shell that asks for the rest of a line: one that arrives
/// while it prepares to read is lost.
const INTERRUPT_AGAIN_MS: u64 = 250;
/// The most interrupts.
const INTERRUPTS_MAX: u8 = 16;

/// The reason a command is terminated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TerminationCause {
    Cancelled,
    Deadline,
    /// Its line is not complete.
    Incomplete,
    /// The shell took it and it does not begin.
    NeverBegan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TerminationStep {
    Interrupted,
    /// Interrupted this many times, because the shell itself has it.
    InterruptRepeated(u8),
    Terminated,
    Killed {
        times: u8,
    },
}

/// A termination in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Termination {
    pub(super) cause: TerminationCause,
    step: TerminationStep,
    pub(super) due_ms: u64,
}

impl Termination {
    pub(super) fn begin(
        cause: TerminationCause,
        now_ms: u64,
        out: &mut Vec<SchedulerEffect>,
    ) -> Termination {
        out.push(SchedulerEffect::Interrupt);
        let (step, wait_ms) = match cause {
            TerminationCause::Cancelled | TerminationCause::Deadline => {
                (TerminationStep::Interrupted, STEP_MS)
            }
            // The shell itself has the line, and a signal would kill the shell.
            TerminationCause::Incomplete | TerminationCause::NeverBegan => {
                (TerminationStep::InterruptRepeated(1), INTERRUPT_AGAIN_MS)
            }
        };
        Termination {
            cause,
            step,
            due_ms: now_ms.saturating_add(wait_ms),
        }
    }

    /// Performs the next step if it is due; returns false if none is left.
    pub(super) fn advance(&mut self, now_ms: u64, out: &mut Vec<SchedulerEffect>) -> bool {
        if now_ms < self.due_ms {
            return true;
        }
        let (step, effect, wait_ms) = match self.step {
            TerminationStep::InterruptRepeated(count @ ..INTERRUPTS_MAX) => (
                TerminationStep::InterruptRepeated(count + 1),
                SchedulerEffect::Interrupt,
                INTERRUPT_AGAIN_MS,
            ),
            TerminationStep::Interrupted => (
                TerminationStep::Terminated,
                SchedulerEffect::Terminate,
                STEP_MS,
            ),
            TerminationStep::InterruptRepeated(_)
            | TerminationStep::Killed { times: KILLS_MAX } => return false,
            TerminationStep::Killed { times } => {
                let times = times + 1;
                (
                    TerminationStep::Killed { times },
                    SchedulerEffect::Kill,
                    KILL_AGAIN_MS,
                )
            }
            TerminationStep::Terminated => (
                TerminationStep::Killed { times: 1 },
                SchedulerEffect::Kill,
                KILL_AGAIN_MS,
            ),
        };
        out.push(effect);
        self.step = step;
        self.due_ms = now_ms.saturating_add(wait_ms);
        true
    }
}
