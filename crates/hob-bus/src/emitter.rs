//! Volatile events of a built-in service.

use crate::event::SessionTag;
use hob_wire::Topic;

#[derive(Clone, Debug)]
pub struct Emitter {}

impl Emitter {
    pub fn emit<T: Topic>(&self, session: Option<SessionTag>, payload: &T::Payload) {
        let _ = (session, payload);
    }
}
