//! The way of models and agent to local services: over the bus, like anybody.
//!
//! Invariant: a service is in use from the moment it was reached until the call is over, however
//! that ended; whoever would stop it for being idle asks [`Uses`].

use hob_bus::{Bus, Caller};
use hob_kit::secret::Secret;
use hob_models::{Reach, Reaching, ServiceDoor};
use hob_wire::rooms::service::{NameParams, Reach as ReachMethod};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Calls under way, by service. A std mutex, because it is held for a lookup.
#[derive(Clone, Debug, Default)]
pub struct Uses(Arc<Mutex<BTreeMap<String, usize>>>);

/// The door to the services of the house.
#[derive(Clone, Debug)]
pub struct Door {
    caller: Caller,
    uses: Uses,
}

/// A call under way.
#[derive(Debug)]
struct Lease {
    uses: Uses,
    service: String,
}

impl Uses {
    /// Whether a call of that service is under way.
    pub fn busy(&self, service: &str) -> bool {
        self.counts().contains_key(service)
    }

    fn lease(&self, service: &str) -> Lease {
        *self.counts().entry(service.to_owned()).or_default() += 1;
        Lease {
            uses: self.clone(),
            service: service.to_owned(),
        }
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, usize>> {
        // A count is changed in one step, so a panic elsewhere leaves it true.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Door {
    pub fn new(bus: &Bus, uses: Uses) -> Door {
        Door {
            caller: bus.caller("services-door"),
            uses,
        }
    }
}

impl ServiceDoor for Door {
    fn reach<'a>(&'a self, service: &'a str) -> Reaching<'a> {
        Box::pin(async move {
            // Taken before, so that it is not stopped between the answer and the call.
            let lease = self.uses.lease(service);
            let params = NameParams {
                name: service.to_owned(),
            };
            let reached = self.caller.call::<ReachMethod>(&params).await;
            let reached = reached.map_err(|error| error.message)?;
            Ok(Reach {
                url: reached.url,
                password: reached.password.map(Secret::new),
                server: reached.server,
                lease: Some(Box::new(lease)),
            })
        })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut counts = self.uses.counts();
        if let Some(count) = counts.get_mut(&self.service) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.service);
            }
        }
    }
}

#[cfg(test)]
#[path = "door_tests.rs"]
mod tests;
