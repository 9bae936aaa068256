//! Reads of a session for its transcript: messages with the steps that they come from, and the
//! notices of the runs that ended among them.
//!
//! A group is an answer with the results of its calls, or any other message. Other messages may
//! stand between an answer and its results. Invariants: a page has whole groups, and at least one if
//! there is any; pages in both directions have each group once; a page costs the same at any length
//! of the session.

use super::read;
use super::row::{self, SessionHead};
use crate::checksums::damage::RowName;
use crate::checksums::{MESSAGES, RUNS};
use crate::error::QueryError;
use crate::value::{int, number, optional_number, optional_uuid, parse_enum, parse_json};
use hob_core::transcript::{CallOutcome, MessageOrigin, StepRef, StoredMessage};
use hob_wire::id::SessionRef;
use hob_wire::limits::PAGE_BYTES_MAX;
use hob_wire::work::RunEndCause;
use hob_wire::{
    ContentPart, DamagedRow, Message, MessageContent, MessageId, Role, RunId, SessionId,
};
use rusqlite::{Connection, Row};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Messages that are searched for an answer or its results. Few stand between an answer
/// and its results: texts that came while the calls ran.
const LOOK_AHEAD_ROWS: u64 = 1_024;

/// The step that a message of a run belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOrigin {
    pub step: u32,
    pub attempt: u32,
    /// For a result: the end of its call; done without a denial when missing.
    pub outcome: Option<CallOutcome>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunNotices {
    pub run: RunId,
    /// The number of the run's last message.
    pub last_message: u64,
    pub notes: Vec<String>,
    pub cause: RunEndCause,
    pub message: Option<String>,
    pub ended_at: u64,
}

/// A page of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptPage {
    pub session: SessionId,
    /// The session's key, or its id if it has none.
    pub session_key: String,
    /// The number of messages that the session has.
    pub message_count: u64,
    /// Oldest first. Results of calls may have higher numbers than the page that follows.
    pub messages: Vec<StoredMessage>,
    pub runs: Vec<RunNotices>,
    /// The `before` of the page that precedes.
    pub before: Option<u64>,
    /// The `after` of the page that follows.
    pub after: Option<u64>,
    pub damaged: Vec<DamagedRow>,
}

/// The place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptPlace {
    /// The groups before this message, the newest ones.
    Before(u64),
    /// The groups after this message, the oldest ones, that begin no later than the second one.
    After(u64, u64),
}

/// Where the messages of a session that are not final begin.
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptTail {
    pub session: SessionId,
    pub session_key: String,
    pub message_count: u64,
    /// The unfinished run that has messages, and the number of the one that its last group begins
    /// with.
    pub run: Option<(RunId, u64)>,
}

pub(crate) fn page(
    sql: &Connection,
    session: &SessionRef,
    place: TranscriptPlace,
    groups_max: usize,
) -> Result<TranscriptPage, QueryError> {
    let head = row::find_head(sql, session)?.ok_or_else(|| row::missing(session))?;
    let mut reader = TranscriptReader::new(sql, &head, groups_max);
    let (before, after) = match place {
        TranscriptPlace::Before(before) => (reader.read_back(before)?, None),
        TranscriptPlace::After(after, until) => (None, reader.read_on(after, until)?),
    };
    let runs = reader.run_notices()?;
    // A page that does not begin the session has one before it, and one that does not end it has
    // one behind it.
    let (before, after) = match place {
        TranscriptPlace::Before(end) => {
            let last = (end <= head.message_count).then(|| end.saturating_sub(1));
            (before, last)
        }
        TranscriptPlace::After(start, _) => {
            (Some(start.saturating_add(1)).filter(|_| start > 0), after)
        }
    };
    Ok(TranscriptPage {
        session: head.identity.id,
        session_key: head.identity.name().to_owned(),
        message_count: head.message_count,
        messages: reader.messages,
        runs,
        before,
        after,
        damaged: reader.damaged,
    })
}

/// Finds where the messages that are not final begin.
pub(crate) fn tail(sql: &Connection, session: &SessionRef) -> Result<TranscriptTail, QueryError> {
    let head = row::find_head(sql, session)?.ok_or_else(|| row::missing(session))?;
    let mut select = sql.prepare_cached(BEGUN_RUN)?;
    let mut rows = select.query([head.row_id])?;
    let run = match rows.next()? {
        None => None,
        Some(row) => {
            let run_row: i64 = row.get(0)?;
            let last_message = number(row, 2)?;
            let mut select = sql.prepare_cached(LAST_GROUP)?;
            let from = last_message.saturating_sub(LOOK_AHEAD_ROWS);
            let mut rows = select.query((head.row_id, int(last_message), int(from), run_row))?;
            let begins = rows.next()?.map(|row| number(row, 0)).transpose()?;
            let run = RunId(crate::value::uuid(row, 1)?);
            Some((run, begins.unwrap_or(last_message)))
        }
    };
    Ok(TranscriptTail {
        session: head.identity.id,
        session_key: head.identity.name().to_owned(),
        message_count: head.message_count,
        run,
    })
}

/// Finds the number of the answer of a step.
pub(crate) fn answer_of(
    sql: &Connection,
    session: &SessionRef,
    run: RunId,
    step: u32,
) -> Result<Option<u64>, QueryError> {
    let head = row::find_head(sql, session)?.ok_or_else(|| row::missing(session))?;
    let mut select = sql.prepare_cached(ANSWER_OF)?;
    let mut rows = select.query((head.row_id, &run.0.as_bytes()[..], step))?;
    Ok(rows.next()?.map(|row| number(row, 0)).transpose()?)
}

/// Finds the number of a run's last message.
pub(crate) fn last_of(
    sql: &Connection,
    session: &SessionRef,
    run: RunId,
) -> Result<Option<u64>, QueryError> {
    let head = row::find_head(sql, session)?.ok_or_else(|| row::missing(session))?;
    let mut select = sql.prepare_cached(LAST_OF)?;
    let mut rows = select.query((&run.0.as_bytes()[..], head.row_id))?;
    let last = rows
        .next()?
        .map(|row| optional_number(row, 0))
        .transpose()?;
    Ok(last.flatten())
}

/// A step of a run, by the run's row.
type StepKey = (i64, u32);

/// A message and its step.
struct ReadMessage {
    read: StoredMessage,
    step: Option<StepKey>,
}

impl ReadMessage {
    /// The step whose answer must precede it, if it is the result of a call.
    fn follows(&self) -> Option<StepKey> {
        self.step.filter(|_| self.read.message.role == Role::Tool)
    }
}

/// Collects the groups of one page.
struct TranscriptReader<'c> {
    sql: &'c Connection,
    head: &'c SessionHead,
    groups_max: usize,
    /// Oldest first at the end.
    messages: Vec<StoredMessage>,
    groups: usize,
    bytes: usize,
    damaged: Vec<DamagedRow>,
    /// The rows of the runs of all messages.
    run_rows: BTreeSet<i64>,
    /// The time of the last message. A note for a missing one has no time of its own.
    at: u64,
}

impl<'c> TranscriptReader<'c> {
    fn new(sql: &'c Connection, head: &'c SessionHead, groups_max: usize) -> Self {
        TranscriptReader {
            sql,
            head,
            groups_max,
            messages: Vec::new(),
            groups: 0,
            bytes: 0,
            damaged: Vec::new(),
            run_rows: BTreeSet::new(),
            at: 0,
        }
    }

    /// Reads back from `before`; returns where the page that precedes ends.
    fn read_back(&mut self, before: u64) -> Result<Option<u64>, QueryError> {
        let mut select = self.sql.prepare_cached(&SELECT_BACKWARD)?;
        let mut rows = select.query((self.head.row_id, int(before)))?;
        // Results whose answer has not been met yet.
        let mut results: Vec<ReadMessage> = Vec::new();
        let mut steps = BTreeSet::new();
        // Numbers run from 1 to the session's count. A number without a row is a lost message.
        let mut wanted = before.saturating_sub(1).min(self.head.message_count);
        while let Some(row) = rows.next()? {
            let seq = number(row, 1)?;
            self.gap(seq + 1, wanted);
            wanted = seq.saturating_sub(1);
            let read = self.read(row)?;
            if read.follows().is_some() {
                results.push(read);
                continue;
            }
            if let Some(step) = read.step {
                steps.insert(step);
            }
            self.take(read);
            if self.is_full() {
                break;
            }
        }
        if !self.is_full() {
            self.gap(1, wanted);
            wanted = 0;
        }
        for result in results {
            // The answer of another one is on an earlier page, and the result goes with it. At the
            // beginning of the session there is none.
            if wanted == 0 || result.follows().is_some_and(|step| steps.contains(&step)) {
                self.messages.push(result.read);
            }
        }
        self.add_results_behind(before, &steps)?;
        self.messages.sort_by_key(|it| it.message.seq);
        self.damaged.sort_by_key(|it| it.number);
        Ok((wanted > 0).then_some(wanted + 1))
    }

    /// Reads on from `after`; returns where the page that follows begins.
    fn read_on(&mut self, after: u64, until: u64) -> Result<Option<u64>, QueryError> {
        let mut select = self.sql.prepare_cached(&SELECT_FORWARD)?;
        let mut rows = select.query((self.head.row_id, int(after)))?;
        let mut steps = BTreeSet::new();
        let mut reached = after;
        let mut next = None;
        while let Some(row) = rows.next()? {
            let seq = number(row, 1)?;
            let is_group = !is_result(row)?;
            if is_group && seq > until {
                break;
            }
            if is_group && self.is_full() {
                next = Some(reached);
                break;
            }
            self.gap(reached + 1, seq.saturating_sub(1));
            reached = seq;
            let read = self.read(row)?;
            match (read.follows(), read.step) {
                // Its answer is on an earlier page.
                (Some(step), _) if !steps.contains(&step) => {}
                (Some(_), _) => self.messages.push(read.read),
                (None, step) => {
                    steps.extend(step);
                    self.take(read);
                }
            }
        }
        if next.is_none() {
            self.gap(reached + 1, self.head.message_count.min(until));
        }
        self.add_results_behind(reached + 1, &steps)?;
        Ok(next)
    }

    /// Adds the results of these steps' calls from `from` on.
    fn add_results_behind(
        &mut self,
        from: u64,
        steps: &BTreeSet<StepKey>,
    ) -> Result<(), QueryError> {
        let mut missing = self.open_calls();
        if missing.is_empty() || from > self.head.message_count {
            return Ok(());
        }
        let mut select = self.sql.prepare_cached(&SELECT_RESULTS)?;
        let to = from.saturating_add(LOOK_AHEAD_ROWS);
        let mut rows = select.query((self.head.row_id, int(from), int(to)))?;
        while !missing.is_empty()
            && let Some(row) = rows.next()?
        {
            let read = self.read(row)?;
            if read.follows().is_some_and(|step| steps.contains(&step)) {
                for id in results_of(&read.read.message.content) {
                    missing.remove(id);
                }
                self.messages.push(read.read);
            }
        }
        Ok(())
    }

    /// The ids of calls that have no result among the messages.
    fn open_calls(&self) -> BTreeSet<String> {
        let contents = || self.messages.iter().map(|it| &it.message.content);
        let results: BTreeSet<&str> = contents().flat_map(results_of).collect();
        let calls = contents().flat_map(calls_of);
        let open = calls.filter(|id| !results.contains(id));
        open.map(str::to_owned).collect()
    }

    fn is_full(&self) -> bool {
        self.groups >= self.groups_max || (self.bytes > PAGE_BYTES_MAX && self.groups > 0)
    }

    /// Takes the message that a group begins with.
    fn take(&mut self, read: ReadMessage) {
        self.groups += 1;
        self.messages.push(read.read);
    }

    fn read(&mut self, row: &Row<'_>) -> Result<ReadMessage, QueryError> {
        self.bytes += row.get_ref(3)?.as_bytes().map_or(0, <[u8]>::len);
        let (seq, row_id) = (number(row, 1)?, row.get(5)?);
        if !MESSAGES.is_whole(self.sql, row, 6, (row_id, 0))? {
            let damaged = MESSAGES.damaged(&self.name(seq));
            let read = self.note(seq, damaged);
            return Ok(ReadMessage { read, step: None });
        }
        let message = read::message(row)?;
        self.at = message.at;
        let run_row: Option<i64> = row.get(7)?;
        self.run_rows.extend(run_row);
        let run = optional_uuid(row, 8)?.map(RunId);
        let step: Option<u32> = row.get(9)?;
        let outcome: Option<String> = row.get(11)?;
        let outcome = outcome.as_deref().map(parse_json).transpose()?;
        let attempt: Option<u32> = row.get(10)?;
        // A message of a run that belongs to no step has the number 0 for both.
        let origin = run.map(|run| MessageOrigin {
            step: StepRef {
                run,
                step: step.unwrap_or(0),
                attempt: attempt.unwrap_or(0),
            },
            outcome,
        });
        Ok(ReadMessage {
            step: run_row.zip(step),
            read: StoredMessage::new(message, origin),
        })
    }

    /// Adds a note for these messages, if there are any.
    fn gap(&mut self, first: u64, last: u64) {
        // Neighbours without a hole give an empty range.
        if first > last {
            return;
        }
        let missing = read::missing_messages(&self.name(first), last);
        let note = self.note(first, missing);
        self.groups += 1;
        self.messages.push(note);
    }

    fn note(&mut self, seq: u64, damaged: DamagedRow) -> StoredMessage {
        let message = Message {
            // The note is no stored message, so it has no id that could be looked up.
            id: MessageId(uuid::Uuid::nil()),
            seq,
            role: Role::System,
            content: MessageContent::Text(damaged.message.clone()),
            at: self.at,
        };
        self.damaged.push(damaged);
        StoredMessage {
            damaged: true,
            ..StoredMessage::new(message, None)
        }
    }

    fn name(&self, seq: u64) -> RowName {
        RowName {
            session: Some(self.head.identity.name().to_owned()),
            number: Some(seq),
            id: None,
        }
    }

    /// The notices of the runs that ended with one of the messages.
    fn run_notices(&self) -> Result<Vec<RunNotices>, QueryError> {
        let seqs: BTreeSet<u64> = self.messages.iter().map(|it| it.message.seq).collect();
        let mut select = self.sql.prepare_cached(&SELECT_ENDED_RUN)?;
        let mut found = Vec::new();
        for run_row in &self.run_rows {
            let mut rows = select.query([run_row])?;
            let Some(row) = rows.next()? else {
                continue;
            };
            // A damaged run is named by `agent.list` and `hob verify`; its messages are intact.
            let is_whole = RUNS.is_whole(self.sql, row, 6, (*run_row, 0))?;
            let last_message = number(row, 1)?;
            if is_whole && seqs.contains(&last_message) {
                let (notes, cause): (String, String) = (row.get(2)?, row.get(3)?);
                found.push(RunNotices {
                    run: RunId(crate::value::uuid(row, 0)?),
                    last_message,
                    notes: parse_json(&notes)?,
                    cause: parse_enum(&cause)?,
                    message: row.get(4)?,
                    ended_at: number(row, 5)?,
                });
            }
        }
        found.sort_by_key(|ended| ended.last_message);
        Ok(found)
    }
}

/// True if the row is the result of a call of a step.
fn is_result(row: &Row<'_>) -> rusqlite::Result<bool> {
    let has_step = row.get::<_, Option<u32>>(9)?.is_some();
    Ok(has_step && row.get_ref(2)?.as_str()? == Role::Tool.as_str())
}

fn results_of(content: &MessageContent) -> impl Iterator<Item = &str> {
    parts_of(content).iter().filter_map(|part| match part {
        ContentPart::ToolResult(result) => Some(result.id.as_str()),
        _ => None,
    })
}

fn calls_of(content: &MessageContent) -> impl Iterator<Item = &str> {
    parts_of(content).iter().filter_map(|part| match part {
        ContentPart::ToolCall(call) => Some(call.id.as_str()),
        _ => None,
    })
}

fn parts_of(content: &MessageContent) -> &[ContentPart] {
    match content {
        MessageContent::Text(_) => &[],
        MessageContent::Parts(parts) => parts,
    }
}

static COLUMNS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT m.id, m.seq, m.role, m.content, m.at, m.row_id, {}, m.run, r.id, m.step, m.attempt,
         m.outcome FROM messages m LEFT JOIN runs r ON r.row_id = m.run WHERE m.session = ?1",
        MESSAGES.checksum_state_sql("m")
    )
});
static SELECT_BACKWARD: LazyLock<String> =
    LazyLock::new(|| format!("{} AND m.seq < ?2 ORDER BY m.seq DESC", *COLUMNS));
static SELECT_FORWARD: LazyLock<String> =
    LazyLock::new(|| format!("{} AND m.seq > ?2 ORDER BY m.seq", *COLUMNS));
static SELECT_RESULTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{} AND m.seq >= ?2 AND m.seq < ?3 AND m.role = 'tool' AND m.step IS NOT NULL ORDER BY m.seq",
        *COLUMNS
    )
});
static SELECT_ENDED_RUN: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT r.id, r.last_message, r.notes, r.cause, r.message, r.ended_at, {} FROM runs r
         WHERE r.row_id = ?1 AND r.state = 'done' AND r.last_message IS NOT NULL",
        RUNS.checksum_state_sql("r")
    )
});
const ANSWER_OF: &str = "SELECT m.seq FROM runs r CROSS JOIN messages m
    ON m.session = ?1 AND m.seq BETWEEN r.first_message AND r.last_message
    WHERE r.id = ?2 AND m.run = r.row_id AND m.step = ?3 AND m.role = 'assistant' LIMIT 1";
const BEGUN_RUN: &str = "SELECT row_id, id, last_message FROM runs INDEXED BY runs_live
    WHERE session = ?1 AND state <> 'done' AND last_message IS NOT NULL ORDER BY row_id LIMIT 1";
// The last message of a run may be the result of a call; its group begins with the answer.
const LAST_GROUP: &str = "SELECT seq FROM messages WHERE session = ?1 AND seq <= ?2 AND seq > ?3
    AND run = ?4 AND role <> 'tool' ORDER BY seq DESC LIMIT 1";
const LAST_OF: &str = "SELECT last_message FROM runs WHERE id = ?1 AND session = ?2";
