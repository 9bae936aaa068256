//! The start point of a subscription with `since`. Pure, except for one question to the log.

use crate::event_log::EventLog;

/// The position that a subscriber reports, and the log it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct SincePosition {
    pub(crate) seq: u64,
    /// `None` if the client does not say; the present log is assumed then.
    pub(crate) log_id: Option<String>,
}

/// The point where a subscription with `since` resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartPoint {
    After(u64),
    /// The position is not part of this log. The client must read these events again.
    OtherLog {
        from: u64,
        to: u64,
    },
}

impl SincePosition {
    /// Returns the point where the subscriber resumes in this log, whose last event is `last`.
    pub(crate) fn start_point(&self, log: &dyn EventLog, last: u64) -> StartPoint {
        let shared = match &self.log_id {
            // An unknown log shares nothing with ours. Our own id gives no upper end, so the end is
            // `last`.
            Some(id) => log.shared_until(id).unwrap_or(0).min(last),
            None => last,
        };
        if self.seq <= shared {
            return StartPoint::After(self.seq);
        }
        // A gap needs at least one event. If none is new since the logs parted, the last one is
        // named.
        StartPoint::OtherLog {
            from: (shared + 1).min(last),
            to: last,
        }
    }
}
