//! What becomes of each due time.
//!
//! Invariants: the cursor only rises, but for a clock that was put back by more than
//! [`Calendar::back_ms_max`]; every due time that it passes is in one of the planned slots, by itself or
//! counted; a slot that is run is no older than the window.

use super::calendar::{Calendar, Passed, RECENT_MAX};
use super::hours::Hours;
use super::words::period;
use hob_wire::schedule::{Missed, Overlap};

/// How late a slot may be and still be on time.
pub const GRACE_MS: u64 = 60_000;
/// How far the clock may be put back before a schedule by the wall goes on from there: until then
/// it waits for the time that was decided last, so that nothing is run twice.
pub const BACK_MS_MAX: u64 = 24 * 3_600_000;
/// How late a slot may be run unless a job says otherwise.
pub const WINDOW_MS: u64 = 24 * 3_600_000;
/// Late slots of many jobs begin spread over this much for each of them …
const SPREAD_MS_A_JOB: u64 = 20;
/// … and at most this.
const SPREAD_MS_MAX: u64 = 60_000;
/// Calls of other systems that may wait behind the one under way.
const CALLS_WAITING_MAX: usize = 100;

/// The rules of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    pub missed: Missed,
    pub overlap: Overlap,
    pub window_ms: u64,
    pub jitter_ms: u64,
    pub hours: Option<Hours>,
    /// Failures in a row after which it is given up; 0 is never.
    pub failures_max: u32,
}

/// How a job stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The last due time that was decided, or when the schedule began to hold.
    pub cursor_ms: u64,
    /// A slot of it is at work.
    pub at_work: bool,
    /// Slots of it that wait.
    pub waiting: usize,
}

/// A look at the clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tick {
    pub now_ms: u64,
    /// Any number, for chance.
    pub dice: u64,
    /// Jobs that are late together.
    pub crowd: u64,
}

/// What is to be written of one job, all of it together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    pub cursor_ms: u64,
    /// The oldest first.
    pub slots: Vec<Planned>,
    /// What is at work is stopped, and what waits makes room.
    pub replaces: bool,
    /// So many times passed that the slots stand for more than they count.
    pub rough: bool,
}

/// A slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub due_ms: u64,
    /// When its work may begin.
    pub begin_ms: u64,
    /// Due times before it that it counts for.
    pub stands_for: u64,
    pub fate: Fate,
}

/// What becomes of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    Run,
    Skipped(String),
    Missed(String),
}

/// Decides what has come due since the job was looked at last; none when nothing has.
pub fn decide(
    calendar: &Calendar,
    policy: &Policy,
    standing: &Standing,
    tick: Tick,
) -> Option<Decision> {
    let calendar = &*calendar.counted_from(standing.cursor_ms);
    if tick.now_ms < standing.cursor_ms {
        // The clock was put back. A little: what was decided stays decided. Much: it was wrong.
        let back_ms = standing.cursor_ms - tick.now_ms;
        return (back_ms > calendar.back_ms_max()).then(|| Decision {
            cursor_ms: calendar.cursor_at(tick.now_ms),
            ..Decision::default()
        });
    }
    let hours = policy.hours.as_ref();
    let passed = calendar.passed(standing.cursor_ms, tick.now_ms, hours);
    let cursor_ms = passed.latest_ms?;
    let mut decision = Decision {
        cursor_ms,
        rough: passed.rough,
        ..Decision::default()
    };
    if let Some(due_ms) = passed.outside.latest_ms() {
        let why = "outside its active hours".to_owned();
        decision.plan(due_ms, passed.outside.count - 1, Fate::Skipped(why));
    }
    choose(&mut decision, &passed, policy, tick);
    overlap(&mut decision, policy, standing);
    for slot in &mut decision.slots {
        slot.begin_ms = begin(slot.due_ms, policy, tick);
    }
    decision.slots.sort_by_key(|slot| slot.due_ms);
    Some(decision)
}

/// Chooses which of the passed times are run.
fn choose(decision: &mut Decision, passed: &Passed, policy: &Policy, tick: Tick) {
    let recent = &passed.inside.recent;
    let late_ms = |due_ms: &u64| tick.now_ms.saturating_sub(*due_ms);
    let window_ms = policy.window_ms.max(GRACE_MS);
    // Due times rise, so that the fresh ones are the last ones.
    let fresh = recent
        .iter()
        .filter(|due| late_ms(due) <= window_ms)
        .count();
    let on_time = recent.back().is_some_and(|due| late_ms(due) <= GRACE_MS);
    let (run, stood_for) = match policy.missed {
        Missed::Once => (fresh.min(1), fresh.saturating_sub(1)),
        Missed::All => (fresh, 0),
        Missed::Skip => (usize::from(on_time), 0),
    };
    let left = recent.len() - run - stood_for;
    let mut unnamed = passed.inside.count - recent.len() as u64;
    let mut stood_for = stood_for as u64;
    if policy.missed == Missed::Once && run == 1 && left == 0 {
        // How old the unnamed are nobody knows; where all named ones are fresh, so be they.
        stood_for += std::mem::take(&mut unnamed);
    }
    let newest_left = match left {
        0 => passed.inside.before_ms.filter(|_| unnamed > 0),
        _ => recent.get(left - 1).copied(),
    };
    if let Some(due_ms) = newest_left {
        let why = why_missed(policy, left, passed.rough);
        decision.plan(due_ms, left as u64 + unnamed - 1, Fate::Missed(why));
    }
    for (place, due_ms) in recent.iter().skip(recent.len() - run).enumerate() {
        let stands_for = if place == 0 { stood_for } else { 0 };
        decision.plan(*due_ms, stands_for, Fate::Run);
    }
}

fn why_missed(policy: &Policy, named: usize, rough: bool) -> String {
    let many = if rough {
        ", and more than were counted"
    } else {
        ""
    };
    match policy.missed {
        Missed::Skip => format!("passed while nobody was there{many}"),
        Missed::All if named == 0 => format!("only the last {RECENT_MAX} are made up for{many}"),
        Missed::All | Missed::Once => {
            let window = period(policy.window_ms.max(GRACE_MS));
            let is_counted = window.starts_with(|c: char| c.is_ascii_digit());
            let one = if is_counted { "" } else { "1 " };
            format!(
                "passed longer ago than its window ({one}{window}), while nobody was there{many}"
            )
        }
    }
}

/// What becomes of slots that come due while another is under way. Those that are made up for
/// together wait for each other in any case.
fn overlap(decision: &mut Decision, policy: &Policy, standing: &Standing) {
    let run = |slot: &&mut Planned| slot.fate == Fate::Run;
    if decision.slots.iter_mut().filter(run).count() != 1 {
        return;
    }
    match admit(policy, standing, false) {
        Admission::Wait => {}
        Admission::Replace => decision.replaces = true,
        Admission::Skip(why) => {
            for slot in decision.slots.iter_mut().filter(run) {
                slot.fate = Fate::Skipped(why.to_owned());
            }
        }
    }
}

/// When the work of a slot may begin: when it is due and by chance a little later; after a long
/// absence many do not begin in the same moment.
fn begin(due_ms: u64, policy: &Policy, tick: Tick) -> u64 {
    let is_late = tick.now_ms.saturating_sub(due_ms) > GRACE_MS;
    let crowd = if is_late { tick.crowd } else { 0 };
    let crowd_ms = (crowd.saturating_sub(1) * SPREAD_MS_A_JOB).min(SPREAD_MS_MAX);
    let spread_ms = policy.jitter_ms.max(crowd_ms);
    let from_ms = if is_late { tick.now_ms } else { due_ms };
    from_ms + tick.dice % (spread_ms + 1)
}

/// What becomes of a slot that comes while others of its job may be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It waits for its turn, which comes at once when there is no other.
    Wait,
    /// It takes the place of what is under way.
    Replace,
    Skip(&'static str),
}

/// Decides for one slot. A `call` of another system carries something of its own, so more of them
/// may wait.
pub fn admit(policy: &Policy, standing: &Standing, call: bool) -> Admission {
    if !standing.at_work && standing.waiting == 0 {
        return Admission::Wait;
    }
    match policy.overlap {
        Overlap::Skip => Admission::Skip("the one before is still under way"),
        Overlap::Replace => Admission::Replace,
        Overlap::Queue if call && standing.waiting < CALLS_WAITING_MAX => Admission::Wait,
        Overlap::Queue if !call && standing.waiting == 0 => Admission::Wait,
        Overlap::Queue if call => Admission::Skip("too many calls wait already"),
        Overlap::Queue => Admission::Skip("another one waits already"),
    }
}

/// What kind of work a slot does, as far as a restart is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tribe {
    /// Asked for under a key: asking again finds what there is.
    Keyed,
    /// Nobody knows how far it came.
    Opaque,
}

/// What becomes of a slot that was under way when the daemon ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Its work is begun, for the first time or once more under its key.
    Begin,
    /// It is over.
    Fail(&'static str),
}

pub fn recover(tribe: Tribe, had_begun: bool) -> Recovery {
    match tribe {
        Tribe::Opaque if had_begun => Recovery::Fail("cut off by a restart"),
        Tribe::Keyed | Tribe::Opaque => Recovery::Begin,
    }
}

/// Failures in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streak(pub u32);

impl Streak {
    /// After a slot that ran; says whether the job is given up.
    #[must_use]
    pub fn after(self, success: bool, policy: &Policy) -> (Streak, bool) {
        if success {
            return (Streak(0), false);
        }
        let failures = self.0.saturating_add(1);
        let given_up = policy.failures_max > 0 && failures >= policy.failures_max;
        (Streak(failures), given_up)
    }
}

impl Decision {
    fn plan(&mut self, due_ms: u64, stands_for: u64, fate: Fate) {
        self.slots.push(Planned {
            due_ms,
            begin_ms: due_ms,
            stands_for,
            fate,
        });
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
