//! Who offers what now. Reading is one atomic load; writers take turns and swap the whole table.
//!
//! Invariant: a closed party is never in the table. It is marked closed before it is withdrawn,
//! and a claim looks at the mark while it holds the lock.

use crate::party::Party;
use crate::registration;
use crate::routes::{Offer, Routes, Service};
use arc_swap::{ArcSwap, Guard};
use hob_wire::rooms::gateway::{RegisterParams, RoutingTable};
use hob_wire::{ErrorCode, WireError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(crate) struct Registry {
    routes: ArcSwap<Routes>,
    /// Writers take turns. A std mutex, because a new table is built without await.
    writing: Mutex<()>,
}

/// What a registration changed beside the table.
#[derive(Debug, Default)]
pub(crate) struct Claimed {
    /// The former connection of the service, to be closed.
    pub(crate) replaced: Option<Arc<Party>>,
    /// What this connection offered before.
    pub(crate) former: Option<Arc<Offer>>,
}

impl Registry {
    pub(crate) fn new(version: &str) -> Self {
        let gateway = Service {
            offer: Arc::new(Offer::of_gateway(version)),
            owner: None,
        };
        let name = Arc::clone(&gateway.offer.service);
        Registry {
            routes: ArcSwap::from_pointee(Routes::new(BTreeMap::from([(name, gateway)]))),
            writing: Mutex::new(()),
        }
    }

    pub(crate) fn routes(&self) -> Guard<Arc<Routes>> {
        self.routes.load()
    }

    /// Adds a built-in service.
    pub(crate) fn admit(&self, offer: Offer, owner: Arc<Party>) -> Result<(), WireError> {
        let _writing = self.writing();
        let routes = self.routes.load();
        let taken = |what: &str| {
            let message = format!("'{what}' is offered already");
            Err(WireError::new(ErrorCode::RegisterFailed, message))
        };
        if routes.services.contains_key(&offer.service) {
            return taken(&offer.service);
        }
        for method in &offer.methods {
            if routes.method(&method.name).is_some() {
                return taken(&method.name);
            }
        }
        for topic in offer.events.keys() {
            if routes.builtin_event(topic).is_some() {
                return taken(topic);
            }
        }
        let mut services = routes.services.clone();
        self.put(&mut services, offer, owner);
        Ok(())
    }

    /// Registers an outside service on its connection.
    pub(crate) fn claim(
        &self,
        params: &RegisterParams,
        party: &Arc<Party>,
    ) -> Result<Claimed, WireError> {
        registration::check_form(params, &party.peer.scopes)?;
        let _writing = self.writing();
        if party.is_closed() {
            let message = "the connection is closed";
            return Err(WireError::new(ErrorCode::RegisterFailed, message));
        }
        let routes = self.routes.load();
        let replaced = registration::check_free(params, party, &routes)?;
        let former = party.offer.load_full();
        let mut services = routes.services.clone();
        if let Some(former) = &former {
            services.remove(&former.service);
        }
        self.put(&mut services, Offer::outside(params), Arc::clone(party));
        if let Some(replaced) = &replaced {
            replaced.offer.store(None);
        }
        Ok(Claimed { replaced, former })
    }

    /// Takes a party's service out of the table; answers what it offered.
    pub(crate) fn withdraw(&self, party: &Party) -> Option<Arc<Offer>> {
        let _writing = self.writing();
        let offer = party.offer.swap(None)?;
        let mut services = self.routes.load().services.clone();
        services.remove(&offer.service);
        self.routes.store(Arc::new(Routes::new(services)));
        Some(offer)
    }

    /// Every name that can be reached now.
    pub(crate) fn table(&self) -> RoutingTable {
        let routes = self.routes.load();
        let mut table = RoutingTable::default();
        for service in routes.services.values() {
            table.services.push(service.offer.service.to_string());
            table.methods.extend(service.offer.method_names());
            table.events.extend(service.offer.topics());
        }
        table.methods.sort_unstable();
        table.events.sort_unstable();
        table.events.dedup();
        table
    }

    fn put(&self, services: &mut BTreeMap<Arc<str>, Service>, offer: Offer, owner: Arc<Party>) {
        let offer = Arc::new(offer);
        owner.offer.store(Some(Arc::clone(&offer)));
        let service = Service {
            owner: Some(owner),
            offer: Arc::clone(&offer),
        };
        services.insert(Arc::clone(&offer.service), service);
        self.routes
            .store(Arc::new(Routes::new(std::mem::take(services))));
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
