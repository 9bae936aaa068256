//! What `gateway.describe` shows: every name that can be reached, with the schemas of those whose
//! declaration the house has.

use crate::hub::Hub;
use crate::routes::{EventInfo, MethodInfo};
use hob_wire::rooms::gateway::{
    DescribeParams, Description, ErrorDescription, EventDescription, MethodDescription,
};
use hob_wire::{ErrorCode, PROTOCOL_VERSION, WireError, limits};
use serde_json::Value;
use std::collections::BTreeMap;

pub(crate) fn describe(hub: &Hub, asked: &DescribeParams) -> Result<Description, WireError> {
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
    Ok(Description {
        protocol: PROTOCOL_VERSION,
        version: hub.version.clone(),
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

/// Every bound a peer may meet, by the name it has in `limits.rs`, in this wire's spelling.
fn bounds(hub: &Hub) -> BTreeMap<String, u64> {
    let sizes = [
        ("frameBytesMax", limits::FRAME_BYTES_MAX),
        ("unauthenticatedBytesMax", limits::UNAUTHENTICATED_BYTES_MAX),
        ("jsonDepthMax", limits::JSON_DEPTH_MAX),
        ("connectionsMax", hub.limits.connections_max),
        ("outboxFramesMax", hub.limits.outbox_frames_max),
        ("outboxBytesMax", hub.limits.outbox_bytes_max),
        ("pendingRequestsMax", hub.limits.pending_requests_max),
        ("nameBytesMax", limits::NAME_BYTES_MAX),
        ("sessionKeyBytesMax", limits::SESSION_KEY_BYTES_MAX),
        ("subscriptionsMax", limits::SUBSCRIPTIONS_MAX),
        ("registrationsMax", limits::REGISTRATIONS_MAX),
        ("pageBytesMax", limits::PAGE_BYTES_MAX),
        ("messageBytesMax", limits::MESSAGE_BYTES_MAX),
        ("metadataBytesMax", limits::METADATA_BYTES_MAX),
    ];
    let times = [
        ("requestTimeoutMs", hub.limits.request_timeout_ms()),
        ("pingIntervalMs", limits::PING_INTERVAL_MS),
        ("eventLogRowsMax", limits::EVENT_LOG_ROWS_MAX),
        ("eventLogAgeMsMax", limits::EVENT_LOG_AGE_MS_MAX),
        ("pageRowsMax", u64::from(limits::PAGE_ROWS_MAX)),
        ("pageRowsDefault", u64::from(limits::PAGE_ROWS_DEFAULT)),
    ];
    let sizes = sizes.map(|(name, size)| (name, u64::try_from(size).unwrap_or(u64::MAX)));
    let all = sizes.into_iter().chain(times);
    all.map(|(name, bound)| (name.to_owned(), bound)).collect()
}
