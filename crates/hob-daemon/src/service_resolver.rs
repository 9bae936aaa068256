//! Reaches managed services over the bus, and counts their use.
//!
//! Invariant: a service is in use from the moment it is reached until the call ends, however it
//! ends. The idle stop asks [`ServiceUseCounts`].

use hob_bus::{Bus, Caller};
use hob_kit::secret::Secret;
use hob_models::{ServiceEndpoint, ServiceEndpointFuture, ServiceResolver};
use hob_wire::rooms::service::{Reach as ReachMethod, ServiceSelector};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Calls in progress by service. A std mutex, because it is held for a lookup.
#[derive(Clone, Debug, Default)]
pub struct ServiceUseCounts(Arc<Mutex<BTreeMap<String, usize>>>);

/// Reaches managed services through the service room.
#[derive(Clone, Debug)]
pub struct BusServiceResolver {
    caller: Caller,
    uses: ServiceUseCounts,
}

/// Marks a call in progress; dropping it ends the use.
#[derive(Debug)]
struct ServiceLease {
    uses: ServiceUseCounts,
    service: String,
}

impl ServiceUseCounts {
    /// True if a call of that service is in progress.
    pub fn is_busy(&self, service: &str) -> bool {
        self.counts().contains_key(service)
    }

    fn start_use(&self, service: &str) -> ServiceLease {
        *self.counts().entry(service.to_owned()).or_default() += 1;
        ServiceLease {
            uses: self.clone(),
            service: service.to_owned(),
        }
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, usize>> {
        // A count changes in one step, so a panic elsewhere leaves it correct.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BusServiceResolver {
    pub fn new(bus: &Bus, uses: ServiceUseCounts) -> BusServiceResolver {
        BusServiceResolver {
            caller: bus.caller("services-door"),
            uses,
        }
    }
}

impl ServiceResolver for BusServiceResolver {
    fn reach<'a>(&'a self, service: &'a str) -> ServiceEndpointFuture<'a> {
        Box::pin(async move {
            // Taken before the request, so that the service is not stopped between the reply and
            // the call.
            let lease = self.uses.start_use(service);
            let params = ServiceSelector {
                name: service.to_owned(),
            };
            let reached = self.caller.call::<ReachMethod>(&params).await;
            let reached = reached.map_err(|error| error.message)?;
            Ok(ServiceEndpoint {
                url: reached.url,
                password: reached.password.map(Secret::new),
                server: reached.server,
                lease: Some(Box::new(lease)),
            })
        })
    }
}

impl Drop for ServiceLease {
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
#[path = "service_resolver_tests.rs"]
mod tests;
