//! Runs that other runs start: their parents, who pays, and their cost together.
//!
//! Invariants: a run that has ended gets no more children; no run has more children than allowed;
//! the session of the first parent pays for all descendants.

use super::row::{COLUMNS, TABLES, head, missing, read};
use super::types::{ParentLink, RunRow};
use crate::batch::WriteBatch;
use crate::checksums::RUNS;
use crate::checksums::damage::damaged_row_error;
use crate::error::{QueryError, StoreError};
use crate::value::{number, optional_number};
use hob_wire::rooms::agent::{Cost, RunState};
use hob_wire::{RunId, SessionId};
use rusqlite::Connection;
use std::sync::LazyLock;

/// Generations that a sum covers; more than there ever are.
const GENERATIONS_MAX: u32 = 16;

/// The link from a new child to its parent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChildRegistration {
    parent: RunId,
    /// The parent's session.
    pub(crate) session: SessionId,
    /// The row of the session that pays.
    payer: i64,
}

impl ChildRegistration {
    /// Checks that the parent may have one more child.
    pub(crate) fn check(
        batch: &WriteBatch<'_>,
        parent_link: &ParentLink,
    ) -> Result<Self, QueryError> {
        let parent =
            head(batch.sql, parent_link.parent)?.ok_or_else(|| missing(parent_link.parent))?;
        if parent.state == RunState::Done {
            let message = format!(
                "Run {} has ended and cannot start another.",
                parent_link.parent
            );
            return Err(StoreError::Conflict(message).into());
        }
        let parent_id = &parent_link.parent.0.as_bytes()[..];
        let children: u32 = batch
            .sql
            .prepare_cached(COUNT)?
            .query_row([parent_id], |row| row.get(0))?;
        if children >= parent_link.children_max {
            let message = format!(
                "This run has started {} others, the most allowed. Go on without another.",
                parent_link.children_max
            );
            return Err(StoreError::Conflict(message).into());
        }
        let own: i64 = batch
            .sql
            .prepare_cached("SELECT session FROM runs WHERE row_id = ?1")?
            .query_row([parent.row_id], |row| row.get(0))?;
        Ok(ChildRegistration {
            parent: parent_link.parent,
            session: parent.session,
            // The payer is handed down, so a grandchild charges the same session.
            payer: parent.payer.unwrap_or(own),
        })
    }

    /// Writes the link into the child's row.
    pub(crate) fn write(&self, batch: &WriteBatch<'_>, row_id: i64) -> rusqlite::Result<()> {
        let parent = &self.parent.0.as_bytes()[..];
        let mut update = batch.sql.prepare_cached(REGISTER)?;
        update.execute((row_id, parent, self.payer))?;
        RUNS.write_checksum(batch.sql, [row_id])
    }
}

pub(crate) fn children(sql: &Connection, run: RunId) -> Result<Vec<RunRow>, QueryError> {
    let mut select = sql.prepare_cached(&of_parent())?;
    let mut rows = select.query([&run.0.as_bytes()[..]])?;
    let mut children = Vec::new();
    while let Some(row) = rows.next()? {
        children.push(read(sql, row)?);
    }
    Ok(children)
}

pub(crate) fn of_parent() -> String {
    format!(
        "SELECT {} FROM {TABLES} WHERE r.parent = ?1 ORDER BY r.row_id",
        *COLUMNS
    )
}

pub(crate) fn descendants_cost(sql: &Connection, run: RunId) -> Result<Cost, QueryError> {
    let given = (&run.0.as_bytes()[..], GENERATIONS_MAX);
    let mut select = sql.prepare_cached(&COST)?;
    let mut rows = select.query(given)?;
    let mut cost = Cost {
        micro_dollars: Some(0),
        ..Cost::default()
    };
    while let Some(row) = rows.next()? {
        let row_id: i64 = row.get(4)?;
        if !RUNS.is_whole(sql, row, 5, (row_id, 0))? {
            return Err(damaged_row_error(RUNS.damaged_at(sql, [row_id])?));
        }
        let dollars = optional_number(row, 0)?.unwrap_or(0);
        cost.micro_dollars = cost.micro_dollars.map(|sum| sum.saturating_add(dollars));
        cost.input_tokens = cost.input_tokens.saturating_add(number(row, 1)?);
        cost.output_tokens = cost.output_tokens.saturating_add(number(row, 2)?);
        cost.calls = cost.calls.saturating_add(row.get(3)?);
    }
    Ok(cost)
}

pub(crate) const COUNT: &str = "SELECT count(*) FROM runs WHERE parent = ?1";
const REGISTER: &str = "UPDATE runs SET parent = ?2, payer = ?3 WHERE row_id = ?1";
pub(crate) static COST: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{BELOW} SELECT r.micro_dollars, r.input_tokens, r.output_tokens, r.calls, r.row_id, {}
        FROM below b JOIN runs r ON r.id = b.id",
        RUNS.checksum_state_sql("r")
    )
});
const BELOW: &str = "WITH RECURSIVE below (id, generation) AS (
        SELECT id, 1 FROM runs WHERE parent = ?1
        UNION ALL
        SELECT r.id, b.generation + 1 FROM runs r JOIN below b ON r.parent = b.id
        WHERE b.generation < ?2
    )";
