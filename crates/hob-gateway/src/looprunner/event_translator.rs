//! Events of the bus as one client of Loop Runner's is told them. Pure.
//!
//! Invariants: one event tells one thing at the most, so its number can stand before it; events of
//! other loops tell nothing; a state that is told has what was told before it.

use crate::line::decode;
use crate::looprunner::translate;
use hob_wire::looprunner::{Event, State};
use hob_wire::rooms::gateway::{Gap, GapRange};
use hob_wire::rooms::loops::{
    LoopConfigured, LoopDeleted, LoopError, LoopErrorPayload, LoopIteration, LoopIterationPayload,
    LoopMonitor, LoopMonitorPayload, LoopPrompt, LoopPromptPayload, LoopResponse,
    LoopResponsePayload, LoopStateChanged, LoopStatePayload, LoopStopped, LoopStoppedPayload,
};
use hob_wire::{Topic, WireError};
use serde::Deserialize;
use std::borrow::Cow;

const ITERATION: &str = LoopIteration::SPEC.topic;
const MONITOR: &str = LoopMonitor::SPEC.topic;
const PROMPT: &str = LoopPrompt::SPEC.topic;
const RESPONSE: &str = LoopResponse::SPEC.topic;
const ERROR: &str = LoopError::SPEC.topic;
const CONFIGURED: &str = LoopConfigured::SPEC.topic;
const STATE: &str = LoopStateChanged::SPEC.topic;
const STOPPED: &str = LoopStopped::SPEC.topic;
const DELETED: &str = LoopDeleted::SPEC.topic;
const GAP: &str = Gap::SPEC.topic;

/// What is heard of loops.
pub(crate) const TOPICS: [&str; 9] = [
    ITERATION, MONITOR, PROMPT, RESPONSE, ERROR, CONFIGURED, STATE, STOPPED, DELETED,
];

/// What an event means to the client.
#[derive(Debug, PartialEq)]
pub(crate) enum Told {
    Nothing,
    Event(Box<Event>),
    /// The settings or a memory changed; the event has not their texts.
    Configured,
    /// The loop is no more.
    Deleted,
    /// Events of this range cannot be told.
    Gap(GapRange),
}

/// What the client knows of its loop.
#[derive(Debug)]
pub(crate) struct Mirror {
    name: String,
    state: State,
}

impl Mirror {
    /// A mirror of the loop `name`, which is in this state.
    pub(crate) fn new(name: String, mut state: State) -> Mirror {
        state.history = None;
        Mirror { name, state }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Takes an event.
    pub(crate) fn take(&mut self, topic: &str, payload: &str) -> Result<Told, WireError> {
        if topic == GAP {
            return decode::<GapRange>(payload).map(Told::Gap);
        }
        if !TOPICS.contains(&topic) || !self.is_ours(payload) {
            return Ok(Told::Nothing);
        }
        let event = match topic {
            CONFIGURED => return Ok(Told::Configured),
            DELETED => return Ok(Told::Deleted),
            ITERATION => self.iteration(decode(payload)?),
            MONITOR => self.monitor(&decode(payload)?),
            PROMPT => {
                let LoopPromptPayload {
                    prompt, iteration, ..
                } = decode(payload)?;
                Event::Prompt { prompt, iteration }
            }
            RESPONSE => self.response(decode(payload)?),
            ERROR => {
                let LoopErrorPayload {
                    message, iteration, ..
                } = decode(payload)?;
                Event::Error { message, iteration }
            }
            STOPPED => self.stopped(&decode(payload)?),
            _ => self.state(&decode(payload)?),
        };
        Ok(Told::Event(Box::new(event)))
    }

    fn is_ours(&self, payload: &str) -> bool {
        #[derive(Deserialize)]
        struct Named<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
        }
        serde_json::from_str::<Named<'_>>(payload).is_ok_and(|named| named.name == self.name)
    }

    fn iteration(&mut self, payload: LoopIterationPayload) -> Event {
        let iteration = payload.iteration;
        self.state.iteration = iteration;
        self.state.session_id = Some(payload.session_key);
        Event::Iteration { iteration }
    }

    fn monitor(&mut self, payload: &LoopMonitorPayload) -> Event {
        let output = translate::printed(&payload.output);
        self.state.monitor_output.clone_from(&output);
        Event::Monitor { output }
    }

    fn response(&mut self, payload: LoopResponsePayload) -> Event {
        let LoopResponsePayload {
            response,
            iteration,
            ..
        } = payload;
        self.state.last_output.clone_from(&response);
        Event::Response {
            response,
            iteration,
        }
    }

    fn state(&mut self, payload: &LoopStatePayload) -> Event {
        self.state.running = payload.running;
        self.state.iteration = payload.iteration;
        let state = self.state.clone();
        Event::State { state }
    }

    fn stopped(&mut self, payload: &LoopStoppedPayload) -> Event {
        self.state.running = false;
        self.state.iteration = payload.iteration;
        Event::Stopped
    }
}

#[cfg(test)]
#[path = "mirror_tests.rs"]
mod tests;
