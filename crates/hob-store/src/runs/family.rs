//! Runs that other runs start: whose they are, who pays, and what they cost together.
//!
//! Invariants: a run that has ended gets no more children; no run ever has more than it may; the
//! session of the first parent pays for everything below it.

use super::row::{COLUMNS, TABLES, from_row, head, missing};
use super::words::{Birth, RunRow};
use crate::batch::Batch;
use crate::error::{StoreError, Trouble};
use crate::value::number;
use hob_wire::rooms::agent::{Cost, RunState};
use hob_wire::{RunId, SessionId};
use rusqlite::Connection;

/// Generations a sum looks through; more than there ever are.
const GENERATIONS_MAX: u32 = 16;

/// What a child has from its parent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    parent: RunId,
    /// The parent's session.
    pub(crate) session: SessionId,
    /// The row of the session that pays.
    payer: i64,
}

impl Family {
    /// Looks whether the parent may have one more child.
    pub(crate) fn of(batch: &Batch<'_>, birth: &Birth) -> Result<Self, Trouble> {
        let parent = head(batch.sql, birth.parent)?.ok_or_else(|| missing(birth.parent))?;
        if parent.state == RunState::Done {
            let message = format!("Run {} has ended and starts nothing more.", birth.parent);
            return Err(StoreError::Conflict(message).into());
        }
        let parent_id = &birth.parent.0.as_bytes()[..];
        let children: u32 = batch
            .sql
            .prepare_cached(COUNT)?
            .query_row([parent_id], |row| row.get(0))?;
        if children >= birth.children_max {
            let message = format!(
                "A run may start {} others, and this one has. Go on without another.",
                birth.children_max
            );
            return Err(StoreError::Conflict(message).into());
        }
        let own: i64 = batch
            .sql
            .prepare_cached("SELECT session FROM runs WHERE row_id = ?1")?
            .query_row([parent.row_id], |row| row.get(0))?;
        Ok(Family {
            parent: birth.parent,
            session: parent.session,
            payer: parent.payer.unwrap_or(own),
        })
    }

    /// Writes down whose child the run is.
    pub(crate) fn register(&self, batch: &Batch<'_>, row_id: i64) -> rusqlite::Result<()> {
        let parent = &self.parent.0.as_bytes()[..];
        let mut update = batch.sql.prepare_cached(REGISTER)?;
        update.execute((row_id, parent, self.payer)).map(drop)
    }
}

pub(crate) fn children(sql: &Connection, run: RunId) -> Result<Vec<RunRow>, Trouble> {
    let mut select = sql.prepare_cached(&of_parent())?;
    let rows = select.query_map([&run.0.as_bytes()[..]], from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn of_parent() -> String {
    format!("SELECT {COLUMNS} FROM {TABLES} WHERE r.parent = ?1 ORDER BY r.row_id")
}

pub(crate) fn cost(sql: &Connection, run: RunId) -> Result<Cost, Trouble> {
    let given = (&run.0.as_bytes()[..], GENERATIONS_MAX);
    let sum = sql.prepare_cached(COST)?.query_row(given, |row| {
        Ok(Cost {
            micro_dollars: Some(number(row, 0)?),
            input_tokens: number(row, 1)?,
            output_tokens: number(row, 2)?,
            calls: row.get(3)?,
        })
    });
    Ok(sum?)
}

pub(crate) const COUNT: &str = "SELECT count(*) FROM runs WHERE parent = ?1";
const REGISTER: &str = "UPDATE runs SET parent = ?2, payer = ?3 WHERE row_id = ?1";
pub(crate) const COST: &str = "WITH RECURSIVE below (id, generation) AS (
        SELECT id, 1 FROM runs WHERE parent = ?1
        UNION ALL
        SELECT r.id, b.generation + 1 FROM runs r JOIN below b ON r.parent = b.id
        WHERE b.generation < ?2
    )
    SELECT coalesce(sum(r.micro_dollars), 0), coalesce(sum(r.input_tokens), 0),
        coalesce(sum(r.output_tokens), 0), coalesce(sum(r.calls), 0)
    FROM below b JOIN runs r ON r.id = b.id";
