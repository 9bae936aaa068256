//! `gateway.*`: the methods the bus answers itself. Those that change subscriptions are answered
//! by the pump, so that the answer stands before the first event.

use crate::describe::describe;
use crate::filter;
use crate::hub::{Hub, encode_error, stopping};
use crate::inspect::inspect;
use crate::party::Party;
use crate::peer::Closed;
use crate::pending::Waiting;
use crate::pump::{Command, PumpGone, Reply, Subscription};
use crate::room::{decode, encode};
use crate::since::Since;
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

/// Methods whose own rules decide, because a `service:NAME` credential has no rank.
pub(crate) fn open_to_all(method: &str) -> bool {
    [REGISTER, SUBSCRIBE, UNSUBSCRIBE, AUTH].contains(&method)
}

/// Answers a request to the bus.
pub(crate) async fn serve(hub: &Arc<Hub>, waiting: Waiting, params: Option<Bytes>) {
    let caller = Arc::clone(&waiting.caller);
    let params = params.as_deref();
    let answer = match &*waiting.method.name {
        REGISTER => return register(hub, waiting, params).await,
        SUBSCRIBE => return subscribe(hub, waiting, params).await,
        UNSUBSCRIBE => return unsubscribe(hub, waiting, params).await,
        INSPECT => answer::<gateway::Inspect>(params, |_| Ok(inspect(hub))),
        STATS => answer::<gateway::Stats>(params, |_| Ok(hub.counters())),
        DESCRIBE => answer::<gateway::Describe>(params, |asked| describe(hub, &asked)),
        TRACE => answer::<gateway::Trace>(params, |asked| {
            let spans = hub.traces.spans(asked.trace.as_deref());
            Ok(gateway::Traced { spans })
        }),
        AUTH => answer::<gateway::Auth>(params, |_| Ok(identity(&caller))),
        other => {
            let message = format!("'{other}' is declared but not answered");
            Err(WireError::new(ErrorCode::Internal, message))
        }
    };
    conclude(hub, waiting, answer);
}

fn answer<M: Method>(
    params: Option<&[u8]>,
    work: impl FnOnce(M::Params) -> Result<M::Result, WireError>,
) -> Result<Bytes, WireError> {
    encode(&work(decode(params)?)?)
}

async fn register(hub: &Arc<Hub>, waiting: Waiting, params: Option<&[u8]>) {
    match claim(hub, &waiting.caller, params) {
        Err(error) => conclude(hub, waiting, Err(error)),
        Ok((filters, table)) => {
            let subscription = Subscription {
                party: Arc::clone(&waiting.caller),
                filters,
                since: None,
                reply: Reply::Registered(waiting, table),
            };
            hand_over(hub, Command::Subscribe(subscription)).await;
        }
    }
}

/// Puts a service into the routing table; answers its subscriptions and the table.
fn claim(
    hub: &Arc<Hub>,
    party: &Arc<Party>,
    params: Option<&[u8]>,
) -> Result<(Vec<filter::Filter>, Bytes), WireError> {
    let params: gateway::RegisterParams = decode(params)?;
    needs_outbox(party)?;
    let scopes = &party.peer.scopes;
    let filters = {
        let routes = hub.registry.routes();
        filter::parse(&params.subscriptions, None, scopes, &routes)?
    };
    let claimed = hub.registry.claim(&params, party)?;
    if let Some(former) = claimed.former {
        hub.announce::<gateway::ServiceDisconnected>(&former.service);
    }
    if let Some(replaced) = claimed.replaced {
        hub.announce::<gateway::ServiceDisconnected>(&params.service);
        hub.close(&replaced, Closed::Replaced);
    }
    hub.announce::<gateway::ServiceConnected>(&params.service);
    Ok((filters, encode(&hub.registry.table())?))
}

async fn subscribe(hub: &Arc<Hub>, waiting: Waiting, params: Option<&[u8]>) {
    match read_subscription(hub, &waiting.caller, params) {
        Err(error) => conclude(hub, waiting, Err(error)),
        Ok((filters, since)) => {
            let subscription = Subscription {
                party: Arc::clone(&waiting.caller),
                filters,
                since,
                reply: Reply::Subscribed(waiting),
            };
            hand_over(hub, Command::Subscribe(subscription)).await;
        }
    }
}

fn read_subscription(
    hub: &Hub,
    party: &Party,
    params: Option<&[u8]>,
) -> Result<(Vec<filter::Filter>, Option<Since>), WireError> {
    let params: gateway::SubscribeParams = decode(params)?;
    needs_outbox(party)?;
    if params.events.is_empty() {
        let message = "`events` names no topic; `*` means all";
        return Err(WireError::new(ErrorCode::InvalidParams, message));
    }
    let session = params.session_key.as_deref();
    let routes = hub.registry.routes();
    let filters = filter::parse(&params.events, session, &party.peer.scopes, &routes)?;
    let log_id = params.log_id;
    let since = params.since.map(|seq| Since { seq, log_id });
    Ok((filters, since))
}

async fn unsubscribe(hub: &Arc<Hub>, waiting: Waiting, params: Option<&[u8]>) {
    match decode::<gateway::UnsubscribeParams>(params) {
        Err(error) => conclude(hub, waiting, Err(error)),
        Ok(params) => {
            let patterns = params.events;
            hand_over(hub, Command::Unsubscribe { patterns, waiting }).await;
        }
    }
}

/// Leaves the rest to the pump; a request that comes after it stopped is told so.
async fn hand_over(hub: &Hub, command: Command) {
    let Err(PumpGone(command)) = hub.pump.send(command).await else {
        return;
    };
    let waiting = match command {
        Command::Subscribe(subscription) => match subscription.reply {
            Reply::Subscribed(waiting) | Reply::Registered(waiting, _) => waiting,
            Reply::Nobody => return,
        },
        Command::Unsubscribe { waiting, .. } => waiting,
        Command::Forget(_) | Command::Emit(_) | Command::Resume(_) => return,
    };
    conclude(hub, waiting, Err(stopping()));
}

fn conclude(hub: &Hub, waiting: Waiting, answer: Result<Bytes, WireError>) {
    let answer = answer.map(Some).map_err(|error| encode_error(&error));
    if let Err(slow) = hub.conclude(waiting, answer) {
        hub.retire(slow, Closed::Slow);
    }
}

fn needs_outbox(party: &Party) -> Result<(), WireError> {
    if party.outbox().is_some() {
        return Ok(());
    }
    let message = "this needs a connection that stays open: use the WebSocket or the unix socket";
    Err(WireError::new(ErrorCode::InvalidParams, message))
}

fn identity(party: &Party) -> gateway::Authenticated {
    gateway::Authenticated {
        name: party.peer.name.clone(),
        scopes: party.peer.scopes.to_texts(),
        protocol: PROTOCOL_VERSION,
    }
}
