//! The life of one service: events in, effects out, no clock. Times are monotonic milliseconds.
//!
//! ```text
//! stopped ──▶ starting ──▶ running ──▶ (killed or ended) ──▶ backoff ──▶ starting
//!    ▲           │            │                                 │
//!    └────────── stopping ◀───┘              too often: failed ◀┘
//! ```

use std::collections::VecDeque;

/// The first wait before a restart.
const FIRST_WAIT_MS: u64 = 500;
/// The longest wait before a restart.
const WAIT_MS_MAX: u64 = 60_000;
/// After running so long the next restart waits as little as the first.
const CALM_MS: u64 = 60_000;
/// Between two looks at a service that is not ready yet: the first, then doubling.
const READY_PROBE_MS: u64 = 10;
const READY_PROBE_MS_MAX: u64 = 100;

/// A service that nobody can ask for its health counts as running after living so long: one that
/// cannot run mostly ends sooner, and whoever starts it hears of that.
const SETTLE_MS: u64 = 500;

/// When a service that ended is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    Always,
    OnFailure,
    Never,
}

/// What is promised of one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    pub restart: Restart,
    /// It is asked for its health; otherwise it is ready once it has run for [`SETTLE_MS`].
    pub has_health: bool,
    /// How long it may take until it is ready.
    pub ready_ms: u64,
    /// Between two looks at a running service.
    pub live_ms: u64,
    /// So many failures in a row mean that it hangs.
    pub live_failures: u32,
    /// The most restarts in any span of `window_ms`.
    pub restarts_max: u32,
    pub window_ms: u64,
    /// It is stopped after so long without use.
    pub idle_ms: Option<u64>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A person, or somebody who needs it, wants it to run.
    Wanted,
    /// It is to be stopped.
    Unwanted,
    /// Its process runs.
    Started,
    /// It runs already and is healthy, and was not started here.
    Adopted,
    /// There is nothing to start.
    Absent,
    /// It cannot be started, and trying again would not help.
    Refused,
    /// The answer to [`Effect::Probe`].
    Probed { healthy: bool },
    /// Nothing of it lives any more; also when it could not be started this time.
    Ended { success: bool },
    /// It was last in use then.
    Used { at_ms: u64 },
    /// Time has passed.
    Tick,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Find and start it; ends in `Started`, `Adopted`, `Absent`, `Refused` or `Ended`.
    Start,
    /// End it and every descendant, or the start under way; ends in `Ended`.
    Kill,
    /// Ask for its health; ends in `Probed`.
    Probe,
}

/// What a service is doing, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Stopped,
    Starting,
    Running,
    Stopping,
    Backoff,
    Failed,
}

/// One service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    policy: Policy,
    phase: Phase,
    /// When it was started again, within the last window.
    recent: VecDeque<u64>,
    /// Doublings of the next wait.
    attempt: u32,
    /// Restarts since it was wanted.
    restarts: u32,
    used_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Stopped,
    /// A start is under way.
    Launching,
    /// Its process runs, cannot be asked whether it is ready, and may end at once.
    Settling {
        since_ms: u64,
    },
    /// Its process runs and is not ready yet.
    Awaiting {
        since_ms: u64,
        look: Look,
        wait_ms: u64,
    },
    Running {
        since_ms: u64,
        look: Look,
        misses: u32,
        adopted: bool,
    },
    /// It was told to end.
    Killing(After),
    Backoff {
        until_ms: u64,
    },
    Failed,
}

/// What follows when a killed one is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Stop,
    /// Somebody wanted it again meanwhile.
    Start,
    /// It was late or hung, so its restart class decides.
    Failure,
}

/// When it is looked at next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    At(u64),
    UnderWay,
    Never,
}

impl Machine {
    pub fn new(policy: Policy) -> Machine {
        Machine {
            policy,
            phase: Phase::Stopped,
            recent: VecDeque::new(),
            attempt: 0,
            restarts: 0,
            used_ms: 0,
        }
    }

    pub fn state(&self) -> State {
        match self.phase {
            Phase::Stopped => State::Stopped,
            Phase::Launching | Phase::Settling { .. } | Phase::Awaiting { .. } => State::Starting,
            Phase::Running { .. } => State::Running,
            Phase::Killing(_) => State::Stopping,
            Phase::Backoff { .. } => State::Backoff,
            Phase::Failed => State::Failed,
        }
    }

    /// Runs, but was not started here.
    pub fn is_adopted(&self) -> bool {
        matches!(self.phase, Phase::Running { adopted: true, .. })
    }

    /// Restarts since it was wanted.
    pub fn restarts(&self) -> u32 {
        self.restarts
    }

    /// Another promise; what is under way goes on by it.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// When [`Event::Tick`] is due.
    pub fn due_ms(&self) -> Option<u64> {
        let look = |look: Look| match look {
            Look::At(at_ms) => Some(at_ms),
            Look::UnderWay | Look::Never => None,
        };
        match &self.phase {
            Phase::Settling { since_ms } => Some(since_ms.saturating_add(SETTLE_MS)),
            Phase::Awaiting {
                since_ms, look: at, ..
            } => {
                let late = since_ms.saturating_add(self.policy.ready_ms);
                Some(look(*at).map_or(late, |at| at.min(late)))
            }
            Phase::Running {
                look: at, adopted, ..
            } => {
                let idle = self.idle_at().filter(|_| !adopted);
                [look(*at), idle].into_iter().flatten().min()
            }
            Phase::Backoff { until_ms } => Some(*until_ms),
            Phase::Stopped | Phase::Launching | Phase::Killing(_) | Phase::Failed => None,
        }
    }

    /// Takes an event that happened at `now_ms` and says what is to be done.
    pub fn step(&mut self, event: Event, now_ms: u64, out: &mut Vec<Effect>) {
        match event {
            Event::Wanted => self.wanted(now_ms, out),
            Event::Unwanted => self.unwanted(out),
            Event::Started => self.started(now_ms, out),
            Event::Adopted => self.adopted(now_ms),
            Event::Absent => self.end_launch(Phase::Stopped),
            Event::Refused => self.end_launch(Phase::Failed),
            Event::Probed { healthy } => self.probed(healthy, now_ms, out),
            Event::Ended { success } => self.ended(success, now_ms, out),
            Event::Used { at_ms } => self.used_ms = self.used_ms.max(at_ms),
            Event::Tick => self.tick(now_ms, out),
        }
    }

    fn wanted(&mut self, now_ms: u64, out: &mut Vec<Effect>) {
        self.used_ms = now_ms;
        match self.phase {
            Phase::Stopped | Phase::Backoff { .. } | Phase::Failed => {
                self.forget();
                self.launch(out);
            }
            Phase::Killing(After::Stop) => self.phase = Phase::Killing(After::Start),
            Phase::Launching
            | Phase::Settling { .. }
            | Phase::Awaiting { .. }
            | Phase::Running { .. }
            | Phase::Killing(_) => {}
        }
    }

    fn unwanted(&mut self, out: &mut Vec<Effect>) {
        match self.phase {
            Phase::Launching
            | Phase::Settling { .. }
            | Phase::Awaiting { .. }
            | Phase::Running { adopted: false, .. } => {
                self.kill(After::Stop, out);
            }
            Phase::Killing(_) => self.phase = Phase::Killing(After::Stop),
            Phase::Running { adopted: true, .. }
            | Phase::Stopped
            | Phase::Backoff { .. }
            | Phase::Failed => self.phase = Phase::Stopped,
        }
    }

    fn started(&mut self, now_ms: u64, out: &mut Vec<Effect>) {
        if self.phase != Phase::Launching {
            return;
        }
        if self.policy.has_health {
            self.phase = Phase::Awaiting {
                since_ms: now_ms,
                look: Look::UnderWay,
                wait_ms: READY_PROBE_MS,
            };
            out.push(Effect::Probe);
        } else {
            self.phase = Phase::Settling { since_ms: now_ms };
        }
    }

    fn adopted(&mut self, now_ms: u64) {
        if self.phase == Phase::Launching {
            self.run(now_ms, true);
        }
    }

    /// A start that came to nothing. One that was to be stopped anyway is stopped.
    fn end_launch(&mut self, phase: Phase) {
        match self.phase {
            Phase::Launching => self.phase = phase,
            Phase::Killing(_) => self.phase = Phase::Stopped,
            _ => {}
        }
    }

    fn probed(&mut self, healthy: bool, now_ms: u64, out: &mut Vec<Effect>) {
        let policy = self.policy;
        match &mut self.phase {
            Phase::Awaiting { look, wait_ms, .. } => {
                if healthy {
                    self.run(now_ms, false);
                    return;
                }
                *look = Look::At(now_ms.saturating_add(*wait_ms));
                *wait_ms = wait_ms.saturating_mul(2).min(READY_PROBE_MS_MAX);
            }
            Phase::Running {
                since_ms,
                look,
                misses,
                adopted,
            } => {
                *look = Look::At(now_ms.saturating_add(policy.live_ms));
                *misses = if healthy { 0 } else { *misses + 1 };
                if *misses < policy.live_failures.max(1) {
                    return;
                }
                if now_ms.saturating_sub(*since_ms) >= CALM_MS {
                    self.attempt = 0;
                }
                if !*adopted {
                    self.kill(After::Failure, out);
                } else if policy.restart == Restart::Always {
                    // Whoever ran it has ended it; now it is ours to run.
                    self.again(now_ms);
                } else {
                    self.phase = Phase::Stopped;
                }
            }
            _ => {}
        }
    }

    fn ended(&mut self, success: bool, now_ms: u64, out: &mut Vec<Effect>) {
        let was_ready = match self.phase {
            Phase::Killing(After::Stop) => {
                self.phase = Phase::Stopped;
                return;
            }
            Phase::Killing(After::Start) => {
                self.forget();
                self.launch(out);
                return;
            }
            Phase::Running {
                since_ms,
                adopted: false,
                ..
            } => {
                if now_ms.saturating_sub(since_ms) >= CALM_MS {
                    self.attempt = 0;
                }
                true
            }
            // Of one that cannot be asked, its end says all.
            Phase::Settling { .. } => true,
            Phase::Killing(After::Failure) | Phase::Launching | Phase::Awaiting { .. } => false,
            // It is not ours, or it is over already.
            _ => return,
        };
        // One that ends before it was ready has not done what it is for.
        let success = success && was_ready;
        match self.policy.restart {
            Restart::Always => self.again(now_ms),
            Restart::OnFailure if !success => self.again(now_ms),
            Restart::Never if !success => self.phase = Phase::Failed,
            Restart::OnFailure | Restart::Never => self.phase = Phase::Stopped,
        }
    }

    fn tick(&mut self, now_ms: u64, out: &mut Vec<Effect>) {
        let idle_at = self.idle_at();
        let ready_ms = self.policy.ready_ms;
        match &mut self.phase {
            Phase::Settling { since_ms } if now_ms >= since_ms.saturating_add(SETTLE_MS) => {
                self.run(now_ms, false);
            }
            Phase::Awaiting { since_ms, look, .. } => {
                if now_ms >= since_ms.saturating_add(ready_ms) {
                    self.kill(After::Failure, out);
                } else if is_due(*look, now_ms) {
                    *look = Look::UnderWay;
                    out.push(Effect::Probe);
                }
            }
            Phase::Running { look, adopted, .. } => {
                if !*adopted && idle_at.is_some_and(|at_ms| at_ms <= now_ms) {
                    self.kill(After::Stop, out);
                } else if is_due(*look, now_ms) {
                    *look = Look::UnderWay;
                    out.push(Effect::Probe);
                }
            }
            Phase::Backoff { until_ms } if *until_ms <= now_ms => {
                self.recent.push_back(now_ms);
                self.restarts = self.restarts.saturating_add(1);
                self.launch(out);
            }
            _ => {}
        }
    }

    /// Starts it again after a while, or gives up.
    fn again(&mut self, now_ms: u64) {
        let window_ms = self.policy.window_ms;
        let is_recent = |at_ms: &u64| now_ms.saturating_sub(*at_ms) < window_ms;
        while self.recent.front().is_some_and(|at_ms| !is_recent(at_ms)) {
            self.recent.pop_front();
        }
        let count = u32::try_from(self.recent.len()).unwrap_or(u32::MAX);
        if count >= self.policy.restarts_max {
            self.phase = Phase::Failed;
            return;
        }
        let doubled =
            FIRST_WAIT_MS.saturating_mul(1_u64.checked_shl(self.attempt).unwrap_or(u64::MAX));
        self.attempt = self.attempt.saturating_add(1);
        self.phase = Phase::Backoff {
            until_ms: now_ms.saturating_add(doubled.min(WAIT_MS_MAX)),
        };
    }

    fn launch(&mut self, out: &mut Vec<Effect>) {
        self.phase = Phase::Launching;
        out.push(Effect::Start);
    }

    fn kill(&mut self, after: After, out: &mut Vec<Effect>) {
        self.phase = Phase::Killing(after);
        out.push(Effect::Kill);
    }

    fn run(&mut self, now_ms: u64, adopted: bool) {
        self.used_ms = self.used_ms.max(now_ms);
        let look = if self.policy.has_health {
            Look::At(now_ms.saturating_add(self.policy.live_ms))
        } else {
            Look::Never
        };
        self.phase = Phase::Running {
            since_ms: now_ms,
            look,
            misses: 0,
            adopted,
        };
    }

    /// A new beginning.
    fn forget(&mut self) {
        self.recent.clear();
        self.attempt = 0;
        self.restarts = 0;
    }

    fn idle_at(&self) -> Option<u64> {
        Some(self.used_ms.saturating_add(self.policy.idle_ms?))
    }
}

fn is_due(look: Look, now_ms: u64) -> bool {
    matches!(look, Look::At(at_ms) if at_ms <= now_ms)
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "promise_tests.rs"]
mod promise_tests;
