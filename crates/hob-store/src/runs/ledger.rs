//! The ledger in SQL: reserving before a model call, settling after it.
//!
//! A write is looked at whole before anything is changed, so that one beyond a ceiling leaves
//! nothing to undo. Invariants: what is reserved counts as spent until it is settled, and stays
//! counted when nobody knows what became of the call; a call is settled once; the sums by day and
//! model and by session are those of the ledger's rows.

use super::words::{Ceilings, LedgerWrite, Purse, Reserve};
use crate::batch::Batch;
use crate::error::{StoreError, Trouble};
use crate::value::{int, number, optional_number};
use hob_wire::{RunId, Usage};
use rusqlite::{Connection, OptionalExtension};

/// Milliseconds of a day.
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// What one call can count at the most, in millionths of a dollar: a million dollars. Keeps sums
/// far from the end of the numbers, whatever a provider claims.
pub(crate) const AMOUNT_MAX: u64 = 1_000_000_000_000;
/// Tokens one call can count at the most.
pub(crate) const TOKENS_MAX: u64 = 1_000_000_000_000;

/// Who a call is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payer {
    pub(crate) run: Option<RunId>,
    /// The session's row.
    pub(crate) session: Option<i64>,
}

/// Changes of the ledger that were found to be allowed.
#[derive(Debug, Default)]
pub(crate) struct Booking<'a> {
    changes: Vec<Change<'a>>,
}

#[derive(Debug)]
struct Change<'a> {
    call_key: &'a str,
    before: Option<Entry>,
    after: Entry,
}

/// A row of the ledger as far as it counts.
#[derive(Clone, Debug)]
struct Entry {
    day: u64,
    model: String,
    state: &'static str,
    amount: Option<u64>,
    usage: Usage,
}

const RESERVED: &str = "reserved";
const SETTLED: &str = "settled";
const UNKNOWN: &str = "unknown";

/// Looks whether `writes` and then `reserve` are allowed; changes nothing.
pub(crate) fn plan<'a>(
    batch: &Batch<'_>,
    payer: Payer,
    writes: &'a [LedgerWrite],
    reserve: Option<&'a Reserve>,
) -> Result<Booking<'a>, Trouble> {
    let mut booking = Booking::default();
    let today = batch.now_ms / DAY_MS;
    for write in writes {
        let change = change(batch.sql, write, today)?;
        booking.add(change)?;
    }
    if let Some(reserve) = reserve {
        if find(batch.sql, &reserve.call_key)?.is_some() {
            return Err(twice(&reserve.call_key).into());
        }
        let amount = reserve.micro_dollars.map(|amount| amount.min(AMOUNT_MAX));
        booking.hold(batch.sql, payer, amount, (&reserve.ceilings, today))?;
        booking.add(Change {
            call_key: &reserve.call_key,
            before: None,
            after: Entry {
                day: today,
                model: reserve.model.clone(),
                state: RESERVED,
                amount,
                usage: Usage::default(),
            },
        })?;
    }
    Ok(booking)
}

impl<'a> Booking<'a> {
    fn add(&mut self, change: Change<'a>) -> Result<(), StoreError> {
        let known = |other: &Change<'_>| other.call_key == change.call_key;
        if self.changes.iter().any(known) {
            return Err(twice(change.call_key));
        }
        self.changes.push(change);
        Ok(())
    }

    /// Holds a call of `amount` against each ceiling.
    fn hold(
        &self,
        sql: &Connection,
        payer: Payer,
        amount: Option<u64>,
        (ceilings, today): (&Ceilings, u64),
    ) -> Result<(), Trouble> {
        let session = payer.session.zip(ceilings.session);
        if let Some((session, limit)) = session {
            let spent = sum(sql, SESSION_SPENT, session)?;
            self.fits(Purse::Session, limit, amount, (spent, None))?;
        }
        if let Some(limit) = ceilings.day {
            let spent = sum(sql, DAY_SPENT, int(today))?;
            self.fits(Purse::Day, limit, amount, (spent, Some(today)))?;
        }
        if let Some(limit) = ceilings.total {
            let spent = sum(sql, TOTAL_SPENT, 0)?;
            self.fits(Purse::Total, limit, amount, (spent, None))?;
        }
        Ok(())
    }

    fn fits(
        &self,
        which: Purse,
        limit: u64,
        amount: Option<u64>,
        (stored, day): (i64, Option<u64>),
    ) -> Result<(), StoreError> {
        let counts = |change: &&Change<'_>| day.is_none_or(|day| change.after.day == day);
        let changed: i64 = self.changes.iter().filter(counts).map(Change::money).sum();
        let spent = u64::try_from(stored + changed).unwrap_or(0);
        let over = match amount {
            // What costs nothing needs no money.
            Some(0) => false,
            Some(amount) => spent + amount > limit,
            None => spent >= limit,
        };
        if over {
            return Err(StoreError::OverBudget {
                which,
                limit,
                spent,
            });
        }
        Ok(())
    }

    /// Writes the changes and their sums.
    pub(crate) fn apply(&self, batch: &Batch<'_>, payer: Payer) -> rusqlite::Result<()> {
        let mut sums: Vec<Sum<'_>> = Vec::with_capacity(self.changes.len());
        for change in &self.changes {
            change.write(batch, payer)?;
            if let Some(before) = &change.before {
                Sum::of(&mut sums, before).count(before, -1);
            }
            Sum::of(&mut sums, &change.after).count(&change.after, 1);
        }
        for sum in &sums {
            sum.write(batch.sql)?;
        }
        let money: i64 = self.changes.iter().map(Change::money).sum();
        if let Some(session) = payer.session.filter(|_| money != 0) {
            batch
                .sql
                .prepare_cached("UPDATE sessions SET spent = spent + ?2 WHERE row_id = ?1")?
                .execute((session, money))?;
        }
        Ok(())
    }
}

impl Change<'_> {
    /// By how much it changes what counts.
    fn money(&self) -> i64 {
        let before = self.before.as_ref().and_then(|before| before.amount);
        int(self.after.amount.unwrap_or(0)) - int(before.unwrap_or(0))
    }

    fn write(&self, batch: &Batch<'_>, payer: Payer) -> rusqlite::Result<()> {
        let Entry {
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

/// What changes in one row of the sums.
struct Sum<'a> {
    day: u64,
    model: &'a str,
    calls: i64,
    unpriced: i64,
    money: i64,
    input: i64,
    output: i64,
}

impl<'a> Sum<'a> {
    fn of<'s>(sums: &'s mut Vec<Sum<'a>>, entry: &'a Entry) -> &'s mut Sum<'a> {
        let same = |sum: &Sum<'_>| sum.day == entry.day && sum.model == entry.model;
        let at = sums.iter().position(same).unwrap_or(sums.len());
        if at == sums.len() {
            sums.push(Sum {
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

    fn count(&mut self, entry: &Entry, sign: i64) {
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

fn change<'a>(sql: &Connection, write: &'a LedgerWrite, today: u64) -> Result<Change<'a>, Trouble> {
    let (LedgerWrite::Settle { call_key, .. } | LedgerWrite::Unknown { call_key }) = write;
    let before = find(sql, call_key)?;
    if before
        .as_ref()
        .is_some_and(|before| before.state != RESERVED)
    {
        return Err(twice(call_key).into());
    }
    let after = match (write, &before) {
        (LedgerWrite::Unknown { .. }, Some(before)) => Entry {
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
        ) => Entry {
            // It stays with the day that its reservation was held against.
            day: before.as_ref().map_or(today, |before| before.day),
            model: model.clone(),
            state: SETTLED,
            amount: micro_dollars.map(|amount| amount.min(AMOUNT_MAX)),
            usage: bounded(usage),
        },
    };
    Ok(Change {
        call_key,
        before,
        after,
    })
}

fn find(sql: &Connection, call_key: &str) -> rusqlite::Result<Option<Entry>> {
    sql.prepare_cached(FIND)?
        .query_row([call_key], |row| {
            let state = row.get_ref(2)?.as_str()?;
            let known = [RESERVED, SETTLED, UNKNOWN];
            Ok(Entry {
                day: number(row, 0)?,
                model: row.get(1)?,
                state: known
                    .into_iter()
                    .find(|word| *word == state)
                    .unwrap_or(UNKNOWN),
                amount: optional_number(row, 3)?,
                usage: Usage {
                    input_tokens: number(row, 4)?,
                    output_tokens: number(row, 5)?,
                    cached_tokens: number(row, 6)?,
                },
            })
        })
        .optional()
}

fn bounded(usage: &Usage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens.min(TOKENS_MAX),
        output_tokens: usage.output_tokens.min(TOKENS_MAX),
        cached_tokens: usage.cached_tokens.min(TOKENS_MAX),
    }
}

fn sum(sql: &Connection, select: &str, key: i64) -> rusqlite::Result<i64> {
    sql.prepare_cached(select)?
        .query_row([key], |row| row.get(0))
}

fn twice(call_key: &str) -> StoreError {
    StoreError::Conflict(format!(
        "The model call '{call_key}' is in the ledger already. One call has one key."
    ))
}

/// Marks calls that no run will settle: the daemon that made them is gone. Done at each start.
pub(crate) fn forget_loose(sql: &Connection) -> rusqlite::Result<usize> {
    sql.execute(LOSE, [])
}

pub(crate) const SESSION_SPENT: &str = "SELECT spent FROM sessions WHERE row_id = ?1";
pub(crate) const DAY_SPENT: &str =
    "SELECT ifnull(sum(micro_dollars), 0) FROM spending WHERE day = ?1";
pub(crate) const TOTAL_SPENT: &str =
    "SELECT ifnull(sum(micro_dollars), 0) FROM spending WHERE day >= ?1";
pub(crate) const FIND: &str = "SELECT day, model, state, micro_dollars, input_tokens,
    output_tokens, cached_tokens FROM ledger WHERE call_key = ?1";
pub(crate) const LOSE: &str = "UPDATE ledger INDEXED BY ledger_loose SET state = 'unknown'
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
