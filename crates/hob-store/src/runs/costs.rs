//! Sums of the ledger by day and model.

use super::types::LedgerSummary;
use crate::error::QueryError;
use crate::sessions::row::{find_head, missing};
use crate::value::{int, number};
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::cost::CostRow;
use rusqlite::{Connection, Row};
use std::collections::BTreeMap;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// Sums the last `days` days, today included, for everything or for one session.
pub(crate) fn summary(
    sql: &Connection,
    days: u32,
    session: Option<&SessionRef>,
    now_ms: u64,
) -> Result<LedgerSummary, QueryError> {
    // At least today: with no day at all the subtraction would underflow.
    let first = (now_ms / DAY_MS).saturating_sub(u64::from(days.max(1)) - 1);
    let mut sums = CostSums::default();
    // Stored sums exist by day and model only, so those of one session come from its calls.
    if let Some(session) = session {
        let head = find_head(sql, session)?.ok_or_else(|| missing(session))?;
        let mut select = sql.prepare_cached(OF_SESSION)?;
        sums.read(select.query((head.row_id, int(first)))?)?;
    } else {
        let mut select = sql.prepare_cached(BY_DAY)?;
        sums.read(select.query([int(first)])?)?;
    }
    Ok(sums.into_summary())
}

/// Sums the whole ledger.
pub(crate) fn all(sql: &Connection) -> Result<Cost, QueryError> {
    let mut sums = CostSums::default();
    sums.read(sql.prepare_cached(BY_DAY)?.query([0])?)?;
    Ok(sums.total.cost())
}

pub(crate) const BY_DAY: &str = "SELECT day, model, calls, unpriced, micro_dollars, input_tokens,
    output_tokens FROM spending WHERE day >= ?1 ORDER BY day, model";
pub(crate) const OF_SESSION: &str = "SELECT day, model, 1, micro_dollars IS NULL,
    ifnull(micro_dollars, 0), input_tokens, output_tokens
    FROM ledger WHERE session = ?1 AND day >= ?2";

#[derive(Default)]
struct CostSums {
    total: CostSum,
    days: BTreeMap<u64, CostSum>,
    models: BTreeMap<String, CostSum>,
}

#[derive(Clone, Copy, Default)]
struct CostSum {
    calls: u64,
    unpriced: u64,
    micro_dollars: u64,
    input_tokens: u64,
    output_tokens: u64,
}

impl CostSums {
    fn read(&mut self, mut rows: rusqlite::Rows<'_>) -> rusqlite::Result<()> {
        while let Some(row) = rows.next()? {
            let sum = CostSum::from_row(row)?;
            self.total.add(&sum);
            self.days.entry(number(row, 0)?).or_default().add(&sum);
            let model = row.get_ref(1)?.as_str()?;
            // `entry` would copy the name of the model for each row.
            if let Some(known) = self.models.get_mut(model) {
                known.add(&sum);
            } else {
                self.models.insert(model.to_owned(), sum);
            }
        }
        Ok(())
    }

    fn into_summary(self) -> LedgerSummary {
        // A model whose calls were all settled under another one has nothing to show.
        let has_calls = |(_, sum): &(_, CostSum)| sum.calls > 0;
        let days = self.days.into_iter().map(|(day, sum)| (date(day), sum));
        let mut models: Vec<_> = self.models.into_iter().filter(has_calls).collect();
        models.sort_by_key(|(_, sum)| std::cmp::Reverse((sum.micro_dollars, sum.calls)));
        LedgerSummary {
            total: self.total.cost(),
            days: days.filter(has_calls).map(row).collect(),
            models: models.into_iter().map(row).collect(),
        }
    }
}

impl CostSum {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(CostSum {
            calls: number(row, 2)?,
            unpriced: number(row, 3)?,
            micro_dollars: number(row, 4)?,
            input_tokens: number(row, 5)?,
            output_tokens: number(row, 6)?,
        })
    }

    fn add(&mut self, other: &CostSum) {
        self.calls += other.calls;
        self.unpriced += other.unpriced;
        self.micro_dollars = self.micro_dollars.saturating_add(other.micro_dollars);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }

    /// Returns the cost; without money when no call has a known price.
    fn cost(&self) -> Cost {
        let priced = self.calls == 0 || self.unpriced < self.calls;
        Cost {
            micro_dollars: priced.then_some(self.micro_dollars),
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            calls: u32::try_from(self.calls).unwrap_or(u32::MAX),
        }
    }
}

fn row((name, sum): (String, CostSum)) -> CostRow {
    CostRow {
        name,
        cost: sum.cost(),
        unpriced: u32::try_from(sum.unpriced).unwrap_or(u32::MAX),
    }
}

/// Formats a day since 1970 as a date: `2026-11-15`.
fn date(day: u64) -> String {
    // The calendar repeats every 400 years. In years from March a leap day is the last day.
    let from_march = day + 719_468;
    let (era, of_era) = (from_march / 146_097, from_march % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
#[path = "costs_tests.rs"]
mod tests;
