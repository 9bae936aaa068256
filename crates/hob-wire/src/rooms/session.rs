//! `session.*`: conversations. Creating an existing session never erases it. Messages are
//! append-only.

pub use crate::block::{
    Block, BlockChange, BlockContent, BlockDetails, BlockKind, BlockOp, BlockStatus, QuestionKind,
};
use crate::content::{Message, MessageContent, Role};
use crate::damage::DamagedRow;
use crate::event::events;
use crate::id::{MessageId, SessionId};
use crate::method::{CliExposure, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

methods! { "sessions";
    /// Creates a session, or returns the one that already has this key.
    Create = "session.create" {
        params: SessionCreateParams, result: SessionCreateResult, scope: Chat, effect: Keyed,
        cli: CliExposure::Verb(&["sessionKey"]),
    }
    /// Shows one session.
    Get = "session.get" {
        params: SessionGetParams, result: Session, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&["sessionKey"]),
    }
    /// Lists sessions, most recently used first.
    List = "session.list" {
        params: SessionListParams, result: SessionListResult, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&[]),
    }
    /// Pages backward through the messages of a session. Each page is oldest first.
    History = "session.history" {
        params: SessionHistoryParams, result: SessionMessages, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&["sessionKey"]),
    }
    /// Shows a session as blocks, oldest first: from stored messages, and from runs in progress.
    ///
    /// To follow a session, subscribe to `session.block` first, then ask. Apply the events whose
    /// `position` is above the result's.
    Blocks = "session.blocks" {
        params: SessionBlocksParams, result: SessionBlocks, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&["sessionKey"]),
    }
    /// Adds a message to a session. The answer confirms that it is on disk.
    ///
    /// No model is asked; `agent.run` (`hob ask --session KEY`) asks one.
    ///
    /// With `idempotencyKey`, a repeated request adds nothing and returns the same answer.
    Send = "session.send" {
        params: SessionSendParams, result: SessionSendResult, scope: Chat, effect: Keyed,
        cli: CliExposure::Verb(&["sessionKey", "content"]),
    }
    /// Shows the text that a person typed in a session and has not sent, or replaces it.
    ///
    /// An empty `draft` clears it. No model sees a draft, and it goes with its session.
    Draft = "session.draft" {
        params: SessionDraftParams, result: SessionDraftResult, scope: Chat, effect: Keyed,
        cli: CliExposure::Verb(&["sessionKey", "draft"]),
    }
    /// Creates a session that begins with the messages of another one, up to and including `at`.
    ///
    /// The messages are copied, so the fork stays when its parent is deleted. It has no permission
    /// rules, runs, kept outputs or costs of its parent. The fork of a session of a loop, job,
    /// webhook or sub-agent has the kind `main`.
    ///
    /// With `newKey`, a repeated request returns the same session.
    Fork = "session.fork" {
        params: SessionForkParams, result: SessionForkResult, scope: Chat, effect: Keyed,
        cli: CliExposure::Verb(&["sessionKey"]),
    }
    /// Deletes a session and its messages.
    Delete = "session.delete" {
        params: SessionDeleteParams, result: SessionDeleteResult, scope: Control, effect: Keyed,
        cli: CliExposure::Verb(&["sessionKey"]),
    }
    /// Pages forward through a session from its first message.
    Export = "session.export" {
        params: SessionExportParams, result: SessionMessages, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&["sessionKey"]),
    }
    /// Sets entries of a session's metadata. `null` removes an entry; the others stay.
    Annotate = "session.annotate" {
        params: SessionAnnotateParams, result: Session, scope: Chat, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Sets or removes the label of a session.
    Label = "session.label" {
        params: SessionLabelParams, result: Session, scope: Chat, effect: Keyed,
        cli: CliExposure::Verb(&["sessionKey", "label"]),
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
    /// A block of a session's transcript changed; see `session.blocks`.
    ///
    /// Only a subscription that names this topic receives it: `session.*` and `*` do not.
    SessionBlock = "session.block" {
        payload: SessionBlockPayload, scope: Read, durability: Volatile, only_named: true,
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
    /// The key, or the id if it has no key. Use it as `sessionKey`.
    pub session_key: String,
    /// `main`, `cron`, `subagent`, `channel`, … : lower-case letters, digits and dashes.
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The first words of its first user message; only in `session.get` and `session.list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default)]
    pub metadata: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The number of messages.
    pub messages: u64,
    pub created_at: u64,
    /// The time of the last write.
    pub updated_at: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionCreateParams {
    /// A key of your choice, such as `chat:main`. Without one, the session has only its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// The id (a UUID), for callers that choose ids. An existing session with this id is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<SessionId>,
    /// The kind of session; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Any JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// The parent session, by key or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCreateResult {
    #[serde(flatten)]
    pub session: Session,
    /// False if a session with this key existed already. It is unchanged.
    pub created: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionForkParams {
    /// The session's key or id.
    pub session_key: String,
    /// The `seq` of the last message that the fork has; all messages when missing, none with 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The key of the new session. Without one, it has only its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_key: Option<String>,
    /// The label of the new session; the label or title of the source with a mark when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionForkResult {
    #[serde(flatten)]
    pub session: Session,
    /// False if an earlier request with this key made the fork. It is unchanged.
    pub created: bool,
    /// The number of messages that were copied from the parent.
    pub copied: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionGetParams {
    /// The session's key or id.
    pub session_key: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionListParams {
    /// Only sessions of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Only sessions with one of these labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The most entries to return; 50 when missing, at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionListResult {
    pub sessions: Vec<Session>,
    /// The `before` of the next page; missing on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionHistoryParams {
    /// The session's key or id.
    pub session_key: String,
    /// The most entries to return; 50 when missing, at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only messages before this `seq`: the `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMessages {
    pub messages: Vec<Message>,
    /// The cursor of the next page; missing on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Damaged or missing messages of this page. In `messages` each is replaced by a note with the
    /// role `system`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}

/// Selects blocks: a page before or after a stored position, or single blocks. Without `before`,
/// `after` and `ids`, the last page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionBlocksParams {
    /// The session's key or id.
    pub session_key: String,
    /// Only blocks before this `seq`: the `before` of the page that follows. The page ends there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Only blocks after this `seq`, and those that are not stored yet: the `after` of the page that
    /// precedes, or `settled`. The page begins there. Not together with `before`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// The number of blocks to return; 50 when missing, at most 500. A page has whole messages, with
    /// the outputs of their calls, so it may have more. It always has at least one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Exactly these blocks, as far as they exist. Not together with the other fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
}

/// A page of blocks, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionBlocks {
    pub blocks: Vec<Block>,
    /// The `before` of the previous page; missing on the first page of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The `after` of the next page; missing if the page reaches the end. A page with it has only
    /// final blocks, so the `position` and `settled` of the last page hold for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Blocks with at most this `seq` are final: they are neither changed nor dropped.
    pub settled: u64,
    /// The last change that the page contains. Later changes have a higher `position`.
    pub position: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionSendParams {
    /// The session's key or id.
    pub session_key: String,
    /// A text, or a list of parts.
    pub content: MessageContent,
    /// The author; `user` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// A repeated request with the same key is the same message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSendResult {
    pub message_id: MessageId,
    /// The message's position in its session.
    pub seq: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionDraftParams {
    /// The session's key or id.
    pub session_key: String,
    /// The new draft; empty clears it. Missing changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDraftResult {
    /// The draft; empty if there is none.
    pub draft: String,
    /// The time of its last change; missing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionDeleteParams {
    /// The session's key or id.
    pub session_key: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleteResult {
    pub id: SessionId,
    /// The number of deleted messages.
    pub messages: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionExportParams {
    /// The session's key or id.
    pub session_key: String,
    /// Only messages after this `seq`: the `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// The most messages per page; 500 when missing, which is also the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionAnnotateParams {
    /// The session's key or id.
    pub session_key: String,
    pub metadata: Map<String, Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionLabelParams {
    /// The session's key or id.
    pub session_key: String,
    /// The new label; missing removes it.
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
pub struct SessionBlockPayload {
    pub session_key: String,
    pub session_id: SessionId,
    #[serde(flatten)]
    pub change: BlockChange,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeletedPayload {
    pub session_key: String,
    pub session_id: SessionId,
}
