//! The registry of services. A read is one atomic load; writers hold a lock and swap the table.
//!
//! Invariant: a closed endpoint is never in the table. It is marked closed before it is withdrawn,
//! and a registration checks the mark while it holds the lock.

use crate::endpoint::Endpoint;
use crate::registration_checks;
use crate::route_table::{RegisteredService, RouteTable, ServiceKey, ServiceOffer, holders};
use arc_swap::{ArcSwap, Guard};
use hob_wire::rooms::gateway::{GatewayRegisterParams, RoutingTable};
use hob_wire::{ErrorCode, WireError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(crate) struct RouteRegistry {
    routes: ArcSwap<RouteTable>,
    /// Serialises writers. A std mutex, because a new table is built without await.
    writer_lock: Mutex<()>,
}

/// The changes that a registration made.
#[derive(Debug, Default)]
pub(crate) struct RegistrationOutcome {
    /// The former connection of the service; the caller closes it.
    pub(crate) replaced: Option<Arc<Endpoint>>,
    /// The service that this connection had registered before, if it is gone now.
    pub(crate) departed: Option<Arc<str>>,
    /// True if the service is new, or was served by another connection.
    pub(crate) arrived: bool,
}

impl RouteRegistry {
    pub(crate) fn new(version: &str) -> Self {
        let gateway = RegisteredService {
            offer: Arc::new(ServiceOffer::of_gateway(version)),
            owner: None,
        };
        let key = (Arc::clone(&gateway.offer.service), 0);
        RouteRegistry {
            routes: ArcSwap::from_pointee(RouteTable::new(BTreeMap::from([(key, gateway)]))),
            writer_lock: Mutex::new(()),
        }
    }

    pub(crate) fn routes(&self) -> Guard<Arc<RouteTable>> {
        self.routes.load()
    }

    /// Adds a built-in service.
    pub(crate) fn add_builtin(
        &self,
        offer: ServiceOffer,
        owner: Arc<Endpoint>,
    ) -> Result<(), WireError> {
        let _guard = self.lock_writer();
        let routes = self.routes.load();
        let taken = |what: &str| {
            let message = format!("'{what}' is already registered");
            Err(WireError::new(ErrorCode::RegisterFailed, message))
        };
        if routes.holders(&offer.service).next().is_some() {
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
        self.insert_service(&mut services, offer, owner);
        Ok(())
    }

    /// Registers an external service on its connection.
    pub(crate) fn register(
        &self,
        params: &GatewayRegisterParams,
        endpoint: &Arc<Endpoint>,
    ) -> Result<RegistrationOutcome, WireError> {
        registration_checks::check_form(params, &endpoint.peer.scopes)?;
        let _guard = self.lock_writer();
        // Checked under the lock: `withdraw` runs after the endpoint is marked closed, so either
        // this sees the mark or `withdraw` sees the new service.
        if endpoint.is_closed() {
            let message = "the connection is closed";
            return Err(WireError::new(ErrorCode::RegisterFailed, message));
        }
        let routes = self.routes.load();
        let replaced = registration_checks::check_available(params, endpoint, &routes)?;
        let mut services = routes.services.clone();
        let departed = endpoint
            .offer
            .load_full()
            .and_then(|former| remove_service(&mut services, &former, endpoint));
        // The old connection must not withdraw the service that now belongs to the new one.
        if let Some(replaced) = &replaced {
            replaced.offer.store(None);
            services.remove(&(Arc::from(params.service.as_str()), replaced.id));
        }
        let offer = ServiceOffer::external(params);
        let arrived =
            !offer.methods.is_empty() || holders(&services, &offer.service).next().is_none();
        self.insert_service(&mut services, offer, Arc::clone(endpoint));
        Ok(RegistrationOutcome {
            replaced,
            departed,
            arrived,
        })
    }

    /// Removes the registration of an endpoint. Returns the service if it is gone with it.
    pub(crate) fn withdraw(&self, endpoint: &Endpoint) -> Option<Arc<str>> {
        let _guard = self.lock_writer();
        // Also `None` after a replacement: the service then belongs to another connection and
        // stays.
        let offer = endpoint.offer.swap(None)?;
        let mut services = self.routes.load().services.clone();
        let departed = remove_service(&mut services, &offer, endpoint);
        self.routes.store(Arc::new(RouteTable::new(services)));
        departed
    }

    /// All services, methods and events that are registered now.
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
        // Two outside services may declare the same event, and two connections may have the same
        // name, whereas a method has one owner.
        table.services.dedup();
        table.events.dedup();
        table
    }

    fn insert_service(
        &self,
        services: &mut BTreeMap<ServiceKey, RegisteredService>,
        offer: ServiceOffer,
        owner: Arc<Endpoint>,
    ) {
        let key = (Arc::clone(&offer.service), owner.id);
        let offer = Arc::new(offer);
        owner.offer.store(Some(Arc::clone(&offer)));
        let service = RegisteredService {
            owner: Some(owner),
            offer,
        };
        services.insert(key, service);
        self.routes
            .store(Arc::new(RouteTable::new(std::mem::take(services))));
    }

    fn lock_writer(&self) -> MutexGuard<'_, ()> {
        self.writer_lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a registration. Returns the service if it is gone with it: if this was the owner of its
/// methods, or the last connection of that name.
fn remove_service(
    services: &mut BTreeMap<ServiceKey, RegisteredService>,
    offer: &ServiceOffer,
    endpoint: &Endpoint,
) -> Option<Arc<str>> {
    services.remove(&(Arc::clone(&offer.service), endpoint.id));
    let is_gone = !offer.methods.is_empty() || holders(services, &offer.service).next().is_none();
    is_gone.then(|| Arc::clone(&offer.service))
}
