//! The due times of a job.
//!
//! Invariants: due times rise; `next_after` of a due time is a later one; however long nobody
//! looked, looking costs a bounded number of steps.

use super::civil;
use super::hours::Hours;
use super::line::{self, Plan};
use super::policy::BACK_MS_MAX;
use super::words;
use croner::Cron;
use jiff::tz::TimeZone;
use std::borrow::Cow;
use std::collections::VecDeque;

/// The latest of passed times that are named one by one.
pub(super) const RECENT_MAX: usize = 100;
/// Due times looked at in one go before the rest is only counted roughly.
const STEPS_MAX: u64 = 1_000;
/// Days whose active hours are looked at before a job counts as never due in them.
const DAYS_MAX: usize = 400;
/// Candidates of a repeated hour that are passed over.
const REPEATS_MAX: u32 = 4 * 3_600;

/// When a job is due; cheap to clone.
#[derive(Clone, Debug)]
pub struct Calendar {
    plan: Plan,
    zone: TimeZone,
    /// What `every` counts from.
    anchor_ms: u64,
}

/// Due times of one kind that have passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// How many, or at least how many.
    pub count: u64,
    /// The latest of them, the oldest first.
    pub recent: VecDeque<u64>,
    /// The one before those.
    pub before_ms: Option<u64>,
}

/// Due times that have passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Those within the active hours.
    pub inside: Span,
    pub outside: Span,
    /// The latest of all.
    pub latest_ms: Option<u64>,
    /// There were so many that they were not counted one by one.
    pub rough: bool,
}

impl Calendar {
    /// Reads a schedule line. `anchor_ms` is when the job was made.
    pub fn parse(line: &str, zone: TimeZone, anchor_ms: u64) -> Result<Calendar, String> {
        let plan = line::read(line, &zone)?;
        let calendar = Calendar {
            plan,
            zone,
            anchor_ms,
        };
        if let Plan::Cron { .. } = calendar.plan
            && calendar.next_after(anchor_ms).is_none()
        {
            return Err(format!("'{}' names a day that never comes.", line.trim()));
        }
        Ok(calendar)
    }

    /// Whether it is due only when another system calls.
    pub fn is_webhook(&self) -> bool {
        matches!(self.plan, Plan::Webhook)
    }

    /// Whether it goes by cron fields, whose tables jobs with the same line share.
    pub fn goes_by_fields(&self) -> bool {
        matches!(self.plan, Plan::Cron { .. })
    }

    /// The one time it is due, if it is due once.
    pub fn once_ms(&self) -> Option<u64> {
        match self.plan {
            Plan::At { at_ms } => Some(at_ms),
            _ => None,
        }
    }

    /// How far the clock may be put back before the schedule goes on from there. Until then it
    /// waits for the time that was decided last, so that nothing is run twice: times of the day for
    /// up to a day, a period for no longer than itself.
    pub fn back_ms_max(&self) -> u64 {
        match self.plan {
            Plan::Every { period_ms } => period_ms.min(BACK_MS_MAX),
            _ => BACK_MS_MAX,
        }
    }

    /// The same schedule, where a period counts from this time. The cursor of a job carries its
    /// phase: after a clock was put back, times that have run already make it move.
    pub fn counted_from(&self, cursor_ms: u64) -> Cow<'_, Calendar> {
        match self.plan {
            Plan::Every { .. } => Cow::Owned(Calendar {
                anchor_ms: cursor_ms,
                ..self.clone()
            }),
            _ => Cow::Borrowed(self),
        }
    }

    /// Whether its times are counted, and do not stand on the wall.
    pub fn is_counted(&self) -> bool {
        matches!(self.plan, Plan::Every { .. })
    }

    /// Where a cursor begins that is set at `now_ms`: with a period at its last time, so that its
    /// phase stays.
    pub fn cursor_at(&self, now_ms: u64) -> u64 {
        match self.plan {
            Plan::Every { period_ms } => {
                let phase_ms = self.anchor_ms % period_ms;
                let since = now_ms.checked_sub(phase_ms);
                since.map_or(now_ms, |since| now_ms - since % period_ms)
            }
            _ => now_ms,
        }
    }

    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The schedule in words.
    pub fn about(&self, line: &str) -> String {
        words::about(&self.plan, line, &self.zone)
    }

    /// The first due time after `after_ms`.
    pub fn next_after(&self, after_ms: u64) -> Option<u64> {
        match &self.plan {
            Plan::Webhook => None,
            Plan::At { at_ms } => Some(*at_ms).filter(|at| *at > after_ms),
            Plan::Every { period_ms } => {
                // Times lie on both sides of the anchor: a clock may be put back behind it.
                let phase_ms = self.anchor_ms % period_ms;
                let since = after_ms.checked_sub(phase_ms);
                let passed = since.map_or(0, |since| since / period_ms + 1);
                phase_ms.checked_add(passed.checked_mul(*period_ms)?)
            }
            Plan::Cron { cron, hourly: true } => hourly(cron, &self.zone, after_ms),
            Plan::Cron { cron, .. } => by_the_wall(cron, &self.zone, after_ms),
        }
    }

    /// The first due time after `after_ms` that lies in the active hours.
    pub fn next_within(&self, after_ms: u64, hours: Option<&Hours>) -> Option<u64> {
        let Some(hours) = hours else {
            return self.next_after(after_ms);
        };
        let mut at = after_ms;
        for _ in 0..DAYS_MAX {
            at = self.next_after(at)?;
            if hours.hold(at, &self.zone) {
                return Some(at);
            }
            // Nothing before the hours begin again can lie in them.
            at = hours.begin_after(at, &self.zone)?.saturating_sub(1).max(at);
        }
        None
    }

    /// The next few times.
    pub fn next_few(&self, after_ms: u64, hours: Option<&Hours>, count: usize) -> Vec<u64> {
        let next = |at: &u64| self.next_within(*at, hours);
        std::iter::successors(self.next_within(after_ms, hours), next)
            .take(count)
            .collect()
    }

    /// The due times after `after_ms` up to `to_ms`.
    pub fn passed(&self, after_ms: u64, to_ms: u64, hours: Option<&Hours>) -> Passed {
        let mut passed = Passed::default();
        let mut at = after_ms;
        if let (Plan::Every { period_ms }, None) = (&self.plan, hours) {
            // Counted at once: all but the last few need not be looked at.
            let skipped = to_ms.saturating_sub(at) / period_ms;
            let skipped = skipped.saturating_sub(RECENT_MAX as u64 + 1);
            if skipped > 0 {
                let first = self.next_after(at).unwrap_or(at);
                passed.inside.count = skipped;
                at = first + (skipped - 1) * period_ms;
                passed.inside.before_ms = Some(at);
            }
        }
        let mut steps = 0;
        while let Some(next) = self.next_after(at).filter(|next| *next <= to_ms) {
            let inside = hours.is_none_or(|hours| hours.hold(next, &self.zone));
            let span = if inside {
                &mut passed.inside
            } else {
                &mut passed.outside
            };
            span.add(next);
            passed.latest_ms = Some(next);
            at = next;
            steps += 1;
            if steps == STEPS_MAX {
                // As dense as they were so far, what is left of them fits into the next go.
                let tail = (next - after_ms) / 2;
                let leap = to_ms.saturating_sub(tail.max(PERIOD_TAIL_MS));
                if leap > at {
                    at = leap;
                    passed.rough = true;
                    // What is run one by one has no hole in it.
                    passed.inside.forget();
                    passed.outside.forget();
                }
            } else if steps > 100 * STEPS_MAX {
                break;
            }
        }
        passed
    }
}

/// The least that is looked at before now when much is passed over.
const PERIOD_TAIL_MS: u64 = 60_000;

impl Span {
    fn add(&mut self, at_ms: u64) {
        self.count += 1;
        if self.recent.len() == RECENT_MAX {
            self.before_ms = self.recent.pop_front();
        }
        self.recent.push_back(at_ms);
    }

    fn forget(&mut self) {
        self.before_ms = self.recent.back().copied().or(self.before_ms);
        self.recent.clear();
    }

    /// The latest of all.
    pub fn latest_ms(&self) -> Option<u64> {
        self.recent.back().copied().or(self.before_ms)
    }
}

/// A line that names each hour counts hours as they pass: one that is skipped has none, and one
/// that comes twice has its times twice.
fn hourly(cron: &Cron, zone: &TimeZone, after_ms: u64) -> Option<u64> {
    let from = civil::timestamp(after_ms)?.to_zoned(zone.clone());
    let next = cron.find_next_occurrence(&from, false).ok()?;
    u64::try_from(next.timestamp().as_millisecond()).ok()
}

/// A line that names hours goes by the wall: a time that does not exist is due when the gap ends,
/// one that exists twice is due the first time.
fn by_the_wall(cron: &Cron, zone: &TimeZone, after_ms: u64) -> Option<u64> {
    let mut wall = civil::wall(zone, after_ms)?;
    for _ in 0..REPEATS_MAX {
        wall = cron.find_next_occurrence(&wall, false).ok()?;
        let at = civil::instant(zone, wall)?;
        // In the second pass of a repeated hour the wall shows times that were due in the first.
        if at > after_ms {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
#[path = "calendar_tests.rs"]
mod tests;
