//! The routing table: the endpoint that serves each method and the service that emits each event.
//! A table is immutable. A registration builds a new one, so that routing reads without a lock.

use crate::endpoint::Endpoint;
use hob_wire::rooms::gateway;
use hob_wire::{Durability, EventSpec, MethodSpec, Scope, catalog};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The scope required to call methods of an external service.
const EXTERNAL_METHOD_SCOPE: Scope = Scope::Control;
/// The scope required to receive events of an external service.
const EXTERNAL_EVENT_SCOPE: Scope = Scope::Read;

/// The methods and events that a service offers.
#[derive(Debug)]
pub(crate) struct ServiceOffer {
    pub(crate) service: Arc<str>,
    pub(crate) version: String,
    /// Part of the daemon: its names are reserved.
    pub(crate) builtin: bool,
    pub(crate) methods: Vec<Arc<MethodInfo>>,
    pub(crate) events: HashMap<Arc<str>, EventInfo>,
    /// The event patterns of a built-in service. Those of an external one are in its endpoint.
    pub(crate) subscriptions: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct MethodInfo {
    pub(crate) name: Arc<str>,
    pub(crate) service: Arc<str>,
    pub(crate) scope: Scope,
    /// The declaration of a built-in method.
    pub(crate) spec: Option<MethodSpec>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct EventInfo {
    pub(crate) scope: Scope,
    pub(crate) durability: Durability,
    /// The declaration of a built-in event.
    pub(crate) spec: Option<EventSpec>,
}

/// A service and the endpoint that serves it. Only the gateway itself has no endpoint.
#[derive(Clone, Debug)]
pub(crate) struct RegisteredService {
    pub(crate) offer: Arc<ServiceOffer>,
    pub(crate) owner: Option<Arc<Endpoint>>,
}

#[derive(Debug)]
pub(crate) struct MethodRoute {
    pub(crate) method: Arc<MethodInfo>,
    pub(crate) owner: Option<Arc<Endpoint>>,
}

/// A service name and the endpoint that registered it; 0 for the gateway itself.
pub(crate) type ServiceKey = (Arc<str>, u64);

/// Several connections may have one name. Invariant: at most one of them owns methods.
#[derive(Debug, Default)]
pub(crate) struct RouteTable {
    pub(crate) services: BTreeMap<ServiceKey, RegisteredService>,
    methods: HashMap<Arc<str>, MethodRoute>,
}

impl RouteTable {
    pub(crate) fn new(services: BTreeMap<ServiceKey, RegisteredService>) -> Self {
        let mut methods = HashMap::new();
        for service in services.values() {
            for method in &service.offer.methods {
                let route = MethodRoute {
                    method: Arc::clone(method),
                    owner: service.owner.clone(),
                };
                methods.insert(Arc::clone(&method.name), route);
            }
        }
        RouteTable { services, methods }
    }

    pub(crate) fn method(&self, name: &str) -> Option<&MethodRoute> {
        self.methods.get(name)
    }

    /// Every registration under a service name.
    pub(crate) fn holders(&self, name: &str) -> impl Iterator<Item = &RegisteredService> {
        holders(&self.services, name)
    }

    /// The built-in service that emits `topic`.
    pub(crate) fn builtin_event(&self, topic: &str) -> Option<&ServiceOffer> {
        self.builtin()
            .find(|offer| offer.events.contains_key(topic))
    }

    /// Returns the scope required to receive `topic`, and whether a built-in service owns it.
    pub(crate) fn event_scope(&self, topic: &str) -> (Scope, bool) {
        let served = self
            .builtin()
            .find_map(|offer| offer.events.get(topic).map(|event| event.scope));
        // A daemon without that room (a bare one that replays the log) falls back to the declared
        // scope. Otherwise its logged events would become readable with `read`.
        match served.or_else(|| catalog::event(topic).map(|spec| spec.scope)) {
            Some(scope) => (scope, true),
            None => (EXTERNAL_EVENT_SCOPE, false),
        }
    }

    fn builtin(&self) -> impl Iterator<Item = &ServiceOffer> {
        self.services
            .values()
            .map(|service| &*service.offer)
            .filter(|offer| offer.builtin)
    }
}

/// Every registration under a service name.
pub(crate) fn holders<'t>(
    services: &'t BTreeMap<ServiceKey, RegisteredService>,
    name: &str,
) -> impl Iterator<Item = &'t RegisteredService> {
    let first: ServiceKey = (Arc::from(name), 0);
    let last: ServiceKey = (Arc::clone(&first.0), u64::MAX);
    services.range(first..=last).map(|(_, service)| service)
}

impl ServiceOffer {
    /// The methods and events of the bus itself.
    pub(crate) fn of_gateway(version: &str) -> Self {
        ServiceOffer::builtin("gateway", version, gateway::METHODS, gateway::EVENTS)
    }

    pub(crate) fn builtin(
        service: &str,
        version: &str,
        methods: &[MethodSpec],
        events: &[EventSpec],
    ) -> Self {
        let service: Arc<str> = Arc::from(service);
        let method = |spec: &MethodSpec| {
            Arc::new(MethodInfo {
                name: Arc::from(spec.name),
                service: Arc::clone(&service),
                scope: spec.scope,
                spec: Some(*spec),
            })
        };
        let event = |spec: &EventSpec| {
            let info = EventInfo {
                scope: spec.scope,
                durability: spec.durability,
                spec: Some(*spec),
            };
            (Arc::from(spec.topic), info)
        };
        ServiceOffer {
            version: version.to_owned(),
            builtin: true,
            methods: methods.iter().map(method).collect(),
            events: events.iter().map(event).collect(),
            subscriptions: Vec::new(),
            service: Arc::clone(&service),
        }
    }

    #[must_use]
    pub(crate) fn with_subscriptions(mut self, patterns: Vec<String>) -> Self {
        self.subscriptions = patterns;
        self
    }

    pub(crate) fn external(params: &gateway::GatewayRegisterParams) -> Self {
        let service: Arc<str> = Arc::from(params.service.as_str());
        let mut names: Vec<&String> = params.methods.iter().collect();
        // A client may name a method twice; the offer lists it once.
        names.sort_unstable();
        names.dedup();
        let method = |name: &String| {
            Arc::new(MethodInfo {
                name: Arc::from(name.as_str()),
                service: Arc::clone(&service),
                scope: EXTERNAL_METHOD_SCOPE,
                spec: None,
            })
        };
        let event = |topic: &String| {
            let durability = if params.volatile.contains(topic) {
                Durability::Volatile
            } else {
                Durability::Logged
            };
            let info = EventInfo {
                scope: EXTERNAL_EVENT_SCOPE,
                durability,
                spec: None,
            };
            (Arc::from(topic.as_str()), info)
        };
        ServiceOffer {
            version: params.version.clone(),
            builtin: false,
            methods: names.into_iter().map(method).collect(),
            events: params.events.iter().map(event).collect(),
            subscriptions: Vec::new(),
            service: Arc::clone(&service),
        }
    }

    pub(crate) fn method_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .methods
            .iter()
            .map(|info| info.name.to_string())
            .collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn topics(&self) -> Vec<String> {
        let mut topics: Vec<String> = self.events.keys().map(ToString::to_string).collect();
        topics.sort_unstable();
        topics
    }
}
