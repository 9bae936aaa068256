//! Where a subscriber goes on that says how far it came. Pure but for what it asks of the log.

use crate::log::EventLog;

/// Where a subscriber was, and in which log.
#[derive(Clone, Debug)]
pub(crate) struct Since {
    pub(crate) seq: u64,
    /// None for a client that does not say; then it is taken to be this log.
    pub(crate) log_id: Option<String>,
}

/// Where a subscription with `since` goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    After(u64),
    /// The log does not lead up to `since`: these events are to be read anew.
    InAnotherLog {
        from: u64,
        to: u64,
    },
}

impl Since {
    /// Whether this log, whose last event is `last`, leads up to where the subscriber was.
    pub(crate) fn begins(&self, log: &dyn EventLog, last: u64) -> Begins {
        let shared = match &self.log_id {
            Some(id) => log.shared_until(id).unwrap_or(0).min(last),
            None => last,
        };
        if self.seq <= shared {
            return Begins::After(self.seq);
        }
        // Without a new event since then, the last one stands for what is to be read anew.
        Begins::InAnotherLog {
            from: (shared + 1).min(last),
            to: last,
        }
    }
}
