//! `gateway.*`: what the bus itself answers. Adding a service never changes these.

use crate::error::ErrorCode;
use crate::event::{Durability, events};
use crate::method::{Cli, Effect, methods};
use crate::scope::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

methods! { "gateway";
    /// Registers this connection as a service and answers the routing table.
    ///
    /// Needs scope `admin` or `service:NAME`; the latter may offer only methods and events under
    /// `NAME.`. Names of built-in services are never given away. A service that connects again
    /// with the same credential takes its routes back from its former connection.
    Register = "gateway.register" {
        params: RegisterParams, result: RoutingTable, scope: Read, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Subscribes this connection to topics; `run.*` and `*` are wildcards.
    ///
    /// Answers the `seq` after which events follow. With `since` the logged events after that
    /// one come first; it may be given only while the connection has no subscription. A `since`
    /// that the log does not lead up to, because older files were restored, is answered by
    /// `gateway.gap`, and what is new follows: give `logId` with it, since numbers are then given
    /// again.
    Subscribe = "gateway.subscribe" {
        params: SubscribeParams, result: Subscribed, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Ends subscriptions of this connection: those named, or all.
    Unsubscribe = "gateway.unsubscribe" {
        params: UnsubscribeParams, result: Unsubscribed, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Shows every service and connection.
    Inspect = "gateway.inspect" {
        params: InspectParams, result: Inspection, scope: Read, effect: Pure,
        cli: Cli::Verb(&[]),
    }
    /// Counts services, connections, requests and events.
    Stats = "gateway.stats" {
        params: StatsParams, result: Counters, scope: Read, effect: Pure,
        cli: Cli::Verb(&[]),
    }
    /// Describes methods, events, error codes and limits, with their schemas.
    Describe = "gateway.describe" {
        params: DescribeParams, result: Description, scope: Read, effect: Pure,
        cli: Cli::Verb(&["method"]),
    }
    /// Shows the latest requests that carried a trace id, with their timings.
    Trace = "gateway.trace" {
        params: TraceParams, result: Traced, scope: Read, effect: Pure,
        cli: Cli::Verb(&["trace"]),
    }
    /// Presents a token on a transport without headers: the first line on the unix socket.
    Auth = "gateway.auth" {
        params: AuthParams, result: Authenticated, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
}

events! { "gateway";
    /// A service registered.
    ServiceConnected = "service.connected" {
        payload: ServiceNamed, scope: Read, durability: Volatile,
    }
    /// A service went away; its routes are gone and its waiting callers were told.
    ServiceDisconnected = "service.disconnected" {
        payload: ServiceNamed, scope: Read, durability: Volatile,
    }
    /// Logged events `from` to `to` cannot be delivered to this connection.
    ///
    /// `reason` says why. After `slow` and `unreadable` the connection is closed, and the events
    /// can be had by subscribing again. After `otherLog` everything that was learnt from events
    /// is to be read anew: the daemon's files are not those that it was learnt from.
    Gap = "gateway.gap" {
        payload: GapRange, scope: Read, durability: Volatile,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegisterParams {
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
    /// Which of `events` are volatile; the others are logged.
    #[serde(default)]
    pub volatile: Vec<String>,
    /// Topics it wants to receive.
    #[serde(default)]
    pub subscriptions: Vec<String>,
}

/// Every name that can be reached now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoutingTable {
    pub services: Vec<String>,
    pub methods: Vec<String>,
    pub events: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubscribeParams {
    /// Topics or patterns: `session.message`, `run.*`, `*`.
    pub events: Vec<String>,
    /// Only events of this session, by key or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// Replay the logged events after this `seq` first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// The `logId` of the subscription in which the event `since` was received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_id: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subscribed {
    /// The last logged event when the subscription began.
    pub seq: u64,
    /// Names the log that the numbers of this connection's events belong to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_id: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnsubscribeParams {
    /// The patterns to end, as they were given; all when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unsubscribed {
    /// The patterns still subscribed to.
    pub remaining: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InspectParams {}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    pub services: Vec<ServiceInfo>,
    /// The newest connections, at most 200 of them.
    pub connections: Vec<ConnectionInfo>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceInfo {
    pub name: String,
    pub version: String,
    /// Part of the daemon: its names cannot be taken.
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
    /// Who it is: the token's name, or the service's.
    pub name: String,
    /// How it came: `ws`, `unix`, `http`, `vargos`, `house`.
    pub surface: String,
    pub scopes: Vec<String>,
    pub connected_at: u64,
    pub outbox_frames: u64,
    pub subscriptions: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StatsParams {}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counters {
    /// Since the daemon started, in milliseconds.
    pub uptime: u64,
    /// Services registered now.
    pub services: u64,
    pub connections: u64,
    /// Requests forwarded and not yet answered.
    pub pending_requests: u64,
    /// The last logged event.
    pub seq: u64,
    pub requests_total: u64,
    pub errors_total: u64,
    pub events_total: u64,
    /// Volatile events left out for slow consumers.
    pub coalesced_total: u64,
    /// Connections closed because they could not keep up.
    pub slow_closed_total: u64,
    /// Answers to no request of their connection: forged, or later than the timeout.
    #[serde(default)]
    pub stray_answers_total: u64,
    /// Handlers of built-in services that panicked; each failed only its request.
    #[serde(default)]
    pub handler_panics_total: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DescribeParams {
    /// Only this method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    pub protocol: u32,
    pub version: String,
    /// Names the event log as this daemon writes it; see `gateway.subscribe`.
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
    /// Missing for a method of an outside service, as are the schemas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
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
pub struct TraceParams {
    /// The trace id; the latest requests of any when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Traced {
    pub spans: Vec<Span>,
}

/// One request as the router saw it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    pub trace: String,
    pub method: String,
    /// The service that answered.
    pub service: String,
    /// Who asked.
    pub caller: String,
    pub started_at: u64,
    pub micros: u64,
    /// Missing when it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuthParams {
    pub token: String,
    /// The wire's version the peer speaks; 1 when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Authenticated {
    pub name: String,
    pub scopes: Vec<String>,
    pub protocol: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceNamed {
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

/// Why events cannot be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GapReason {
    /// They left the log, which keeps events for a while.
    Expired,
    /// This consumer was too slow.
    Slow,
    /// The event is larger than a frame may be.
    TooLarge,
    /// The log cannot be read now.
    Unreadable,
    /// The log does not lead up to the event `since`: older files were restored.
    OtherLog,
    /// A reason that this version does not know.
    #[serde(other)]
    Unknown,
}
