//! The life of one loop: events in, effects out, no clock. Times are monotonic milliseconds.
//!
//! ```text
//! idle ──▶ opening ──▶ [watching] ──▶ asking ──▶ sleeping ──▶ opening …
//!   ▲                      │            │           │
//!   └───── stopping ◀──────┴────────────┴───────────┘
//! ```
//!
//! A monitor with an interval of its own runs beside all of it while the loop runs.

use hob_wire::looping::{LoopEnd, LoopPhase};

/// The most doublings of the interval; far beyond any bound on it.
const DOUBLINGS_MAX: u32 = 40;

/// What a person set, as far as it decides what comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Between the end of an iteration and the next one.
    pub interval_ms: u64,
    /// Iterations of one start; 0 is no limit.
    pub max_iterations: u32,
    /// The longest the interval grows to after failures.
    pub backoff_ms_max: u64,
    /// Failures in a row after which it ends; 0 is never.
    pub errors_max: u32,
    /// Money of one start, in millionths of a dollar.
    pub money_max: Option<u64>,
    pub watch: Watch,
}

/// When its monitor runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    Never,
    /// Once in each iteration, before it asks.
    Before,
    /// Apart from the iterations, so long after its last end.
    Every(u64),
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is to run.
    Start,
    /// It is to run one iteration.
    Once,
    /// It is to stop.
    Stop,
    /// It was changed.
    Changed(Policy),
    /// The iteration is on record.
    Opened,
    /// It could not be recorded; its number is free again.
    NotOpened,
    /// The monitor that runs before an iteration ended.
    Watched,
    /// The monitor that runs beside ended.
    WatchedBeside,
    /// The iteration ended, and cost this much.
    Asked { end: AskedEnd, micro_dollars: u64 },
    /// Time has passed.
    Tick,
}

/// How an iteration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedEnd {
    Answered,
    Failed,
    /// A ceiling on money that is not its own stopped it: no fault of the loop, which tries again
    /// after a longer and longer wait and is never given up for it.
    Unaffordable,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Record that this iteration begins; ends in `Opened` or `NotOpened`.
    Open { iteration: u32 },
    /// Run the monitor; ends in `Watched`.
    Watch,
    /// Run the monitor beside; ends in `WatchedBeside`.
    WatchBeside,
    /// Ask the model, or go on waiting for the answer; ends in `Asked`.
    Ask,
    /// End whatever is under way; each still tells its end.
    Interrupt,
    /// It runs no more, for this reason.
    End(LoopEnd),
}

/// A loop that a former process left running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The last iteration's number.
    pub iteration: u32,
    pub since_start: u32,
    pub errors: u32,
    pub micro_dollars: u64,
    /// Only one iteration was wanted.
    pub once: bool,
    pub under: Under,
}

/// What was under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Under {
    /// The iteration had begun and nothing was asked yet.
    Opened,
    /// The model was at work.
    Asking,
    /// It slept; so much was left of it.
    Sleep { left_ms: u64 },
}

/// One loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    policy: Policy,
    phase: Phase,
    beside: Beside,
    once: bool,
    iteration: u32,
    since_start: u32,
    errors: u32,
    /// Iterations in a row that a ceiling stopped. Not saved: after a restart the wait grows anew.
    unaffordable: u32,
    micro_dollars: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Opening,
    Watching,
    Asking,
    /// The end of an iteration, and how long it sleeps after it.
    Sleeping {
        since_ms: u64,
        wait_ms: u64,
    },
    /// Told to stop; `busy` while something in front is still under way.
    Stopping {
        busy: bool,
    },
}

/// The monitor with an interval of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    Off,
    Due { since_ms: u64, wait_ms: u64 },
    UnderWay,
}

impl Machine {
    /// A loop that does not run; `iteration` is the last number it used.
    pub fn new(policy: Policy, iteration: u32) -> Machine {
        Machine {
            policy,
            phase: Phase::Idle,
            beside: Beside::Off,
            once: false,
            iteration,
            since_start: 0,
            errors: 0,
            unaffordable: 0,
            micro_dollars: 0,
        }
    }

    /// A loop that goes on where it was.
    pub fn resume(policy: Policy, saved: Saved, now_ms: u64, out: &mut Vec<Effect>) -> Machine {
        let mut machine = Machine {
            once: saved.once,
            since_start: saved.since_start,
            errors: saved.errors,
            micro_dollars: saved.micro_dollars,
            ..Machine::new(policy, saved.iteration)
        };
        match saved.under {
            Under::Opened => machine.opened(out),
            Under::Asking => machine.ask(out),
            Under::Sleep { left_ms } => {
                // A clock that was set meanwhile must not make it sleep longer than it ever would.
                machine.phase = Phase::Sleeping {
                    since_ms: now_ms,
                    wait_ms: left_ms.min(machine.pause_ms()),
                };
            }
        }
        machine.settle_beside(out);
        machine
    }

    pub fn phase(&self) -> LoopPhase {
        match self.phase {
            Phase::Idle => LoopPhase::Idle,
            Phase::Watching => LoopPhase::Monitor,
            Phase::Opening if self.policy.watch == Watch::Before => LoopPhase::Monitor,
            Phase::Opening | Phase::Asking => LoopPhase::Prompt,
            Phase::Sleeping { .. } => LoopPhase::Sleep,
            Phase::Stopping { .. } => LoopPhase::Stopping,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// The last iteration's number.
    pub fn iteration(&self) -> u32 {
        self.iteration
    }

    pub fn since_start(&self) -> u32 {
        self.since_start
    }

    /// Failures in a row.
    pub fn errors(&self) -> u32 {
        self.errors
    }

    pub fn micro_dollars(&self) -> u64 {
        self.micro_dollars
    }

    /// What the next iteration may cost at the most.
    pub fn money_left(&self) -> Option<u64> {
        let most = self.policy.money_max?;
        Some(most.saturating_sub(self.micro_dollars))
    }

    /// When the next iteration begins, while it sleeps.
    pub fn next_ms(&self) -> Option<u64> {
        match self.phase {
            Phase::Sleeping { since_ms, wait_ms } => Some(since_ms.saturating_add(wait_ms)),
            _ => None,
        }
    }

    /// When [`Event::Tick`] is due.
    pub fn due_ms(&self) -> Option<u64> {
        let beside = match self.beside {
            Beside::Due { since_ms, wait_ms } => Some(since_ms.saturating_add(wait_ms)),
            Beside::Off | Beside::UnderWay => None,
        };
        [self.next_ms(), beside].into_iter().flatten().min()
    }

    pub fn step(&mut self, event: Event, now_ms: u64, out: &mut Vec<Effect>) {
        match event {
            Event::Start | Event::Once if self.is_idle() => {
                self.once = event == Event::Once;
                (self.since_start, self.errors, self.micro_dollars) = (0, 0, 0);
                self.unaffordable = 0;
                self.open(out);
                self.settle_beside(out);
            }
            Event::Start | Event::Once => {}
            Event::Stop => self.stop(out),
            Event::Changed(policy) => self.change(policy, out),
            Event::Opened if self.phase == Phase::Opening => self.opened(out),
            Event::NotOpened if self.phase == Phase::Opening => {
                self.iteration -= 1;
                self.since_start -= 1;
                self.failed(now_ms, out);
            }
            Event::Watched if self.phase == Phase::Watching => self.ask(out),
            Event::Asked { end, micro_dollars } if self.phase == Phase::Asking => {
                self.micro_dollars = self.micro_dollars.saturating_add(micro_dollars);
                self.asked(end, now_ms, out);
            }
            Event::Opened | Event::NotOpened | Event::Watched | Event::Asked { .. } => {
                self.stopped_in_front(event, out);
            }
            Event::WatchedBeside => {
                self.beside = Beside::Off;
                match self.phase {
                    Phase::Stopping { busy: false } => self.end(LoopEnd::Stopped, out),
                    _ => self.plan_beside(now_ms),
                }
            }
            Event::Tick => self.tick(now_ms, out),
        }
    }

    /// Something that was under way when the loop was told to stop has ended.
    fn stopped_in_front(&mut self, event: Event, out: &mut Vec<Effect>) {
        if self.phase != (Phase::Stopping { busy: true }) {
            return;
        }
        match event {
            Event::NotOpened => self.iteration -= 1,
            Event::Asked { micro_dollars, .. } => {
                self.micro_dollars = self.micro_dollars.saturating_add(micro_dollars);
            }
            _ => {}
        }
        self.phase = Phase::Stopping { busy: false };
        if self.beside != Beside::UnderWay {
            self.end(LoopEnd::Stopped, out);
        }
    }

    fn stop(&mut self, out: &mut Vec<Effect>) {
        let busy = match self.phase {
            Phase::Idle | Phase::Stopping { .. } => return,
            Phase::Opening | Phase::Watching | Phase::Asking => true,
            Phase::Sleeping { .. } => false,
        };
        if busy || self.beside == Beside::UnderWay {
            self.phase = Phase::Stopping { busy };
            if self.beside != Beside::UnderWay {
                self.beside = Beside::Off;
            }
            out.push(Effect::Interrupt);
        } else {
            self.end(LoopEnd::Stopped, out);
        }
    }

    fn change(&mut self, policy: Policy, out: &mut Vec<Effect>) {
        self.policy = policy;
        if let Phase::Sleeping { since_ms, .. } = self.phase {
            let wait_ms = self.pause_ms();
            self.phase = Phase::Sleeping { since_ms, wait_ms };
        }
        match self.phase {
            Phase::Idle | Phase::Stopping { .. } => {}
            _ => self.settle_beside(out),
        }
    }

    fn tick(&mut self, now_ms: u64, out: &mut Vec<Effect>) {
        if self.next_ms().is_some_and(|due| due <= now_ms) {
            // A bound may have been lowered while it slept.
            match self.reached() {
                Some(end) => return self.finish(end, out),
                None => self.open(out),
            }
        }
        if let Beside::Due { since_ms, wait_ms } = self.beside
            && since_ms.saturating_add(wait_ms) <= now_ms
        {
            self.beside = Beside::UnderWay;
            out.push(Effect::WatchBeside);
        }
    }

    fn open(&mut self, out: &mut Vec<Effect>) {
        self.iteration = self.iteration.saturating_add(1);
        self.since_start = self.since_start.saturating_add(1);
        self.phase = Phase::Opening;
        let iteration = self.iteration;
        out.push(Effect::Open { iteration });
    }

    fn opened(&mut self, out: &mut Vec<Effect>) {
        if self.policy.watch == Watch::Before {
            self.phase = Phase::Watching;
            out.push(Effect::Watch);
        } else {
            self.ask(out);
        }
    }

    fn ask(&mut self, out: &mut Vec<Effect>) {
        self.phase = Phase::Asking;
        out.push(Effect::Ask);
    }

    fn asked(&mut self, end: AskedEnd, now_ms: u64, out: &mut Vec<Effect>) {
        self.unaffordable = match end {
            AskedEnd::Unaffordable => self.unaffordable.saturating_add(1),
            AskedEnd::Answered | AskedEnd::Failed => 0,
        };
        match end {
            AskedEnd::Failed => self.failed(now_ms, out),
            AskedEnd::Answered => {
                self.errors = 0;
                self.rest(now_ms, out);
            }
            AskedEnd::Unaffordable => self.rest(now_ms, out),
        }
    }

    fn failed(&mut self, now_ms: u64, out: &mut Vec<Effect>) {
        self.errors = self.errors.saturating_add(1);
        self.rest(now_ms, out);
    }

    /// Sleeps after an iteration, or ends.
    fn rest(&mut self, now_ms: u64, out: &mut Vec<Effect>) {
        let end = if self.once {
            Some(LoopEnd::Once)
        } else {
            self.reached()
        };
        if let Some(end) = end {
            return self.finish(end, out);
        }
        self.phase = Phase::Sleeping {
            since_ms: now_ms,
            wait_ms: self.pause_ms(),
        };
    }

    /// The bound that was reached, if one was.
    fn reached(&self) -> Option<LoopEnd> {
        let policy = &self.policy;
        if policy.errors_max > 0 && self.errors >= policy.errors_max {
            return Some(LoopEnd::Errors);
        }
        if self.money_left() == Some(0) {
            return Some(LoopEnd::Money);
        }
        let is_last = policy.max_iterations > 0 && self.since_start >= policy.max_iterations;
        is_last.then_some(LoopEnd::MaxIterations)
    }

    /// Ends by itself; a monitor that runs beside goes with it, and its end comes to nothing.
    fn finish(&mut self, end: LoopEnd, out: &mut Vec<Effect>) {
        if self.beside == Beside::UnderWay {
            out.push(Effect::Interrupt);
        }
        self.end(end, out);
    }

    fn end(&mut self, end: LoopEnd, out: &mut Vec<Effect>) {
        self.phase = Phase::Idle;
        self.beside = Beside::Off;
        out.push(Effect::End(end));
    }

    fn pause_ms(&self) -> u64 {
        wait_ms(
            self.policy.interval_ms,
            self.errors.max(self.unaffordable),
            self.policy.backoff_ms_max,
        )
    }

    /// Brings the monitor that runs beside in line with the policy.
    fn settle_beside(&mut self, out: &mut Vec<Effect>) {
        match (self.policy.watch, self.beside) {
            (Watch::Every(_), Beside::Off) if self.phase != Phase::Idle => {
                self.beside = Beside::UnderWay;
                out.push(Effect::WatchBeside);
            }
            (Watch::Every(wait_ms), Beside::Due { since_ms, .. }) => {
                self.beside = Beside::Due { since_ms, wait_ms };
            }
            (Watch::Never | Watch::Before, Beside::Due { .. }) => self.beside = Beside::Off,
            _ => {}
        }
    }

    /// When the monitor that runs beside runs next.
    fn plan_beside(&mut self, now_ms: u64) {
        let runs = !matches!(self.phase, Phase::Idle | Phase::Stopping { .. });
        if let (Watch::Every(wait_ms), true) = (self.policy.watch, runs) {
            self.beside = Beside::Due {
                since_ms: now_ms,
                wait_ms,
            };
        }
    }
}

/// How long a loop sleeps after so many failures in a row: the interval, doubled with each.
pub fn wait_ms(interval_ms: u64, errors: u32, most_ms: u64) -> u64 {
    let grown = interval_ms.saturating_mul(1 << errors.min(DOUBLINGS_MAX));
    // The bound is on growth: an interval beyond it stays what it is.
    grown.min(most_ms.max(interval_ms))
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
