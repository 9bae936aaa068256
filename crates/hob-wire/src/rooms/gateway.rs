//! `gateway.*`: the methods and events of the bus itself. Adding a service never changes them.

use crate::error::ErrorCode;
use crate::event::{Durability, events};
use crate::method::{CliExposure, Idempotency, methods};
use crate::scope::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

methods! { "gateway";
    /// Registers this connection as a service and returns the routing table.
    ///
    /// Needs scope `admin` or `service:NAME`; the latter may offer only methods and events under
    /// `NAME.`. Names of built-in services are reserved. A service that reconnects with the same
    /// credential takes over the routes of its previous connection, which is closed. Connections of
    /// one credential may share a name as long as one of them at the most offers methods.
    Register = "gateway.register" {
        params: GatewayRegisterParams, result: RoutingTable, scope: Read, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Subscribes this connection to topics; `run.*` and `*` are wildcards.
    ///
    /// Returns the `seq` after which events follow. With `since`, the logged events after that one
    /// come first; this is allowed only while the connection has no subscription. If the log does
    /// not contain `since`, because older files were restored, `gateway.gap` is sent and new events
    /// follow. Send `logId` with `since`, because a restored log reuses numbers.
    Subscribe = "gateway.subscribe" {
        params: GatewaySubscribeParams, result: GatewaySubscribeResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Ends the named subscriptions of this connection, or all.
    Unsubscribe = "gateway.unsubscribe" {
        params: GatewayUnsubscribeParams, result: GatewayUnsubscribeResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Shows all services and connections.
    Inspect = "gateway.inspect" {
        params: GatewayInspectParams, result: GatewayInspectResult, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&[]),
    }
    /// Counts services, connections, requests and events.
    Stats = "gateway.stats" {
        params: GatewayStatsParams, result: GatewayCounters, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&[]),
    }
    /// Describes methods, events, error codes and limits, with their schemas.
    Describe = "gateway.describe" {
        params: GatewayDescribeParams, result: GatewayDescribeResult, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&["method"]),
    }
    /// Shows the latest requests that carried a trace id, with their timings.
    Trace = "gateway.trace" {
        params: GatewayTraceParams, result: GatewayTraceResult, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&["trace"]),
    }
    /// Presents a token on a transport without headers: the first line on the unix socket.
    Auth = "gateway.auth" {
        params: GatewayAuthParams, result: GatewayAuthResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
}

events! { "gateway";
    /// A service registered.
    ServiceConnected = "service.connected" {
        payload: ServiceConnectionPayload, scope: Read, durability: Volatile,
    }
    /// A service disconnected. Its routes are removed and its pending calls have failed.
    ServiceDisconnected = "service.disconnected" {
        payload: ServiceConnectionPayload, scope: Read, durability: Volatile,
    }
    /// Logged events `from` to `to` cannot be delivered to this connection.
    ///
    /// After the reasons `slow` and `unreadable` the connection is closed; subscribe again to get
    /// the events. After `otherLog`, discard all state that was built from events and read it
    /// again: the daemon's files were replaced.
    Gap = "gateway.gap" {
        payload: GapRange, scope: Read, durability: Volatile,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayRegisterParams {
    /// The service's name.
    pub service: String,
    #[serde(default)]
    pub version: String,
    /// Methods it answers.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Events it emits.
    #[serde(default)]
    pub events: Vec<String>,
    /// The volatile ones of `events`; the others are logged.
    #[serde(default)]
    pub volatile: Vec<String>,
    /// Topics it wants to receive.
    #[serde(default)]
    pub subscriptions: Vec<String>,
}

/// All services, methods and events that are available now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoutingTable {
    pub services: Vec<String>,
    pub methods: Vec<String>,
    pub events: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewaySubscribeParams {
    /// Topics or patterns: `session.message`, `run.*`, `*`.
    pub events: Vec<String>,
    /// Only events of this session, by key or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// Replays the logged events after this `seq` first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// The `logId` of the subscription in which the event `since` was received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_id: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySubscribeResult {
    /// The last logged event when the subscription began.
    pub seq: u64,
    /// The id of the log that the `seq` numbers of this connection belong to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_id: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayUnsubscribeParams {
    /// The patterns to end, as subscribed; all when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayUnsubscribeResult {
    /// The patterns still subscribed to.
    pub remaining: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayInspectParams {}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayInspectResult {
    pub services: Vec<ServiceInfo>,
    /// The newest connections, at most 200.
    pub connections: Vec<ConnectionInfo>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceInfo {
    pub name: String,
    pub version: String,
    /// True if it is part of the daemon. Its names are reserved.
    pub builtin: bool,
    pub methods: Vec<String>,
    pub events: Vec<String>,
    pub subscriptions: Vec<String>,
    pub pending_requests: u64,
    /// The connection that serves it; missing for a built-in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionInfo {
    pub id: u64,
    /// The name of the token or of the service.
    pub name: String,
    /// The surface it came by: `ws`, `unix`, `http`, a dialect, `house` (the daemon itself).
    pub surface: String,
    pub scopes: Vec<String>,
    pub connected_at: u64,
    pub outbox_frames: u64,
    pub subscriptions: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayStatsParams {}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayCounters {
    /// The time since the daemon started, in milliseconds.
    pub uptime: u64,
    /// Registered services.
    pub services: u64,
    pub connections: u64,
    /// Requests forwarded and not yet answered.
    pub pending_requests: u64,
    /// The last logged event.
    pub seq: u64,
    pub requests_total: u64,
    pub errors_total: u64,
    pub events_total: u64,
    /// Volatile events that were dropped for slow consumers.
    pub coalesced_total: u64,
    /// Connections closed because they could not keep up.
    pub slow_closed_total: u64,
    /// Answers without a matching request on their connection: forged, or after the timeout.
    #[serde(default)]
    pub stray_answers_total: u64,
    /// Panics in handlers of built-in services. Each failed only its own request.
    #[serde(default)]
    pub handler_panics_total: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayDescribeParams {
    /// Only this method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayDescribeResult {
    pub protocol: u32,
    pub version: String,
    /// The id of the daemon's event log; see `gateway.subscribe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_id: Option<String>,
    pub limits: std::collections::BTreeMap<String, u64>,
    pub errors: Vec<ErrorDescription>,
    pub methods: Vec<MethodDescription>,
    pub events: Vec<EventDescription>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorDescription {
    pub code: ErrorCode,
    pub summary: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MethodDescription {
    pub name: String,
    pub service: String,
    pub summary: String,
    /// Missing, like the schemas, for a method of an external service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Idempotency>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventDescription {
    pub topic: String,
    pub service: String,
    pub summary: String,
    pub durability: Durability,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayTraceParams {
    /// The trace id; the latest requests of all traces when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayTraceResult {
    pub spans: Vec<TraceSpan>,
}

/// One request, as recorded by the router.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceSpan {
    pub trace: String,
    pub method: String,
    /// The service that answered.
    pub service: String,
    /// The name of the calling connection.
    pub caller: String,
    pub started_at: u64,
    pub micros: u64,
    /// The error; missing if it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayAuthParams {
    pub token: String,
    /// The protocol version of the peer; 1 when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayAuthResult {
    pub name: String,
    pub scopes: Vec<String>,
    pub protocol: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceConnectionPayload {
    pub service: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GapRange {
    pub from: u64,
    pub to: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<GapReason>,
}

/// The reason why events cannot be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GapReason {
    /// They are older than the log's retention.
    Expired,
    /// The consumer was too slow.
    Slow,
    /// The event is larger than the frame limit.
    TooLarge,
    /// The log cannot be read now.
    Unreadable,
    /// The log does not contain the event `since`, because older files were restored.
    OtherLog,
    /// A reason from a newer version.
    #[serde(other)]
    Unknown,
}
