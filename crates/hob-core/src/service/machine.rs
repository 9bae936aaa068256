//! The state machine of one service: events in, effects out, no clock. Times are monotonic
//! milliseconds.
//!
//! ```text
//! stopped ──▶ starting ──▶ running ──▶ (killed or ended) ──▶ backoff ──▶ starting
//!    ▲           │            │                                 │
//!    └────────── stopping ◀───┘              too often: failed ◀┘
//! ```

use super::types::{
    RestartPolicy, ServiceEffect, ServiceEvent, ServiceMachineState, ServicePolicy,
};
use std::collections::VecDeque;

/// The first wait before a restart.
const FIRST_WAIT_MS: u64 = 500;
/// The longest wait before a restart.
const WAIT_MS_MAX: u64 = 60_000;
/// After running this long, the next restart waits as little as the first.
const CALM_MS: u64 = 60_000;
/// The time between two probes of a service that is not ready yet: the first, then doubling.
const READY_PROBE_MS: u64 = 10;
const READY_PROBE_MS_MAX: u64 = 100;

/// A service without a health check counts as running after this time. One that cannot run mostly
/// ends sooner, and then the caller of the start learns of it.
const SETTLE_MS: u64 = 500;

/// The machine of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceMachine {
    policy: ServicePolicy,
    phase: ServicePhase,
    /// The times of its restarts within the last window.
    recent: VecDeque<u64>,
    /// The doublings of the next wait.
    attempt: u32,
    /// Restarts since somebody wanted it.
    restarts: u32,
    used_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ServicePhase {
    Stopped,
    /// A start is in progress.
    Launching,
    /// Its process runs without a health check and may end at once.
    Settling {
        since_ms: u64,
    },
    /// Its process runs and is not ready yet.
    AwaitingReady {
        since_ms: u64,
        probe: NextProbe,
        wait_ms: u64,
    },
    Running {
        since_ms: u64,
        probe: NextProbe,
        misses: u32,
        adopted: bool,
    },
    /// It is being killed.
    Killing(AfterKill),
    Backoff {
        until_ms: u64,
    },
    Failed,
}

/// The action after a killed service is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterKill {
    Stop,
    /// Somebody wanted it again meanwhile.
    Start,
    /// It was late or hung, so its restart policy decides.
    Failure,
}

/// The time of the next probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextProbe {
    At(u64),
    Running,
    Never,
}

impl ServiceMachine {
    pub fn new(policy: ServicePolicy) -> ServiceMachine {
        ServiceMachine {
            policy,
            phase: ServicePhase::Stopped,
            recent: VecDeque::new(),
            attempt: 0,
            restarts: 0,
            used_ms: 0,
        }
    }

    pub fn state(&self) -> ServiceMachineState {
        match self.phase {
            ServicePhase::Stopped => ServiceMachineState::Stopped,
            ServicePhase::Launching
            | ServicePhase::Settling { .. }
            | ServicePhase::AwaitingReady { .. } => ServiceMachineState::Starting,
            ServicePhase::Running { .. } => ServiceMachineState::Running,
            ServicePhase::Killing(_) => ServiceMachineState::Stopping,
            ServicePhase::Backoff { .. } => ServiceMachineState::Backoff,
            ServicePhase::Failed => ServiceMachineState::Failed,
        }
    }

    /// Returns true if it runs but hob did not start it.
    pub fn is_adopted(&self) -> bool {
        matches!(self.phase, ServicePhase::Running { adopted: true, .. })
    }

    /// Returns the number of restarts since somebody wanted it.
    pub fn restarts(&self) -> u32 {
        self.restarts
    }

    /// Replaces the policy; the present phase continues under it.
    pub fn set_policy(&mut self, policy: ServicePolicy) {
        self.policy = policy;
    }

    /// Returns the time at which [`ServiceEvent::Tick`] is due.
    pub fn due_ms(&self) -> Option<u64> {
        let probe = |probe: NextProbe| match probe {
            NextProbe::At(at_ms) => Some(at_ms),
            NextProbe::Running | NextProbe::Never => None,
        };
        match &self.phase {
            ServicePhase::Settling { since_ms } => Some(since_ms.saturating_add(SETTLE_MS)),
            ServicePhase::AwaitingReady {
                since_ms,
                probe: at,
                ..
            } => {
                let late = since_ms.saturating_add(self.policy.ready_timeout_ms);
                Some(probe(*at).map_or(late, |at| at.min(late)))
            }
            ServicePhase::Running {
                probe: at, adopted, ..
            } => {
                let idle = self.idle_at().filter(|_| !adopted);
                [probe(*at), idle].into_iter().flatten().min()
            }
            ServicePhase::Backoff { until_ms } => Some(*until_ms),
            ServicePhase::Stopped
            | ServicePhase::Launching
            | ServicePhase::Killing(_)
            | ServicePhase::Failed => None,
        }
    }

    /// Handles an event that happened at `now_ms` and appends effects.
    pub fn step(&mut self, event: ServiceEvent, now_ms: u64, out: &mut Vec<ServiceEffect>) {
        match event {
            ServiceEvent::Wanted => self.on_wanted(now_ms, out),
            ServiceEvent::Unwanted => self.on_unwanted(out),
            ServiceEvent::Started => self.on_started(now_ms, out),
            ServiceEvent::Adopted => self.on_adopted(now_ms),
            ServiceEvent::Absent => self.end_launch(ServicePhase::Stopped),
            ServiceEvent::Refused => self.end_launch(ServicePhase::Failed),
            ServiceEvent::Probed { healthy } => self.on_probed(healthy, now_ms, out),
            ServiceEvent::Ended { success } => self.on_ended(success, now_ms, out),
            ServiceEvent::Used { at_ms } => self.used_ms = self.used_ms.max(at_ms),
            ServiceEvent::Tick => self.on_tick(now_ms, out),
        }
    }

    fn on_wanted(&mut self, now_ms: u64, out: &mut Vec<ServiceEffect>) {
        self.used_ms = now_ms;
        match self.phase {
            ServicePhase::Stopped | ServicePhase::Backoff { .. } | ServicePhase::Failed => {
                // Somebody wants it now, so a service that was given up gets all its tries again.
                self.reset_restarts();
                self.launch(out);
            }
            // The old process must be gone before a new one starts.
            ServicePhase::Killing(AfterKill::Stop) => {
                self.phase = ServicePhase::Killing(AfterKill::Start);
            }
            // It is on its way already; after a failure its restart policy decides.
            ServicePhase::Launching
            | ServicePhase::Settling { .. }
            | ServicePhase::AwaitingReady { .. }
            | ServicePhase::Running { .. }
            | ServicePhase::Killing(_) => {}
        }
    }

    fn on_unwanted(&mut self, out: &mut Vec<ServiceEffect>) {
        match self.phase {
            ServicePhase::Launching
            | ServicePhase::Settling { .. }
            | ServicePhase::AwaitingReady { .. }
            | ServicePhase::Running { adopted: false, .. } => {
                self.kill(AfterKill::Stop, out);
            }
            ServicePhase::Killing(_) => self.phase = ServicePhase::Killing(AfterKill::Stop),
            // hob did not start an adopted service, so it does not end it either.
            ServicePhase::Running { adopted: true, .. }
            | ServicePhase::Stopped
            | ServicePhase::Backoff { .. }
            | ServicePhase::Failed => self.phase = ServicePhase::Stopped,
        }
    }

    fn on_started(&mut self, now_ms: u64, out: &mut Vec<ServiceEffect>) {
        // It was stopped while it started, and the kill ends the process that just appeared.
        if self.phase != ServicePhase::Launching {
            return;
        }
        if self.policy.has_health_check {
            self.phase = ServicePhase::AwaitingReady {
                since_ms: now_ms,
                probe: NextProbe::Running,
                wait_ms: READY_PROBE_MS,
            };
            out.push(ServiceEffect::Probe);
        } else {
            self.phase = ServicePhase::Settling { since_ms: now_ms };
        }
    }

    fn on_adopted(&mut self, now_ms: u64) {
        if self.phase == ServicePhase::Launching {
            self.enter_running(now_ms, true);
        }
    }

    /// Ends a start that failed. A service that was being killed meanwhile is stopped.
    fn end_launch(&mut self, phase: ServicePhase) {
        match self.phase {
            ServicePhase::Launching => self.phase = phase,
            ServicePhase::Killing(_) => self.phase = ServicePhase::Stopped,
            _ => {}
        }
    }

    fn on_probed(&mut self, healthy: bool, now_ms: u64, out: &mut Vec<ServiceEffect>) {
        // Copied, because the phase is borrowed mutably below.
        let policy = self.policy;
        match &mut self.phase {
            ServicePhase::AwaitingReady { probe, wait_ms, .. } => {
                if healthy {
                    self.enter_running(now_ms, false);
                    return;
                }
                *probe = NextProbe::At(now_ms.saturating_add(*wait_ms));
                *wait_ms = wait_ms.saturating_mul(2).min(READY_PROBE_MS_MAX);
            }
            ServicePhase::Running {
                since_ms,
                probe,
                misses,
                adopted,
            } => {
                *probe = NextProbe::At(now_ms.saturating_add(policy.probe_interval_ms));
                *misses = if healthy { 0 } else { *misses + 1 };
                // At least one: with 0 even a healthy probe would end the service.
                if *misses < policy.probe_failures_max.max(1) {
                    return;
                }
                // After a calm period the backoff begins anew.
                if now_ms.saturating_sub(*since_ms) >= CALM_MS {
                    self.attempt = 0;
                }
                if !*adopted {
                    self.kill(AfterKill::Failure, out);
                } else if policy.restart == RestartPolicy::Always {
                    // The process that hob adopted is gone; from now on hob runs it itself.
                    self.schedule_restart(now_ms);
                } else {
                    self.phase = ServicePhase::Stopped;
                }
            }
            // The probe began before the process was killed.
            _ => {}
        }
    }

    fn on_ended(&mut self, success: bool, now_ms: u64, out: &mut Vec<ServiceEffect>) {
        let was_ready = match self.phase {
            ServicePhase::Killing(AfterKill::Stop) => {
                self.phase = ServicePhase::Stopped;
                return;
            }
            ServicePhase::Killing(AfterKill::Start) => {
                self.reset_restarts();
                self.launch(out);
                return;
            }
            ServicePhase::Running {
                since_ms,
                adopted: false,
                ..
            } => {
                if now_ms.saturating_sub(since_ms) >= CALM_MS {
                    self.attempt = 0;
                }
                true
            }
            // Without a health check, only its exit status tells whether it succeeded.
            ServicePhase::Settling { .. } => true,
            ServicePhase::Killing(AfterKill::Failure)
            | ServicePhase::Launching
            | ServicePhase::AwaitingReady { .. } => false,
            // Not started by hob, or over already.
            _ => return,
        };
        // A service that ended before it was ready did not succeed, whatever its exit status.
        let success = success && was_ready;
        match self.policy.restart {
            RestartPolicy::Always => self.schedule_restart(now_ms),
            RestartPolicy::OnFailure if !success => self.schedule_restart(now_ms),
            RestartPolicy::Never if !success => self.phase = ServicePhase::Failed,
            RestartPolicy::OnFailure | RestartPolicy::Never => self.phase = ServicePhase::Stopped,
        }
    }

    fn on_tick(&mut self, now_ms: u64, out: &mut Vec<ServiceEffect>) {
        let idle_at = self.idle_at();
        let ready_ms = self.policy.ready_timeout_ms;
        match &mut self.phase {
            ServicePhase::Settling { since_ms } if now_ms >= since_ms.saturating_add(SETTLE_MS) => {
                self.enter_running(now_ms, false);
            }
            ServicePhase::AwaitingReady {
                since_ms, probe, ..
            } => {
                if now_ms >= since_ms.saturating_add(ready_ms) {
                    self.kill(AfterKill::Failure, out);
                } else if is_due(*probe, now_ms) {
                    *probe = NextProbe::Running;
                    out.push(ServiceEffect::Probe);
                }
            }
            ServicePhase::Running { probe, adopted, .. } => {
                // An adopted service belongs to somebody else and is never stopped for idleness.
                if !*adopted && idle_at.is_some_and(|at_ms| at_ms <= now_ms) {
                    self.kill(AfterKill::Stop, out);
                } else if is_due(*probe, now_ms) {
                    *probe = NextProbe::Running;
                    out.push(ServiceEffect::Probe);
                }
            }
            ServicePhase::Backoff { until_ms } if *until_ms <= now_ms => {
                // Counted at its start, so the window measures real restarts and not the waits
                // before them.
                self.recent.push_back(now_ms);
                self.restarts = self.restarts.saturating_add(1);
                self.launch(out);
            }
            _ => {}
        }
    }

    /// Schedules a restart after the backoff, or gives up.
    fn schedule_restart(&mut self, now_ms: u64) {
        let window_ms = self.policy.window_ms;
        let is_recent = |at_ms: &u64| now_ms.saturating_sub(*at_ms) < window_ms;
        while self.recent.front().is_some_and(|at_ms| !is_recent(at_ms)) {
            self.recent.pop_front();
        }
        // Only restarts within the window count, so a service that fails now and then is never
        // given up.
        let count = u32::try_from(self.recent.len()).unwrap_or(u32::MAX);
        if count >= self.policy.restarts_max {
            self.phase = ServicePhase::Failed;
            return;
        }
        // The shift fails after 63 restarts; the longest wait applies long before that.
        let doubled =
            FIRST_WAIT_MS.saturating_mul(1_u64.checked_shl(self.attempt).unwrap_or(u64::MAX));
        self.attempt = self.attempt.saturating_add(1);
        self.phase = ServicePhase::Backoff {
            until_ms: now_ms.saturating_add(doubled.min(WAIT_MS_MAX)),
        };
    }

    fn launch(&mut self, out: &mut Vec<ServiceEffect>) {
        self.phase = ServicePhase::Launching;
        out.push(ServiceEffect::Start);
    }

    fn kill(&mut self, after: AfterKill, out: &mut Vec<ServiceEffect>) {
        self.phase = ServicePhase::Killing(after);
        out.push(ServiceEffect::Kill);
    }

    fn enter_running(&mut self, now_ms: u64, adopted: bool) {
        // Becoming ready counts as a use; otherwise a slow start could already be idle.
        self.used_ms = self.used_ms.max(now_ms);
        let probe = if self.policy.has_health_check {
            NextProbe::At(now_ms.saturating_add(self.policy.probe_interval_ms))
        } else {
            NextProbe::Never
        };
        self.phase = ServicePhase::Running {
            since_ms: now_ms,
            probe,
            misses: 0,
            adopted,
        };
    }

    /// Forgets earlier restarts.
    fn reset_restarts(&mut self) {
        self.recent.clear();
        self.attempt = 0;
        self.restarts = 0;
    }

    fn idle_at(&self) -> Option<u64> {
        Some(self.used_ms.saturating_add(self.policy.idle_ms?))
    }
}

fn is_due(probe: NextProbe, now_ms: u64) -> bool {
    matches!(probe, NextProbe::At(at_ms) if at_ms <= now_ms)
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "property_tests.rs"]
mod property_tests;
