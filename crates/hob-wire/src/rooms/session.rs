//! `session.*`: conversations. A session is never wiped by creating it again; its messages are
//! append-only.

use crate::content::{Content, Message, Role};
use crate::damage::DamagedRow;
use crate::event::events;
use crate::id::{MessageId, SessionId};
use crate::method::{Cli, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

methods! { "sessions";
    /// Creates a session, or returns the one that already has this key.
    Create = "session.create" {
        params: CreateParams, result: Created, scope: Chat, effect: Keyed,
        cli: Cli::Verb(&["sessionKey"]),
    }
    /// Shows one session.
    Get = "session.get" {
        params: GetParams, result: Session, scope: Read, effect: Pure,
        cli: Cli::Verb(&["sessionKey"]),
    }
    /// Lists sessions, the most recently used first.
    List = "session.list" {
        params: ListParams, result: Sessions, scope: Read, effect: Pure,
        cli: Cli::Verb(&[]),
    }
    /// Pages back through the messages of a session; each page is oldest first.
    History = "session.history" {
        params: HistoryParams, result: Messages, scope: Read, effect: Pure,
        cli: Cli::Verb(&["sessionKey"]),
    }
    /// Adds a message to a session; the answer means it is on disk.
    ///
    /// With `idempotencyKey`, sending the same again adds nothing and answers the same.
    Send = "session.send" {
        params: SendParams, result: Sent, scope: Chat, effect: Keyed,
        cli: Cli::Verb(&["sessionKey", "content"]),
    }
    /// Deletes a session and its messages.
    Delete = "session.delete" {
        params: DeleteParams, result: Deleted, scope: Control, effect: Keyed,
        cli: Cli::Verb(&["sessionKey"]),
    }
    /// Reads a session forward from its first message, a page at a time.
    Export = "session.export" {
        params: ExportParams, result: Messages, scope: Read, effect: Pure,
        cli: Cli::Verb(&["sessionKey"]),
    }
    /// Sets entries of a session's metadata; `null` takes one away, the others stay.
    Annotate = "session.annotate" {
        params: AnnotateParams, result: Session, scope: Chat, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Names a session for people, or takes its name away.
    Label = "session.label" {
        params: LabelParams, result: Session, scope: Chat, effect: Keyed,
        cli: Cli::Verb(&["sessionKey", "label"]),
    }
}

events! { "sessions";
    /// A session was created.
    SessionCreated = "session.created" {
        payload: SessionCreatedPayload, scope: Read, durability: Logged,
    }
    /// A message was added to a session.
    SessionMessage = "session.message" {
        payload: SessionMessagePayload, scope: Read, durability: Logged,
    }
    /// A session was deleted.
    SessionDeleted = "session.deleted" {
        payload: SessionDeletedPayload, scope: Read, durability: Logged,
    }
}

/// A conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub id: SessionId,
    /// The key if it has one, else the id: what to pass as `sessionKey`.
    pub session_key: String,
    /// `main`, `cron`, `subagent`, `channel`, … : lower-case letters, digits and dashes.
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(default)]
    pub metadata: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// Messages it holds.
    pub messages: u64,
    pub created_at: u64,
    /// When it was last written to.
    pub updated_at: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateParams {
    /// A name of your choice, such as `chat:main`; without one the session has only its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// The id it gets, a UUID, for callers that choose ids; the session that has it is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<SessionId>,
    /// What it is for; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Any JSON object of yours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// The session it came from, by key or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    #[serde(flatten)]
    pub session: Session,
    /// False when a session with this key was there already; nothing of it changed.
    pub created: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetParams {
    /// The session's key or id.
    pub session_key: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {
    /// Only sessions of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// At most this many; 50 when missing, 500 at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Where the page before ended: its `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sessions {
    pub sessions: Vec<Session>,
    /// Pass as `before` for the next page; missing on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryParams {
    /// The session's key or id.
    pub session_key: String,
    /// At most this many; 50 when missing, 500 at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only messages before this `seq`: the `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Messages {
    pub messages: Vec<Message>,
    /// The cursor of the next page; missing on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Messages of this page that are damaged or missing. In `messages` a note of the role
    /// `system` stands in the place of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendParams {
    /// The session's key or id.
    pub session_key: String,
    /// A text, or a list of parts.
    pub content: Content,
    /// Who speaks; `user` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Makes repeating this request one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    pub message_id: MessageId,
    /// The message's position in its session.
    pub seq: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeleteParams {
    /// The session's key or id.
    pub session_key: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deleted {
    pub id: SessionId,
    /// Messages that went with it.
    pub messages: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportParams {
    /// The session's key or id.
    pub session_key: String,
    /// Only messages after this `seq`: the `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// At most this many a page; 500 when missing and at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnnotateParams {
    /// The session's key or id.
    pub session_key: String,
    pub metadata: Map<String, Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LabelParams {
    /// The session's key or id.
    pub session_key: String,
    /// The new label; none takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCreatedPayload {
    pub session_key: String,
    pub session_id: SessionId,
    pub kind: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMessagePayload {
    pub session_key: String,
    pub session_id: SessionId,
    #[serde(flatten)]
    pub message: Message,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeletedPayload {
    pub session_key: String,
    pub session_id: SessionId,
}
