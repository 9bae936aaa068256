//! The agent's answer as a stream of chunks. Without a session the client sends the whole
//! conversation (`agent.chat`); with one, the last message runs on hob's session (`agent.run`).
//!
//! Invariants: the subscription precedes the call, so no delta is missed; the answer does not depend
//! on the deltas, because the ends of the steps and the reply have all of its text.

use crate::bus_connection::{self, BusConnection, BusMessage, decode};
use crate::http::HttpState;
use crate::openai::SURFACE;
use crate::openai::abort_on_drop::AbortOnDrop;
use crate::openai::agent_calls::{
    agent_error, hob_tools, reply_of_completed, reply_of_view, run_params, run_selector,
    tool_ceiling,
};
use crate::openai::borrowed_delta::BorrowedDelta;
use crate::openai::chunk_builder::{AnswerChunk, ChunkBuilder};
use crate::openai::error::OpenaiError;
use crate::openai::reply::{ClientToolNames, CompletionReply};
use crate::openai::request::{CompletionRequest, HOB};
use crate::openai::silence_timer::SilenceTimer;
use crate::token_cache::Principal;
use axum::http::StatusCode;
use bytes::Bytes;
use hob_core::transcript::StepText;
use hob_wire::content::ContentPart;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    self, AgentChatParams, AgentChatResult, AgentRunParams, RunCompletedPayload, RunDelta,
    RunPaused, RunPausedPayload, RunState, RunStep, RunStepPayload, RunView,
};
use hob_wire::{ErrorCode, EventTopic, Method, WireError};
use std::sync::Arc;
use std::time::Duration;

const CHAT: &str = agent::Chat::SPEC.name;
const STATUS: &str = agent::Status::SPEC.name;
const DELTA: &str = RunDelta::SPEC.topic;
const STEP: &str = RunStep::SPEC.topic;
const PAUSED: &str = RunPaused::SPEC.topic;
const COMPLETED: &str = agent::RunCompleted::SPEC.topic;

/// The time that the deltas on their way may take after the reply. The answer does not depend on it:
/// what does not come is sent as one chunk.
const DELTAS_WAIT: Duration = Duration::from_millis(20);

/// The sender of a completion request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenaiClient<'a> {
    pub(crate) state: &'a HttpState,
    pub(crate) principal: &'a Principal,
    pub(crate) trace: &'a Arc<str>,
}

impl OpenaiClient<'_> {
    fn connect(&self) -> Result<BusConnection, WireError> {
        BusConnection::open(self.state, self.principal, SURFACE, Arc::clone(self.trace))
    }
}

/// A completion in progress.
#[derive(Debug)]
pub(crate) struct CompletionStream {
    connection: BusConnection,
    abort_on_drop: AbortOnDrop,
    source: CompletionSource,
    chunk_builder: ChunkBuilder,
    tools: ClientToolNames,
    model: String,
}

/// The work that the stream follows.
#[derive(Debug)]
enum CompletionSource {
    /// A conversation. Events take another queue than the reply, so it waits a moment for the deltas
    /// that are on their way.
    Chat {
        is_streamed: bool,
        reply: Option<Box<AgentChatResult>>,
    },
    Run(RunId),
    /// A run that had already ended when it was requested again.
    Past(Option<Box<AgentChatResult>>),
}

/// The next event of a completion.
#[derive(Debug)]
pub(crate) enum CompletionEvent {
    /// New chunks, perhaps none.
    More,
    End(Box<CompletionReply>),
    /// Nothing arrived for a while.
    Silence,
}

impl CompletionStream {
    /// Starts a run if the request names a session, else a chat.
    pub(crate) async fn start(
        client: OpenaiClient<'_>,
        request: CompletionRequest,
        id: RunId,
    ) -> Result<CompletionStream, OpenaiError> {
        match request.session.clone() {
            Some(session) => CompletionStream::start_run(client, request, session).await,
            None => CompletionStream::start_chat(client, request, id).await,
        }
    }

    /// Waits for the next event. New chunks are added to `chunks`, even if an error follows them.
    pub(crate) async fn next(
        &mut self,
        timer: &mut SilenceTimer,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<CompletionEvent, OpenaiError> {
        let reply_wait = match &self.source {
            CompletionSource::Chat { reply, .. } => reply.as_ref().map(|_| DELTAS_WAIT),
            CompletionSource::Past(_) => Some(Duration::ZERO),
            CompletionSource::Run(_) => None,
        };
        let first = tokio::select! {
            // Frames first: a timer that fired while frames wait must not count as silence.
            biased;
            frame = self.connection.next_frame() => frame?,
            () = tokio::time::sleep(reply_wait.unwrap_or_default()), if reply_wait.is_some() => {
                return self.finish_replied(chunks);
            }
            () = timer.wait() => return Ok(CompletionEvent::Silence),
        };
        timer.note_activity();
        let mut next = Some(first);
        while let Some(frame) = next {
            if let Some(reply) = self.handle_frame(&frame, chunks).await? {
                return Ok(CompletionEvent::End(Box::new(reply)));
            }
            // Takes all frames that are ready, so that they leave in one write.
            next = self.connection.try_next_frame();
        }
        match &self.source {
            CompletionSource::Chat {
                reply: Some(given), ..
            } if self.chunk_builder.is_complete(&text_of(given)) => self.finish_replied(chunks),
            _ => Ok(CompletionEvent::More),
        }
    }

    async fn start_chat(
        client: OpenaiClient<'_>,
        request: CompletionRequest,
        id: RunId,
    ) -> Result<CompletionStream, OpenaiError> {
        let mut connection = client.connect()?;
        let ceiling = tool_ceiling(client.principal);
        let model = request.chosen_model();
        let tools = match request.model.as_str() {
            // Only the model `hob` is the agent with its tools; any other name means the bare
            // model.
            HOB => hob_tools(&mut connection, ceiling, &request).await?,
            _ => Vec::new(),
        };
        if request.stream {
            // A chat has no session; the agent publishes its deltas under the chat's id.
            connection
                .subscribe_session(&[DELTA], &format!("chat:{id}"))
                .await?;
        }
        let names = request.tools.iter().map(|tool| tool.name.clone()).collect();
        let params = AgentChatParams {
            chat_id: id,
            messages: request.messages,
            model,
            client_tools: request.tools,
            tool_choice: request.tool_choice,
            tools,
            ceiling,
            schema: request.schema,
            budget: None,
            options: request.options,
        };
        // Armed before the call: the client may leave while the call is on its way.
        let mut abort_on_drop = AbortOnDrop::new(client.state, client.principal);
        abort_on_drop.arm(id);
        let asked = connection.send_request::<agent::Chat>(CHAT, &params).await;
        // Sending fails only for an oversized request.
        asked
            .map_err(|error| OpenaiError::from(error).with_status(StatusCode::PAYLOAD_TOO_LARGE))?;
        Ok(CompletionStream {
            connection,
            abort_on_drop,
            source: CompletionSource::Chat {
                is_streamed: request.stream,
                reply: None,
            },
            chunk_builder: ChunkBuilder::default(),
            tools: ClientToolNames {
                names,
                single_call: request.single_tool_call,
            },
            model: request.model,
        })
    }

    async fn start_run(
        client: OpenaiClient<'_>,
        request: CompletionRequest,
        session: String,
    ) -> Result<CompletionStream, OpenaiError> {
        if !request.tools.is_empty() {
            let message = "With 'metadata.session' hob runs its own tools: leave 'tools' out, or leave the session out and send the whole conversation.";
            return Err(OpenaiError::unsupported("tools", message));
        }
        let model = request.chosen_model();
        let params = AgentRunParams {
            ceiling: tool_ceiling(client.principal),
            schema: request.schema,
            model,
            ..run_params(&request.messages, &session)?
        };
        let mut connection = client.connect()?;
        // Without streaming only the end matters; the deltas would be received for nothing.
        let topics: &[&str] = if request.stream {
            &[DELTA, STEP, PAUSED, COMPLETED]
        } else {
            &[PAUSED, COMPLETED]
        };
        connection.subscribe_session(topics, &session).await?;
        // Armed only below, because a run has no id before it is accepted.
        let mut abort_on_drop = AbortOnDrop::new(client.state, client.principal);
        let accepted = connection.call::<agent::Run>(&params).await;
        let accepted = accepted.map_err(|error| agent_error(&error, &request.model))?;
        // A repeated request may get a run that has ended; no event of it will come.
        let source = if accepted.state == RunState::Done {
            let view = connection
                .call::<agent::Status>(&run_selector(accepted.run_id))
                .await?;
            CompletionSource::Past(Some(Box::new(reply_of_view(view))))
        } else {
            abort_on_drop.arm(accepted.run_id);
            CompletionSource::Run(accepted.run_id)
        };
        Ok(CompletionStream {
            connection,
            abort_on_drop,
            source,
            chunk_builder: ChunkBuilder::default(),
            tools: ClientToolNames::default(),
            model: request.model,
        })
    }

    async fn handle_frame(
        &mut self,
        frame: &Bytes,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<Option<CompletionReply>, OpenaiError> {
        match bus_connection::parse_message(frame) {
            Some(BusMessage::Event { topic, payload, .. }) => {
                self.handle_event(&topic, payload, chunks).await
            }
            Some(BusMessage::Answer { id, outcome }) => self.handle_answer(&id, outcome, chunks),
            None => Ok(None),
        }
    }

    async fn handle_event(
        &mut self,
        topic: &str,
        payload: &str,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<Option<CompletionReply>, OpenaiError> {
        match topic {
            DELTA => {
                // An unreadable delta counts as lost; the gap is found by the next offset.
                let Ok(delta) = serde_json::from_str::<BorrowedDelta<'_>>(payload) else {
                    return Ok(None);
                };
                self.handle_delta(&delta, chunks).await?;
            }
            STEP => {
                let step: RunStepPayload = decode(payload)?;
                if self.follows(step.run.run_id) {
                    let text = StepText {
                        step: step.step,
                        attempt: step.attempt,
                        text: &step.text,
                    };
                    self.chunk_builder.step_ended(text, chunks)?;
                }
            }
            PAUSED => {
                let paused: RunPausedPayload = decode(payload)?;
                if self.follows(paused.run.run_id) {
                    // Nobody at this surface can raise the budget. The client gets an error, so the
                    // run must not continue unseen: `abort_on_drop` stays armed and stops it.
                    return Err(OpenaiError::over_budget(paused.message));
                }
            }
            COMPLETED => {
                let completed: RunCompletedPayload = decode(payload)?;
                if self.follows(completed.run.run_id) {
                    return self.finish(reply_of_completed(completed), chunks).map(Some);
                }
            }
            _ => {}
        }
        Ok(None)
    }

    async fn handle_delta(
        &mut self,
        delta: &BorrowedDelta<'_>,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<(), OpenaiError> {
        let is_chat = matches!(self.source, CompletionSource::Chat { .. });
        // A session may have other runs; a chat's subscription has only its own deltas.
        if !is_chat && !self.follows(delta.run_id) {
            return Ok(());
        }
        let before = chunks.len();
        self.chunk_builder.piece(delta.piece(), is_chat, chunks)?;
        if let CompletionSource::Run(run_id) = self.source
            && chunks[before..].contains(&AnswerChunk::AskStatus)
        {
            self.connection
                .send_request::<agent::Status>(STATUS, &run_selector(run_id))
                .await?;
        }
        Ok(())
    }

    fn handle_answer(
        &mut self,
        id: &str,
        outcome: Result<&str, WireError>,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<Option<CompletionReply>, OpenaiError> {
        match (id, &mut self.source) {
            (CHAT, CompletionSource::Chat { is_streamed, reply }) => {
                let given = match outcome {
                    Ok(payload) => decode::<AgentChatResult>(payload)?,
                    Err(error) => {
                        // After a timeout the chat may still be running, so it is aborted.
                        if error.code != ErrorCode::Timeout {
                            self.abort_on_drop.disarm();
                        }
                        return Err(agent_error(&error, &self.model));
                    }
                };
                self.abort_on_drop.disarm();
                if !*is_streamed {
                    return self.finish(given, chunks).map(Some);
                }
                self.chunk_builder.earlier_steps(&given.earlier, chunks)?;
                *reply = Some(Box::new(given));
                Ok(None)
            }
            (STATUS, CompletionSource::Run(_)) => {
                match outcome.and_then(decode::<RunView>) {
                    Ok(view) => {
                        let text = StepText {
                            step: view.step,
                            attempt: view.attempt,
                            text: &view.text,
                        };
                        self.chunk_builder.status(text, chunks)?;
                    }
                    Err(_) => self.chunk_builder.status_failed(),
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Ends the stream with the reply that is there.
    fn finish_replied(
        &mut self,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<CompletionEvent, OpenaiError> {
        let (CompletionSource::Chat { reply, .. } | CompletionSource::Past(reply)) =
            &mut self.source
        else {
            return Ok(CompletionEvent::More);
        };
        let Some(given) = reply.take() else {
            return Ok(CompletionEvent::More);
        };
        let reply = self.finish(*given, chunks)?;
        Ok(CompletionEvent::End(Box::new(reply)))
    }

    fn finish(
        &mut self,
        given: AgentChatResult,
        chunks: &mut Vec<AnswerChunk>,
    ) -> Result<CompletionReply, OpenaiError> {
        self.abort_on_drop.disarm();
        let reply = CompletionReply::from_agent(given, &self.tools)?;
        self.chunk_builder.finish(&reply.text, chunks)?;
        Ok(reply)
    }

    fn follows(&self, run: RunId) -> bool {
        matches!(self.source, CompletionSource::Run(ours) if ours == run)
    }
}

/// The text of a reply.
fn text_of(given: &AgentChatResult) -> String {
    let texts = given.content.iter().filter_map(|part| match part {
        ContentPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}
