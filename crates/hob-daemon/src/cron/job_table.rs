//! The jobs in memory, with the times at which they need attention. No clock, no waiting.
//!
//! Invariants: a job has at most one slot at work; `due_times` and `begin_times` hold each job at
//! its next time; a slot is in one place only: waiting, ready or at work.

use super::terms::JobTiming;
use hob_core::schedule::{Calendar, JobStanding};
use hob_store::{JobRow, SlotRow};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tokio_util::sync::CancellationToken;

/// Cached calendars kept beyond the number of jobs.
const CALENDARS_SPARE: usize = 64;

#[derive(Debug, Default)]
/// All jobs, indexed by id, name and next time.
pub(super) struct JobTable {
    jobs: BTreeMap<String, ScheduledJob>,
    /// Ids by name.
    names: BTreeMap<String, String>,
    /// The times when jobs are due, in wall-clock time.
    due_times: BTreeSet<(u64, String)>,
    /// The times when waiting slots may begin, in monotonic time.
    begin_times: BTreeSet<(u64, String)>,
    /// Slots that may start, in order.
    ready: VecDeque<StartedSlot>,
    /// Calendars by schedule and zone. Jobs share them, because cron fields are tables of some
    /// kilobytes.
    calendars: BTreeMap<(String, Option<String>), Calendar>,
    /// Slots at work.
    pub(super) at_work: usize,
}

#[derive(Debug)]
/// A job with its slots.
pub(super) struct ScheduledJob {
    pub(super) row: JobRow,
    pub(super) timing: JobTiming,
    waiting: VecDeque<WaitingSlot>,
    current: Option<ActiveSlot>,
    due_ms: Option<u64>,
    begin_ms: Option<u64>,
}

#[derive(Debug)]
struct WaitingSlot {
    row: SlotRow,
    /// In monotonic time, so that setting the clock delays nothing.
    begin_ms: u64,
}

#[derive(Debug)]
struct ActiveSlot {
    number: u64,
    stop: CancellationToken,
}

/// A slot whose work starts.
#[derive(Debug)]
pub(super) struct StartedSlot {
    pub(super) job: JobRow,
    pub(super) slot: SlotRow,
    pub(super) stop: CancellationToken,
}

impl ScheduledJob {
    pub(super) fn standing(&self) -> JobStanding {
        JobStanding {
            cursor_ms: self.row.cursor_ms,
            is_running: self.current.is_some(),
            waiting: self.waiting.len(),
        }
    }

    /// Returns the number of slots that wait or are at work.
    pub(super) fn active_slots(&self) -> u32 {
        let count = self.waiting.len() + usize::from(self.current.is_some());
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Stops the slot at work.
    pub(super) fn stop_current(&self) {
        if let Some(current) = &self.current {
            current.stop.cancel();
        }
    }

    /// Removes and returns the waiting slots.
    pub(super) fn clear_waiting(&mut self) -> Vec<SlotRow> {
        self.waiting.drain(..).map(|waiting| waiting.row).collect()
    }

    pub(super) fn push_waiting(&mut self, row: SlotRow, begin_ms: u64) {
        self.waiting.push_back(WaitingSlot { row, begin_ms });
    }
}

impl JobTable {
    /// Returns a job by its id or name.
    pub(super) fn find(&self, id_or_name: &str) -> Option<&ScheduledJob> {
        let id = self.names.get(id_or_name);
        self.jobs.get(id.map_or(id_or_name, String::as_str))
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut ScheduledJob> {
        self.jobs.get_mut(id)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Returns the jobs after a name, ordered by name.
    pub(super) fn jobs_after<'b>(&'b self, name: &str) -> impl Iterator<Item = &'b ScheduledJob> {
        let from = (
            std::ops::Bound::Excluded(name.to_owned()),
            std::ops::Bound::Unbounded,
        );
        let ids = self.names.range(from).map(|(_, id)| id);
        ids.filter_map(|id| self.jobs.get(id))
    }

    /// Adds a job, or replaces its row and timing.
    pub(super) fn upsert(&mut self, row: JobRow, mut timing: JobTiming, now_ms: u64) {
        if timing.calendar.is_cron() {
            let key = (row.terms.schedule.clone(), row.terms.zone.clone());
            let shared = self.calendars.entry(key).or_insert(timing.calendar);
            timing.calendar = shared.clone();
        }
        let id = row.id.clone();
        let name = row.terms.name.clone();
        if let Some(job) = self.jobs.get_mut(&id) {
            // The change may have renamed the job.
            self.names.remove(&job.row.terms.name);
            job.row = row;
            job.timing = timing;
        } else {
            let job = ScheduledJob {
                row,
                timing,
                waiting: VecDeque::new(),
                current: None,
                due_ms: None,
                begin_ms: None,
            };
            self.jobs.insert(id.clone(), job);
        }
        self.names.insert(name, id.clone());
        self.reschedule(&id, now_ms);
    }

    /// Removes a job. Its slot at work goes on.
    pub(super) fn remove(&mut self, id: &str) {
        let Some(job) = self.jobs.remove(id) else {
            return;
        };
        self.names.remove(&job.row.terms.name);
        job.due_ms
            .map(|at| self.due_times.remove(&(at, id.to_owned())));
        job.begin_ms
            .map(|at| self.begin_times.remove(&(at, id.to_owned())));
        // A ready slot has not begun, so it goes with its job.
        self.ready.retain(|started| started.job.id != id);
        if self.calendars.len() > self.jobs.len() + CALENDARS_SPARE {
            // Jobs hold their own copies, so only the sharing with later jobs is lost.
            self.calendars.clear();
        }
    }

    /// Recomputes the next due time and begin time of a job.
    pub(super) fn reschedule(&mut self, id: &str, now_ms: u64) {
        let Some(job) = self.jobs.get_mut(id) else {
            return;
        };
        let hours = job.timing.policy.hours.as_ref();
        let calendar = job.timing.calendar.anchored_at(job.row.cursor_ms);
        // A cursor far in the future comes from a clock that was wrong. The job is decided now, or it
        // would not run until that time.
        let due_ms = if !job.row.enabled {
            None
        } else if job.row.cursor_ms > now_ms.saturating_add(calendar.clock_back_ms_max()) {
            Some(now_ms)
        } else {
            calendar.next_within(job.row.cursor_ms, hours)
        };
        let is_free = job.current.is_none();
        let begin_ms = job
            .waiting
            .front()
            // While a slot is at work, the next one waits for its end and not for a time.
            .filter(|_| is_free)
            .map(|first| first.begin_ms);
        let entry = |at| (at, id.to_owned());
        if job.due_ms != due_ms {
            job.due_ms.map(|at| self.due_times.remove(&entry(at)));
            due_ms.map(|at| self.due_times.insert(entry(at)));
            job.due_ms = due_ms;
        }
        if job.begin_ms != begin_ms {
            job.begin_ms.map(|at| self.begin_times.remove(&entry(at)));
            begin_ms.map(|at| self.begin_times.insert(entry(at)));
            job.begin_ms = begin_ms;
        }
    }

    /// Recomputes the times of every job, after the clock was set.
    pub(super) fn reschedule_all(&mut self, now_ms: u64) {
        let ids: Vec<String> = self.jobs.keys().cloned().collect();
        for id in ids {
            self.reschedule(&id, now_ms);
        }
    }

    /// Returns up to `count` jobs that are due, the longest overdue first.
    pub(super) fn due_jobs(&self, now_ms: u64, count: usize) -> Vec<String> {
        let due = self.due_times.iter().take_while(|(at, _)| *at <= now_ms);
        due.take(count).map(|(_, id)| id.clone()).collect()
    }

    /// Counts the jobs that were due before a time.
    pub(super) fn count_due_before(&self, at_ms: u64) -> u64 {
        self.due_times
            .iter()
            .take_while(|(at, _)| *at < at_ms)
            .count() as u64
    }

    /// Delays a job whose decision could not be stored.
    pub(super) fn postpone(&mut self, id: &str, to_ms: u64) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.due_ms
                .map(|at| self.due_times.remove(&(at, id.to_owned())));
            self.due_times.insert((to_ms, id.to_owned()));
            job.due_ms = Some(to_ms);
        }
    }

    /// Returns the next due time (wall clock) and the next begin time (monotonic).
    pub(super) fn next_times(&self) -> (Option<u64>, Option<u64>) {
        let first = |set: &BTreeSet<(u64, String)>| set.first().map(|(at, _)| *at);
        (first(&self.due_times), first(&self.begin_times))
    }

    /// Moves slots whose begin time has come to the ready queue.
    pub(super) fn collect_ready(&mut self, monotonic_ms: u64, now_ms: u64) {
        while let Some((at, id)) = self.begin_times.first().cloned() {
            if at > monotonic_ms {
                return;
            }
            if let Some(job) = self.jobs.get_mut(&id)
                && job.current.is_none()
                && let Some(waiting) = job.waiting.pop_front()
            {
                let stop = CancellationToken::new();
                job.current = Some(ActiveSlot {
                    number: waiting.row.slot.number,
                    stop: stop.clone(),
                });
                self.ready.push_back(StartedSlot {
                    job: job.row.clone(),
                    slot: waiting.row,
                    stop,
                });
            } else {
                // A stale entry: without this the loop would not end.
                self.begin_times.remove(&(at, id.clone()));
            }
            self.reschedule(&id, now_ms);
        }
    }

    /// Returns the next ready slot, if fewer than `at_once` are at work.
    pub(super) fn take_ready(&mut self, at_once: usize) -> Option<StartedSlot> {
        if self.at_work >= at_once {
            return None;
        }
        let started = self.ready.pop_front()?;
        self.at_work += 1;
        Some(started)
    }

    /// Marks a started slot as finished.
    pub(super) fn finish_slot(&mut self, id: &str, number: u64, now_ms: u64) {
        self.at_work = self.at_work.saturating_sub(1);
        if let Some(job) = self.jobs.get_mut(id)
            && job
                .current
                .as_ref()
                .is_some_and(|current| current.number == number)
        {
            job.current = None;
            self.reschedule(id, now_ms);
        }
    }
}

#[cfg(test)]
#[path = "job_table_tests.rs"]
mod tests;
