//! Emits volatile events of a built-in service. Logged events come from the store, with the
//! transaction that they report.

use crate::event::{NewEvent, SessionTag};
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
}
