//! The routing table: who answers a method and who emits an event. A table never changes; a
//! registration makes a new one, so that routing reads it without a lock.

use crate::party::Party;
use hob_wire::rooms::gateway;
use hob_wire::{Durability, EventSpec, MethodSpec, Scope, catalog};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What callers of an outside service's methods need.
const OUTSIDE_METHOD_SCOPE: Scope = Scope::Control;
/// What watchers of an outside service's events need.
const OUTSIDE_EVENT_SCOPE: Scope = Scope::Read;

/// What a service offers.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) service: Arc<str>,
    pub(crate) version: String,
    /// Part of the daemon: its names cannot be taken.
    pub(crate) builtin: bool,
    pub(crate) methods: Vec<Arc<MethodInfo>>,
    pub(crate) events: HashMap<Arc<str>, EventInfo>,
    /// What a built-in service listens to; an outside one's link knows its own.
    pub(crate) hears: Vec<String>,
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

/// A service and who it is. The gateway itself is the one without a party.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub(crate) offer: Arc<Offer>,
    pub(crate) owner: Option<Arc<Party>>,
}

#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) method: Arc<MethodInfo>,
    pub(crate) owner: Option<Arc<Party>>,
}

#[derive(Debug, Default)]
pub(crate) struct Routes {
    pub(crate) services: BTreeMap<Arc<str>, Service>,
    methods: HashMap<Arc<str>, Route>,
}

impl Routes {
    pub(crate) fn new(services: BTreeMap<Arc<str>, Service>) -> Self {
        let mut methods = HashMap::new();
        for service in services.values() {
            for method in &service.offer.methods {
                let route = Route {
                    method: Arc::clone(method),
                    owner: service.owner.clone(),
                };
                methods.insert(Arc::clone(&method.name), route);
            }
        }
        Routes { services, methods }
    }

    pub(crate) fn method(&self, name: &str) -> Option<&Route> {
        self.methods.get(name)
    }

    /// The built-in service that emits `topic`.
    pub(crate) fn builtin_event(&self, topic: &str) -> Option<&Offer> {
        self.builtin()
            .find(|offer| offer.events.contains_key(topic))
    }

    /// What a watcher of `topic` needs, and whether it belongs to a built-in service. An event of
    /// a house without that room (a replay in a bare daemon) keeps the scope it was declared with.
    pub(crate) fn event_scope(&self, topic: &str) -> (Scope, bool) {
        let served = self
            .builtin()
            .find_map(|offer| offer.events.get(topic).map(|event| event.scope));
        match served.or_else(|| catalog::event(topic).map(|spec| spec.scope)) {
            Some(scope) => (scope, true),
            None => (OUTSIDE_EVENT_SCOPE, false),
        }
    }

    fn builtin(&self) -> impl Iterator<Item = &Offer> {
        self.services
            .values()
            .map(|service| &*service.offer)
            .filter(|offer| offer.builtin)
    }
}

impl Offer {
    /// What the bus itself answers and emits.
    pub(crate) fn of_gateway(version: &str) -> Self {
        Offer::builtin("gateway", version, gateway::METHODS, gateway::EVENTS)
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
        Offer {
            version: version.to_owned(),
            builtin: true,
            methods: methods.iter().map(method).collect(),
            events: events.iter().map(event).collect(),
            hears: Vec::new(),
            service: Arc::clone(&service),
        }
    }

    #[must_use]
    pub(crate) fn hearing(mut self, patterns: Vec<String>) -> Self {
        self.hears = patterns;
        self
    }

    pub(crate) fn outside(params: &gateway::RegisterParams) -> Self {
        let service: Arc<str> = Arc::from(params.service.as_str());
        let mut names: Vec<&String> = params.methods.iter().collect();
        names.sort_unstable();
        names.dedup();
        let method = |name: &String| {
            Arc::new(MethodInfo {
                name: Arc::from(name.as_str()),
                service: Arc::clone(&service),
                scope: OUTSIDE_METHOD_SCOPE,
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
                scope: OUTSIDE_EVENT_SCOPE,
                durability,
                spec: None,
            };
            (Arc::from(topic.as_str()), info)
        };
        Offer {
            version: params.version.clone(),
            builtin: false,
            methods: names.into_iter().map(method).collect(),
            events: params.events.iter().map(event).collect(),
            hears: Vec::new(),
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
