//! The result of `gateway.describe`: every registered method and event, with the schemas of the
//! built-in ones.

use crate::hub::Hub;
use crate::route_table::{EventInfo, MethodInfo};
use hob_wire::rooms::gateway::{
    ErrorDescription, EventDescription, GatewayDescribeParams, GatewayDescribeResult,
    MethodDescription,
};
use hob_wire::{ErrorCode, PROTOCOL_VERSION, WireError, limits};
use serde_json::Value;
use std::collections::BTreeMap;

pub(crate) fn describe(
    hub: &Hub,
    asked: &GatewayDescribeParams,
) -> Result<GatewayDescribeResult, WireError> {
    let routes = hub.registry.routes();
    let offers = || routes.services.values().map(|service| &service.offer);
    let wanted = |info: &&std::sync::Arc<MethodInfo>| match &asked.method {
        Some(name) => *info.name == **name,
        None => true,
    };
    let mut methods: Vec<MethodDescription> = offers()
        .flat_map(|offer| &offer.methods)
        .filter(wanted)
        .map(|info| method(info))
        .collect();
    if let Some(name) = &asked.method
        && methods.is_empty()
    {
        let message = format!("no service offers '{name}'");
        return Err(WireError::new(ErrorCode::NotFound, message));
    }
    methods.sort_by(|a, b| a.name.cmp(&b.name));
    let mut events: Vec<EventDescription> = Vec::new();
    if asked.method.is_none() {
        for offer in offers() {
            let of_offer = offer.events.iter();
            events.extend(of_offer.map(|(topic, info)| event(topic, &offer.service, info)));
        }
        events.sort_by(|a, b| (&a.topic, &a.service).cmp(&(&b.topic, &b.service)));
    }
    Ok(GatewayDescribeResult {
        protocol: PROTOCOL_VERSION,
        version: hub.version.clone(),
        log_id: Some(hub.log.id().to_string()),
        limits: bounds(hub),
        errors: ErrorCode::ALL.iter().map(|code| error(*code)).collect(),
        methods,
        events,
    })
}

fn method(info: &MethodInfo) -> MethodDescription {
    MethodDescription {
        name: info.name.to_string(),
        service: info.service.to_string(),
        summary: info.spec.map(|spec| spec.about()).unwrap_or_default(),
        scope: info.spec.map(|spec| spec.scope),
        effect: info.spec.map(|spec| spec.effect),
        params: info.spec.map(|spec| Value::from((spec.params)())),
        result: info.spec.map(|spec| Value::from((spec.result)())),
    }
}

fn event(topic: &str, service: &str, info: &EventInfo) -> EventDescription {
    EventDescription {
        topic: topic.to_owned(),
        service: service.to_owned(),
        summary: info.spec.map(|spec| spec.about()).unwrap_or_default(),
        durability: info.durability,
        scope: info.spec.map(|spec| spec.scope),
        payload: info.spec.map(|spec| Value::from((spec.payload)())),
    }
}

fn error(code: ErrorCode) -> ErrorDescription {
    ErrorDescription {
        code,
        summary: code.summary().to_owned(),
    }
}

/// All limits a peer may meet: those of the protocol, overridden by those of this bus.
fn bounds(hub: &Hub) -> BTreeMap<String, u64> {
    let of = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
    let own = [
        ("connectionsMax", of(hub.limits.connections_max)),
        ("outboxFramesMax", of(hub.limits.outbox_frames_max)),
        ("outboxBytesMax", of(hub.limits.outbox_bytes_max)),
        ("pendingRequestsMax", of(hub.limits.pending_requests_max)),
        ("requestTimeoutMs", hub.limits.request_timeout_ms()),
    ];
    let wire = limits::ALL.iter().map(|limit| (limit.name(), limit.value));
    let own = own.map(|(name, bound)| (name.to_owned(), bound));
    // Later entries win: a bus may be configured with other bounds than the protocol's defaults.
    wire.chain(own).collect()
}
