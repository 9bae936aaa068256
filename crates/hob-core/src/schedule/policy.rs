//! Decides about each due time.
//!
//! Invariants: the cursor only rises, unless the clock goes back by more than
//! [`Calendar::clock_back_ms_max`]; every due time that it passes is in one of the planned slots,
//! by itself or counted; a slot that runs is no older than the window.

use super::active_hours::ActiveHours;
use super::calendar::{Calendar, PassedDueTimes, RECENT_MAX};
use super::description::describe_period;
use hob_wire::schedule::{MissedPolicy, OverlapPolicy};

/// The lateness up to which a slot counts as on time.
pub const GRACE_MS: u64 = 60_000;
/// The most the clock may go back before a wall-clock schedule continues from the new time. Until
/// then it waits for the time decided last, so nothing runs twice.
pub const CLOCK_BACK_MS_MAX: u64 = 24 * 3_600_000;
/// The default lateness up to which a slot still runs.
pub const WINDOW_MS: u64 = 24 * 3_600_000;
/// Late slots of many jobs start spread over this much time per job …
const SPREAD_MS_A_JOB: u64 = 20;
/// … and at most this.
const SPREAD_MS_MAX: u64 = 60_000;
/// The most webhook calls that wait behind the running one.
const CALLS_WAITING_MAX: usize = 100;

/// The settings of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobPolicy {
    pub missed: MissedPolicy,
    pub overlap: OverlapPolicy,
    pub window_ms: u64,
    pub jitter_ms: u64,
    pub hours: Option<ActiveHours>,
    /// Consecutive failures after which the job is given up; 0 means never.
    pub failures_max: u32,
}

/// The present state of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobStanding {
    /// The last due time that was decided, or the start of the schedule.
    pub cursor_ms: u64,
    /// One of its slots runs.
    pub is_running: bool,
    /// Its waiting slots.
    pub waiting: usize,
}

/// A reading of the clock, with randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClockTick {
    pub now_ms: u64,
    /// A random number.
    pub randomness: u64,
    /// The number of jobs that are late together.
    pub late_jobs: u64,
}

/// The decision about one job, stored in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueDecision {
    pub cursor_ms: u64,
    /// In ascending order.
    pub slots: Vec<PlannedSlot>,
    /// The running slot is stopped and the waiting ones make room.
    pub replaces: bool,
    /// Too many times passed: the slots stand for more than they count.
    pub is_estimate: bool,
}

/// A slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedSlot {
    pub due_ms: u64,
    /// The earliest start of its work.
    pub begin_ms: u64,
    /// Earlier due times that this slot counts for.
    pub stands_for: u64,
    pub decision: SlotDecision,
}

/// The decision about a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotDecision {
    Run,
    Skipped(String),
    Missed(String),
}

/// Decides about the due times since the last decision; `None` if there are none.
pub fn decide(
    calendar: &Calendar,
    policy: &JobPolicy,
    standing: &JobStanding,
    tick: ClockTick,
) -> Option<DueDecision> {
    let calendar = &*calendar.anchored_at(standing.cursor_ms);
    if tick.now_ms < standing.cursor_ms {
        // The clock went back. A little: earlier decisions stand. A lot: the earlier time was
        // wrong.
        let back_ms = standing.cursor_ms - tick.now_ms;
        return (back_ms > calendar.clock_back_ms_max()).then(|| DueDecision {
            cursor_ms: calendar.cursor_at(tick.now_ms),
            ..DueDecision::default()
        });
    }
    let hours = policy.hours.as_ref();
    let passed = calendar.passed(standing.cursor_ms, tick.now_ms, hours);
    let cursor_ms = passed.latest_ms?;
    let mut decision = DueDecision {
        cursor_ms,
        is_estimate: passed.is_estimate,
        ..DueDecision::default()
    };
    if let Some(due_ms) = passed.outside.latest_ms() {
        let why = "outside its active hours".to_owned();
        decision.add_slot(due_ms, passed.outside.count - 1, SlotDecision::Skipped(why));
    }
    choose_runs(&mut decision, &passed, policy, tick);
    apply_overlap(&mut decision, policy, standing);
    for slot in &mut decision.slots {
        slot.begin_ms = start_ms(slot.due_ms, policy, tick);
    }
    decision.slots.sort_by_key(|slot| slot.due_ms);
    Some(decision)
}

/// Chooses which of the passed times run.
fn choose_runs(
    decision: &mut DueDecision,
    passed: &PassedDueTimes,
    policy: &JobPolicy,
    tick: ClockTick,
) {
    let recent = &passed.inside.recent;
    let late_ms = |due_ms: &u64| tick.now_ms.saturating_sub(*due_ms);
    // A slot that is on time runs whatever the window is.
    let window_ms = policy.window_ms.max(GRACE_MS);
    // Due times rise, so the fresh ones are at the end.
    let fresh = recent
        .iter()
        .filter(|due| late_ms(due) <= window_ms)
        .count();
    let on_time = recent.back().is_some_and(|due| late_ms(due) <= GRACE_MS);
    let (run, stood_for) = match policy.missed {
        MissedPolicy::Once => (fresh.min(1), fresh.saturating_sub(1)),
        MissedPolicy::All => (fresh, 0),
        MissedPolicy::Skip => (usize::from(on_time), 0),
    };
    let left = recent.len() - run - stood_for;
    let mut unnamed = passed.inside.count - recent.len() as u64;
    let mut stood_for = stood_for as u64;
    if policy.missed == MissedPolicy::Once && run == 1 && left == 0 {
        // The age of unlisted times is unknown; if all listed ones are fresh, they count as fresh
        // too.
        stood_for += std::mem::take(&mut unnamed);
    }
    let newest_left = match left {
        0 => passed.inside.before_ms.filter(|_| unnamed > 0),
        _ => recent.get(left - 1).copied(),
    };
    if let Some(due_ms) = newest_left {
        let why = missed_reason(policy, left, passed.is_estimate);
        decision.add_slot(due_ms, left as u64 + unnamed - 1, SlotDecision::Missed(why));
    }
    for (place, due_ms) in recent.iter().skip(recent.len() - run).enumerate() {
        let stands_for = if place == 0 { stood_for } else { 0 };
        decision.add_slot(*due_ms, stands_for, SlotDecision::Run);
    }
}

fn missed_reason(policy: &JobPolicy, named: usize, is_estimate: bool) -> String {
    let many = if is_estimate {
        ", and more than were counted"
    } else {
        ""
    };
    match policy.missed {
        MissedPolicy::Skip => format!("passed while hob was not running{many}"),
        MissedPolicy::All if named == 0 => {
            format!("only the last {RECENT_MAX} are caught up{many}")
        }
        MissedPolicy::All | MissedPolicy::Once => {
            let window = describe_period(policy.window_ms.max(GRACE_MS));
            let is_counted = window.starts_with(|c: char| c.is_ascii_digit());
            let one = if is_counted { "" } else { "1 " };
            format!(
                "passed longer ago than its window ({one}{window}), while hob was not running{many}"
            )
        }
    }
}

/// Applies the overlap policy to a slot that is due while another runs. Slots that catch up
/// together wait for each other in any case.
fn apply_overlap(decision: &mut DueDecision, policy: &JobPolicy, standing: &JobStanding) {
    let run = |slot: &&mut PlannedSlot| slot.decision == SlotDecision::Run;
    if decision.slots.iter_mut().filter(run).count() != 1 {
        return;
    }
    match admit(policy, standing, false) {
        SlotAdmission::Wait => {}
        SlotAdmission::Replace => decision.replaces = true,
        SlotAdmission::Skip(why) => {
            for slot in decision.slots.iter_mut().filter(run) {
                slot.decision = SlotDecision::Skipped(why.to_owned());
            }
        }
    }
}

/// Returns the earliest start of a slot: its due time plus jitter. After a long absence the starts
/// of many jobs are spread.
fn start_ms(due_ms: u64, policy: &JobPolicy, tick: ClockTick) -> u64 {
    let is_late = tick.now_ms.saturating_sub(due_ms) > GRACE_MS;
    // Only late slots start together; the others are spread by their own jitter.
    let crowd = if is_late { tick.late_jobs } else { 0 };
    let crowd_ms = (crowd.saturating_sub(1) * SPREAD_MS_A_JOB).min(SPREAD_MS_MAX);
    let spread_ms = policy.jitter_ms.max(crowd_ms);
    let from_ms = if is_late { tick.now_ms } else { due_ms };
    // Plus one, because a spread of 0 is no divisor.
    from_ms + tick.randomness % (spread_ms + 1)
}

/// The decision about a new slot while others of its job may exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotAdmission {
    /// It waits for its turn, which comes at once if there is no other.
    Wait,
    /// It replaces the running slot.
    Replace,
    Skip(&'static str),
}

/// Decides about one slot. A webhook `call` carries its own data, so more of them may wait.
pub fn admit(policy: &JobPolicy, standing: &JobStanding, call: bool) -> SlotAdmission {
    if !standing.is_running && standing.waiting == 0 {
        return SlotAdmission::Wait;
    }
    match policy.overlap {
        OverlapPolicy::Skip => SlotAdmission::Skip("the previous run is still in progress"),
        OverlapPolicy::Replace => SlotAdmission::Replace,
        OverlapPolicy::Queue if call && standing.waiting < CALLS_WAITING_MAX => SlotAdmission::Wait,
        // Scheduled slots are alike, so one waiting slot stands for all of them.
        OverlapPolicy::Queue if !call && standing.waiting == 0 => SlotAdmission::Wait,
        OverlapPolicy::Queue if call => SlotAdmission::Skip("too many calls are already waiting"),
        OverlapPolicy::Queue => SlotAdmission::Skip("another one is already waiting"),
    }
}

/// Tells whether the work of a slot can be repeated after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkRepeatability {
    /// Requested under a key: repeating the request finds the earlier one.
    Keyed,
    /// Nobody knows how far it got.
    Opaque,
}

/// The decision about a slot that ran when the daemon ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotRecovery {
    /// Start its work, for the first time or again under its key.
    Begin,
    /// It is over.
    Fail(&'static str),
}

pub fn recover(tribe: WorkRepeatability, had_begun: bool) -> SlotRecovery {
    match tribe {
        WorkRepeatability::Opaque if had_begun => SlotRecovery::Fail("cut off by a restart"),
        WorkRepeatability::Keyed | WorkRepeatability::Opaque => SlotRecovery::Begin,
    }
}

/// The number of consecutive failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailureStreak(pub u32);

impl FailureStreak {
    /// Returns the streak after a slot that ran, and whether the job is given up.
    #[must_use]
    pub fn after(self, success: bool, policy: &JobPolicy) -> (FailureStreak, bool) {
        if success {
            return (FailureStreak(0), false);
        }
        let failures = self.0.saturating_add(1);
        let given_up = policy.failures_max > 0 && failures >= policy.failures_max;
        (FailureStreak(failures), given_up)
    }
}

impl DueDecision {
    fn add_slot(&mut self, due_ms: u64, stands_for: u64, decision: SlotDecision) {
        self.slots.push(PlannedSlot {
            due_ms,
            begin_ms: due_ms,
            stands_for,
            decision,
        });
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
