//! A world: jobs, a clock, a daemon that lives and dies, and what it does step by step. A crash
//! may come before every write and after it.

use super::oracle;
use super::store::{State, Store};
use hob_core::schedule::{
    ActiveHours, Calendar, ClockTick, FailureStreak, JobPolicy, JobStanding, SlotRecovery,
    WorkRepeatability, decide, recover,
};
use hob_kit::randomness::Randomness;
use hob_wire::rooms::cron::{MissedPolicy, OverlapPolicy};
use jiff::tz::TimeZone;
use std::collections::VecDeque;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
pub(super) const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 365 * DAY;
const JOBS: usize = 6;
/// One step of so many ends in a crash.
const CRASH_EVERY: u64 = 60;
/// One look at the clock of so many finds that somebody set it.
const JUMP_EVERY: u64 = 400;
/// The longest the daemon sleeps.
const SLEEP_MS: u64 = 8 * HOUR;

const LINES: &[&str] = &[
    "0 9 * * *",
    "30 2 * * *",
    "*/30 * * * *",
    "0 * * * *",
    "15 1,2,3 * * *",
    "0 12 * * MON-FRI",
    "0 0 1 * *",
    "every 6h",
    "every 47m",
    "every 1d",
];
const ZONES: &[&str] = &[
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "Asia/Kolkata",
];

/// What is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sabotage {
    None,
    /// Slots are not unique by their keys, and a crash forgets where the cursor was.
    KeysForgotten,
    /// The cursor is written first, the slots after it.
    CursorAlone,
    /// A command that was cut off is begun again.
    CommandsRepeated,
    /// Each try asks the agent under another key.
    FreshKeys,
    /// Slots without an outcome are left where they are.
    NotRecovered,
}

impl Sabotage {
    pub(super) const ALL: [Sabotage; 5] = [
        Sabotage::KeysForgotten,
        Sabotage::CursorAlone,
        Sabotage::CommandsRepeated,
        Sabotage::FreshKeys,
        Sabotage::NotRecovered,
    ];
}

/// What happened in a world.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) due: u64,
    pub(super) ran: u64,
    pub(super) skipped: u64,
    pub(super) missed: u64,
    pub(super) crashes: u64,
    pub(super) jumps: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Tally) {
        self.due += other.due;
        self.ran += other.ran;
        self.skipped += other.skipped;
        self.missed += other.missed;
        self.crashes += other.crashes;
        self.jumps += other.jumps;
    }
}

pub(super) struct Job {
    pub(super) line: &'static str,
    pub(super) zone: &'static str,
    pub(super) calendar: Calendar,
    pub(super) policy: JobPolicy,
    pub(super) tribe: WorkRepeatability,
}

/// What a daemon has in memory of a job.
#[derive(Clone, Debug, Default)]
struct Memory {
    waiting: VecDeque<(usize, u64)>,
    at_work: Option<Work>,
    streak: FailureStreak,
}

#[derive(Clone, Debug)]
struct Work {
    slot: usize,
    /// When it is over, by monotonic time.
    until_ms: u64,
    key: String,
    stopped: bool,
}

pub(super) struct World {
    randomness: Randomness,
    sabotage: Sabotage,
    monotonic_ms: u64,
    /// The wall is that much ahead.
    pub(super) ahead_ms: u64,
    pub(super) jobs: Vec<Job>,
    pub(super) store: Store,
    memory: Vec<Memory>,
    /// When each job is due next after which cursor.
    nexts: Vec<(u64, Option<u64>)>,
    tries: u64,
    /// Nothing dies any more.
    is_calm: bool,
    /// The wall at the last look.
    pub(super) looked_ms: u64,
    /// The first time that a job stood still.
    stall: Option<String>,
    pub(super) tally: Tally,
}

/// The daemon died.
struct Crash;

impl World {
    pub(super) fn new(seed: u64, sabotage: Sabotage) -> World {
        let randomness = Randomness::seeded(seed);
        let pick = |list: &[&'static str]| list[below(&randomness, list.len())];
        // Somewhere in 2025 or 2026: every change of the clocks comes by.
        let ahead_ms = 1_735_700_000_000 + randomness.below(YEAR);
        let jobs: Vec<Job> = (0..JOBS)
            .map(|_| {
                let (line, zone) = (pick(LINES), pick(ZONES));
                let tz = TimeZone::get(zone).expect("the machine has a time zone database");
                let hours = ["", "", "08:00-22:00", "22:00-06:00"][below(&randomness, 4)];
                Job {
                    line,
                    zone,
                    calendar: Calendar::parse(line, tz, ahead_ms).expect("is a schedule"),
                    policy: JobPolicy {
                        missed: [MissedPolicy::Once, MissedPolicy::All, MissedPolicy::Skip]
                            [below(&randomness, 3)],
                        overlap: [
                            OverlapPolicy::Queue,
                            OverlapPolicy::Skip,
                            OverlapPolicy::Replace,
                        ][below(&randomness, 3)],
                        window_ms: [10 * MINUTE, DAY, 4 * DAY, 2 * YEAR][below(&randomness, 4)],
                        jitter_ms: [0, 0, 30_000, 20 * MINUTE][below(&randomness, 4)],
                        hours: (!hours.is_empty())
                            .then(|| ActiveHours::parse(hours).expect("hours")),
                        failures_max: 0,
                    },
                    tribe: [WorkRepeatability::Keyed, WorkRepeatability::Opaque]
                        [below(&randomness, 2)],
                }
            })
            .collect();
        World {
            memory: vec![Memory::default(); jobs.len()],
            store: Store::new(vec![ahead_ms; jobs.len()]),
            nexts: vec![(0, None); jobs.len()],
            jobs,
            randomness,
            sabotage,
            monotonic_ms: 0,
            ahead_ms,
            tries: 0,
            is_calm: false,
            looked_ms: 0,
            stall: None,
            tally: Tally::default(),
        }
    }

    /// Lives so many days, ends quietly, and is judged.
    pub(super) fn live(mut self, days: u64) -> Result<Tally, String> {
        while self.monotonic_ms < days * DAY {
            self.pass();
            if self.randomness.below(JUMP_EVERY) == 0 {
                self.jump();
            }
            if self.look().is_err() {
                self.tally.crashes += 1;
                self.restart();
            }
        }
        self.settle();
        if let Some(stall) = self.stall.take() {
            return Err(stall);
        }
        oracle::judge(&self)?;
        Ok(self.counted())
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.monotonic_ms + self.ahead_ms
    }

    /// Time passes until there is something to do.
    fn pass(&mut self) {
        let now_ms = self.now_ms();
        let mut wait_ms = 1 + self.randomness.below(SLEEP_MS);
        for index in 0..self.jobs.len() {
            let due_ms = self
                .next(index)
                .map_or(SLEEP_MS, |due| due.saturating_sub(now_ms));
            let memory = &self.memory[index];
            let begin = memory.waiting.front().filter(|_| memory.at_work.is_none());
            let begin_ms = begin.map_or(SLEEP_MS, |(_, at)| at.saturating_sub(self.monotonic_ms));
            let end = memory.at_work.as_ref();
            let end_ms = end.map_or(SLEEP_MS, |work| {
                work.until_ms.saturating_sub(self.monotonic_ms)
            });
            wait_ms = wait_ms.min(due_ms).min(begin_ms).min(end_ms);
        }
        // A busy machine is a little late.
        self.monotonic_ms += wait_ms.max(1) + self.randomness.below(40);
    }

    /// When a job is due next; found out anew when its cursor has moved.
    fn next(&mut self, job: usize) -> Option<u64> {
        let cursor_ms = self.store.cursors[job];
        if self.nexts[job].0 != cursor_ms {
            let of = &self.jobs[job];
            let calendar = of.calendar.anchored_at(cursor_ms);
            let next = calendar.next_within(cursor_ms, of.policy.hours.as_ref());
            self.nexts[job] = (cursor_ms, next);
        }
        self.nexts[job].1
    }

    /// Somebody sets the clock, or the machine slept.
    fn jump(&mut self) {
        self.tally.jumps += 1;
        let back = |ahead: u64, by: u64| ahead.saturating_sub(by);
        match self.randomness.below(10) {
            0 => self.ahead_ms += HOUR,
            1 | 2 => self.ahead_ms = back(self.ahead_ms, HOUR),
            3 => self.ahead_ms += YEAR,
            4 => self.ahead_ms = back(self.ahead_ms, YEAR),
            5 => self.ahead_ms += self.randomness.below(2 * DAY),
            6 => self.ahead_ms = back(self.ahead_ms, self.randomness.below(2 * DAY)),
            // Far back, mostly behind the time when the jobs were made.
            7 => self.ahead_ms = back(self.ahead_ms, 2 * DAY + self.randomness.below(60 * DAY)),
            8 => self.ahead_ms = back(self.ahead_ms, self.randomness.below(3 * MINUTE)),
            _ => self.ahead_ms += 3 * DAY,
        }
    }

    /// One look of the daemon: decides, begins, ends.
    fn look(&mut self) -> Result<(), Crash> {
        let now_ms = self.now_ms();
        for job in 0..self.jobs.len() {
            self.begin(job)?;
            let is_due = self.next(job).is_some_and(|due| due <= now_ms);
            let back_ms_max = self.jobs[job].calendar.clock_back_ms_max();
            if is_due || self.store.cursors[job] > now_ms + back_ms_max {
                self.decide(job, now_ms)?;
            }
            self.begin(job)?;
            self.end(job)?;
            self.begin(job)?;
            self.note_stall(job, now_ms);
        }
        Ok(())
    }

    /// Notes a job by a period that is not due for longer than two of them, wherever the clock was
    /// put.
    fn note_stall(&mut self, job: usize, now_ms: u64) {
        let next = self.next(job);
        let of = &self.jobs[job];
        if !of.calendar.is_periodic() || of.policy.hours.is_some() {
            return;
        }
        let latest_ms = now_ms + 2 * of.calendar.clock_back_ms_max();
        if next.is_none_or(|next| next > latest_ms) {
            let line = of.line;
            let stall = format!("stalled: {line} is due at {next:?}, and it is {now_ms}");
            self.stall.get_or_insert(stall);
        }
    }

    fn decide(&mut self, job: usize, now_ms: u64) -> Result<(), Crash> {
        let memory = &self.memory[job];
        let standing = JobStanding {
            cursor_ms: self.store.cursors[job],
            is_running: memory.at_work.is_some(),
            waiting: memory.waiting.len(),
        };
        let tick = ClockTick {
            now_ms,
            randomness: self.randomness.u64(),
            late_jobs: self.randomness.below(50),
        };
        let of = &self.jobs[job];
        let Some(decision) = decide(&of.calendar, &of.policy, &standing, tick) else {
            return Ok(());
        };
        self.may_crash()?;
        if self.sabotage == Sabotage::CursorAlone {
            self.store.cursors[job] = decision.cursor_ms;
            self.may_crash()?;
        }
        let (new, is_relived) = self.store.open(job, &decision, self.sabotage);
        self.may_crash()?;
        if is_relived && self.jobs[job].calendar.is_periodic() {
            self.store.shift(job, now_ms);
            self.may_crash()?;
        }
        let monotonic_ms = self.monotonic_ms;
        let memory = &mut self.memory[job];
        if decision.replaces {
            if let Some(work) = &mut memory.at_work {
                work.stopped = true;
                work.until_ms = monotonic_ms;
            }
            for (slot, _) in memory.waiting.drain(..) {
                self.store.end(slot, State::Skipped);
            }
        }
        for slot in new {
            let due_ms = self.store.slots[slot].due_ms;
            let planned = decision
                .slots
                .iter()
                .find(|planned| planned.due_ms == due_ms);
            let wait_ms = planned.map_or(0, |planned| planned.begin_ms.saturating_sub(now_ms));
            memory.waiting.push_back((slot, monotonic_ms + wait_ms));
        }
        Ok(())
    }

    fn begin(&mut self, job: usize) -> Result<(), Crash> {
        let memory = &mut self.memory[job];
        let is_free = memory.at_work.is_none();
        let ready = memory
            .waiting
            .front()
            .filter(|(_, at)| is_free && *at <= self.monotonic_ms);
        let Some((slot, _)) = ready.copied() else {
            return Ok(());
        };
        memory.waiting.pop_front();
        self.tries += 1;
        let key = match self.sabotage {
            Sabotage::FreshKeys => format!("try:{}", self.tries),
            _ => format!("cron:slot:{slot}"),
        };
        let took_ms = 1 + self
            .randomness
            .below([5_000, 20 * MINUTE, 2 * HOUR][below(&self.randomness, 3)]);
        self.may_crash()?;
        match self.jobs[job].tribe {
            WorkRepeatability::Keyed => {
                self.store.accept(&key);
                self.may_crash()?;
                self.store.begin(slot);
            }
            WorkRepeatability::Opaque => {
                self.store.begin(slot);
                self.may_crash()?;
                self.store.act(slot);
            }
        }
        self.may_crash()?;
        self.memory[job].at_work = Some(Work {
            slot,
            until_ms: self.monotonic_ms + took_ms,
            key,
            stopped: false,
        });
        Ok(())
    }

    fn end(&mut self, job: usize) -> Result<(), Crash> {
        let work = self.memory[job].at_work.as_ref();
        let Some(work) = work
            .filter(|work| work.until_ms <= self.monotonic_ms)
            .cloned()
        else {
            return Ok(());
        };
        if self.jobs[job].tribe == WorkRepeatability::Keyed && !work.stopped {
            self.store.run(&work.key, work.slot);
        }
        self.may_crash()?;
        let success = self.randomness.below(5) > 0;
        let state = match (work.stopped, success) {
            (true, _) => State::Stopped,
            (false, true) => State::Ran,
            (false, false) => State::Failed,
        };
        self.store.end(work.slot, state);
        self.may_crash()?;
        let memory = &mut self.memory[job];
        memory.streak = memory.streak.after(success, &self.jobs[job].policy).0;
        memory.at_work = None;
        Ok(())
    }

    fn may_crash(&mut self) -> Result<(), Crash> {
        if !self.is_calm && self.randomness.below(CRASH_EVERY) == 0 {
            return Err(Crash);
        }
        Ok(())
    }

    /// Nobody is there for a while; then a daemon takes up what was left.
    fn restart(&mut self) {
        let away_ms = [1_000, MINUTE, HOUR, 3 * DAY][below(&self.randomness, 4)];
        self.monotonic_ms += self.randomness.below(away_ms);
        self.memory = vec![Memory::default(); self.jobs.len()];
        if self.sabotage == Sabotage::NotRecovered {
            return;
        }
        if self.sabotage == Sabotage::KeysForgotten {
            for (cursor, decided) in self.store.cursors.iter_mut().zip(&self.store.decided) {
                *cursor = decided.last().map_or(*cursor, |decided| decided.after_ms);
            }
        }
        for slot in 0..self.store.slots.len() {
            let state = self.store.slots[slot].state;
            if !state.is_live() {
                continue;
            }
            let job = self.store.slots[slot].job;
            let tribe = match self.sabotage {
                Sabotage::CommandsRepeated => WorkRepeatability::Keyed,
                _ => self.jobs[job].tribe,
            };
            match recover(tribe, state == State::Running) {
                SlotRecovery::Begin => {
                    let at = self.monotonic_ms;
                    self.memory[job].waiting.push_back((slot, at));
                }
                SlotRecovery::Fail(_) => self.store.end(slot, State::Failed),
            }
        }
    }

    /// A last look, and then everything that is under way comes to its end.
    fn settle(&mut self) {
        self.is_calm = true;
        self.looked_ms = self.now_ms();
        let _ = self.look();
        let is_busy = |memory: &Memory| memory.at_work.is_some() || !memory.waiting.is_empty();
        while self.memory.iter().any(is_busy) {
            self.monotonic_ms += MINUTE;
            for job in 0..self.jobs.len() {
                let _ = self.begin(job);
                let _ = self.end(job);
            }
        }
    }
}

fn below(randomness: &Randomness, bound: usize) -> usize {
    usize::try_from(randomness.below(bound as u64)).unwrap_or(0)
}
