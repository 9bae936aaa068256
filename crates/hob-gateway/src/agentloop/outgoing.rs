//! What goes out to a client: events of its own sessions from the tasks that follow them, and
//! events of services from the bus.
//!
//! Invariant: both ways are bounded; a client that reads slowly slows its own answers, and misses
//! lines of services before anything else.

use crate::agentloop::client::Client;
use crate::agentloop::services;
use crate::line::{self, Heard};
use crate::websocket;
use bytes::Bytes;
use hob_bus::{Closed, Link, Outlet};
use hob_wire::agentloop::Event;
use hob_wire::frame::{self, RequestHead};
use hob_wire::rooms::gateway;
use hob_wire::rooms::service::{ServiceLog, ServiceStatusChanged};
use hob_wire::{Method, Topic};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Events of its sessions that wait for a client to read.
pub(crate) const EVENTS_MAX: usize = 1_024;

const TOPICS: [&str; 2] = [ServiceStatusChanged::SPEC.topic, ServiceLog::SPEC.topic];

/// Events for one client, encoded.
pub(crate) type Events = mpsc::Receiver<Bytes>;

#[derive(Debug)]
pub(crate) struct Source {
    outlet: Outlet,
    frames: Vec<Bytes>,
    events: Events,
    client: Arc<Client>,
}

impl Source {
    pub(crate) fn new(outlet: Outlet, events: Events, client: Arc<Client>) -> Source {
        Source {
            outlet,
            frames: Vec::new(),
            events,
            client,
        }
    }
}

impl websocket::Source for Source {
    async fn next(&mut self, into: &mut Vec<Bytes>) -> Option<Closed> {
        tokio::select! {
            closed = self.outlet.next(&mut self.frames) => {
                let told = self.frames.iter().filter_map(|frame| told(frame, &self.client));
                into.extend(told.filter_map(|event| encode(&event)));
                self.frames.clear();
                closed
            }
            // The client holds a sender: this ends only with the socket.
            _ = self.events.recv_many(into, EVENTS_MAX) => None,
        }
    }
}

/// Asks for the events of services; the answer is one more frame that tells nothing.
pub(crate) async fn subscribe(link: &Link) {
    let params = gateway::SubscribeParams {
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

pub(crate) fn encode(event: &Event) -> Option<Bytes> {
    match serde_json::to_vec(event) {
        Ok(bytes) => Some(Bytes::from(bytes)),
        Err(failure) => {
            tracing::error!("an event was left out: {failure}");
            None
        }
    }
}

fn told(frame: &Bytes, client: &Client) -> Option<Event> {
    let Heard::Event { topic, payload, .. } = line::read(frame)? else {
        return None;
    };
    if topic == ServiceStatusChanged::SPEC.topic {
        let status = line::decode(payload).ok()?;
        return Some(services::status(status, client));
    }
    if topic == ServiceLog::SPEC.topic {
        let printed = line::decode(payload).ok()?;
        return Some(services::line(printed, client));
    }
    None
}
