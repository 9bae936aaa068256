//! The jobs as they stand in memory, and what is to be done with them next. No clock, no waiting.
//!
//! Invariants: a job has at most one slot at work; `dues` and `begins` name each job at the time
//! it is to be looked at again; a slot is in one place only: waiting, ready or at work.

use super::terms::Ruled;
use hob_core::schedule::{Calendar, Standing};
use hob_kit::failpoint;
use hob_store::{JobRow, SlotRow};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tokio_util::sync::CancellationToken;

/// Calendars beyond the number of jobs that may be kept for others.
const CALENDARS_SPARE: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Book {
    jobs: BTreeMap<String, Job>,
    /// Ids by name.
    names: BTreeMap<String, String>,
    /// When jobs are due, by the wall.
    dues: BTreeSet<(u64, String)>,
    /// When waiting slots may begin, by monotonic time.
    begins: BTreeSet<(u64, String)>,
    /// Slots whose time has come, in order.
    ready: VecDeque<Started>,
    /// Calendars by schedule and zone: cron fields are tables of some kilobytes.
    calendars: BTreeMap<(String, Option<String>), Calendar>,
    /// Slots at work.
    pub(super) at_work: usize,
}

#[derive(Debug)]
pub(super) struct Job {
    pub(super) row: JobRow,
    pub(super) ruled: Ruled,
    waiting: VecDeque<Waiting>,
    current: Option<Current>,
    due_ms: Option<u64>,
    begin_ms: Option<u64>,
}

#[derive(Debug)]
struct Waiting {
    row: SlotRow,
    /// Monotonic: a clock that is set keeps nothing from beginning.
    begin_ms: u64,
}

#[derive(Debug)]
struct Current {
    number: u64,
    stop: CancellationToken,
}

/// A slot that is taken up.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) job: JobRow,
    pub(super) slot: SlotRow,
    pub(super) stop: CancellationToken,
}

impl Job {
    pub(super) fn standing(&self) -> Standing {
        Standing {
            cursor_ms: self.row.cursor_ms,
            at_work: self.current.is_some(),
            waiting: self.waiting.len(),
        }
    }

    /// Slots under way.
    pub(super) fn active(&self) -> u32 {
        let count = self.waiting.len() + usize::from(self.current.is_some());
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Stops what is at work.
    pub(super) fn stop(&self) {
        if let Some(current) = &self.current {
            current.stop.cancel();
        }
    }

    /// Takes away what waits.
    pub(super) fn clear_waiting(&mut self) -> Vec<SlotRow> {
        self.waiting.drain(..).map(|waiting| waiting.row).collect()
    }

    pub(super) fn wait(&mut self, row: SlotRow, begin_ms: u64) {
        self.waiting.push_back(Waiting { row, begin_ms });
    }
}

impl Book {
    /// A job by its id or name.
    pub(super) fn find(&self, id_or_name: &str) -> Option<&Job> {
        let id = self.names.get(id_or_name);
        self.jobs.get(id.map_or(id_or_name, String::as_str))
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Job> {
        self.jobs.get_mut(id)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Jobs by name, after one of them.
    pub(super) fn after<'b>(&'b self, name: &str) -> impl Iterator<Item = &'b Job> {
        let from = (
            std::ops::Bound::Excluded(name.to_owned()),
            std::ops::Bound::Unbounded,
        );
        let ids = self.names.range(from).map(|(_, id)| id);
        ids.filter_map(|id| self.jobs.get(id))
    }

    /// Puts a job in, or what is new of it.
    pub(super) fn put(&mut self, row: JobRow, mut ruled: Ruled, now_ms: u64) {
        if ruled.calendar.goes_by_fields() {
            let key = (row.terms.schedule.clone(), row.terms.zone.clone());
            let shared = self.calendars.entry(key).or_insert(ruled.calendar);
            ruled.calendar = shared.clone();
        }
        let id = row.id.clone();
        let name = row.terms.name.clone();
        if let Some(job) = self.jobs.get_mut(&id) {
            self.names.remove(&job.row.terms.name);
            job.row = row;
            job.ruled = ruled;
        } else {
            let job = Job {
                row,
                ruled,
                waiting: VecDeque::new(),
                current: None,
                due_ms: None,
                begin_ms: None,
            };
            self.jobs.insert(id.clone(), job);
        }
        self.names.insert(name, id.clone());
        self.plan(&id, now_ms);
    }

    /// Takes a job out; what is at work goes on.
    pub(super) fn remove(&mut self, id: &str) {
        let Some(job) = self.jobs.remove(id) else {
            return;
        };
        self.names.remove(&job.row.terms.name);
        job.due_ms.map(|at| self.dues.remove(&(at, id.to_owned())));
        job.begin_ms
            .map(|at| self.begins.remove(&(at, id.to_owned())));
        self.ready.retain(|started| started.job.id != id);
        if self.calendars.len() > self.jobs.len() + CALENDARS_SPARE {
            // Jobs keep theirs; only what nobody has any more goes.
            self.calendars.clear();
        }
    }

    /// Finds out when a job is to be looked at again.
    pub(super) fn plan(&mut self, id: &str, now_ms: u64) {
        let Some(job) = self.jobs.get_mut(id) else {
            return;
        };
        let hours = job.ruled.policy.hours.as_ref();
        let calendar = job.ruled.calendar.counted_from(job.row.cursor_ms);
        // A clock that was far ahead is left behind at once.
        let due_ms = if !job.row.enabled {
            None
        } else if failpoint::broken(17) {
            let after_ms = job.row.cursor_ms.min(now_ms);
            calendar.next_within(after_ms, hours)
        } else if job.row.cursor_ms > now_ms.saturating_add(calendar.back_ms_max()) {
            Some(now_ms)
        } else {
            calendar.next_within(job.row.cursor_ms, hours)
        };
        let is_free = job.current.is_none();
        let begin_ms = job
            .waiting
            .front()
            .filter(|_| is_free)
            .map(|first| first.begin_ms);
        let entry = |at| (at, id.to_owned());
        if job.due_ms != due_ms {
            job.due_ms.map(|at| self.dues.remove(&entry(at)));
            due_ms.map(|at| self.dues.insert(entry(at)));
            job.due_ms = due_ms;
        }
        if job.begin_ms != begin_ms {
            job.begin_ms.map(|at| self.begins.remove(&entry(at)));
            begin_ms.map(|at| self.begins.insert(entry(at)));
            job.begin_ms = begin_ms;
        }
    }

    /// Finds it out for every job: the clock was set.
    pub(super) fn plan_all(&mut self, now_ms: u64) {
        let ids: Vec<String> = self.jobs.keys().cloned().collect();
        for id in ids {
            self.plan(&id, now_ms);
        }
    }

    /// Jobs that are due, the longest first, at most so many.
    pub(super) fn due(&self, now_ms: u64, count: usize) -> Vec<String> {
        let due = self.dues.iter().take_while(|(at, _)| *at <= now_ms);
        due.take(count).map(|(_, id)| id.clone()).collect()
    }

    /// How many were due before that.
    pub(super) fn due_before(&self, at_ms: u64) -> u64 {
        self.dues.iter().take_while(|(at, _)| *at < at_ms).count() as u64
    }

    /// Looks at a job later, because it could not be decided now.
    pub(super) fn postpone(&mut self, id: &str, to_ms: u64) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.due_ms.map(|at| self.dues.remove(&(at, id.to_owned())));
            self.dues.insert((to_ms, id.to_owned()));
            job.due_ms = Some(to_ms);
        }
    }

    /// The next time by the wall, and by monotonic time.
    pub(super) fn next(&self) -> (Option<u64>, Option<u64>) {
        let first = |set: &BTreeSet<(u64, String)>| set.first().map(|(at, _)| *at);
        (first(&self.dues), first(&self.begins))
    }

    /// Takes the slots whose time has come into the line of those that are ready.
    pub(super) fn gather(&mut self, monotonic_ms: u64, now_ms: u64) {
        while let Some((at, id)) = self.begins.first().cloned() {
            if at > monotonic_ms {
                return;
            }
            if let Some(job) = self.jobs.get_mut(&id)
                && job.current.is_none()
                && let Some(waiting) = job.waiting.pop_front()
            {
                let stop = CancellationToken::new();
                job.current = Some(Current {
                    number: waiting.row.slot.number,
                    stop: stop.clone(),
                });
                self.ready.push_back(Started {
                    job: job.row.clone(),
                    slot: waiting.row,
                    stop,
                });
            } else {
                self.begins.remove(&(at, id.clone()));
            }
            self.plan(&id, now_ms);
        }
    }

    /// The next slot to be taken up, if no more than `at_once` are at work with it.
    pub(super) fn take(&mut self, at_once: usize) -> Option<Started> {
        if self.at_work >= at_once {
            return None;
        }
        let started = self.ready.pop_front()?;
        self.at_work += 1;
        Some(started)
    }

    /// A slot that was taken up is over.
    pub(super) fn over(&mut self, id: &str, number: u64, now_ms: u64) {
        self.at_work = self.at_work.saturating_sub(1);
        if let Some(job) = self.jobs.get_mut(id)
            && job
                .current
                .as_ref()
                .is_some_and(|current| current.number == number)
        {
            job.current = None;
            self.plan(id, now_ms);
        }
    }
}

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;
