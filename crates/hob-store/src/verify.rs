//! Verification of all stored data: the database's structure, each row against its checksum, each
//! blob against its hash, and the chain of the audit record.
//!
//! It reads on its own connection, statement by statement, so that it can run beside a working
//! daemon. Invariant: damage is reported, and the rest is checked all the same.

use crate::audit::audit_log;
use crate::blobs::{self, BlobHash, folder_of};
use crate::checksums::damage::RowName;
use crate::checksums::{COVERED, CoveredTable, MESSAGES};
use crate::connection::{open_reader, sibling_path};
use crate::error::{QueryError, StoreError};
use crate::findings::{DatabasePosition, WriteLoss};
use crate::inspect::inspect;
use crate::invariants::{INVARIANTS, select_problems};
use crate::migrations;
use crate::structure_check::is_read_failure;
use crate::value::number;
use hob_core::permission::AuditChain;
use hob_wire::DamagedRow;
use hob_wire::rooms::daemon::{DaemonVerifyResult, VerifiedPart};
use rusqlite::{Connection, Row, ToSql};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Problems listed in each part.
const PROBLEMS_MAX: usize = 100;
/// Rows read by one statement.
const PAGE_ROWS: usize = 512;
/// SQLite instructions between two looks at the stop flag.
const INSTRUCTIONS_PER_LOOK: i32 = 10_000;

/// Receives the progress of a check: the part, and the number of its pieces that were read.
pub type VerifyProgress<'p> = &'p mut dyn FnMut(&'static str, u64);

/// Checks a database that nobody has open.
pub(crate) fn verify(
    database: &Path,
    progress: VerifyProgress<'_>,
) -> Result<DaemonVerifyResult, StoreError> {
    if !database.exists() && !sibling_path(database, ".mark").exists() {
        return Ok(DaemonVerifyResult {
            sound: true,
            notes: vec![format!(
                "There is no database yet at '{}'.",
                database.display()
            )],
            ..DaemonVerifyResult::default()
        });
    }
    let (mut lost, mut doubts, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    // `true`: a database or a mark exists, so this home had a database.
    let inspection = inspect(database, true)?;
    // Closed before the check, which must not find the files still open here.
    let held = open_reader(database)
        .map_err(|error| StoreError::from_sqlite(&error, database))
        .map(|sql| DatabasePosition::read(&sql).ok())?;
    for finding in inspection.findings(database, held) {
        let into = match finding.loss {
            WriteLoss::None => &mut notes,
            WriteLoss::Possible => &mut doubts,
            WriteLoss::Certain => &mut lost,
        };
        into.push(finding.text);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let mut verified = verify_open(database, &stop, progress)?;
    if let Some(part) = verified.parts.first_mut() {
        part.problems.splice(0..0, lost);
    }
    verified.doubts = doubts;
    verified.notes.splice(0..0, notes);
    // Computed again, because the losses were added after the first time.
    verified.sound = verified.parts.iter().all(|part| part.problems.is_empty());
    Ok(verified)
}

/// Checks a database, even while a daemon writes to it.
pub(crate) fn verify_open(
    database: &Path,
    stop: &Arc<AtomicBool>,
    progress: VerifyProgress<'_>,
) -> Result<DaemonVerifyResult, StoreError> {
    let failed = |error: rusqlite::Error| StoreError::from_sqlite(&error, database);
    let mut sql = open_reader(database).map_err(failed)?;
    let told_to_stop = Arc::clone(stop);
    sql.progress_handler(
        INSTRUCTIONS_PER_LOOK,
        Some(move || told_to_stop.load(Ordering::Relaxed)),
    )
    .map_err(failed)?;
    let mut check = StoreVerifier {
        sql: &sql,
        database,
        stop,
        progress,
        verified: DaemonVerifyResult::default(),
    };
    check.all()?;
    let mut verified = check.verified;
    verified.sound = verified.parts.iter().all(|part| part.problems.is_empty());
    Ok(verified)
}

/// A verification in progress.
struct StoreVerifier<'c> {
    sql: &'c Connection,
    database: &'c Path,
    stop: &'c AtomicBool,
    progress: VerifyProgress<'c>,
    verified: DaemonVerifyResult,
}

impl StoreVerifier<'_> {
    fn all(&mut self) -> Result<(), StoreError> {
        let version = migrations::version(self.sql)
            .map_err(|error| StoreError::from_sqlite(&error, self.database))?;
        // The checksums and invariants describe the present schema only.
        if version != migrations::SCHEMA {
            self.verified.notes.push(format!(
                "The database has schema {version}; this hob writes {}. It is checked after a start has brought it up to date.",
                migrations::SCHEMA
            ));
            self.verified.parts.push(part("database"));
            return Ok(());
        }
        self.part("database", Self::structure)?;
        self.part("rows", Self::rows)?;
        self.part("blobs", Self::blobs)?;
        self.part("audit", Self::audit)
    }

    /// Checks one part. Damage that stops it becomes one of its problems.
    fn part(
        &mut self,
        name: &'static str,
        work: fn(&mut Self, &mut VerifiedPart) -> Result<(), QueryError>,
    ) -> Result<(), StoreError> {
        let mut part = part(name);
        (self.progress)(name, 0);
        let done = work(self, &mut part).map_err(|trouble| trouble.into_store_error(self.database));
        match done {
            Ok(()) => {}
            Err(error @ (StoreError::Damaged { .. } | StoreError::Unreadable { .. })) => {
                add_problem(&mut part, error.to_string());
            }
            Err(error) => return Err(error),
        }
        self.verified.parts.push(part);
        Ok(())
    }

    fn structure(&mut self, part: &mut VerifiedPart) -> Result<(), QueryError> {
        let pages = "SELECT page_count FROM pragma_page_count()";
        part.checked = self.sql.query_row(pages, [], |row| number(row, 0))?;
        let check = format!("PRAGMA integrity_check({PROBLEMS_MAX})");
        let mut found = select_problems(self.sql, &check)?;
        if found.iter().any(|line| is_read_failure(line)) {
            // The disk failed to read. A second try decides whether the file is damaged.
            found = select_problems(self.sql, &check)?;
        }
        if let Some(line) = found.iter().find(|line| is_read_failure(line)) {
            let message = format!("'{}': {line}", self.database.display());
            return Err(StoreError::Io(message).into());
        }
        for found in found {
            if found != "ok" {
                let found = self.with_table(&found);
                add_problem(part, format!("The structure is damaged: {found}."));
            }
        }
        for (rule, select) in INVARIANTS {
            for row in select_problems(self.sql, select)? {
                add_problem(part, format!("{rule}: {row}"));
            }
        }
        Ok(())
    }

    /// Adds the table's name to a line of SQLite, which has only the number of its first page.
    fn with_table(&self, found: &str) -> String {
        let tree = found.split("Tree ").nth(1);
        let root = tree.and_then(|rest| rest.split(' ').next()?.parse::<i64>().ok());
        let name = root.and_then(|root| {
            let select = "SELECT name FROM sqlite_schema WHERE rootpage = ?1";
            let name = self.sql.query_row(select, [root], |row| row.get(0));
            name.ok().map(|name: String| (root, name))
        });
        let found = found.trim().trim_end_matches('.').replace('\n', "; ");
        match name {
            Some((root, name)) => found.replace(
                &format!("Tree {root} "),
                &format!("'{name}' (tree {root}) "),
            ),
            None => found,
        }
    }

    fn rows(&mut self, part: &mut VerifiedPart) -> Result<(), QueryError> {
        for table in COVERED {
            // A table that cannot be read to its end does not stop the check of the others.
            let read = self.rows_of(table, part);
            match read.map_err(|trouble| trouble.into_store_error(self.database)) {
                Ok(()) => {}
                Err(error @ StoreError::Damaged { .. }) => {
                    add_problem(part, format!("In the table '{}': {error}", table.name));
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.numbering(part)?;
        let unfilled = "SELECT count(*) FROM checksum_fill";
        if self.sql.query_row(unfilled, [], |row| number(row, 0))? > 0 {
            let note = "Some rows of a former version have no checksum yet; a running hob adds them by itself.";
            self.verified.notes.push(note.to_owned());
        }
        Ok(())
    }

    fn rows_of(&mut self, table: &CoveredTable, part: &mut VerifiedPart) -> Result<(), QueryError> {
        // Not 0, because a damaged key may be negative.
        let mut after = (i64::MIN, i64::MIN);
        loop {
            let page = check_page(self.sql, table, after)?;
            part.checked += page.looked_at as u64;
            (self.progress)("rows", part.checked);
            for row in page.damaged {
                self.damaged(part, row);
            }
            match page.last {
                Some(last) => after = last,
                None => return Ok(()),
            }
        }
    }

    /// Finds messages that a session counts but that do not exist.
    fn numbering(&mut self, part: &mut VerifiedPart) -> Result<(), QueryError> {
        let mut select = self.sql.prepare(WRONGLY_COUNTED)?;
        let rows = select.query_map([], |row| {
            let name = RowName::from_row(row, 2)?;
            Ok((row.get::<_, i64>(0)?, number(row, 1)?, name))
        })?;
        let found: Vec<_> = rows.collect::<Result<_, _>>()?;
        // Ends the snapshot: the checks below take long.
        drop(select);
        for (session, count, name) in found {
            for seq in missing_numbers(self.sql, session, count)? {
                let name = RowName {
                    number: Some(seq),
                    ..name.clone()
                };
                self.damaged(part, MESSAGES.missing(&name));
            }
        }
        Ok(())
    }

    fn damaged(&mut self, part: &mut VerifiedPart, row: DamagedRow) {
        if add_problem(part, row.message.clone()) {
            self.verified.damaged.push(row);
        }
    }

    fn blobs(&mut self, part: &mut VerifiedPart) -> Result<(), QueryError> {
        let folder = folder_of(self.database);
        let mut select = self.sql.prepare(SELECT_REFERENCED_BLOBS)?;
        let named = select.query_map([], |row| Ok(row.get::<_, [u8; 32]>(0).ok().map(BlobHash)))?;
        // A name that is no hash is in a damaged row, which the check of rows has reported.
        let named: Vec<Option<BlobHash>> = named.collect::<Result<_, _>>()?;
        drop(select);
        for hash in named.into_iter().flatten() {
            if self.stop.load(Ordering::Relaxed) {
                return Err(StoreError::Closed.into());
            }
            part.checked += 1;
            (self.progress)("blobs", part.checked);
            let Some(problem) = blobs::find_problem(&folder, hash) else {
                continue;
            };
            // The row may have been deleted meanwhile, and its blob with it.
            let mut still = self.sql.prepare_cached(blobs::SELECT_REFERENCE)?;
            if still.exists([&hash.0[..]])? {
                add_problem(part, problem.to_string());
            }
        }
        Ok(())
    }

    fn audit(&mut self, part: &mut VerifiedPart) -> Result<(), QueryError> {
        let mut chain = AuditChain::new(None);
        loop {
            let page = audit_log::after(self.sql, chain.entries(), PAGE_ROWS)?;
            let (entries, more) = page.rows;
            let problem = audit_log::verify_page(&mut chain, &entries, &page.damaged);
            part.checked = chain.entries();
            (self.progress)("audit", part.checked);
            if let Some(problem) = problem {
                // After a break the chain proves nothing about the entries that follow.
                add_problem(part, problem);
                return Ok(());
            }
            if !more {
                return Ok(());
            }
        }
    }
}

/// The result for some rows of a table.
struct CheckedPage {
    looked_at: usize,
    /// The key of the last row, if there may be more.
    last: Option<(i64, i64)>,
    damaged: Vec<DamagedRow>,
}

fn check_page(
    sql: &Connection,
    table: &CoveredTable,
    after: (i64, i64),
) -> rusqlite::Result<CheckedPage> {
    let mut select = sql.prepare_cached(&table.scan_sql())?;
    let rows_max = i64::try_from(PAGE_ROWS).unwrap_or(i64::MAX);
    let parts: [&dyn ToSql; 3] = [&after.0, &after.1, &rows_max];
    // A table with a text key is small and read at once.
    let is_paged = table.is_numbered();
    let mut rows = if is_paged {
        select.query(&parts[..])?
    } else {
        select.query([])?
    };
    let mut page = CheckedPage {
        looked_at: 0,
        last: None,
        damaged: Vec::new(),
    };
    let mut last = after;
    while let Some(row) = rows.next()? {
        page.looked_at += 1;
        let key = if is_paged { key(row)? } else { (0, 0) };
        last = key;
        if !table.is_whole(sql, row, 2, key)? {
            page.damaged
                .push(table.damaged(&RowName::from_row(row, 3)?));
        }
    }
    page.last = (is_paged && page.looked_at == PAGE_ROWS).then_some(last);
    Ok(page)
}

fn key(row: &Row<'_>) -> rusqlite::Result<(i64, i64)> {
    Ok((row.get(0)?, row.get(1)?))
}

/// Returns the message numbers that a session lacks, at most as many as are listed.
fn missing_numbers(sql: &Connection, session: i64, count: u64) -> rusqlite::Result<Vec<u64>> {
    let mut select =
        sql.prepare_cached("SELECT seq FROM messages WHERE session = ?1 ORDER BY seq")?;
    let mut rows = select.query([session])?;
    let (mut gaps, mut wanted) = (Vec::new(), 1);
    // Bounded, because a damaged number may leave a gap of any size.
    let mut miss = |from: u64, to: u64| gaps.extend((from..to).take(PROBLEMS_MAX));
    while let Some(row) = rows.next()? {
        let seq = number(row, 0)?;
        miss(wanted, seq);
        wanted = seq + 1;
    }
    miss(wanted, count + 1);
    gaps.truncate(PROBLEMS_MAX);
    Ok(gaps)
}

fn part(name: &str) -> VerifiedPart {
    VerifiedPart {
        name: name.to_owned(),
        ..VerifiedPart::default()
    }
}

/// Adds a problem unless the list is full; returns whether it was added.
fn add_problem(part: &mut VerifiedPart, problem: String) -> bool {
    let fits = part.problems.len() < PROBLEMS_MAX;
    if fits {
        part.problems.push(problem);
    }
    part.more |= !fits;
    fits
}

const SELECT_REFERENCED_BLOBS: &str =
    "SELECT params_blob FROM run_tasks WHERE params_blob IS NOT NULL
     UNION SELECT blob FROM journal WHERE blob IS NOT NULL
     UNION SELECT blob FROM changes WHERE blob IS NOT NULL
     UNION SELECT blob FROM outputs";
const WRONGLY_COUNTED: &str = "SELECT s.row_id, s.message_count, s.key, s.id, NULL, NULL
     FROM sessions s LEFT JOIN messages m ON m.session = s.row_id GROUP BY s.row_id
     HAVING count(m.row_id) <> s.message_count
         OR (s.message_count > 0 AND (min(m.seq) <> 1 OR max(m.seq) <> s.message_count))
     LIMIT 20";
