//! The list of connections and callers, with a bound on those from outside.

use crate::party::{Home, Party};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct Parties {
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    by_id: BTreeMap<u64, Arc<Party>>,
    outside: usize,
}

impl Parties {
    /// Lists a party; false when there are `outside_max` from outside already.
    pub(crate) fn insert(&self, party: &Arc<Party>, outside_max: usize) -> bool {
        let mut state = self.state();
        if party.home == Home::Outside {
            if state.outside >= outside_max {
                return false;
            }
            state.outside += 1;
        }
        state.by_id.insert(party.id, Arc::clone(party));
        true
    }

    pub(crate) fn remove(&self, id: u64) {
        let mut state = self.state();
        if let Some(party) = state.by_id.remove(&id)
            && party.home == Home::Outside
        {
            state.outside -= 1;
        }
    }

    pub(crate) fn find(&self, id: u64) -> Option<Arc<Party>> {
        self.state().by_id.get(&id).cloned()
    }

    /// Connections from outside.
    pub(crate) fn outside(&self) -> usize {
        self.state().outside
    }

    pub(crate) fn all(&self) -> Vec<Arc<Party>> {
        self.state().by_id.values().cloned().collect()
    }

    /// The newest, newest first.
    pub(crate) fn newest(&self, limit: usize) -> Vec<Arc<Party>> {
        let state = self.state();
        state.by_id.values().rev().take(limit).cloned().collect()
    }

    pub(crate) fn of_principal(&self, principal: &str) -> Vec<Arc<Party>> {
        let state = self.state();
        let theirs =
            |party: &&Arc<Party>| party.home == Home::Outside && party.peer.principal == principal;
        state.by_id.values().filter(theirs).cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
