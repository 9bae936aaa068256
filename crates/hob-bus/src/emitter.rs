//! Emits volatile events of a built-in service. Logged events come from the store, with the
//! transaction that they report.

use crate::event::{NewEvent, SessionTag, VolatileEvent};
use crate::hub::Hub;
use crate::room::encode;
use hob_wire::{Durability, EventTopic};
use std::sync::Arc;

/// Emits the volatile events of one service. Cheap to clone; never waits.
#[derive(Clone, Debug)]
pub struct EventEmitter {
    pub(crate) hub: Arc<Hub>,
    pub(crate) service: Arc<str>,
}

impl EventEmitter {
    /// Emits `T`, which its room declared. The event may be dropped when the bus is overloaded.
    pub fn emit<T: EventTopic>(&self, session: Option<SessionTag>, payload: &T::Payload) {
        debug_assert_eq!(
            T::SPEC.durability,
            Durability::Volatile,
            "{} is logged: it is emitted by its transaction",
            T::SPEC.topic
        );
        // Encoding fails only if the payload type is broken, which any test of it reveals.
        let Ok(payload) = encode(payload) else { return };
        self.hub.emit_volatile(NewEvent {
            source: Arc::clone(&self.service),
            topic: Arc::from(T::SPEC.topic),
            session,
            payload: Some(payload),
        });
    }

    /// Returns true if a subscription names the topic `T` and covers this session.
    pub fn has_followers<T: EventTopic>(&self, session: &SessionTag) -> bool {
        self.hub.followers.follows(T::SPEC.topic, session)
    }

    /// Emits `T`, which is delivered only by name, to its followers. In a slow follower's outbox a
    /// newer event replaces only an older one about the same `subject`. Returns false if the bus is
    /// overloaded and nobody receives the event.
    pub fn emit_to_followers<T: EventTopic>(
        &self,
        session: SessionTag,
        subject: Arc<str>,
        payload: &T::Payload,
    ) -> bool {
        debug_assert!(
            T::SPEC.only_named,
            "{} is not delivered by name only",
            T::SPEC.topic
        );
        let Ok(payload) = encode(payload) else {
            return false;
        };
        let event = NewEvent {
            source: Arc::clone(&self.service),
            topic: Arc::from(T::SPEC.topic),
            session: Some(session),
            payload: Some(payload),
        };
        self.hub.emit(VolatileEvent {
            event: Arc::new(event),
            subject: Some(subject),
        })
    }
}
