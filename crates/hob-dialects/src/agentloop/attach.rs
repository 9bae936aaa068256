//! Attaches a client to the answer that a session is in the middle of: after a lost connection its
//! client names the session again, and gets its state and the rest of the answer.
//!
//! Invariants: a client that follows a session already is not attached twice. Its next message of
//! that session is answered after the followed one.

use crate::agentloop::client::AgentLoopClient;
use crate::agentloop::run_follower::{self, TOPICS, run_selector, show_question};
use crate::agentloop::run_translator::AgentLoopRunTranslator;
use crate::agentloop::session::AgentLoopSessionTurns;
use crate::agentloop::types::{AgentLoopEvent, AgentLoopSessionState};
use hob_gateway::bus_connection::BusConnection;
use hob_wire::WireError;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{self, RunEndCause, RunSelector, RunState, RunView};
use hob_wire::rooms::permission::{self, PermissionPendingParams};
use std::sync::Arc;
use tokio::sync::OwnedMutexGuard;

impl AgentLoopClient {
    /// Attaches this client to the current run of a session. Returns false if nothing runs.
    pub(crate) async fn attach(
        self: &Arc<Self>,
        session_id: &str,
        session_key: &str,
    ) -> Result<bool, WireError> {
        let session_turns = self.session_turns(session_key)?;
        let Some(view) = self.current_run(session_key).await else {
            return Ok(false);
        };
        let (state, detail) = describe(&view);
        self.send_status(session_id, state, detail).await;
        if session_turns.is_busy() {
            return Ok(true);
        }
        // Taken here and not in the task, so that the next message cannot overtake it. Nobody else
        // has it, because no turn is under way.
        let Ok(turn_guard) = Arc::clone(&session_turns.turn_lock).try_lock_owned() else {
            return Ok(true);
        };
        let attached = AttachedRun {
            client: Arc::clone(self),
            session_turns,
            turn_guard,
            session_id: session_id.to_owned(),
            session_key: session_key.to_owned(),
            run: view.run_id,
        };
        self.spawn_turn(&Arc::clone(&attached.session_turns), attached.run())?;
        Ok(true)
    }

    /// The run that a session works on; `None` if it has none or nobody answers for runs.
    async fn current_run(&self, session_key: &str) -> Option<RunView> {
        let of_session = RunSelector {
            run_id: None,
            session_key: Some(session_key.to_owned()),
        };
        let view = self.caller.call::<agent::Status>(&of_session).await.ok()?;
        (view.state != RunState::Done).then_some(view)
    }
}

/// A run that began without this connection.
struct AttachedRun {
    client: Arc<AgentLoopClient>,
    session_turns: Arc<AgentLoopSessionTurns>,
    turn_guard: OwnedMutexGuard<()>,
    session_id: String,
    session_key: String,
    run: RunId,
}

impl AttachedRun {
    async fn run(self) {
        if let Err(error) = self.follow().await {
            self.client
                .send_failure(&self.session_id, error.message)
                .await;
        }
        drop(self.turn_guard);
        self.session_turns.turn_ended();
    }

    async fn follow(&self) -> Result<(), WireError> {
        let client = &self.client;
        let mut connection = client.connect()?;
        // Subscribed before the status is read, so that nothing falls in between.
        connection
            .subscribe_session(&TOPICS, &self.session_key)
            .await?;
        let run = run_selector(self.run);
        let view = connection.call::<agent::Status>(&run).await?;
        let mut translator = AgentLoopRunTranslator::new(self.session_id.clone(), self.run);
        let mut events = Vec::new();
        if view.state == RunState::Done {
            finish_ended(&view, &translator, &mut events);
            client.emit_all(events).await;
            return Ok(());
        }
        translator.apply_status(Some(&view), &mut events);
        self.show_questions(&mut connection, &mut translator, &mut events)
            .await;
        client.emit_all(events.drain(..)).await;
        let Some(end) = run_follower::follow(client, &mut connection, &mut translator).await?
        else {
            return Ok(());
        };
        translator.finish(end, &mut events);
        client.emit_all(events).await;
        Ok(())
    }

    /// Shows what a person is already asked.
    async fn show_questions(
        &self,
        connection: &mut BusConnection,
        translator: &mut AgentLoopRunTranslator,
        events: &mut Vec<AgentLoopEvent>,
    ) {
        let of_session = PermissionPendingParams {
            session_key: Some(self.session_key.clone()),
        };
        // Without the room nobody is asked anything.
        let Ok(pending) = connection.call::<permission::Pending>(&of_session).await else {
            return;
        };
        let run = translator.run();
        for question in pending.questions.iter().filter(|it| it.run_id == run) {
            show_question(question, translator, events);
        }
    }
}

/// The last events of a run that ended just before it could be followed.
fn finish_ended(
    view: &RunView,
    translator: &AgentLoopRunTranslator,
    events: &mut Vec<AgentLoopEvent>,
) {
    match view.cause {
        Some(RunEndCause::Answered) | None => {
            events.push(translator.notice(view.run_id.to_string(), view.text.clone()));
        }
        Some(RunEndCause::Aborted) => {}
        Some(_) => {
            let why = view.message.clone();
            events.push(translator.error(why.unwrap_or_else(|| "It failed.".to_owned())));
        }
    }
    events.push(translator.state(AgentLoopSessionState::Idle, "Ready"));
}

fn describe(view: &RunView) -> (AgentLoopSessionState, &'static str) {
    match view.state {
        RunState::Waiting | RunState::InDoubt => (
            AgentLoopSessionState::ToolUse,
            "Waits for a person's answer",
        ),
        RunState::Paused => (AgentLoopSessionState::ToolUse, "Waits for a larger budget"),
        RunState::Queued | RunState::Running | RunState::Done if view.text.is_empty() => {
            (AgentLoopSessionState::Thinking, "An answer is under way")
        }
        RunState::Queued | RunState::Running | RunState::Done => {
            (AgentLoopSessionState::Streaming, "An answer is under way")
        }
    }
}
