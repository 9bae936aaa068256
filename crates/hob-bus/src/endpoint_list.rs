//! The list of connections and callers, with a bound on the external ones.

use crate::endpoint::{Endpoint, EndpointOrigin};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct EndpointList {
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<EndpointTable>,
}

#[derive(Debug, Default)]
struct EndpointTable {
    by_id: BTreeMap<u64, Arc<Endpoint>>,
    external: usize,
}

impl EndpointList {
    /// Adds an endpoint. Returns false if `external_max` external ones are listed already.
    pub(crate) fn insert(&self, endpoint: &Arc<Endpoint>, external_max: usize) -> bool {
        let mut state = self.state();
        if endpoint.origin == EndpointOrigin::External {
            if state.external >= external_max {
                return false;
            }
            state.external += 1;
        }
        state.by_id.insert(endpoint.id, Arc::clone(endpoint));
        true
    }

    pub(crate) fn remove(&self, id: u64) {
        let mut state = self.state();
        if let Some(endpoint) = state.by_id.remove(&id)
            && endpoint.origin == EndpointOrigin::External
        {
            state.external -= 1;
        }
    }

    pub(crate) fn find(&self, id: u64) -> Option<Arc<Endpoint>> {
        self.state().by_id.get(&id).cloned()
    }

    /// The number of external endpoints.
    pub(crate) fn external(&self) -> usize {
        self.state().external
    }

    pub(crate) fn all(&self) -> Vec<Arc<Endpoint>> {
        self.state().by_id.values().cloned().collect()
    }

    /// The newest endpoints, newest first.
    pub(crate) fn newest(&self, limit: usize) -> Vec<Arc<Endpoint>> {
        let state = self.state();
        state.by_id.values().rev().take(limit).cloned().collect()
    }

    pub(crate) fn of_principal(&self, principal: &str) -> Vec<Arc<Endpoint>> {
        let state = self.state();
        let theirs = |endpoint: &&Arc<Endpoint>| {
            // Internal endpoints have no credential that could be revoked.
            endpoint.origin == EndpointOrigin::External && endpoint.peer.principal == principal
        };
        state.by_id.values().filter(theirs).cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, EndpointTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
