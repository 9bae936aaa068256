//! The results of `gateway.inspect` and `gateway.stats`.

use crate::endpoint::Endpoint;
use crate::hub::Hub;
use crate::route_table::RegisteredService;
use hob_wire::rooms::gateway::{
    ConnectionInfo, GatewayCounters, GatewayInspectResult, ServiceInfo,
};

/// Connections that one inspection lists, newest first.
const CONNECTIONS_SHOWN: usize = 200;

pub(crate) fn inspect(hub: &Hub) -> GatewayInspectResult {
    let routes = hub.registry.routes();
    let newest = hub.endpoints.newest(CONNECTIONS_SHOWN);
    GatewayInspectResult {
        services: routes.services.values().map(service_info).collect(),
        connections: newest
            .iter()
            .map(|endpoint| connection_info(endpoint))
            .collect(),
    }
}

impl Hub {
    pub(crate) fn counters(&self) -> GatewayCounters {
        let counters = &self.counters;
        let services = self.registry.routes().services.len();
        GatewayCounters {
            uptime: self.clock.monotonic_ms().saturating_sub(self.started_ms),
            services: count(services),
            connections: count(self.endpoints.external()),
            pending_requests: counters.pending.get(),
            seq: counters.seq.get(),
            requests_total: counters.requests.get(),
            errors_total: counters.errors.get(),
            events_total: counters.events.get(),
            coalesced_total: counters.coalesced.get(),
            slow_closed_total: counters.slow_closed.get(),
            stray_answers_total: counters.stray_answers.get(),
            handler_panics_total: counters.handler_panics.get(),
        }
    }
}

fn service_info(service: &RegisteredService) -> ServiceInfo {
    let offer = &service.offer;
    let owner = service.owner.as_deref();
    let mut subscriptions = offer.subscriptions.clone();
    subscriptions.extend(
        owner
            .map(|it| it.filters.load().patterns())
            .unwrap_or_default(),
    );
    ServiceInfo {
        name: offer.service.to_string(),
        version: offer.version.clone(),
        builtin: offer.builtin,
        methods: offer.method_names(),
        events: offer.topics(),
        subscriptions,
        pending_requests: owner.map_or(0, |it| count(it.pending.len())),
        // The endpoint of a room is no connection, so its id would mean nothing to the reader.
        connection: owner.filter(|_| !offer.builtin).map(|it| it.id),
    }
}

fn connection_info(endpoint: &Endpoint) -> ConnectionInfo {
    let service = endpoint.offer.load();
    let name = service
        .as_ref()
        .map_or(&*endpoint.name, |offer| &*offer.service);
    ConnectionInfo {
        id: endpoint.id,
        name: name.to_owned(),
        surface: endpoint.peer.surface.to_owned(),
        scopes: endpoint.peer.scopes.to_strings(),
        connected_at: endpoint.connected_at,
        outbox_frames: endpoint.outbox().map_or(0, |outbox| count(outbox.len())),
        subscriptions: endpoint.filters.load().patterns(),
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
