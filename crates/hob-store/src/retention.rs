//! Trimming of the event log, as bulk work. `hob_core::retention` decides what is trimmed.

use crate::batch::WriteBatch;
use crate::error::QueryError;
use crate::value::{int, number};
use crate::writer_queue::{BulkJob, BulkProgress};
use hob_core::retention::{EventStamp, RetentionLimits, prunable_through};
use hob_wire::limits::{EVENT_LOG_AGE_MS_MAX, EVENT_LOG_ROWS_MAX};

/// Events read and trimmed in one step.
const TRIM_STEP: u64 = 512;

/// The default limits of the log.
pub(crate) const LIMITS: RetentionLimits = RetentionLimits {
    rows_max: EVENT_LOG_ROWS_MAX,
    age_ms_max: EVENT_LOG_AGE_MS_MAX,
};

/// Bulk work: trims the log to its limits.
#[derive(Debug)]
pub(crate) struct EventLogTrim {
    pub(crate) limits: RetentionLimits,
}

impl BulkJob for EventLogTrim {
    fn name(&self) -> &'static str {
        "event log"
    }

    fn step(&mut self, batch: &mut WriteBatch<'_>) -> Result<BulkProgress, QueryError> {
        let mut select = batch
            .sql
            .prepare_cached("SELECT seq, at FROM events ORDER BY seq LIMIT ?1")?;
        let oldest = select
            .query_map([int(TRIM_STEP)], |row| {
                Ok(EventStamp {
                    seq: number(row, 0)?,
                    at_ms: number(row, 1)?,
                })
            })?
            .collect::<Result<Vec<_>, _>>()?;
        let Some(end) = prunable_through(self.limits, &oldest, batch.last_seq, batch.now_ms) else {
            return Ok(BulkProgress::Done);
        };
        batch
            .sql
            .prepare_cached("DELETE FROM events WHERE seq <= ?1")?
            .execute([int(end)])?;
        // The log's bounds move by this after the commit; a rollback clears it.
        batch.trimmed_to = Some(end);
        Ok(BulkProgress::More)
    }
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
