//! The ledger in SQL: reserves money before a model call and settles it afterwards.
//!
//! A write is checked completely before anything changes, so that one beyond a ceiling leaves
//! nothing to undo. Invariants: a reservation counts as spent until it is settled, and stays
//! counted when the outcome of the call is unknown; a call is settled once; the sums by day and
//! model and by session equal those of the ledger's rows.

use super::types::{BudgetScope, CostReservation, LedgerCall, LedgerWrite, SpendingCeilings};
use crate::batch::WriteBatch;
use crate::error::{QueryError, StoreError};
use crate::value::{int, number, optional_number};
use hob_wire::{RunId, TokenUsage};
use rusqlite::{Connection, OptionalExtension};
use std::collections::BTreeMap;

/// Milliseconds of a day.
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// The most that one call can count, in millionths of a dollar: a million dollars. It keeps sums
/// far from overflow, whatever a provider claims.
pub(crate) const AMOUNT_MAX: u64 = 1_000_000_000_000;
/// The most tokens that one call can count.
pub(crate) const TOKENS_MAX: u64 = 1_000_000_000_000;

/// The run and session that a call is charged to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallPayer {
    pub(crate) run: Option<RunId>,
    /// The session's row.
    pub(crate) session: Option<i64>,
}

/// Checked changes of the ledger, ready to be written.
#[derive(Debug, Default)]
pub(crate) struct LedgerChanges<'a> {
    changes: Vec<LedgerChange<'a>>,
}

/// One row of the ledger before and after a change.
#[derive(Debug)]
struct LedgerChange<'a> {
    call_key: &'a str,
    before: Option<LedgerRow>,
    after: LedgerRow,
}

/// The counted columns of a ledger row.
#[derive(Clone, Debug)]
struct LedgerRow {
    day: u64,
    model: String,
    state: &'static str,
    amount: Option<u64>,
    usage: TokenUsage,
}

const RESERVED: &str = "reserved";
const SETTLED: &str = "settled";
const UNKNOWN: &str = "unknown";

/// Checks `writes` and then `reserve`; changes nothing.
pub(crate) fn plan<'a>(
    batch: &WriteBatch<'_>,
    payer: CallPayer,
    writes: &'a [LedgerWrite],
    reserve: Option<&'a CostReservation>,
) -> Result<LedgerChanges<'a>, QueryError> {
    let mut planned = LedgerChanges::default();
    let today = batch.now_ms / DAY_MS;
    for write in writes {
        let change = plan_change(batch.sql, write, today)?;
        planned.add(change)?;
    }
    if let Some(reserve) = reserve {
        if find(batch.sql, &reserve.call_key)?.is_some() {
            return Err(duplicate_call(&reserve.call_key).into());
        }
        let amount = reserve.micro_dollars.map(|amount| amount.min(AMOUNT_MAX));
        planned.check_ceilings(batch.sql, payer, amount, (&reserve.ceilings, today))?;
        planned.add(LedgerChange {
            call_key: &reserve.call_key,
            before: None,
            after: LedgerRow {
                day: today,
                model: reserve.model.clone(),
                state: RESERVED,
                amount,
                usage: TokenUsage::default(),
            },
        })?;
    }
    Ok(planned)
}

impl<'a> LedgerChanges<'a> {
    fn add(&mut self, change: LedgerChange<'a>) -> Result<(), StoreError> {
        let known = |other: &LedgerChange<'_>| other.call_key == change.call_key;
        if self.changes.iter().any(known) {
            return Err(duplicate_call(change.call_key));
        }
        self.changes.push(change);
        Ok(())
    }

    /// Checks a call of `amount` against each ceiling.
    fn check_ceilings(
        &self,
        sql: &Connection,
        payer: CallPayer,
        amount: Option<u64>,
        (ceilings, today): (&SpendingCeilings, u64),
    ) -> Result<(), QueryError> {
        let session = payer.session.zip(ceilings.session);
        if let Some((session, limit)) = session {
            let spent = select_sum(sql, SESSION_SPENT, session)?;
            self.check_ceiling(BudgetScope::Session, limit, amount, (spent, None))?;
        }
        if let Some(limit) = ceilings.day {
            let spent = select_sum(sql, DAY_SPENT, int(today))?;
            self.check_ceiling(BudgetScope::Day, limit, amount, (spent, Some(today)))?;
        }
        if let Some(limit) = ceilings.total {
            // All three queries take one number; day 0 is before every day.
            let spent = select_sum(sql, TOTAL_SPENT, 0)?;
            self.check_ceiling(BudgetScope::Total, limit, amount, (spent, None))?;
        }
        Ok(())
    }

    fn check_ceiling(
        &self,
        scope: BudgetScope,
        limit: u64,
        amount: Option<u64>,
        (stored, day): (i64, Option<u64>),
    ) -> Result<(), StoreError> {
        let counts = |change: &&LedgerChange<'_>| day.is_none_or(|day| change.after.day == day);
        // These changes are not in the tables yet, so the stored sum lacks them.
        let changed: i64 = self
            .changes
            .iter()
            .filter(counts)
            .map(LedgerChange::money)
            .sum();
        // A call that settles below its reservation makes the change negative.
        let spent = u64::try_from(stored + changed).unwrap_or(0);
        let over = match amount {
            // A free call needs no money.
            Some(0) => false,
            Some(amount) => spent + amount > limit,
            // The price is unknown: the call is allowed as long as the ceiling is not reached.
            None => spent >= limit,
        };
        if over {
            return Err(StoreError::OverBudget {
                scope,
                limit,
                spent,
            });
        }
        Ok(())
    }

    /// Writes the changes and their sums.
    pub(crate) fn apply(&self, batch: &WriteBatch<'_>, payer: CallPayer) -> rusqlite::Result<()> {
        let mut sums: Vec<SpendingDelta<'_>> = Vec::with_capacity(self.changes.len());
        for change in &self.changes {
            change.write(batch, payer)?;
            if let Some(before) = &change.before {
                // A call may settle under another model. It then moves from one sum to another.
                SpendingDelta::of(&mut sums, before).count(before, -1);
            }
            SpendingDelta::of(&mut sums, &change.after).count(&change.after, 1);
        }
        for sum in &sums {
            sum.write(batch.sql)?;
        }
        let money: i64 = self.changes.iter().map(LedgerChange::money).sum();
        if let Some(session) = payer.session.filter(|_| money != 0) {
            batch
                .sql
                .prepare_cached("UPDATE sessions SET spent = spent + ?2 WHERE row_id = ?1")?
                .execute((session, money))?;
        }
        Ok(())
    }
}

impl LedgerChange<'_> {
    /// The change in money.
    fn money(&self) -> i64 {
        let before = self.before.as_ref().and_then(|before| before.amount);
        int(self.after.amount.unwrap_or(0)) - int(before.unwrap_or(0))
    }

    fn write(&self, batch: &WriteBatch<'_>, payer: CallPayer) -> rusqlite::Result<()> {
        let LedgerRow {
            day,
            model,
            state,
            amount,
            usage,
        } = &self.after;
        let tokens = [usage.input_tokens, usage.output_tokens, usage.cached_tokens].map(int);
        if self.before.is_some() {
            batch.sql.prepare_cached(SETTLE)?.execute((
                self.call_key,
                model,
                state,
                amount.map(int),
                tokens[0],
                tokens[1],
                tokens[2],
            ))?;
        } else {
            batch.sql.prepare_cached(INSERT)?.execute((
                self.call_key,
                payer.run.as_ref().map(|run| &run.0.as_bytes()[..]),
                payer.session,
                int(batch.now_ms),
                int(*day),
                model,
                state,
                amount.map(int),
                tokens[0],
                tokens[1],
                tokens[2],
            ))?;
        }
        Ok(())
    }
}

/// The change of one row of the sums.
struct SpendingDelta<'a> {
    day: u64,
    model: &'a str,
    calls: i64,
    unpriced: i64,
    money: i64,
    input: i64,
    output: i64,
}

impl<'a> SpendingDelta<'a> {
    fn of<'s>(
        sums: &'s mut Vec<SpendingDelta<'a>>,
        entry: &'a LedgerRow,
    ) -> &'s mut SpendingDelta<'a> {
        let same = |sum: &SpendingDelta<'_>| sum.day == entry.day && sum.model == entry.model;
        let at = sums.iter().position(same).unwrap_or(sums.len());
        if at == sums.len() {
            sums.push(SpendingDelta {
                day: entry.day,
                model: &entry.model,
                calls: 0,
                unpriced: 0,
                money: 0,
                input: 0,
                output: 0,
            });
        }
        &mut sums[at]
    }

    fn count(&mut self, entry: &LedgerRow, sign: i64) {
        self.calls += sign;
        self.unpriced += sign * i64::from(entry.amount.is_none());
        self.money += sign * int(entry.amount.unwrap_or(0));
        self.input += sign * int(entry.usage.input_tokens);
        self.output += sign * int(entry.usage.output_tokens);
    }

    fn write(&self, sql: &Connection) -> rusqlite::Result<()> {
        sql.prepare_cached(ADD_UP)?.execute((
            int(self.day),
            self.model,
            self.calls,
            self.unpriced,
            self.money,
            self.input,
            self.output,
        ))?;
        Ok(())
    }
}

fn plan_change<'a>(
    sql: &Connection,
    write: &'a LedgerWrite,
    today: u64,
) -> Result<LedgerChange<'a>, QueryError> {
    let (LedgerWrite::Settle { call_key, .. } | LedgerWrite::Unknown { call_key }) = write;
    let before = find(sql, call_key)?;
    if before
        .as_ref()
        .is_some_and(|before| before.state != RESERVED)
    {
        return Err(duplicate_call(call_key).into());
    }
    let after = match (write, &before) {
        // The reserved amount stays counted, because the provider may have charged it.
        (LedgerWrite::Unknown { .. }, Some(before)) => LedgerRow {
            state: UNKNOWN,
            ..before.clone()
        },
        (LedgerWrite::Unknown { .. }, None) => {
            let never = format!("There is no model call '{call_key}' in the ledger.");
            return Err(StoreError::NotFound(never).into());
        }
        (
            LedgerWrite::Settle {
                usage,
                micro_dollars,
                model,
                ..
            },
            before,
        ) => LedgerRow {
            // The call stays with the day whose ceiling its reservation was checked against.
            day: before.as_ref().map_or(today, |before| before.day),
            model: model.clone(),
            state: SETTLED,
            amount: micro_dollars.map(|amount| amount.min(AMOUNT_MAX)),
            usage: bounded(usage),
        },
    };
    Ok(LedgerChange {
        call_key,
        before,
        after,
    })
}

fn find(sql: &Connection, call_key: &str) -> rusqlite::Result<Option<LedgerRow>> {
    sql.prepare_cached(FIND)?
        .query_row([call_key], |row| {
            let state = row.get_ref(2)?.as_str()?;
            let known = [RESERVED, SETTLED, UNKNOWN];
            Ok(LedgerRow {
                day: number(row, 0)?,
                model: row.get(1)?,
                state: known
                    .into_iter()
                    .find(|word| *word == state)
                    // Any other word is not `reserved`, so the call cannot be settled twice.
                    .unwrap_or(UNKNOWN),
                amount: optional_number(row, 3)?,
                usage: TokenUsage {
                    input_tokens: number(row, 4)?,
                    output_tokens: number(row, 5)?,
                    cached_tokens: number(row, 6)?,
                },
            })
        })
        .optional()
}

/// Returns the calls with these keys.
pub(crate) fn calls(
    sql: &Connection,
    keys: Vec<String>,
) -> rusqlite::Result<BTreeMap<String, LedgerCall>> {
    let mut calls = BTreeMap::new();
    for key in keys {
        if let Some(row) = find(sql, &key)? {
            let call = LedgerCall {
                model: row.model,
                micro_dollars: row.amount,
                usage: row.usage,
            };
            calls.insert(key, call);
        }
    }
    Ok(calls)
}

fn bounded(usage: &TokenUsage) -> TokenUsage {
    TokenUsage {
        input_tokens: usage.input_tokens.min(TOKENS_MAX),
        output_tokens: usage.output_tokens.min(TOKENS_MAX),
        cached_tokens: usage.cached_tokens.min(TOKENS_MAX),
    }
}

fn select_sum(sql: &Connection, select: &str, key: i64) -> rusqlite::Result<i64> {
    sql.prepare_cached(select)?
        .query_row([key], |row| row.get(0))
}

fn duplicate_call(call_key: &str) -> StoreError {
    StoreError::Conflict(format!(
        "The model call '{call_key}' is in the ledger already. One call has one key."
    ))
}

/// Marks reservations without a run as unknown: the daemon that made them is gone. Done at each
/// start.
pub(crate) fn mark_abandoned_calls(sql: &Connection) -> rusqlite::Result<usize> {
    sql.execute(MARK_ABANDONED, [])
}

pub(crate) const SESSION_SPENT: &str = "SELECT spent FROM sessions WHERE row_id = ?1";
pub(crate) const DAY_SPENT: &str =
    "SELECT ifnull(sum(micro_dollars), 0) FROM spending WHERE day = ?1";
pub(crate) const TOTAL_SPENT: &str =
    "SELECT ifnull(sum(micro_dollars), 0) FROM spending WHERE day >= ?1";
pub(crate) const FIND: &str = "SELECT day, model, state, micro_dollars, input_tokens,
    output_tokens, cached_tokens FROM ledger WHERE call_key = ?1";
// `INDEXED BY` makes the statement fail rather than scan the whole ledger at each start.
pub(crate) const MARK_ABANDONED: &str =
    "UPDATE ledger INDEXED BY ledger_loose SET state = 'unknown'
    WHERE state = 'reserved' AND run IS NULL";
const SETTLE: &str = "UPDATE ledger SET model = ?2, state = ?3, micro_dollars = ?4,
    input_tokens = ?5, output_tokens = ?6, cached_tokens = ?7 WHERE call_key = ?1";
const INSERT: &str = "INSERT INTO ledger (call_key, run, session, at, day, model, state,
    micro_dollars, input_tokens, output_tokens, cached_tokens)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
const ADD_UP: &str = "INSERT INTO spending
    (day, model, calls, unpriced, micro_dollars, input_tokens, output_tokens)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (day, model) DO UPDATE SET calls = calls + excluded.calls,
        unpriced = unpriced + excluded.unpriced,
        micro_dollars = micro_dollars + excluded.micro_dollars,
        input_tokens = input_tokens + excluded.input_tokens,
        output_tokens = output_tokens + excluded.output_tokens";
