//! Translates bus events into events of one Loop Runner client. Pure.
//!
//! Invariants: one bus event gives at most one client event, so its number can be the id. Events of
//! other loops give none. A `state` event includes everything that was sent before it.

use crate::looprunner::translate;
use crate::looprunner::types::{LoopRunnerEvent, LoopRunnerState};
use hob_gateway::bus_connection::decode;
use hob_wire::rooms::gateway::{Gap, GapRange};
use hob_wire::rooms::loops::{
    LoopConfigured, LoopDeleted, LoopError, LoopErrorPayload, LoopIteration, LoopIterationPayload,
    LoopMonitor, LoopMonitorPayload, LoopPrompt, LoopPromptPayload, LoopResponse,
    LoopResponsePayload, LoopStateChanged, LoopStatePayload, LoopStopped, LoopStoppedPayload,
};
use hob_wire::{EventTopic, WireError};
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

/// The subscribed topics.
pub(crate) const TOPICS: [&str; 9] = [
    ITERATION, MONITOR, PROMPT, RESPONSE, ERROR, CONFIGURED, STATE, STOPPED, DELETED,
];

/// The meaning of a bus event for the client.
#[derive(Debug, PartialEq)]
pub(crate) enum TranslatedEvent {
    Nothing,
    Event(Box<LoopRunnerEvent>),
    /// The settings or a memory changed. The bus event does not contain their texts.
    Configured,
    /// The loop was deleted.
    Deleted,
    /// The events of this range are lost.
    Gap(GapRange),
}

/// The translator of one client, with the state that the client knows.
#[derive(Debug)]
pub(crate) struct LoopEventTranslator {
    name: String,
    state: LoopRunnerState,
}

impl LoopEventTranslator {
    /// Starts with the current state of the loop `name`.
    pub(crate) fn new(name: String, mut state: LoopRunnerState) -> LoopEventTranslator {
        // `connected` sends the history once; later `state` events leave it out.
        state.history = None;
        LoopEventTranslator { name, state }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Translates an event.
    pub(crate) fn translate(
        &mut self,
        topic: &str,
        payload: &str,
    ) -> Result<TranslatedEvent, WireError> {
        if topic == GAP {
            return decode::<GapRange>(payload).map(TranslatedEvent::Gap);
        }
        if !TOPICS.contains(&topic) || !self.is_of_loop(payload) {
            return Ok(TranslatedEvent::Nothing);
        }
        let event = match topic {
            CONFIGURED => return Ok(TranslatedEvent::Configured),
            DELETED => return Ok(TranslatedEvent::Deleted),
            ITERATION => self.iteration(decode(payload)?),
            MONITOR => self.monitor(&decode(payload)?),
            PROMPT => {
                let LoopPromptPayload {
                    prompt, iteration, ..
                } = decode(payload)?;
                LoopRunnerEvent::Prompt { prompt, iteration }
            }
            RESPONSE => self.response(decode(payload)?),
            ERROR => {
                let LoopErrorPayload {
                    message, iteration, ..
                } = decode(payload)?;
                LoopRunnerEvent::Error { message, iteration }
            }
            STOPPED => self.stopped(&decode(payload)?),
            // Only the topic of the state is left: all others were handled or filtered out above.
            _ => self.state(&decode(payload)?),
        };
        Ok(TranslatedEvent::Event(Box::new(event)))
    }

    fn is_of_loop(&self, payload: &str) -> bool {
        #[derive(Deserialize)]
        struct LoopNameField<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
        }
        serde_json::from_str::<LoopNameField<'_>>(payload)
            .is_ok_and(|named| named.name == self.name)
    }

    fn iteration(&mut self, payload: LoopIterationPayload) -> LoopRunnerEvent {
        let iteration = payload.iteration;
        self.state.iteration = iteration;
        self.state.session_id = Some(payload.session_key);
        LoopRunnerEvent::Iteration { iteration }
    }

    fn monitor(&mut self, payload: &LoopMonitorPayload) -> LoopRunnerEvent {
        let output = translate::monitor_text(&payload.output);
        self.state.monitor_output.clone_from(&output);
        LoopRunnerEvent::Monitor { output }
    }

    fn response(&mut self, payload: LoopResponsePayload) -> LoopRunnerEvent {
        let LoopResponsePayload {
            response,
            iteration,
            ..
        } = payload;
        self.state.last_output.clone_from(&response);
        LoopRunnerEvent::Response {
            response,
            iteration,
        }
    }

    fn state(&mut self, payload: &LoopStatePayload) -> LoopRunnerEvent {
        self.state.running = payload.running;
        self.state.iteration = payload.iteration;
        let state = self.state.clone();
        LoopRunnerEvent::State { state }
    }

    fn stopped(&mut self, payload: &LoopStoppedPayload) -> LoopRunnerEvent {
        self.state.running = false;
        self.state.iteration = payload.iteration;
        LoopRunnerEvent::Stopped
    }
}

#[cfg(test)]
#[path = "event_translator_tests.rs"]
mod tests;
