//! The due times of a job.
//!
//! Invariants: due times rise; `next_after` of a due time is a later one; the cost of a query is
//! bounded, however long ago the last one was.

use super::active_hours::ActiveHours;
use super::civil;
use super::description;
use super::policy::CLOCK_BACK_MS_MAX;
use super::schedule_line::{self, ParsedSchedule};
use croner::Cron;
use jiff::tz::TimeZone;
use std::borrow::Cow;
use std::collections::VecDeque;

/// The number of recent due times that are listed one by one.
pub(super) const RECENT_MAX: usize = 100;
/// The due times visited before the rest is only estimated.
const STEPS_MAX: u64 = 1_000;
/// The days searched before a job counts as never due in its active hours.
const DAYS_MAX: usize = 400;
/// The candidates of a repeated hour that are skipped.
const REPEATS_MAX: u32 = 4 * 3_600;

/// The schedule of a job; cheap to clone.
#[derive(Clone, Debug)]
pub struct Calendar {
    plan: ParsedSchedule,
    zone: TimeZone,
    /// The time from which `every` counts.
    anchor_ms: u64,
}

/// Passed due times, inside or outside the active hours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueTimes {
    /// Their number, or a lower bound of it.
    pub count: u64,
    /// The latest of them, in ascending order.
    pub recent: VecDeque<u64>,
    /// The one before `recent`.
    pub before_ms: Option<u64>,
}

/// Due times that have passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassedDueTimes {
    /// Due times within the active hours.
    pub inside: DueTimes,
    pub outside: DueTimes,
    /// The latest of all.
    pub latest_ms: Option<u64>,
    /// There were too many to count one by one.
    pub is_estimate: bool,
}

impl Calendar {
    /// Parses a schedule line. `anchor_ms` is the creation time of the job.
    pub fn parse(line: &str, zone: TimeZone, anchor_ms: u64) -> Result<Calendar, String> {
        let plan = schedule_line::parse_line(line, &zone)?;
        let calendar = Calendar {
            plan,
            zone,
            anchor_ms,
        };
        // Rejects lines such as 30 February when the job is created, instead of never running it.
        if let ParsedSchedule::Cron { .. } = calendar.plan
            && calendar.next_after(anchor_ms).is_none()
        {
            return Err(format!("'{}' names a day that never comes.", line.trim()));
        }
        Ok(calendar)
    }

    /// Returns true if it is due only when a webhook is called.
    pub fn is_webhook(&self) -> bool {
        matches!(self.plan, ParsedSchedule::Webhook)
    }

    /// Returns true if it has cron fields, whose tables jobs with the same line share.
    pub fn is_cron(&self) -> bool {
        matches!(self.plan, ParsedSchedule::Cron { .. })
    }

    /// Returns the due time of a schedule that is due once.
    pub fn once_ms(&self) -> Option<u64> {
        match self.plan {
            ParsedSchedule::At { at_ms } => Some(at_ms),
            _ => None,
        }
    }

    /// Returns how far the clock may go back before the schedule continues from the new time. Until
    /// then it waits for the time decided last, so nothing runs twice: wall-clock schedules for up
    /// to a day, a period for no longer than itself.
    pub fn clock_back_ms_max(&self) -> u64 {
        match self.plan {
            ParsedSchedule::Every { period_ms } => period_ms.min(CLOCK_BACK_MS_MAX),
            _ => CLOCK_BACK_MS_MAX,
        }
    }

    /// Returns the same schedule with its period counted from this time. The cursor of a job
    /// carries the phase: after the clock went back, times that have already run shift it.
    pub fn anchored_at(&self, cursor_ms: u64) -> Cow<'_, Calendar> {
        match self.plan {
            ParsedSchedule::Every { .. } => Cow::Owned(Calendar {
                anchor_ms: cursor_ms,
                ..self.clone()
            }),
            _ => Cow::Borrowed(self),
        }
    }

    /// Returns true if its times are counted from an anchor instead of read from the wall clock.
    pub fn is_periodic(&self) -> bool {
        matches!(self.plan, ParsedSchedule::Every { .. })
    }

    /// Returns the initial cursor at `now_ms`. With a period it is the last due time, so the phase
    /// stays.
    pub fn cursor_at(&self, now_ms: u64) -> u64 {
        match self.plan {
            ParsedSchedule::Every { period_ms } => {
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

    /// Describes the schedule for a person.
    pub fn describe(&self, line: &str) -> String {
        description::describe(&self.plan, line, &self.zone)
    }

    /// Returns the first due time after `after_ms`.
    pub fn next_after(&self, after_ms: u64) -> Option<u64> {
        match &self.plan {
            ParsedSchedule::Webhook => None,
            ParsedSchedule::At { at_ms } => Some(*at_ms).filter(|at| *at > after_ms),
            ParsedSchedule::Every { period_ms } => {
                // Due times exist on both sides of the anchor: the clock may go back behind it.
                let phase_ms = self.anchor_ms % period_ms;
                let since = after_ms.checked_sub(phase_ms);
                let passed = since.map_or(0, |since| since / period_ms + 1);
                phase_ms.checked_add(passed.checked_mul(*period_ms)?)
            }
            ParsedSchedule::Cron { cron, hourly: true } => {
                next_by_elapsed_hours(cron, &self.zone, after_ms)
            }
            ParsedSchedule::Cron { cron, .. } => next_by_wall_clock(cron, &self.zone, after_ms),
        }
    }

    /// Returns the first due time after `after_ms` within the active hours.
    pub fn next_within(&self, after_ms: u64, hours: Option<&ActiveHours>) -> Option<u64> {
        let Some(hours) = hours else {
            return self.next_after(after_ms);
        };
        let mut at = after_ms;
        for _ in 0..DAYS_MAX {
            at = self.next_after(at)?;
            if hours.contains(at, &self.zone) {
                return Some(at);
            }
            // Due times before the next start of the hours cannot lie in them.
            at = hours
                .next_start_after(at, &self.zone)?
                .saturating_sub(1)
                .max(at);
        }
        None
    }

    /// Returns the next `count` due times.
    pub fn next_few(&self, after_ms: u64, hours: Option<&ActiveHours>, count: usize) -> Vec<u64> {
        let next = |at: &u64| self.next_within(*at, hours);
        std::iter::successors(self.next_within(after_ms, hours), next)
            .take(count)
            .collect()
    }

    /// Returns the due times after `after_ms` up to `to_ms`.
    pub fn passed(&self, after_ms: u64, to_ms: u64, hours: Option<&ActiveHours>) -> PassedDueTimes {
        let mut passed = PassedDueTimes::default();
        let mut at = after_ms;
        if let (ParsedSchedule::Every { period_ms }, None) = (&self.plan, hours) {
            // A period is divisible: all but the last few are counted without visiting them.
            let skipped = to_ms.saturating_sub(at) / period_ms;
            // The last ones are visited, because they are listed one by one.
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
            let inside = hours.is_none_or(|hours| hours.contains(next, &self.zone));
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
                // At the density seen so far, the remaining times fit into the next batch.
                let tail = (next - after_ms) / 2;
                let leap = to_ms.saturating_sub(tail.max(PERIOD_TAIL_MS));
                if leap > at {
                    at = leap;
                    passed.is_estimate = true;
                    // Catch-up needs every slot, so partial lists are dropped.
                    passed.inside.forget_recent();
                    passed.outside.forget_recent();
                }
            } else if steps > 100 * STEPS_MAX {
                // A bound for a schedule that is denser at its end than the estimate.
                break;
            }
        }
        passed
    }
}

/// The least time before `to_ms` that is still visited after a leap.
const PERIOD_TAIL_MS: u64 = 60_000;

impl DueTimes {
    fn add(&mut self, at_ms: u64) {
        self.count += 1;
        if self.recent.len() == RECENT_MAX {
            self.before_ms = self.recent.pop_front();
        }
        self.recent.push_back(at_ms);
    }

    fn forget_recent(&mut self) {
        self.before_ms = self.recent.back().copied().or(self.before_ms);
        self.recent.clear();
    }

    /// Returns the latest of all.
    pub fn latest_ms(&self) -> Option<u64> {
        self.recent.back().copied().or(self.before_ms)
    }
}

/// Returns the next time of a line that names every hour. It counts hours as they elapse: a skipped
/// hour has no due times, a repeated hour has them twice.
fn next_by_elapsed_hours(cron: &Cron, zone: &TimeZone, after_ms: u64) -> Option<u64> {
    let from = civil::timestamp(after_ms)?.to_zoned(zone.clone());
    let next = cron.find_next_occurrence(&from, false).ok()?;
    u64::try_from(next.timestamp().as_millisecond()).ok()
}

/// Returns the next time of a line that names hours. It follows the wall clock: a time in a gap is
/// due when the gap ends, a repeated time is due once, the first time.
fn next_by_wall_clock(cron: &Cron, zone: &TimeZone, after_ms: u64) -> Option<u64> {
    let mut wall = civil::wall(zone, after_ms)?;
    for _ in 0..REPEATS_MAX {
        wall = cron.find_next_occurrence(&wall, false).ok()?;
        let at = civil::instant(zone, wall)?;
        // In the second pass of a repeated hour the wall clock shows times that were already due.
        if at > after_ms {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
#[path = "calendar_tests.rs"]
mod tests;
