//! The outgoing events of a client: those of its sessions, from the tasks that follow them, and
//! those of services, from the bus.
//!
//! Invariant: both queues are bounded. A slow client slows down its own answers, and loses log
//! lines of services first.

use crate::agentloop::client::AgentLoopClient;
use crate::agentloop::services;
use crate::agentloop::types::AgentLoopEvent;
use bytes::Bytes;
use hob_bus::{BusLink, BusOutlet, CloseReason};
use hob_gateway::bus_connection::{self, BusMessage};
use hob_gateway::websocket;
use hob_wire::frame::{self, RequestHead};
use hob_wire::rooms::gateway;
use hob_wire::rooms::service::{ServiceLog, ServiceStatusChanged};
use hob_wire::{EventTopic, Method};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Maximum queued events of a client's sessions.
pub(crate) const EVENTS_MAX: usize = 1_024;

const TOPICS: [&str; 2] = [ServiceStatusChanged::SPEC.topic, ServiceLog::SPEC.topic];

/// The encoded events for one client.
pub(crate) type AgentLoopEventReceiver = mpsc::Receiver<Bytes>;

#[derive(Debug)]
pub(crate) struct AgentLoopMessageSource {
    outlet: BusOutlet,
    frames: Vec<Bytes>,
    events: AgentLoopEventReceiver,
    client: Arc<AgentLoopClient>,
}

impl AgentLoopMessageSource {
    pub(crate) fn new(
        outlet: BusOutlet,
        events: AgentLoopEventReceiver,
        client: Arc<AgentLoopClient>,
    ) -> AgentLoopMessageSource {
        AgentLoopMessageSource {
            outlet,
            frames: Vec::new(),
            events,
            client,
        }
    }
}

impl websocket::MessageSource for AgentLoopMessageSource {
    async fn next(&mut self, into: &mut Vec<Bytes>) -> Option<CloseReason> {
        tokio::select! {
            closed = self.outlet.next(&mut self.frames) => {
                let events = self.frames.iter().filter_map(|frame| translate_frame(frame, &self.client));
                into.extend(events.filter_map(|event| encode_event(&event)));
                self.frames.clear();
                closed
            }
            // The client holds a sender, so the channel ends only with the socket.
            _ = self.events.recv_many(into, EVENTS_MAX) => None,
        }
    }
}

/// Subscribes to service events. The response is one more frame, which is ignored.
pub(crate) async fn subscribe_services(link: &BusLink) {
    let params = gateway::GatewaySubscribeParams {
        events: TOPICS.iter().map(|&topic| topic.to_owned()).collect(),
        session_key: None,
        since: None,
        log_id: None,
    };
    let Ok(params) = serde_json::to_vec(&params) else {
        return;
    };
    let head = RequestHead {
        id: "services",
        target: "",
        method: gateway::Subscribe::SPEC.name,
        trace: None,
    };
    let mut frame = Vec::new();
    frame::write_request(&mut frame, &head, Some(&params));
    link.receive(Bytes::from(frame)).await;
}

pub(crate) fn encode_event(event: &AgentLoopEvent) -> Option<Bytes> {
    match serde_json::to_vec(event) {
        Ok(bytes) => Some(Bytes::from(bytes)),
        Err(failure) => {
            tracing::error!("dropped an event: {failure}");
            None
        }
    }
}

fn translate_frame(frame: &Bytes, client: &AgentLoopClient) -> Option<AgentLoopEvent> {
    let BusMessage::Event { topic, payload, .. } = bus_connection::parse_message(frame)? else {
        return None;
    };
    if topic == ServiceStatusChanged::SPEC.topic {
        let status = bus_connection::decode(payload).ok()?;
        return Some(services::status_event(status, client));
    }
    if topic == ServiceLog::SPEC.topic {
        let printed = bus_connection::decode(payload).ok()?;
        return Some(services::log_event(printed, client));
    }
    None
}
