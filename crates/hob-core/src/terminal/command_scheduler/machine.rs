//! The machine of one terminal: what it is, and what marks and orders do to it.

use super::ending::{Cause, Ending};
use super::orders::{end, is, is_typed};
use super::words::{Before, Effect, End, Event, Handed, Job, Over, Waited, Who, Why};
use hob_wire::id::CommandId;
use hob_wire::terminal::CommandState;
use std::collections::VecDeque;

/// A shell that showed no mark for so long has no hooks.
const SILENT_MS_MAX: u64 = 10_000;
/// Between two nudges of a shell that does not take a command.
pub(super) const NUDGE_MS: u64 = 1_000;
/// How long a shell at its prompt may leave a command untaken.
const UNTAKEN_MS_MAX: u64 = 30_000;
/// How long a command that was taken may not begin.
const UNBEGUN_MS_MAX: u64 = 10_000;
/// A command that is taken back may have been taken just before; the shell says so within this.
pub(super) const WITHDRAWN_MS: u64 = 250;

/// What the shell does, as far as it was told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Shell {
    /// It has said nothing; it must by then.
    Starting {
        until_ms: u64,
    },
    /// Something ended, and the prompt is not there yet.
    Between,
    Prompt,
    /// The person types a line that needs another one.
    Line,
    /// A line of the person's runs, or what nobody knows of, by the shell's name of it.
    Person(String),
    /// It has what hob gave it.
    Ours,
    Over,
}

/// A command in the shell's hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Given {
    pub(super) job: Job,
    pub(super) stage: Stage,
    pub(super) ending: Option<Ending>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// It lies there. The shell, at its prompt, is told so again and again.
    Offered {
        nudge_ms: u64,
        until_ms: u64,
        /// It was given by another life and is not there any more.
        is_doubtful: bool,
    },
    /// It was taken back.
    Withdrawn {
        until_ms: u64,
    },
    /// The shell has it and it has not begun; by then it is made to end for this cause.
    Taken {
        until_ms: u64,
        cause: Cause,
    },
    Running {
        deadline_ms: Option<u64>,
    },
}

impl Given {
    pub(super) fn has_begun(&self) -> bool {
        matches!(self.stage, Stage::Running { .. })
    }

    fn is_offered(&self) -> bool {
        matches!(self.stage, Stage::Offered { .. })
    }
}

/// The machine of one terminal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Desk {
    pub(super) shell: Shell,
    /// In the order of the record.
    pub(super) queue: VecDeque<Job>,
    pub(super) given: Option<Given>,
    /// Whether what was recorded was lived through; nothing is typed before.
    pub(super) is_live: bool,
    /// Some of the recording is missing since the last command began.
    has_gap: bool,
}

impl Desk {
    /// A terminal whose recording is about to be lived through, from where it was before.
    pub fn new(before: Before, queue: Vec<Job>, now_ms: u64) -> Desk {
        let mut given = None;
        let shell = match before {
            Before::Starting => Shell::Starting {
                until_ms: now_ms.saturating_add(SILENT_MS_MAX),
            },
            Before::Prompt => Shell::Prompt,
            Before::Line(id) => Shell::Person(id),
            Before::Command { job, ago_ms } => {
                given = Some(Given {
                    job,
                    stage: running(job, ago_ms, now_ms),
                    ending: None,
                });
                Shell::Ours
            }
        };
        Desk {
            shell,
            queue: queue.into(),
            given,
            is_live: false,
            has_gap: false,
        }
    }

    /// Takes what happens; says what is to be done, in this order.
    pub fn step(&mut self, event: Event<'_>, now_ms: u64, out: &mut Vec<Effect>) {
        if self.shell == Shell::Over {
            if let Event::Queued(job) = event {
                end(job, (CommandState::Lost, None, Some(Why::Gone)), out);
            }
            return;
        }
        match event {
            Event::Queued(job) => self.enqueue(job),
            Event::Began { id, ago_ms } => self.began(id, ago_ms, now_ms, out),
            Event::Ended { id, status } => self.ended(id, status, out),
            Event::Prompt => self.prompt(now_ms, out),
            Event::Taken { id } => self.taken(id, now_ms, out),
            Event::Incomplete => self.incomplete(now_ms, out),
            Event::Left { status } => self.over(Over::Left { status }, out),
            Event::Skipped => self.has_gap = true,
            Event::Live(handed) => self.live(handed, now_ms, out),
            Event::Cancel(which) => self.cancel(which, now_ms, out),
            Event::Close => self.over(Over::Closed, out),
            Event::Gone => self.over(Over::Gone, out),
            Event::Tick => self.tick(now_ms, out),
        }
        self.hand_over(now_ms, out);
    }

    /// When time alone changes something.
    pub fn due_ms(&self) -> Option<u64> {
        if let Shell::Starting { until_ms } = self.shell {
            return Some(until_ms);
        }
        let given = self.given.as_ref().filter(|_| self.is_live)?;
        if let Some(ending) = given.ending {
            return Some(ending.due_ms);
        }
        match given.stage {
            Stage::Offered { nudge_ms, .. } => (self.shell == Shell::Prompt).then_some(nudge_ms),
            Stage::Withdrawn { until_ms } | Stage::Taken { until_ms, .. } => Some(until_ms),
            Stage::Running { deadline_ms } => deadline_ms,
        }
    }

    /// Commands that wait for their turn.
    pub fn queued(&self) -> usize {
        let waits = self.given.is_some_and(|given| !given.has_begun());
        self.queue.len() + usize::from(waits)
    }

    pub fn waited(&self) -> Waited {
        match (&self.shell, self.given) {
            (Shell::Starting { .. }, _) => Waited::Starting,
            (Shell::Over, _) => Waited::Over,
            (Shell::Person(_), _) => Waited::Running,
            (_, Some(given)) if given.has_begun() => Waited::Running,
            _ => Waited::Prompt,
        }
    }

    /// The command of hob's that runs.
    pub fn running(&self) -> Option<CommandId> {
        self.given
            .filter(Given::has_begun)
            .map(|given| given.job.id)
    }

    /// Whether hob's command of this id waits or runs.
    pub fn has(&self, id: CommandId) -> bool {
        let is_given = self.given.is_some_and(|given| given.job.id == id);
        is_given || self.queue.iter().any(|job| job.id == id)
    }

    /// In the order of the record, whoever comes first.
    fn enqueue(&mut self, job: Job) {
        let later = self.queue.iter().rev();
        let later = later.take_while(|other| other.number > job.number);
        let place = self.queue.len() - later.count();
        self.queue.insert(place, job);
    }

    fn hand_over(&mut self, now_ms: u64, out: &mut Vec<Effect>) {
        if !self.is_live || self.shell != Shell::Prompt || self.given.is_some() {
            return;
        }
        if let Some(job) = self.queue.pop_front() {
            out.push(Effect::HandOver(job.id));
            self.given = Some(offered(job, now_ms.saturating_add(NUDGE_MS), now_ms));
        }
    }

    /// The shell speaks of a command that, as far as is known, waits: another life gave it.
    fn take_up(&mut self, id: &str, now_ms: u64) {
        if self.given.is_some() {
            return;
        }
        let place = self.queue.iter().position(|job| is(job.id, id));
        if let Some(job) = place.and_then(|place| self.queue.remove(place)) {
            self.given = Some(offered(job, now_ms, now_ms));
        }
    }

    fn began(&mut self, id: &str, ago_ms: u64, now_ms: u64, out: &mut Vec<Effect>) {
        self.take_up(id, now_ms);
        let is_ours = self.given.is_some_and(|given| is(given.job.id, id));
        let is_known = matches!(&self.shell, Shell::Person(known) if known == id);
        // A mark that was lived through before, whoever it is of.
        if is_known || self.running().is_some() {
            return;
        }
        self.has_gap = false;
        self.leave_line(out);
        if let Some(given) = self.given.as_mut().filter(|_| is_ours) {
            let is_unwanted = matches!(given.stage, Stage::Withdrawn { .. });
            given.stage = running(given.job, ago_ms, now_ms);
            out.push(Effect::Began(Who::Hob(given.job.id)));
            if is_unwanted {
                given.ending = Some(Ending::begin(Cause::Cancelled, now_ms, out));
            }
            self.shell = Shell::Ours;
            return;
        }
        let taken = |given: &Given| matches!(given.stage, Stage::Taken { .. });
        if let Some(given) = self.given.filter(taken) {
            // It was thrown away, or something else would not begin.
            self.end_given(given, None, out);
        }
        if is_typed(id) {
            out.push(Effect::Began(Who::Person));
        }
        self.shell = Shell::Person(id.to_owned());
    }

    /// Something else begins although the end of the person's line was not told.
    fn leave_line(&mut self, out: &mut Vec<Effect>) {
        if matches!(&self.shell, Shell::Person(id) if is_typed(id)) {
            let end = End {
                state: CommandState::Lost,
                exit_code: None,
                why: Some(Why::Unseen),
            };
            out.push(Effect::Ended(Who::Person, end));
            self.shell = Shell::Between;
        }
    }

    fn ended(&mut self, id: &str, status: i32, out: &mut Vec<Effect>) {
        self.take_up(id, 0);
        if let Some(given) = self.given.filter(|given| is(given.job.id, id)) {
            self.leave_line(out);
            self.shell = Shell::Between;
            self.end_given(given, Some(status), out);
        } else if matches!(&self.shell, Shell::Person(known) if known == id) {
            self.shell = Shell::Between;
            if is_typed(id) {
                let end = End {
                    state: CommandState::Done,
                    exit_code: Some(status),
                    why: None,
                };
                out.push(Effect::Ended(Who::Person, end));
            }
        }
    }

    fn prompt(&mut self, now_ms: u64, out: &mut Vec<Effect>) {
        match (&self.shell, self.given) {
            // A shell within the shell may show our prompt; only a gap can have hidden an end.
            (Shell::Person(_), _) if !self.has_gap => return,
            (Shell::Person(_), _) => self.leave_line(out),
            (Shell::Ours, Some(given)) => match given.stage {
                Stage::Taken { .. } if given.ending.is_some() => self.end_given(given, None, out),
                Stage::Running { .. } if self.has_gap => self.end_given(given, None, out),
                // Taking a command may show the prompt once more.
                _ => return,
            },
            (Shell::Prompt | Shell::Over, _) => return,
            (Shell::Starting { .. } | Shell::Between | Shell::Line | Shell::Ours, _) => {}
        }
        self.shell = Shell::Prompt;
        if let Some(given) = self.given.as_mut().filter(|given| given.is_offered()) {
            // The person was faster; it still lies there.
            given.stage = offered(given.job, now_ms.saturating_add(NUDGE_MS), now_ms).stage;
            if self.is_live {
                out.push(Effect::Nudge);
            }
        }
    }

    fn taken(&mut self, id: &str, now_ms: u64, out: &mut Vec<Effect>) {
        self.take_up(id, now_ms);
        let Some(mut given) = self.given.filter(|given| is(given.job.id, id)) else {
            return;
        };
        let is_unwanted = matches!(given.stage, Stage::Withdrawn { .. });
        if !is_unwanted && !given.is_offered() {
            return;
        }
        self.leave_line(out);
        given.stage = Stage::Taken {
            until_ms: now_ms.saturating_add(UNBEGUN_MS_MAX),
            cause: Cause::Unbegun,
        };
        if is_unwanted {
            given.ending = Some(Ending::begin(Cause::Cancelled, now_ms, out));
        }
        self.given = Some(given);
        self.shell = Shell::Ours;
    }

    fn incomplete(&mut self, now_ms: u64, out: &mut Vec<Effect>) {
        match &mut self.given {
            Some(given) if matches!(given.stage, Stage::Taken { .. }) => {
                if given.ending.is_none() {
                    given.stage = Stage::Taken {
                        until_ms: now_ms,
                        cause: Cause::Incomplete,
                    };
                    self.tick(now_ms, out);
                }
            }
            _ => {
                if matches!(self.shell, Shell::Prompt | Shell::Between) {
                    self.shell = Shell::Line;
                }
            }
        }
    }

    fn live(&mut self, handed: Option<Handed>, now_ms: u64, out: &mut Vec<Effect>) {
        self.is_live = true;
        let Some(handed) = handed.filter(|handed| self.has(handed.id)) else {
            return self.tick(now_ms, out);
        };
        self.take_up(&handed.id.to_string(), now_ms);
        let is_prompt = self.shell == Shell::Prompt;
        if let Some(given) = self.given.as_mut().filter(|given| given.is_offered()) {
            given.stage = Stage::Offered {
                nudge_ms: now_ms.saturating_add(NUDGE_MS),
                until_ms: now_ms.saturating_add(UNTAKEN_MS_MAX),
                is_doubtful: !handed.is_there,
            };
            if handed.is_there && is_prompt {
                out.push(Effect::Nudge);
            }
        }
        self.tick(now_ms, out);
    }
}

fn offered(job: Job, nudge_ms: u64, now_ms: u64) -> Given {
    Given {
        job,
        stage: Stage::Offered {
            nudge_ms,
            until_ms: now_ms.saturating_add(UNTAKEN_MS_MAX),
            is_doubtful: false,
        },
        ending: None,
    }
}

fn running(job: Job, ago_ms: u64, now_ms: u64) -> Stage {
    let left_ms = |timeout_ms: u64| now_ms.saturating_add(timeout_ms.saturating_sub(ago_ms));
    Stage::Running {
        deadline_ms: job.timeout_ms.map(left_ms),
    }
}
