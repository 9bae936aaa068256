//! A fake agent that does what the last message says, with tools and models.

use crate::house::House;
use hob_bus::{Bus, EventLog, NewEvent, Room, SessionTag};
use hob_wire::content::{ContentPart, MessageContent, ToolCall};
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    self, AgentAbortResult, AgentChatParams, AgentChatResult, AgentRunParams, AgentRunResult, Cost,
    DeltaKind, RunCompletedPayload, RunDeltaPayload, RunEndCause, RunRef, RunState, RunStepPayload,
};
use hob_wire::rooms::tool::Tier;
use hob_wire::rooms::{model, tool};
use hob_wire::{ErrorCode, EventTopic, Idempotency, WireError};
use serde_json::json;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// An agent that remembers what it was asked.
pub(crate) struct Agent {
    bus: Bus,
    log: Arc<dyn EventLog>,
    pub(crate) chats: Mutex<Vec<AgentChatParams>>,
    pub(crate) runs: Mutex<Vec<AgentRunParams>>,
    pub(crate) aborted: Mutex<Vec<RunId>>,
    pub(crate) stop: Notify,
}

impl Agent {
    pub(crate) fn move_in(house: &House) -> Arc<Agent> {
        let agent = Arc::new(Agent {
            bus: house.bus.clone(),
            log: house.store.event_log(),
            chats: Mutex::default(),
            runs: Mutex::default(),
            aborted: Mutex::default(),
            stop: Notify::new(),
        });
        let (chats, runs, aborts) = (agent.clone(), agent.clone(), agent.clone());
        let room = Room::new("agent")
            .method::<agent::Chat, _, _>(move |_, params| {
                let agent = Arc::clone(&chats);
                async move { agent.chat(params).await }
            })
            .method::<agent::Run, _, _>(move |_, params| {
                let agent = Arc::clone(&runs);
                async move { agent.run(params).await }
            })
            .method::<agent::Abort, _, _>(move |_, selector| {
                let agent = Arc::clone(&aborts);
                async move {
                    agent.aborted.lock().unwrap().extend(selector.run_id);
                    agent.stop.notify_waiters();
                    Ok(AgentAbortResult { runs: Vec::new() })
                }
            })
            .event::<agent::RunDelta>()
            .event::<agent::RunStep>()
            .event::<agent::RunPaused>()
            .event::<agent::RunCompleted>();
        house.bus.serve(room).unwrap();
        house.bus.serve(tools()).unwrap();
        house.bus.serve(models()).unwrap();
        agent
    }

    async fn chat(&self, params: AgentChatParams) -> Result<AgentChatResult, WireError> {
        let id = params.chat_id;
        let wish = match &params.messages.last().unwrap().content {
            MessageContent::Text(text) => text.clone(),
            MessageContent::Parts(_) => "parts".to_owned(),
        };
        self.chats.lock().unwrap().push(params);
        let say = |offset, text: &str| self.say(&format!("chat:{id}"), id, offset, text);
        let mut reply = AgentChatResult {
            content: vec![text("Hello")],
            earlier: Vec::new(),
            success: true,
            cause: RunEndCause::Answered,
            message: None,
            cut: false,
            cost: Cost {
                input_tokens: 3,
                output_tokens: 2,
                ..Cost::default()
            },
            model: Some("sim/one".to_owned()),
        };
        match wish.as_str() {
            "hello" => {
                say(0, "Hel");
                say(3, "lo");
            }
            // Not a single delta arrives.
            "lost" => {
                reply.earlier = vec![agent::ChatStep {
                    step: 1,
                    attempt: 1,
                    text: "First.".to_owned(),
                }];
            }
            "call" => reply.content = vec![call("one"), call("two")],
            "hang" => {
                let stopped = self.stop.notified();
                say(0, "Once");
                stopped.await;
            }
            "slow" => {
                let released = self.stop.notified();
                say(0, "Hel");
                released.await;
                say(3, "lo");
            }
            "silent" => self.stop.notified().await,
            "break" => {
                let heard = self.stop.notified();
                say(0, "Hel");
                heard.await;
                return Err(WireError::new(ErrorCode::Internal, "It broke."));
            }
            "fail" => {
                (reply.success, reply.cause) = (false, RunEndCause::ModelFailed);
                reply.message = Some("No model could answer.".to_owned());
            }
            "full" => {
                let full = WireError::new(ErrorCode::Overloaded, "Too much.");
                return Err(full.retry_after(2_500));
            }
            "poor" => {
                let poor = WireError::new(ErrorCode::Overloaded, "The budget is spent.");
                return Err(poor.with_details(json!({ "reason": "budget" })));
            }
            "unknown" => {
                let unknown = WireError::new(ErrorCode::InvalidParams, "No such model.");
                return Err(unknown.with_details(json!({ "reason": "unknown-model" })));
            }
            _ => {}
        }
        Ok(reply)
    }

    async fn run(&self, params: AgentRunParams) -> Result<AgentRunResult, WireError> {
        let id = RunId(hob_kit::randomness::Randomness::system().uuid(1));
        let session = params.session_key.clone();
        self.runs.lock().unwrap().push(params);
        let of = RunRef {
            session_key: session.clone(),
            run_id: id,
        };
        // All before the answer: nothing of it may be missed. The first piece is lost.
        self.say(&session, id, 5, " there");
        let step = RunStepPayload {
            run: of.clone(),
            step: 1,
            attempt: 1,
            model: "sim/one".to_owned(),
            usage: hob_wire::content::TokenUsage::default(),
            cost: Cost::default(),
            text: "Hello there".to_owned(),
        };
        self.log::<agent::RunStep>(&session, &step).await;
        let completed = RunCompletedPayload {
            run: of,
            response: "Hello there".to_owned(),
            success: true,
            cause: RunEndCause::Answered,
            message: None,
            cost: Cost::default(),
            model: Some("sim/one".to_owned()),
            notes: Vec::new(),
            denied: Vec::new(),
        };
        self.log::<agent::RunCompleted>(&session, &completed).await;
        Ok(AgentRunResult {
            run_id: id,
            session_key: session,
            state: RunState::Queued,
            response: None,
            success: None,
            cause: None,
            cost: None,
            model: None,
        })
    }

    fn say(&self, session: &str, run_id: RunId, offset: u64, delta: &str) {
        let payload = RunDeltaPayload {
            run: RunRef {
                session_key: session.to_owned(),
                run_id,
            },
            step: 1,
            attempt: 1,
            offset,
            kind: DeltaKind::Text,
            delta: delta.to_owned(),
            cost: None,
        };
        let emitter = self.bus.emitter("agent");
        emitter.emit::<agent::RunDelta>(Some(tag(session)), &payload);
    }

    async fn log<T: EventTopic>(&self, session: &str, payload: &T::Payload) {
        let event = NewEvent {
            source: "agent".into(),
            topic: T::SPEC.topic.into(),
            session: Some(tag(session)),
            payload: Some(serde_json::to_vec(payload).unwrap().into()),
        };
        self.log.append(event).await.unwrap();
    }

    pub(crate) fn last_chat(&self) -> AgentChatParams {
        self.chats.lock().unwrap().last().unwrap().clone()
    }
}

fn tools() -> Room {
    let spec = |name: &str, tier| tool::ToolSpec {
        name: name.to_owned(),
        aliases: Vec::new(),
        description: String::new(),
        parameters: json!({ "type": "object" }),
        tier,
        effect: Idempotency::Pure,
        needs: Vec::new(),
        approval: String::new(),
        timeout_ms: None,
    };
    Room::new("tools").method::<tool::List, _, _>(move |_, _| {
        let tools = vec![spec("time", Tier::Read), spec("write", Tier::Write)];
        async move {
            Ok(tool::ToolListResult {
                outside: Vec::new(),
                tools,
                revision: String::new(),
            })
        }
    })
}

fn models() -> Room {
    Room::new("models").method::<model::List, _, _>(|_, _| async {
        Ok(model::ModelListResult {
            models: vec![model::ModelInfo {
                id: "sim/one".to_owned(),
                provider: "sim".to_owned(),
                name: "one".to_owned(),
                context_tokens: None,
                price: None,
            }],
            providers: Vec::new(),
            aliases: vec![model::ModelAlias {
                alias: "fast".to_owned(),
                models: vec!["sim/one".to_owned()],
            }],
        })
    })
}

fn tag(session: &str) -> SessionTag {
    SessionTag {
        id: session.into(),
        key: None,
    }
}

fn text(text: &str) -> ContentPart {
    ContentPart::Text {
        text: text.to_owned(),
    }
}

fn call(id: &str) -> ContentPart {
    ContentPart::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "add".to_owned(),
        args: json!({ "x": 1 }),
    })
}
