//! Events as the bus carries them: shared strings for the envelope and encoded bytes for the
//! payload.

use bytes::Bytes;
use std::sync::Arc;

/// The session of an event, for subscribers that watch only one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionTag {
    pub id: Arc<str>,
    pub key: Option<Arc<str>>,
}

impl SessionTag {
    /// Returns true if `filter` is the id or the key of this session.
    pub fn matches(&self, filter: &str) -> bool {
        *self.id == *filter || self.key.as_deref() == Some(filter)
    }
}

/// An event with its place in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    pub seq: u64,
    pub source: Arc<str>,
    pub topic: Arc<str>,
    pub session: Option<SessionTag>,
    /// Encoded JSON.
    pub payload: Option<Bytes>,
}

/// An event without a place in the log: not yet logged, or volatile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    pub source: Arc<str>,
    pub topic: Arc<str>,
    pub session: Option<SessionTag>,
    /// Encoded JSON.
    pub payload: Option<Bytes>,
}

impl NewEvent {
    pub fn logged_as(self, seq: u64) -> LoggedEvent {
        LoggedEvent {
            seq,
            source: self.source,
            topic: self.topic,
            session: self.session,
            payload: self.payload,
        }
    }
}

impl LoggedEvent {
    /// The event without its place.
    pub fn into_new(self) -> NewEvent {
        NewEvent {
            source: self.source,
            topic: self.topic,
            session: self.session,
            payload: self.payload,
        }
    }
}
