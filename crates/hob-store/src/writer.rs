//! The writer: one thread that turns what is queued into transactions.
//!
//! It takes what waits, and whoever comes while that runs, and commits: while one batch is synced
//! the next one gathers. A lone caller never waits for others; see `tact` for whom is waited.
//!
//! Order of each batch: commit, mark, publish, answer. Invariants: nothing is
//! answered with success before its commit is synced; events are numbered and published in the
//! order of commits; what a failed batch held is refused as a whole.

use crate::batch::{Batch, Run};
use crate::blobs::{BlobSweep, Hash};
use crate::checksums::fill::ChecksumFill;
use crate::disk::Disk;
use crate::error::{StoreError, Trouble};
use crate::events;
use crate::findings::fact;
use crate::ids::Ids;
use crate::lanes::{Bulk, Queued, Step, Taken};
use crate::opening::set_silent_commits;
use crate::retention::Trim;
use crate::sessions::heads::Heads;
use crate::sessions::write::Sweep;
use crate::shared::Shared;
use crate::tact::Tact;
use crate::value::number;
use hob_bus::{LogBounds, LoggedEvent, Publisher};
use hob_core::retention::Limits;
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::failpoint;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bulk work yields after this long.
const BULK_SLICE_MS: u64 = 5;
/// Quiet after which the write-ahead log is brought into the database.
const IDLE_AFTER: Duration = Duration::from_secs(2);
/// Between two looks at a disk that is full or fails.
const PROBE_EVERY_MS: u64 = 1_000;
/// Between two looks at the age of the event log.
const TRIM_EVERY_MS: u64 = 60_000;
/// Events after which its length is looked at.
const TRIM_EVERY_EVENTS: u64 = 1_024;
/// Events read at once when published ones have to be caught up with.
const CATCH_UP_ROWS: usize = 512;

pub(crate) struct Writer {
    shared: Arc<Shared>,
    disk: Disk,
    clock: Clock,
    ids: Ids,
    heads: Heads,
    publisher: Publisher,
    limits: Limits,
    commands: Vec<Queued>,
    tact: Tact,
    last_seq: u64,
    published_seq: u64,
    /// Commits without an event, over all starts.
    silent_commits: u64,
    probe_due_ms: u64,
    trim_due_ms: u64,
    trim_due_seq: u64,
}

/// What a committed batch leaves to do.
struct Committed {
    events: Vec<LoggedEvent>,
    last_seq: u64,
    silent_commits: u64,
    trimmed_to: Option<u64>,
    left_messages: bool,
    unused_blobs: Vec<Hash>,
    changed_rules: bool,
    bulk_goes_on: bool,
}

/// What a writer is made of.
pub(crate) struct WriterParts {
    pub(crate) shared: Arc<Shared>,
    pub(crate) disk: Disk,
    pub(crate) clock: Clock,
    pub(crate) dice: Dice,
    pub(crate) publisher: Publisher,
    pub(crate) limits: Limits,
    pub(crate) silent_commits: u64,
}

impl Writer {
    pub(crate) fn new(parts: WriterParts) -> Self {
        let last_seq = parts.shared.bounds().last;
        Writer {
            shared: parts.shared,
            disk: parts.disk,
            clock: parts.clock,
            ids: Ids::new(parts.dice),
            heads: Heads::default(),
            publisher: parts.publisher,
            limits: parts.limits,
            commands: Vec::new(),
            tact: Tact::default(),
            last_seq,
            published_seq: last_seq,
            silent_commits: parts.silent_commits,
            probe_due_ms: 0,
            trim_due_ms: 0,
            trim_due_seq: 0,
        }
    }

    /// Works until the lanes are closed and empty.
    pub(crate) fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        shared.lanes.submit_bulk(Box::new(ChecksumFill));
        shared.lanes.submit_bulk(Box::new(Sweep));
        let leftovers = BlobSweep::all(Arc::clone(&shared.blobs));
        shared.lanes.submit_bulk(Box::new(leftovers));
        loop {
            self.queue_trim();
            let patience = self.patience();
            match shared.lanes.take(&mut self.commands, patience) {
                Taken::Work(bulk) => self.turn(bulk),
                Taken::Nothing => self.rest(),
                Taken::Closed => break,
            }
            self.probe();
        }
        self.finish();
    }

    /// How long to wait for work before there is something else to do.
    fn patience(&self) -> Duration {
        if self.shared.health.awaits_disk() || self.shared.health.awaits_check() {
            Duration::from_millis(PROBE_EVERY_MS)
        } else if self.disk.has_frames() {
            IDLE_AFTER
        } else {
            Duration::from_millis(TRIM_EVERY_MS)
        }
    }

    /// One batch, from taking it to answering it.
    fn turn(&mut self, mut bulk: Option<Box<dyn Bulk>>) {
        if let Some(refusal) = self.shared.health.refusal() {
            return self.answer(Err(&refusal));
        }
        let began = Instant::now();
        let attempt = catch_unwind(AssertUnwindSafe(|| {
            let committed = self.attempt(&mut bulk)?;
            Ok(self.publish(committed))
        }));
        let outcome = attempt
            .unwrap_or_else(|_| Err(StoreError::Io("the writer stopped half-way".to_owned())));
        match outcome {
            Ok(bulk_goes_on) => {
                let waiting = self.shared.lanes.waiting();
                self.tact
                    .answered(self.commands.len(), waiting, began.elapsed());
                self.answer(Ok(()));
                if let Some(job) = bulk.filter(|_| bulk_goes_on) {
                    self.shared.lanes.resume_bulk(job);
                }
                if self.disk.wants_checkpoint()
                    && let Err(error) = self.disk.checkpoint_in_passing()
                {
                    self.fail(error);
                }
            }
            Err(error) => self.fail(error),
        }
    }

    /// Runs and commits everything that was taken.
    fn attempt(&mut self, bulk: &mut Option<Box<dyn Bulk>>) -> Result<Committed, StoreError> {
        failpoint::reach("store.batch.begin");
        if self.disk.connection().is_none() {
            self.revive()?;
        }
        let Some(connection) = self.disk.connection() else {
            return Err(StoreError::Closed);
        };
        let changes_before = connection.sql.total_changes();
        let mut batch = Batch {
            sql: &connection.sql,
            ids: &mut self.ids,
            heads: &mut self.heads,
            now_ms: self.clock.wall_ms(),
            file: self.disk.path(),
            last_seq: self.last_seq,
            events: Vec::with_capacity(self.commands.len()),
            trimmed_to: None,
            left_messages: false,
            unused_blobs: Vec::new(),
            changed_rules: false,
        };
        batch.control("BEGIN IMMEDIATE")?;
        check_epoch(&batch, self.disk.epoch())?;
        let mut ran = 0;
        loop {
            if batch.run(&mut self.commands[ran..])? == Run::Spoiled {
                batch.control("ROLLBACK")?;
                batch.reset(self.last_seq);
                batch.control("BEGIN IMMEDIATE")?;
                check_epoch(&batch, self.disk.epoch())?;
                batch.run_guarded(&mut self.commands)?;
                break;
            }
            ran = self.commands.len();
            if !self.tact.take_along(&self.shared.lanes, &mut self.commands) {
                break;
            }
        }
        let mut bulk_goes_on = false;
        if let Some(job) = bulk {
            let name = job.name();
            match batch.guarded(|batch| self.shared.slice(batch, &mut **job, &self.clock))? {
                Ok(goes_on) => bulk_goes_on = goes_on,
                Err(error) => tracing::warn!("bulk work on the {name} failed: {error}"),
            }
        }
        if failpoint::broken(1) || failpoint::broken(2) {
            answer_all(&mut self.commands, Ok(()));
            std::thread::sleep(Duration::from_millis(20));
        }
        let is_silent =
            batch.last_seq == self.last_seq && connection.sql.total_changes() != changes_before;
        let silent_commits = self.silent_commits + u64::from(is_silent);
        if is_silent {
            set_silent_commits(batch.sql, silent_commits)
                .map_err(|error| StoreError::of_sqlite(&error, batch.file))?;
        }
        failpoint::reach("store.commit.before");
        batch.control("COMMIT")?;
        failpoint::reach("store.commit.after");
        // The commit may have gone into a file that the next start does not find.
        self.shared.files.check()?;
        Ok(Committed {
            last_seq: batch.last_seq,
            silent_commits,
            trimmed_to: batch.trimmed_to,
            left_messages: batch.left_messages,
            unused_blobs: batch.unused_blobs,
            changed_rules: batch.changed_rules,
            events: batch.events,
            bulk_goes_on,
        })
    }

    /// Shows the world what was committed; answers whether the bulk job goes on.
    fn publish(&mut self, committed: Committed) -> bool {
        let Committed {
            last_seq,
            silent_commits,
            ..
        } = committed;
        self.disk.committed(last_seq, silent_commits);
        (self.last_seq, self.silent_commits) = (last_seq, silent_commits);
        self.shared
            .advance(committed.last_seq, committed.trimmed_to);
        if committed.changed_rules {
            self.shared.raise_rules_version();
        }
        if committed.left_messages {
            self.shared.lanes.submit_bulk(Box::new(Sweep));
        }
        for hash in committed.unused_blobs {
            self.shared.blobs.remove(hash);
        }
        self.published_seq = committed.last_seq;
        if !committed.events.is_empty() {
            self.publisher.publish(committed.events);
        }
        failpoint::reach("store.publish.after");
        committed.bulk_goes_on
    }

    /// Gives the connection up: what it still holds is of no known state.
    fn fail(&mut self, error: StoreError) {
        let error = self.disk.judge(error);
        tracing::warn!("a batch of {} failed: {error}", self.commands.len());
        self.disk.give_up();
        self.heads.forget();
        // The commit may have happened all the same.
        self.shared.raise_rules_version();
        self.shared.health.note(&error);
        self.probe_due_ms = self.clock.monotonic_ms() + PROBE_EVERY_MS;
        if matches!(error, StoreError::Io(_)) {
            // Most often it was one call that failed; then nobody else is refused.
            self.probe_now();
        } else if self.shared.health.refusal().is_none() {
            // The next batch tries again if this does not work yet.
            if let Err(error) = self.revive() {
                tracing::warn!("the database could not be reopened yet: {error}");
            }
        }
        let error = self.shared.health.as_known(error);
        let hidden = failpoint::broken(7) || failpoint::broken(8);
        let outcome = if hidden { Ok(()) } else { Err(&error) };
        self.answer(outcome);
    }

    /// Reopens the database and publishes what was committed before the failure and not shown.
    fn revive(&mut self) -> Result<(), StoreError> {
        self.shared.files.check()?;
        self.disk.reopen()?;
        let path = self.disk.path().to_owned();
        let Some(connection) = self.disk.connection() else {
            return Err(StoreError::Closed);
        };
        let failed = |error: rusqlite::Error| StoreError::of_sqlite(&error, &path);
        let LogBounds { last, .. } =
            events::bounds(&connection.sql, self.last_seq).map_err(failed)?;
        while self.published_seq < last {
            let page =
                events::page(&connection.sql, self.published_seq, CATCH_UP_ROWS).map_err(failed)?;
            self.shared.advance(page.reached, None);
            self.published_seq = if page.is_last { last } else { page.reached };
            if !page.events.is_empty() {
                self.publisher.publish(page.events);
            }
        }
        self.last_seq = last;
        let silent_commits = fact(&connection.sql, "silent_commits").map_err(failed)?;
        self.silent_commits = silent_commits.unwrap_or(0);
        Ok(())
    }

    /// Looks whether a disk that was full or failed takes writes again, at most once a second.
    fn probe(&mut self) {
        let now_ms = self.clock.monotonic_ms();
        let due = self.shared.health.awaits_disk() && now_ms >= self.probe_due_ms;
        if due && !failpoint::broken(6) {
            self.probe_due_ms = now_ms + PROBE_EVERY_MS;
            self.probe_now();
        }
    }

    fn probe_now(&mut self) {
        // Nothing is written to a database that may be damaged.
        if self.shared.health.awaits_check() {
            return;
        }
        let opened = match self.disk.connection() {
            Some(_) => Ok(()),
            None => self.revive(),
        };
        match opened.and_then(|()| self.disk.probe()) {
            Ok(()) => self.shared.health.recovered(),
            // Full may become failing and the reverse, or the files are gone for good.
            Err(error) => self.shared.health.note(&self.disk.judge(error)),
        }
    }

    fn queue_trim(&mut self) {
        let now_ms = self.clock.monotonic_ms();
        if now_ms >= self.trim_due_ms || self.last_seq >= self.trim_due_seq {
            self.trim_due_ms = now_ms + TRIM_EVERY_MS;
            self.trim_due_seq = self.last_seq + TRIM_EVERY_EVENTS;
            let limits = self.limits;
            self.shared.lanes.submit_bulk(Box::new(Trim { limits }));
        }
    }

    /// Nothing came for a while.
    fn rest(&mut self) {
        if self.shared.health.refusal().is_some() {
            return;
        }
        if self.disk.connection().is_none() {
            // Given up because of an error that the check found to have passed.
            if let Err(error) = self.revive() {
                tracing::warn!("the database could not be reopened yet: {error}");
            }
        } else if self.disk.has_frames()
            && let Err(error) = self.disk.checkpoint_in_passing()
        {
            self.fail(error);
        }
    }

    /// The end: the log is brought into the database, and the mark says so.
    fn finish(&mut self) {
        self.shared.readers.close();
        let sound = self.shared.health.refusal().is_none();
        self.shared.health.note(&StoreError::Closed);
        if sound && let Err(error) = self.disk.close() {
            tracing::warn!("the database was not closed in order: {error}");
        }
    }

    fn answer(&mut self, outcome: Result<(), &StoreError>) {
        answer_all(&mut self.commands, outcome);
    }
}

/// Answers and removes every command: with its own outcome if the batch was committed.
fn answer_all(commands: &mut Vec<Queued>, outcome: Result<(), &StoreError>) {
    for queued in commands.drain(..) {
        let own = match outcome {
            Ok(()) => queued.outcome,
            Err(error) => Err(error.clone()),
        };
        queued.command.answer(own);
    }
}

/// Another daemon that opened this home since has counted the epoch up.
fn check_epoch(batch: &Batch<'_>, ours: u64) -> Result<(), StoreError> {
    let theirs = batch
        .sql
        .prepare_cached("SELECT value FROM meta WHERE name = 'epoch'")
        .and_then(|mut select| select.query_row([], |row| number(row, 0)))
        .map_err(|error| StoreError::of_sqlite(&error, batch.file))?;
    if theirs == ours {
        Ok(())
    } else {
        Err(StoreError::Fenced { ours, theirs })
    }
}

impl Shared {
    /// Runs steps of a bulk job until it is done, its time is over, or someone waits; answers
    /// whether it goes on.
    fn slice(
        &self,
        batch: &mut Batch<'_>,
        job: &mut dyn Bulk,
        clock: &Clock,
    ) -> Result<bool, Trouble> {
        let end_ms = clock.monotonic_ms() + BULK_SLICE_MS;
        while job.step(batch)? == Step::More {
            if clock.monotonic_ms() >= end_ms || self.lanes.waiting() > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("disk", &self.disk)
            .field("last_seq", &self.last_seq)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
