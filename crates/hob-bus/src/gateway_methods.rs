//! The methods `gateway.*`, which the bus answers itself. The pump answers those that change
//! subscriptions, so that the answer precedes the first event.

use crate::describe::describe;
use crate::endpoint::Endpoint;
use crate::event_filter;
use crate::event_pump::{PumpCommand, PumpGone, SubscribeReply, SubscribeRequest};
use crate::hub::{Hub, encode_error, stopping_error};
use crate::inspect::inspect;
use crate::peer::CloseReason;
use crate::pending_requests::PendingRequest;
use crate::room::{decode, encode};
use crate::since::SincePosition;
use bytes::Bytes;
use hob_wire::rooms::gateway;
use hob_wire::{ErrorCode, Method, PROTOCOL_VERSION, WireError};
use std::sync::Arc;

const REGISTER: &str = gateway::Register::SPEC.name;
const SUBSCRIBE: &str = gateway::Subscribe::SPEC.name;
const UNSUBSCRIBE: &str = gateway::Unsubscribe::SPEC.name;
const INSPECT: &str = gateway::Inspect::SPEC.name;
const STATS: &str = gateway::Stats::SPEC.name;
const DESCRIBE: &str = gateway::Describe::SPEC.name;
const TRACE: &str = gateway::Trace::SPEC.name;
const AUTH: &str = gateway::Auth::SPEC.name;

/// Returns true for methods that check permissions themselves, because a `service:NAME` credential
/// has no rank.
pub(crate) fn is_open_to_all(method: &str) -> bool {
    [REGISTER, SUBSCRIBE, UNSUBSCRIBE, AUTH].contains(&method)
}

/// Answers a request to the bus.
pub(crate) async fn handle(hub: &Arc<Hub>, pending: PendingRequest, params: Option<Bytes>) {
    let caller = Arc::clone(&pending.caller);
    let params = params.as_deref();
    let answer = match &*pending.method.name {
        REGISTER => return register(hub, pending, params).await,
        SUBSCRIBE => return subscribe(hub, pending, params).await,
        UNSUBSCRIBE => return unsubscribe(hub, pending, params).await,
        INSPECT => answer::<gateway::Inspect>(params, |_| Ok(inspect(hub))),
        STATS => answer::<gateway::Stats>(params, |_| Ok(hub.counters())),
        DESCRIBE => answer::<gateway::Describe>(params, |asked| describe(hub, &asked)),
        TRACE => answer::<gateway::Trace>(params, |asked| {
            let spans = hub.traces.spans(asked.trace.as_deref());
            Ok(gateway::GatewayTraceResult { spans })
        }),
        AUTH => answer::<gateway::Auth>(params, |_| Ok(identity(&caller))),
        other => {
            let message = format!("'{other}' is declared but not implemented");
            Err(WireError::new(ErrorCode::Internal, message))
        }
    };
    complete(hub, pending, answer);
}

fn answer<M: Method>(
    params: Option<&[u8]>,
    work: impl FnOnce(M::Params) -> Result<M::Result, WireError>,
) -> Result<Bytes, WireError> {
    encode(&work(decode(params)?)?)
}

async fn register(hub: &Arc<Hub>, pending: PendingRequest, params: Option<&[u8]>) {
    match register_service(hub, &pending.caller, params) {
        Err(error) => complete(hub, pending, Err(error)),
        Ok((filters, table)) => {
            let subscription = SubscribeRequest {
                endpoint: Arc::clone(&pending.caller),
                filters,
                since: None,
                reply: SubscribeReply::Registered(pending, table),
            };
            send_to_pump(hub, PumpCommand::Subscribe(subscription)).await;
        }
    }
}

/// Registers a service. Returns its filters and the encoded routing table.
fn register_service(
    hub: &Arc<Hub>,
    endpoint: &Arc<Endpoint>,
    params: Option<&[u8]>,
) -> Result<(Vec<event_filter::EventFilter>, Bytes), WireError> {
    let params: gateway::GatewayRegisterParams = decode(params)?;
    require_outbox(endpoint)?;
    let scopes = &endpoint.peer.scopes;
    // Parsed first: a registration that is refused must not change the table.
    let filters = {
        let routes = hub.registry.routes();
        event_filter::parse(&params.subscriptions, None, scopes, &routes)?
    };
    let claimed = hub.registry.register(&params, endpoint)?;
    if let Some(departed) = claimed.departed {
        hub.announce::<gateway::ServiceDisconnected>(&departed);
    }
    if let Some(replaced) = claimed.replaced {
        hub.announce::<gateway::ServiceDisconnected>(&params.service);
        // Closed after the swap of the table: no request is without a route in between.
        hub.close(&replaced, CloseReason::Replaced);
    }
    if claimed.arrived {
        hub.announce::<gateway::ServiceConnected>(&params.service);
    }
    Ok((filters, encode(&hub.registry.table())?))
}

async fn subscribe(hub: &Arc<Hub>, pending: PendingRequest, params: Option<&[u8]>) {
    match read_subscription(hub, &pending.caller, params) {
        Err(error) => complete(hub, pending, Err(error)),
        Ok((filters, since)) => {
            let subscription = SubscribeRequest {
                endpoint: Arc::clone(&pending.caller),
                filters,
                since,
                reply: SubscribeReply::Subscribed(pending),
            };
            send_to_pump(hub, PumpCommand::Subscribe(subscription)).await;
        }
    }
}

fn read_subscription(
    hub: &Hub,
    endpoint: &Endpoint,
    params: Option<&[u8]>,
) -> Result<(Vec<event_filter::EventFilter>, Option<SincePosition>), WireError> {
    let params: gateway::GatewaySubscribeParams = decode(params)?;
    require_outbox(endpoint)?;
    if params.events.is_empty() {
        let message = "`events` is empty; use `*` for all events";
        return Err(WireError::new(ErrorCode::InvalidParams, message));
    }
    let session = params.session_key.as_deref();
    let routes = hub.registry.routes();
    let filters = event_filter::parse(&params.events, session, &endpoint.peer.scopes, &routes)?;
    let log_id = params.log_id;
    let since = params.since.map(|seq| SincePosition { seq, log_id });
    Ok((filters, since))
}

async fn unsubscribe(hub: &Arc<Hub>, pending: PendingRequest, params: Option<&[u8]>) {
    match decode::<gateway::GatewayUnsubscribeParams>(params) {
        Err(error) => complete(hub, pending, Err(error)),
        Ok(params) => {
            let patterns = params.events;
            send_to_pump(hub, PumpCommand::Unsubscribe { patterns, pending }).await;
        }
    }
}

/// Sends a command to the pump. If the pump has stopped, answers the request with an error.
async fn send_to_pump(hub: &Hub, command: PumpCommand) {
    let Err(PumpGone(command)) = hub.pump.send(command).await else {
        return;
    };
    let pending = match command {
        PumpCommand::Subscribe(subscription) => match subscription.reply {
            SubscribeReply::Subscribed(pending) | SubscribeReply::Registered(pending, _) => pending,
            SubscribeReply::Nobody => return,
        },
        PumpCommand::Unsubscribe { pending, .. } => pending,
        PumpCommand::Forget(_) | PumpCommand::Emit(_) | PumpCommand::Resume(_) => return,
    };
    complete(hub, pending, Err(stopping_error()));
}

fn complete(hub: &Hub, pending: PendingRequest, answer: Result<Bytes, WireError>) {
    let answer = answer.map(Some).map_err(|error| encode_error(&error));
    // Not `complete_forwarded`: the bus answers these itself and never counted them as pending.
    if let Err(slow) = hub.complete(pending, answer) {
        hub.retire(slow, CloseReason::Slow);
    }
}

fn require_outbox(endpoint: &Endpoint) -> Result<(), WireError> {
    if endpoint.outbox().is_some() {
        return Ok(());
    }
    let message = "this needs a persistent connection: use the WebSocket or the unix socket";
    Err(WireError::new(ErrorCode::InvalidParams, message))
}

fn identity(endpoint: &Endpoint) -> gateway::GatewayAuthResult {
    gateway::GatewayAuthResult {
        name: endpoint.peer.name.clone(),
        scopes: endpoint.peer.scopes.to_strings(),
        protocol: PROTOCOL_VERSION,
    }
}
