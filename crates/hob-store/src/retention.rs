//! Trimming the event log, as bulk work. What may go is decided in `hob_core::retention`.

use crate::batch::Batch;
use crate::error::Trouble;
use crate::lanes::{Bulk, Step};
use crate::value::{int, number};
use hob_core::retention::{Limits, Logged, cut};
use hob_wire::limits::{EVENT_LOG_AGE_MS_MAX, EVENT_LOG_ROWS_MAX};

/// Events looked at and trimmed in one step.
const TRIM_STEP: u64 = 512;

/// What the log keeps.
pub(crate) const LIMITS: Limits = Limits {
    rows_max: EVENT_LOG_ROWS_MAX,
    age_ms_max: EVENT_LOG_AGE_MS_MAX,
};

/// Bulk work: trims the log to its bounds.
#[derive(Debug)]
pub(crate) struct Trim {
    pub(crate) limits: Limits,
}

impl Bulk for Trim {
    fn name(&self) -> &'static str {
        "event log"
    }

    fn step(&mut self, batch: &mut Batch<'_>) -> Result<Step, Trouble> {
        let mut select = batch
            .sql
            .prepare_cached("SELECT seq, at FROM events ORDER BY seq LIMIT ?1")?;
        let oldest = select
            .query_map([int(TRIM_STEP)], |row| {
                Ok(Logged {
                    seq: number(row, 0)?,
                    at_ms: number(row, 1)?,
                })
            })?
            .collect::<Result<Vec<_>, _>>()?;
        let Some(end) = cut(self.limits, &oldest, batch.last_seq, batch.now_ms) else {
            return Ok(Step::Done);
        };
        batch
            .sql
            .prepare_cached("DELETE FROM events WHERE seq <= ?1")?
            .execute([int(end)])?;
        batch.trimmed_to = Some(end);
        Ok(Step::More)
    }
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
