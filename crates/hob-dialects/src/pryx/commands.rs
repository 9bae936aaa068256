//! Handles the commands of a client of the WebSocket, one after the other.
//!
//! Invariants: a command is answered under its own name, or with `error.occurred`. An accepted run
//! goes on when its client leaves.

use crate::pryx::command_message::PryxCommand;
use crate::pryx::event_translator::trace;
use crate::pryx::sessions::{self, message_json, session_json};
use crate::pryx::socket::PryxSocketClient;
use crate::pryx::{agents, approvals, event_pump};
use hob_wire::rooms::agent::{self, RunSelector, RunState};
use hob_wire::rooms::session::{self, Session, SessionHistoryParams};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};
use std::sync::PoisonError;

/// The messages that a resumed session shows; its latest.
const RESUMED_MESSAGES: u32 = 200;

impl PryxSocketClient {
    /// Handles a message of the client.
    pub(crate) async fn receive(&self, text: &[u8]) {
        match PryxCommand::parse(text) {
            Ok(command) => self.handle(command).await,
            Err(invalid) => self.send_error(None, invalid.kind, &invalid.why).await,
        }
    }

    async fn handle(&self, command: PryxCommand) {
        match command {
            PryxCommand::ListSessions => match sessions::list_for_socket(&self.api).await {
                Ok(sessions) => self.send(None, None, "sessions.list", &sessions).await,
                Err(error) => self.fail(None, "sessions.list_failed", &error).await,
            },
            PryxCommand::ResumeSession { session } => self.resume(&session).await,
            PryxCommand::SendChat { session, content } => self.chat(session, content).await,
            PryxCommand::ResolveApproval { id, approved } => {
                // The answer is told to everybody by `approval.resolved`.
                if let Err(error) = approvals::answer(&self.api, &id, approved).await {
                    let payload = json!({
                        "kind": "approval.refused", "error": error.message,
                        "code": error.code, "approval_id": id,
                    });
                    self.send(None, None, "error.occurred", &payload).await;
                }
            }
            PryxCommand::Ping => self.send(None, None, "pong", &json!({})).await,
        }
    }

    async fn resume(&self, id: &str) {
        let resumed = async {
            let session = sessions::get_session(&self.api, id.to_owned()).await?;
            let payload = self.resumed_json(&session).await?;
            Ok::<_, WireError>((session, payload))
        };
        let (session, payload) = match resumed.await {
            Ok(resumed) => resumed,
            Err(error) if error.code == ErrorCode::NotFound => {
                return self
                    .fail(Some(id), "session.resume_not_found", &error)
                    .await;
            }
            Err(error) => return self.fail(Some(id), "session.resume_failed", &error).await,
        };
        let session_id = session.id.to_string();
        self.send(Some(&session_id), None, "session.resume", &payload)
            .await;
        let repeated = event_pump::repeat_questions(self, &session.session_key, &session_id).await;
        if let Err(error) = repeated {
            self.fail(Some(&session_id), "session.resume_failed", &error)
                .await;
        }
    }

    /// The session with its latest messages and the run that goes on in it.
    async fn resumed_json(&self, session: &Session) -> Result<Value, WireError> {
        let params = SessionHistoryParams {
            session_key: session.session_key.clone(),
            limit: Some(RESUMED_MESSAGES),
            before: None,
        };
        let history = self.api.call::<session::History>(&params).await?;
        let messages = history.messages.iter();
        let messages: Vec<Value> = messages
            .map(|message| message_json(session, message))
            .collect();
        Ok(json!({
            "session": session_json(session),
            "messages": messages,
            "has_more": history.next.is_some(),
            "running": self.running(session).await?,
        }))
    }

    async fn running(&self, session: &Session) -> Result<Option<Value>, WireError> {
        let of_session = RunSelector {
            session_key: Some(session.session_key.clone()),
            run_id: None,
        };
        match self.api.call::<agent::Status>(&of_session).await {
            Ok(run) if run.state != RunState::Done => Ok(Some(event_pump::running_json(&run))),
            Ok(_) => Ok(None),
            Err(error) if matches!(error.code, ErrorCode::NotFound | ErrorCode::NoHandler) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    async fn chat(&self, session: Option<String>, content: String) {
        let named = session.clone();
        if let Err(error) = self.begin_run(session, content).await {
            self.fail(named.as_deref(), "chat.failed", &error).await;
        }
    }

    async fn begin_run(&self, session: Option<String>, content: String) -> Result<(), WireError> {
        let named = session.or_else(|| self.filter.session.clone());
        let named = named.or_else(|| self.own_session());
        let session = sessions::open_session(&self.api, named.as_deref()).await?;
        let session_id = session.id.to_string();
        if named.is_none() {
            *self.lock_own_session() = Some(session_id.clone());
        }
        // Noted before the run begins, so that its first event has it.
        let surface = self.filter.surface.as_deref();
        match surface {
            Some(surface) => self.api.shared.note_surface(&session_id, surface),
            None => self.api.shared.forget_surface(&session_id),
        }
        let accepted = agents::run_task(&self.api, session.session_key, content).await?;
        let accepted = trace("chat.accepted", json!({ "run_id": accepted.run_id }));
        if self.filter.takes(accepted.event, surface) {
            self.send(
                Some(&session_id),
                surface,
                accepted.event,
                &accepted.payload,
            )
            .await;
        }
        Ok(())
    }

    fn own_session(&self) -> Option<String> {
        self.lock_own_session().clone()
    }

    fn lock_own_session(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.own_session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn fail(&self, session_id: Option<&str>, kind: &str, error: &WireError) {
        self.send_error(session_id, kind, &error.message).await;
    }
}
