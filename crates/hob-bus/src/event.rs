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

/// A volatile event on its way to its subscribers.
#[derive(Clone, Debug)]
pub(crate) struct VolatileEvent {
    pub(crate) event: Arc<NewEvent>,
    /// What it is about, if it belongs to a topic that is delivered only by name: in an outbox that
    /// fills up, a newer event replaces only an older one with the same subject.
    pub(crate) subject: Option<Arc<str>>,
}

impl VolatileEvent {
    pub(crate) fn new(event: NewEvent) -> Self {
        VolatileEvent {
            event: Arc::new(event),
            subject: None,
        }
    }

    pub(crate) fn payload_bytes(&self) -> usize {
        self.event.payload.as_ref().map_or(0, Bytes::len)
    }
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
