//! What `gateway.inspect` and `gateway.stats` show.

use crate::hub::Hub;
use crate::party::Party;
use crate::routes::Service;
use hob_wire::rooms::gateway::{ConnectionInfo, Counters, Inspection, ServiceInfo};

/// Connections shown.
const CONNECTIONS_SHOWN: usize = 200;

pub(crate) fn inspect(hub: &Hub) -> Inspection {
    let routes = hub.registry.routes();
    let newest = hub.parties.newest(CONNECTIONS_SHOWN);
    Inspection {
        services: routes.services.values().map(service_info).collect(),
        connections: newest.iter().map(|party| connection_info(party)).collect(),
    }
}

impl Hub {
    pub(crate) fn counters(&self) -> Counters {
        let tally = &self.tally;
        let services = self.registry.routes().services.len();
        Counters {
            uptime: self.clock.monotonic_ms().saturating_sub(self.started_ms),
            services: count(services),
            connections: count(self.parties.outside()),
            pending_requests: tally.pending.get(),
            seq: tally.seq.get(),
            requests_total: tally.requests.get(),
            errors_total: tally.errors.get(),
            events_total: tally.events.get(),
            coalesced_total: tally.coalesced.get(),
            slow_closed_total: tally.slow_closed.get(),
            stray_answers_total: tally.stray_answers.get(),
            handler_panics_total: tally.handler_panics.get(),
        }
    }
}

fn service_info(service: &Service) -> ServiceInfo {
    let offer = &service.offer;
    let owner = service.owner.as_deref();
    let mut hears = offer.hears.clone();
    hears.extend(
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
        subscriptions: hears,
        pending_requests: owner.map_or(0, |it| count(it.pending.len())),
        connection: owner.filter(|_| !offer.builtin).map(|it| it.id),
    }
}

fn connection_info(party: &Party) -> ConnectionInfo {
    let service = party.offer.load();
    let name = service
        .as_ref()
        .map_or(&*party.name, |offer| &*offer.service);
    ConnectionInfo {
        id: party.id,
        name: name.to_owned(),
        surface: party.peer.surface.to_owned(),
        scopes: party.peer.scopes.to_texts(),
        connected_at: party.connected_at,
        outbox_frames: party.outbox().map_or(0, |outbox| count(outbox.len())),
        subscriptions: party.filters.load().patterns(),
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
