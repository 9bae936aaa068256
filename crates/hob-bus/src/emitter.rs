//! Volatile events of a built-in service. Logged ones come from the store, with the transaction
//! they tell of.

use crate::event::{NewEvent, SessionTag};
use crate::hub::Hub;
use crate::room::encode;
use hob_wire::{Durability, Topic};
use std::sync::Arc;

/// Cheap to clone; never waits.
#[derive(Clone, Debug)]
pub struct Emitter {
    pub(crate) hub: Arc<Hub>,
    pub(crate) service: Arc<str>,
}

impl Emitter {
    /// Emits `T`, which its room declared. It may be left out when the bus is swamped.
    pub fn emit<T: Topic>(&self, session: Option<SessionTag>, payload: &T::Payload) {
        debug_assert_eq!(
            T::SPEC.durability,
            Durability::Volatile,
            "{} is logged: it is emitted by its transaction",
            T::SPEC.topic
        );
        // A payload that cannot be encoded is a fault of its type, found by any test of it.
        let Ok(payload) = encode(payload) else { return };
        self.hub.emit_volatile(NewEvent {
            source: Arc::clone(&self.service),
            topic: Arc::from(T::SPEC.topic),
            session,
            payload: Some(payload),
        });
    }
}
