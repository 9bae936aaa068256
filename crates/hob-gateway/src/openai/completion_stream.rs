//! An answer as it comes from the agent: a conversation that the client keeps (`agent.chat`), or
//! a run on a session of ours (`agent.run`). Both are followed in the same words.
//!
//! Invariant: the pieces are heard before the work is asked for, so none is missed; the end is
//! told after every piece that was emitted before it.

use crate::book::Principal;
use crate::http::Desk;
use crate::line::{self, Heard, Line, decode};
use crate::openai::SURFACE;
use crate::openai::fault::Fault;
use crate::openai::leash::Leash;
use crate::openai::reply::{Reply, ToolNames};
use crate::openai::request::{Ask, HOB};
use crate::openai::tale::{Tale, Word};
use axum::http::StatusCode;
use bytes::Bytes;
use hob_core::follow::{Kind, Piece, Text};
use hob_wire::content::{Content, Part, Role};
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    self, ChatParams, ChatReply, DeltaKind, Image, RunCompletedPayload, RunDelta, RunParams,
    RunPaused, RunPausedPayload, RunSelector, RunState, RunStep, RunStepPayload, RunView,
};
use hob_wire::rooms::gateway::{Unsubscribe, UnsubscribeParams};
use hob_wire::rooms::tool::{self, Tier};
use hob_wire::{ErrorCode, Method, Scope, Topic, WireError};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, Sleep};

const CHAT: &str = agent::Chat::SPEC.name;
const STATUS: &str = agent::Status::SPEC.name;
const BARRIER: &str = Unsubscribe::SPEC.name;
const DELTA: &str = RunDelta::SPEC.topic;
const STEP: &str = RunStep::SPEC.topic;
const PAUSED: &str = RunPaused::SPEC.topic;
const COMPLETED: &str = agent::RunCompleted::SPEC.topic;

/// Who asks, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client<'a> {
    pub(crate) desk: &'a Desk,
    pub(crate) principal: &'a Principal,
    pub(crate) trace: &'a Arc<str>,
}

impl Client<'_> {
    fn line(&self) -> Result<Line, WireError> {
        Line::open(self.desk, self.principal, SURFACE, Arc::clone(self.trace))
    }
}

#[derive(Debug)]
pub(crate) struct Telling {
    line: Line,
    leash: Leash,
    of: Of,
    tale: Tale,
    tools: ToolNames,
    model: String,
}

/// What is being followed.
#[derive(Debug)]
enum Of {
    /// A conversation; the agent's answer is held until every piece before it was heard.
    Chat {
        heard: bool,
        reply: Option<Box<ChatReply>>,
    },
    Run(RunId),
    /// A run that had already ended when it was asked for again.
    Past(Option<Box<ChatReply>>),
}

/// What came next.
#[derive(Debug)]
pub(crate) enum Said {
    /// Words, perhaps none.
    More,
    End(Box<Reply>),
    /// Nothing for a while.
    Silence,
}

/// Rings when nothing was said for a while. It is not set anew for every word.
#[derive(Debug)]
pub(crate) struct Alarm {
    sleep: Pin<Box<Sleep>>,
    every: Duration,
    spoken: bool,
}

impl Alarm {
    pub(crate) fn new(every: Duration) -> Alarm {
        Alarm {
            sleep: Box::pin(tokio::time::sleep(every)),
            every,
            spoken: false,
        }
    }

    /// Ends after a time in which nothing was said.
    async fn silence(&mut self) {
        loop {
            self.sleep.as_mut().await;
            self.sleep.as_mut().reset(Instant::now() + self.every);
            if !std::mem::take(&mut self.spoken) {
                return;
            }
        }
    }
}

impl Telling {
    /// Asks what the client wants asked.
    pub(crate) async fn begin(client: Client<'_>, ask: Ask, id: RunId) -> Result<Telling, Fault> {
        match ask.session.clone() {
            Some(session) => Telling::run(client, ask, session).await,
            None => Telling::chat(client, ask, id).await,
        }
    }

    /// Waits for what comes next; its words are added to `words`, also when it then fails.
    pub(crate) async fn next(
        &mut self,
        alarm: &mut Alarm,
        words: &mut Vec<Word>,
    ) -> Result<Said, Fault> {
        if let Of::Past(reply) = &mut self.of
            && let Some(reply) = reply.take()
        {
            return self
                .end(*reply, words)
                .map(|reply| Said::End(Box::new(reply)));
        }
        let first = tokio::select! {
            biased;
            frame = self.line.frame() => frame?,
            () = alarm.silence() => return Ok(Said::Silence),
        };
        alarm.spoken = true;
        let mut next = Some(first);
        while let Some(frame) = next {
            if let Some(reply) = self.take(&frame, words).await? {
                return Ok(Said::End(Box::new(reply)));
            }
            next = self.line.ready_frame();
        }
        Ok(Said::More)
    }

    async fn chat(client: Client<'_>, ask: Ask, id: RunId) -> Result<Telling, Fault> {
        let mut line = client.line()?;
        let ceiling = ceiling(client.principal);
        let model = ask.chosen_model();
        let tools = match ask.model.as_str() {
            HOB => own_tools(&mut line, ceiling, &ask).await?,
            _ => Vec::new(),
        };
        if ask.stream {
            line.hear(&[DELTA], &format!("chat:{id}")).await?;
        }
        let names = ask.tools.iter().map(|tool| tool.name.clone()).collect();
        let params = ChatParams {
            chat_id: id,
            messages: ask.messages,
            model,
            client_tools: ask.tools,
            tool_choice: ask.tool_choice,
            tools,
            ceiling,
            schema: ask.schema,
            budget: None,
            options: ask.options,
        };
        let mut leash = Leash::new(client.desk, client.principal);
        leash.hold(id);
        let asked = line.ask::<agent::Chat>(CHAT, &params).await;
        asked.map_err(|error| Fault::from(error).with_status(StatusCode::PAYLOAD_TOO_LARGE))?;
        Ok(Telling {
            line,
            leash,
            of: Of::Chat {
                heard: ask.stream,
                reply: None,
            },
            tale: Tale::default(),
            tools: ToolNames {
                names,
                one_call: ask.one_call,
            },
            model: ask.model,
        })
    }

    async fn run(client: Client<'_>, ask: Ask, session: String) -> Result<Telling, Fault> {
        if !ask.tools.is_empty() {
            let message = "With 'metadata.session' hob runs its own tools: leave 'tools' out, or leave the session out and send the whole conversation.";
            return Err(Fault::unsupported("tools", message));
        }
        let model = ask.chosen_model();
        let params = RunParams {
            ceiling: ceiling(client.principal),
            schema: ask.schema,
            model,
            ..task(&ask.messages, &session)?
        };
        let mut line = client.line()?;
        let topics: &[&str] = if ask.stream {
            &[DELTA, STEP, PAUSED, COMPLETED]
        } else {
            &[PAUSED, COMPLETED]
        };
        line.hear(topics, &session).await?;
        let mut leash = Leash::new(client.desk, client.principal);
        let accepted = line.call::<agent::Run>(&params).await;
        let accepted = accepted.map_err(|error| failed(&error, &ask.model))?;
        let of = if accepted.state == RunState::Done {
            let view = line.call::<agent::Status>(&of_run(accepted.run_id)).await?;
            Of::Past(Some(Box::new(past(view))))
        } else {
            leash.hold(accepted.run_id);
            Of::Run(accepted.run_id)
        };
        Ok(Telling {
            line,
            leash,
            of,
            tale: Tale::default(),
            tools: ToolNames::default(),
            model: ask.model,
        })
    }

    async fn take(&mut self, frame: &Bytes, words: &mut Vec<Word>) -> Result<Option<Reply>, Fault> {
        match line::read(frame) {
            Some(Heard::Event { topic, payload, .. }) => self.event(&topic, payload, words).await,
            Some(Heard::Answer { id, outcome }) => self.answer(&id, outcome, words).await,
            None => Ok(None),
        }
    }

    async fn event(
        &mut self,
        topic: &str,
        payload: &str,
        words: &mut Vec<Word>,
    ) -> Result<Option<Reply>, Fault> {
        match topic {
            DELTA => {
                let Ok(delta) = serde_json::from_str::<Delta<'_>>(payload) else {
                    return Ok(None);
                };
                self.piece(&delta, words).await?;
            }
            STEP => {
                let step: RunStepPayload = decode(payload)?;
                if self.follows(step.of.run_id) {
                    let text = Text {
                        step: step.step,
                        attempt: step.attempt,
                        text: &step.text,
                    };
                    self.tale.step_ended(text, words)?;
                }
            }
            PAUSED => {
                let paused: RunPausedPayload = decode(payload)?;
                if self.follows(paused.of.run_id) {
                    // Nobody at this surface can allow more; what its client is told has failed
                    // must not go on behind its back, so the leash stops it.
                    return Err(Fault::over_budget(paused.message));
                }
            }
            COMPLETED => {
                let completed: RunCompletedPayload = decode(payload)?;
                if self.follows(completed.of.run_id) {
                    return self.end(of_completed(completed), words).map(Some);
                }
            }
            _ => {}
        }
        Ok(None)
    }

    async fn piece(&mut self, delta: &Delta<'_>, words: &mut Vec<Word>) -> Result<(), Fault> {
        let is_chat = matches!(self.of, Of::Chat { .. });
        if !is_chat && !self.follows(delta.run_id) {
            return Ok(());
        }
        let before = words.len();
        self.tale.piece(delta.piece(), is_chat, words)?;
        if let Of::Run(run_id) = self.of
            && words[before..].contains(&Word::AskStatus)
        {
            self.line
                .ask::<agent::Status>(STATUS, &of_run(run_id))
                .await?;
        }
        Ok(())
    }

    async fn answer(
        &mut self,
        id: &str,
        outcome: Result<&str, WireError>,
        words: &mut Vec<Word>,
    ) -> Result<Option<Reply>, Fault> {
        match (id, &mut self.of) {
            (CHAT, Of::Chat { heard, reply }) => {
                let given = match outcome {
                    Ok(payload) => decode::<ChatReply>(payload)?,
                    Err(error) => {
                        // After silence it may still be at work.
                        if error.code != ErrorCode::Timeout {
                            self.leash.release();
                        }
                        return Err(failed(&error, &self.model));
                    }
                };
                self.leash.release();
                if !*heard {
                    return self.end(given, words).map(Some);
                }
                *reply = Some(Box::new(given));
                // Events come by another way than answers; this one comes behind the events.
                let all = UnsubscribeParams::default();
                self.line.ask::<Unsubscribe>(BARRIER, &all).await?;
                Ok(None)
            }
            (BARRIER, Of::Chat { reply, .. }) => match reply.take() {
                Some(given) => self.end(*given, words).map(Some),
                None => Ok(None),
            },
            (STATUS, Of::Run(_)) => {
                match outcome.and_then(decode::<RunView>) {
                    Ok(view) => {
                        let text = Text {
                            step: view.step,
                            attempt: view.attempt,
                            text: &view.text,
                        };
                        self.tale.status(text, words)?;
                    }
                    Err(_) => self.tale.status_failed(),
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn end(&mut self, given: ChatReply, words: &mut Vec<Word>) -> Result<Reply, Fault> {
        self.leash.release();
        let reply = Reply::read(given, &self.tools)?;
        self.tale.ended(&reply.text, words)?;
        Ok(reply)
    }

    fn follows(&self, run: RunId) -> bool {
        matches!(self.of, Of::Run(ours) if ours == run)
    }
}

/// The fields of `run.delta` that matter here, the text borrowed from the frame if it can be.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Delta<'a> {
    run_id: RunId,
    step: u32,
    attempt: u32,
    offset: u64,
    kind: DeltaKind,
    #[serde(borrow, rename = "delta")]
    text: Cow<'a, str>,
}

impl Delta<'_> {
    pub(crate) fn piece(&self) -> Piece<'_> {
        Piece {
            step: self.step,
            attempt: self.attempt,
            offset: self.offset,
            kind: match self.kind {
                DeltaKind::Text => Kind::Text,
                DeltaKind::Thinking => Kind::Thinking,
                DeltaKind::Tool => Kind::Tool,
            },
            text: &self.text,
        }
    }
}

/// How far tools may reach for this client: looking only, unless its token may act.
pub(crate) fn ceiling(principal: &Principal) -> Option<Tier> {
    (!principal.scopes.allow(Scope::Control)).then_some(Tier::Read)
}

/// Our own tools below the ceiling; where names meet, the client's tool is meant.
async fn own_tools(
    line: &mut Line,
    ceiling: Option<Tier>,
    ask: &Ask,
) -> Result<Vec<String>, Fault> {
    let listed = match line.call::<tool::List>(&tool::ListParams::default()).await {
        Ok(listed) => listed.tools,
        Err(error) if error.code == ErrorCode::NoHandler => Vec::new(),
        Err(error) => return Err(Fault::from(error)),
    };
    let is_ours = |tool: &tool::ToolSpec| {
        let reaches = ceiling.is_none_or(|ceiling| tool.tier <= ceiling);
        reaches && !ask.tools.iter().any(|theirs| theirs.name == tool.name)
    };
    let ours = listed.into_iter().filter(is_ours);
    Ok(ours.map(|tool| tool.name).collect())
}

/// The last thing the user said, as the task of a run; the session has the rest.
fn task(messages: &[agent::ChatMessage], session: &str) -> Result<RunParams, Fault> {
    let said = messages.iter().rfind(|message| message.role == Role::User);
    let Some(said) = said else {
        let message = "With 'metadata.session' the last user message is taken; there is none.";
        return Err(Fault::invalid("messages", message));
    };
    let mut params = RunParams {
        session_key: session.to_owned(),
        ..RunParams::default()
    };
    match &said.content {
        Content::Text(text) => params.task.clone_from(text),
        Content::Parts(parts) => {
            for part in parts {
                match part {
                    Part::Text { text } => params.task.push_str(text),
                    Part::Image { mime_type, data } => params.images.push(Image {
                        mime_type: mime_type.clone(),
                        data: data.clone(),
                    }),
                    Part::Thinking { .. } | Part::ToolCall(_) | Part::ToolResult(_) => {}
                }
            }
        }
    }
    Ok(params)
}

fn of_run(run_id: RunId) -> RunSelector {
    RunSelector {
        run_id: Some(run_id),
        session_key: None,
    }
}

fn of_completed(completed: RunCompletedPayload) -> ChatReply {
    ChatReply {
        content: vec![Part::Text {
            text: completed.response,
        }],
        success: completed.success,
        cause: completed.cause,
        message: completed.message,
        cut: false,
        cost: completed.cost,
        model: completed.model,
    }
}

fn past(view: RunView) -> ChatReply {
    let cause = view.cause.unwrap_or(agent::Cause::Aborted);
    ChatReply {
        content: vec![Part::Text { text: view.text }],
        success: cause == agent::Cause::Answered,
        cause,
        message: view.notes.into_iter().next_back(),
        cut: false,
        cost: view.cost,
        model: view.model,
    }
}

/// What a refusal of the agent is here: a model it does not know and a budget have words of their
/// own in OpenAI's form.
fn failed(error: &WireError, model: &str) -> Fault {
    let reason = error.details.as_ref().and_then(|it| it.get("reason"));
    match reason.and_then(Value::as_str) {
        Some("unknown-model" | "no-model") => Fault::no_such_model(model, &error.message),
        Some("budget") => Fault::over_budget(error.message.clone()),
        _ => Fault::from(error),
    }
}
