//! What orders and time do to a terminal, and how its commands end.

use super::ending::{Cause, Ending};
use super::machine::{Desk, Given, NUDGE_MS, Shell, Stage, WITHDRAWN_MS};
use super::words::{Effect, End, Job, Over, Who, Why};
use hob_wire::id::CommandId;
use hob_wire::terminal::CommandState;

/// How a command of hob's ended: state, exit code, why.
pub(super) type Told = (CommandState, Option<i32>, Option<Why>);

impl Desk {
    /// Ends a command of hob's, or all of them. What the shell has is only touched once what was
    /// recorded was lived through.
    pub(super) fn cancel(&mut self, which: Option<CommandId>, now_ms: u64, out: &mut Vec<Effect>) {
        let is_meant = |id: CommandId| which.is_none_or(|wanted| wanted == id);
        if self.is_live
            && let Some(given) = &mut self.given
            && is_meant(given.job.id)
            && given.ending.is_none()
        {
            match given.stage {
                Stage::Offered { .. } => {
                    out.push(Effect::Withdraw);
                    let until_ms = now_ms.saturating_add(WITHDRAWN_MS);
                    given.stage = Stage::Withdrawn { until_ms };
                }
                Stage::Withdrawn { .. } => {}
                Stage::Taken { .. } | Stage::Running { .. } => {
                    given.ending = Some(Ending::begin(Cause::Cancelled, now_ms, out));
                }
            }
        }
        let dropped = (CommandState::Cancelled, None, Some(Why::Dropped));
        while let Some(place) = self.queue.iter().position(|job| is_meant(job.id)) {
            if let Some(job) = self.queue.remove(place) {
                end(job, dropped, out);
                self.drop_chain(job, out);
            }
        }
    }

    pub(super) fn tick(&mut self, now_ms: u64, out: &mut Vec<Effect>) {
        if let Shell::Starting { until_ms } = self.shell {
            if now_ms >= until_ms {
                self.over(Over::Silent, out);
            }
            return;
        }
        if !self.is_live {
            return;
        }
        let is_prompt = self.shell == Shell::Prompt;
        let Some(given) = &mut self.given else {
            return;
        };
        if let Some(ending) = &mut given.ending {
            if !ending.advance(now_ms, out) {
                self.over(Over::Stubborn, out);
            }
            return;
        }
        match &mut given.stage {
            Stage::Offered {
                nudge_ms,
                until_ms,
                is_doubtful,
            } => {
                if !is_prompt || now_ms < *nudge_ms {
                    return;
                }
                if now_ms < *until_ms {
                    *nudge_ms = now_ms.saturating_add(NUDGE_MS);
                    if !*is_doubtful {
                        out.push(Effect::Nudge);
                    }
                    return;
                }
                let why = if *is_doubtful {
                    Why::Doubtful
                } else {
                    Why::Untaken
                };
                let job = given.job;
                out.push(Effect::Withdraw);
                self.given = None;
                end(job, (CommandState::Lost, None, Some(why)), out);
                self.drop_chain(job, out);
            }
            Stage::Withdrawn { until_ms } => {
                if now_ms >= *until_ms {
                    let job = given.job;
                    self.given = None;
                    let told = (CommandState::Cancelled, None, Some(Why::Dropped));
                    end(job, told, out);
                    self.drop_chain(job, out);
                }
            }
            Stage::Taken { until_ms, cause } => {
                if now_ms >= *until_ms {
                    given.ending = Some(Ending::begin(*cause, now_ms, out));
                }
            }
            Stage::Running { deadline_ms } => {
                if deadline_ms.is_some_and(|deadline_ms| now_ms >= deadline_ms) {
                    given.ending = Some(Ending::begin(Cause::Deadline, now_ms, out));
                }
            }
        }
    }

    /// The command in the shell's hands ended, with this status if the shell told it.
    pub(super) fn end_given(&mut self, given: Given, status: Option<i32>, out: &mut Vec<Effect>) {
        self.given = None;
        let told = match (given.ending.map(|ending| ending.cause), status) {
            (Some(Cause::Cancelled), Some(_)) => (CommandState::Cancelled, status, None),
            (Some(Cause::Cancelled), None) => (CommandState::Cancelled, None, Some(Why::Dropped)),
            (Some(Cause::Deadline), _) => (CommandState::Timeout, status, None),
            (Some(Cause::Incomplete), _) => {
                let exit_code = Some(INCOMPLETE_EXIT_CODE);
                (CommandState::Done, exit_code, Some(Why::Incomplete))
            }
            (None, Some(_)) => (CommandState::Done, status, None),
            (None, None) if given.has_begun() => (CommandState::Lost, None, Some(Why::Unseen)),
            (Some(Cause::Unbegun), _) | (None, None) => {
                (CommandState::Lost, None, Some(Why::Unbegun))
            }
        };
        end(given.job, told, out);
        if told != (CommandState::Done, Some(0), None) {
            self.drop_chain(given.job, out);
        }
    }

    /// One of several failed: the rest is dropped.
    pub(super) fn drop_chain(&mut self, failed: Job, out: &mut Vec<Effect>) {
        if failed.chain.is_none() {
            return;
        }
        let dropped = (CommandState::Cancelled, None, Some(Why::Chain));
        self.queue.retain(|job| {
            let goes = job.chain == failed.chain;
            if goes {
                end(*job, dropped, out);
            }
            !goes
        });
    }

    /// Nothing more happens in this terminal.
    pub(super) fn over(&mut self, over: Over, out: &mut Vec<Effect>) {
        if let Some(given) = self.given.take() {
            end(given.job, last_words(given, over), out);
        }
        let queued = match over {
            Over::Closed => (CommandState::Cancelled, None, Some(Why::Closed)),
            _ => (CommandState::Lost, None, Some(Why::Gone)),
        };
        for job in self.queue.drain(..) {
            end(job, queued, out);
        }
        if matches!(&self.shell, Shell::Person(id) if is_typed(id)) {
            let (state, exit_code, why) = match over {
                Over::Left { status } => (CommandState::Done, Some(status), Why::LeftShell),
                Over::Closed => (CommandState::Lost, None, Why::Closed),
                _ => (CommandState::Lost, None, Why::Gone),
            };
            let end = End {
                state,
                exit_code,
                why: Some(why),
            };
            out.push(Effect::Ended(Who::Person, end));
        }
        self.shell = Shell::Over;
        out.push(Effect::Over(over));
    }
}

/// What a shell calls a line that it cannot make sense of.
const INCOMPLETE_EXIT_CODE: i32 = 2;

/// How the command in the shell's hands ends with its terminal.
fn last_words(given: Given, over: Over) -> Told {
    let cause = given.ending.map(|ending| ending.cause);
    let wanted = match cause {
        Some(Cause::Cancelled) => Some(CommandState::Cancelled),
        Some(Cause::Deadline) => Some(CommandState::Timeout),
        Some(Cause::Incomplete | Cause::Unbegun) | None => None,
    };
    match over {
        Over::Left { status } if given.has_begun() => {
            let state = wanted.unwrap_or(CommandState::Done);
            (state, Some(status), Some(Why::LeftShell))
        }
        Over::Stubborn => {
            let state = wanted.unwrap_or(CommandState::Lost);
            (state, None, Some(Why::Stubborn))
        }
        Over::Closed if !given.has_begun() => (CommandState::Cancelled, None, Some(Why::Closed)),
        Over::Closed => (
            wanted.unwrap_or(CommandState::Lost),
            None,
            Some(Why::Closed),
        ),
        _ => (wanted.unwrap_or(CommandState::Lost), None, Some(Why::Gone)),
    }
}

pub(super) fn end(job: Job, told: Told, out: &mut Vec<Effect>) {
    let (state, exit_code, why) = told;
    let end = End {
        state,
        exit_code,
        why,
    };
    out.push(Effect::Ended(Who::Hob(job.id), end));
}

/// Whether the shell's name means this command.
pub(super) fn is(id: CommandId, name: &str) -> bool {
    name.parse() == Ok(id)
}

/// Whether the shell's name is that of a line that a person typed.
pub(super) fn is_typed(id: &str) -> bool {
    id.starts_with('p')
}
