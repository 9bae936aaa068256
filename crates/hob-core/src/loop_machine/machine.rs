//! The state machine of one loop: events in, effects out, no clock. Times are monotonic
//! milliseconds.
//!
//! ```text
//! idle ──▶ recording ──▶ [monitoring] ──▶ asking ──▶ sleeping ──▶ recording …
//!   ▲                         │              │           │
//!   └────── stopping ◀────────┴──────────────┴───────────┘
//! ```
//!
//! A monitor with its own interval runs in the background while the loop runs.

use super::types::{
    IterationEnd, LoopEffect, LoopEvent, LoopPolicy, MonitorSchedule, SavedLoop, SavedStep,
};
use hob_wire::loop_config::{LoopEnd, LoopPhase};

/// The most doublings of the interval; far beyond any limit on it.
const DOUBLINGS_MAX: u32 = 40;

/// The machine of one loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopMachine {
    policy: LoopPolicy,
    phase: LoopMachinePhase,
    background_monitor: BackgroundMonitor,
    run_once: bool,
    iteration: u32,
    since_start: u32,
    errors: u32,
    /// Consecutive iterations that a ceiling stopped. Not saved: after a restart the wait grows
    /// anew.
    unaffordable: u32,
    micro_dollars: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoopMachinePhase {
    Idle,
    Recording,
    Monitoring,
    Asking,
    /// The end of an iteration, and the sleep after it.
    Sleeping {
        since_ms: u64,
        wait_ms: u64,
    },
    /// A stop was requested; `busy` while the iteration is still running.
    Stopping {
        busy: bool,
    },
}

/// The background monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BackgroundMonitor {
    Off,
    Due { since_ms: u64, wait_ms: u64 },
    Running,
}

impl LoopMachine {
    /// Creates a loop that does not run; `iteration` is the last number it used.
    pub fn new(policy: LoopPolicy, iteration: u32) -> LoopMachine {
        LoopMachine {
            policy,
            phase: LoopMachinePhase::Idle,
            background_monitor: BackgroundMonitor::Off,
            run_once: false,
            iteration,
            since_start: 0,
            errors: 0,
            unaffordable: 0,
            micro_dollars: 0,
        }
    }

    /// Resumes a loop where an earlier process left it.
    pub fn resume(
        policy: LoopPolicy,
        saved: SavedLoop,
        now_ms: u64,
        out: &mut Vec<LoopEffect>,
    ) -> LoopMachine {
        let mut machine = LoopMachine {
            run_once: saved.run_once,
            since_start: saved.since_start,
            errors: saved.errors,
            micro_dollars: saved.micro_dollars,
            ..LoopMachine::new(policy, saved.iteration)
        };
        match saved.step {
            SavedStep::Recorded => machine.after_recorded(out),
            SavedStep::Asking => machine.ask_model(out),
            SavedStep::Sleeping { left_ms } => {
                // A clock change meanwhile must not make the sleep longer than a normal one.
                machine.phase = LoopMachinePhase::Sleeping {
                    since_ms: now_ms,
                    wait_ms: left_ms.min(machine.sleep_ms()),
                };
            }
        }
        // No background monitor survives a restart, so it begins anew.
        machine.apply_monitor_schedule(out);
        machine
    }

    pub fn phase(&self) -> LoopPhase {
        match self.phase {
            LoopMachinePhase::Idle => LoopPhase::Idle,
            LoopMachinePhase::Monitoring => LoopPhase::Monitor,
            // Recording is brief, so people see the step that follows it.
            LoopMachinePhase::Recording
                if self.policy.monitor == MonitorSchedule::BeforeIteration =>
            {
                LoopPhase::Monitor
            }
            LoopMachinePhase::Recording | LoopMachinePhase::Asking => LoopPhase::Prompt,
            LoopMachinePhase::Sleeping { .. } => LoopPhase::Sleep,
            LoopMachinePhase::Stopping { .. } => LoopPhase::Stopping,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.phase == LoopMachinePhase::Idle
    }

    /// Returns the number of the last iteration.
    pub fn iteration(&self) -> u32 {
        self.iteration
    }

    pub fn since_start(&self) -> u32 {
        self.since_start
    }

    /// Returns the number of consecutive failures.
    pub fn errors(&self) -> u32 {
        self.errors
    }

    pub fn micro_dollars(&self) -> u64 {
        self.micro_dollars
    }

    /// Returns the most the next iteration may cost.
    pub fn money_left(&self) -> Option<u64> {
        let most = self.policy.money_max?;
        Some(most.saturating_sub(self.micro_dollars))
    }

    /// Returns the time of the next iteration while the loop sleeps.
    pub fn next_ms(&self) -> Option<u64> {
        match self.phase {
            LoopMachinePhase::Sleeping { since_ms, wait_ms } => {
                Some(since_ms.saturating_add(wait_ms))
            }
            _ => None,
        }
    }

    /// Returns the time at which [`LoopEvent::Tick`] is due.
    pub fn due_ms(&self) -> Option<u64> {
        let beside = match self.background_monitor {
            BackgroundMonitor::Due { since_ms, wait_ms } => Some(since_ms.saturating_add(wait_ms)),
            BackgroundMonitor::Off | BackgroundMonitor::Running => None,
        };
        [self.next_ms(), beside].into_iter().flatten().min()
    }

    pub fn step(&mut self, event: LoopEvent, now_ms: u64, out: &mut Vec<LoopEffect>) {
        match event {
            LoopEvent::Start | LoopEvent::StartOnce if self.is_idle() => {
                self.run_once = event == LoopEvent::StartOnce;
                // Limits and budgets count per start.
                (self.since_start, self.errors, self.micro_dollars) = (0, 0, 0);
                self.unaffordable = 0;
                self.record_iteration(out);
                self.apply_monitor_schedule(out);
            }
            // A loop that runs is not started twice, or two iterations would overlap.
            LoopEvent::Start | LoopEvent::StartOnce => {}
            LoopEvent::Stop => self.stop(out),
            LoopEvent::PolicyChanged(policy) => self.change(policy, out),
            LoopEvent::IterationRecorded if self.phase == LoopMachinePhase::Recording => {
                self.after_recorded(out);
            }
            LoopEvent::IterationNotRecorded if self.phase == LoopMachinePhase::Recording => {
                // The number was never stored, so the next iteration uses it again.
                self.iteration -= 1;
                self.since_start -= 1;
                self.iteration_failed(now_ms, out);
            }
            LoopEvent::MonitorEnded if self.phase == LoopMachinePhase::Monitoring => {
                self.ask_model(out);
            }
            LoopEvent::IterationEnded { end, micro_dollars }
                if self.phase == LoopMachinePhase::Asking =>
            {
                self.micro_dollars = self.micro_dollars.saturating_add(micro_dollars);
                self.iteration_ended(end, now_ms, out);
            }
            LoopEvent::IterationRecorded
            | LoopEvent::IterationNotRecorded
            | LoopEvent::MonitorEnded
            | LoopEvent::IterationEnded { .. } => {
                self.finish_stopping(event, out);
            }
            LoopEvent::BackgroundMonitorEnded => {
                self.background_monitor = BackgroundMonitor::Off;
                match self.phase {
                    LoopMachinePhase::Stopping { busy: false } => self.end(LoopEnd::Stopped, out),
                    _ => self.schedule_background_monitor(now_ms),
                }
            }
            LoopEvent::Tick => self.tick(now_ms, out),
        }
    }

    /// Ends a stop: the part that was running when the stop was requested has ended.
    fn finish_stopping(&mut self, event: LoopEvent, out: &mut Vec<LoopEffect>) {
        if self.phase != (LoopMachinePhase::Stopping { busy: true }) {
            return;
        }
        match event {
            // `since_start` stays as it is: the loop ends now, and the next start resets it.
            LoopEvent::IterationNotRecorded => self.iteration -= 1,
            LoopEvent::IterationEnded { micro_dollars, .. } => {
                self.micro_dollars = self.micro_dollars.saturating_add(micro_dollars);
            }
            _ => {}
        }
        self.phase = LoopMachinePhase::Stopping { busy: false };
        if self.background_monitor != BackgroundMonitor::Running {
            self.end(LoopEnd::Stopped, out);
        }
    }

    fn stop(&mut self, out: &mut Vec<LoopEffect>) {
        let busy = match self.phase {
            LoopMachinePhase::Idle | LoopMachinePhase::Stopping { .. } => return,
            LoopMachinePhase::Recording
            | LoopMachinePhase::Monitoring
            | LoopMachinePhase::Asking => true,
            LoopMachinePhase::Sleeping { .. } => false,
        };
        if busy || self.background_monitor == BackgroundMonitor::Running {
            self.phase = LoopMachinePhase::Stopping { busy };
            // A running monitor reports its end, for which the stop waits.
            if self.background_monitor != BackgroundMonitor::Running {
                self.background_monitor = BackgroundMonitor::Off;
            }
            out.push(LoopEffect::Interrupt);
        } else {
            self.end(LoopEnd::Stopped, out);
        }
    }

    fn change(&mut self, policy: LoopPolicy, out: &mut Vec<LoopEffect>) {
        self.policy = policy;
        if let LoopMachinePhase::Sleeping { since_ms, .. } = self.phase {
            // The new interval counts from the end of the iteration, not from the change.
            let wait_ms = self.sleep_ms();
            self.phase = LoopMachinePhase::Sleeping { since_ms, wait_ms };
        }
        match self.phase {
            LoopMachinePhase::Idle | LoopMachinePhase::Stopping { .. } => {}
            _ => self.apply_monitor_schedule(out),
        }
    }

    fn tick(&mut self, now_ms: u64, out: &mut Vec<LoopEffect>) {
        if self.next_ms().is_some_and(|due| due <= now_ms) {
            // A limit may have been lowered during the sleep.
            match self.reached_limit() {
                Some(end) => return self.end_by_itself(end, out),
                None => self.record_iteration(out),
            }
        }
        if let BackgroundMonitor::Due { since_ms, wait_ms } = self.background_monitor
            && since_ms.saturating_add(wait_ms) <= now_ms
        {
            self.background_monitor = BackgroundMonitor::Running;
            out.push(LoopEffect::RunBackgroundMonitor);
        }
    }

    fn record_iteration(&mut self, out: &mut Vec<LoopEffect>) {
        self.iteration = self.iteration.saturating_add(1);
        self.since_start = self.since_start.saturating_add(1);
        self.phase = LoopMachinePhase::Recording;
        let iteration = self.iteration;
        out.push(LoopEffect::RecordIteration { iteration });
    }

    fn after_recorded(&mut self, out: &mut Vec<LoopEffect>) {
        if self.policy.monitor == MonitorSchedule::BeforeIteration {
            self.phase = LoopMachinePhase::Monitoring;
            out.push(LoopEffect::RunMonitor);
        } else {
            self.ask_model(out);
        }
    }

    fn ask_model(&mut self, out: &mut Vec<LoopEffect>) {
        self.phase = LoopMachinePhase::Asking;
        out.push(LoopEffect::AskModel);
    }

    fn iteration_ended(&mut self, end: IterationEnd, now_ms: u64, out: &mut Vec<LoopEffect>) {
        self.unaffordable = match end {
            IterationEnd::Unaffordable => self.unaffordable.saturating_add(1),
            IterationEnd::Answered | IterationEnd::Failed => 0,
        };
        match end {
            IterationEnd::Failed => self.iteration_failed(now_ms, out),
            IterationEnd::Answered => {
                self.errors = 0;
                self.sleep_or_end(now_ms, out);
            }
            // A ceiling is neither a failure nor a success, so the count of errors stays.
            IterationEnd::Unaffordable => self.sleep_or_end(now_ms, out),
        }
    }

    fn iteration_failed(&mut self, now_ms: u64, out: &mut Vec<LoopEffect>) {
        self.errors = self.errors.saturating_add(1);
        self.sleep_or_end(now_ms, out);
    }

    /// Sleeps after an iteration, or ends the loop.
    fn sleep_or_end(&mut self, now_ms: u64, out: &mut Vec<LoopEffect>) {
        let end = if self.run_once {
            Some(LoopEnd::Once)
        } else {
            self.reached_limit()
        };
        if let Some(end) = end {
            return self.end_by_itself(end, out);
        }
        self.phase = LoopMachinePhase::Sleeping {
            since_ms: now_ms,
            wait_ms: self.sleep_ms(),
        };
    }

    /// Returns the limit that was reached, if any.
    fn reached_limit(&self) -> Option<LoopEnd> {
        let policy = &self.policy;
        // For errors and iterations 0 means no limit.
        if policy.errors_max > 0 && self.errors >= policy.errors_max {
            return Some(LoopEnd::Errors);
        }
        if self.money_left() == Some(0) {
            return Some(LoopEnd::Money);
        }
        let is_last = policy.max_iterations > 0 && self.since_start >= policy.max_iterations;
        is_last.then_some(LoopEnd::MaxIterations)
    }

    /// Ends the loop without a stop request. A background monitor is interrupted, and its end is
    /// ignored.
    fn end_by_itself(&mut self, end: LoopEnd, out: &mut Vec<LoopEffect>) {
        if self.background_monitor == BackgroundMonitor::Running {
            out.push(LoopEffect::Interrupt);
        }
        self.end(end, out);
    }

    fn end(&mut self, end: LoopEnd, out: &mut Vec<LoopEffect>) {
        self.phase = LoopMachinePhase::Idle;
        self.background_monitor = BackgroundMonitor::Off;
        out.push(LoopEffect::End(end));
    }

    fn sleep_ms(&self) -> u64 {
        backoff_ms(
            self.policy.interval_ms,
            // Both kinds of trouble slow the loop down; the longer streak counts.
            self.errors.max(self.unaffordable),
            self.policy.backoff_ms_max,
        )
    }

    /// Brings the background monitor in line with the policy.
    fn apply_monitor_schedule(&mut self, out: &mut Vec<LoopEffect>) {
        match (self.policy.monitor, self.background_monitor) {
            (MonitorSchedule::Interval(_), BackgroundMonitor::Off)
                if self.phase != LoopMachinePhase::Idle =>
            {
                self.background_monitor = BackgroundMonitor::Running;
                out.push(LoopEffect::RunBackgroundMonitor);
            }
            (MonitorSchedule::Interval(wait_ms), BackgroundMonitor::Due { since_ms, .. }) => {
                self.background_monitor = BackgroundMonitor::Due { since_ms, wait_ms };
            }
            (
                MonitorSchedule::Off | MonitorSchedule::BeforeIteration,
                BackgroundMonitor::Due { .. },
            ) => self.background_monitor = BackgroundMonitor::Off,
            // A monitor that runs is left alone; its end applies the new schedule.
            _ => {}
        }
    }

    /// Schedules the next run of the background monitor.
    fn schedule_background_monitor(&mut self, now_ms: u64) {
        let runs = !matches!(
            self.phase,
            LoopMachinePhase::Idle | LoopMachinePhase::Stopping { .. }
        );
        if let (MonitorSchedule::Interval(wait_ms), true) = (self.policy.monitor, runs) {
            self.background_monitor = BackgroundMonitor::Due {
                since_ms: now_ms,
                wait_ms,
            };
        }
    }
}

/// Returns the sleep after this many consecutive failures: the interval, doubled for each.
pub fn backoff_ms(interval_ms: u64, errors: u32, most_ms: u64) -> u64 {
    let grown = interval_ms.saturating_mul(1 << errors.min(DOUBLINGS_MAX));
    // The maximum limits growth: an interval beyond it stays as it is.
    grown.min(most_ms.max(interval_ms))
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
