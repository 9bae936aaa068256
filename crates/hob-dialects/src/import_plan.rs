//! What an import would bring to hob: the common result of all readers.
//!
//! Invariant: a key is in no serialised form of the plan.

use hob_kit::secret::Secret;
use hob_wire::Role;
use hob_wire::rooms::loops::LoopChange;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The kind of imported sessions.
pub const SESSION_KIND: &str = "imported";

/// What an import would bring.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportPlan {
    /// The importer's name.
    pub from: &'static str,
    /// The other system's name, for people.
    pub system: &'static str,
    pub folder: String,
    pub sessions: Vec<ImportedSession>,
    pub jobs: Vec<ImportedJob>,
    pub loops: Vec<ImportedLoop>,
    pub settings: Vec<ImportedSetting>,
    /// `provider/model`, for the alias `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    pub keys: Vec<ImportedKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<ImportedPersona>,
    pub skipped: Vec<SkippedItem>,
    /// Things not imported beside those in `skipped`.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_skipped: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedSession {
    /// hob's key of the session.
    pub session_key: String,
    pub label: String,
    pub metadata: Map<String, Value>,
    /// Serialised as their number.
    #[serde(serialize_with = "count")]
    pub messages: Vec<ImportedMessage>,
}

fn count<S: Serializer>(messages: &[ImportedMessage], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(messages.len() as u64)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedMessage {
    pub role: Role,
    pub text: String,
    /// The idempotency key.
    pub key: String,
}

/// A job that asks a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedJob {
    /// hob's name of the job.
    pub name: String,
    /// A schedule line that hob understands.
    pub schedule: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    pub task: String,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_hours: Option<String>,
    /// True if it was enabled in the source.
    pub was_enabled: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedLoop {
    pub name: String,
    pub config: LoopChange,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub persistent: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub working: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedSetting {
    /// hob's key.
    pub key: String,
    pub value: Value,
}

/// A provider's API key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedKey {
    /// hob's name of the provider.
    pub provider: String,
    #[serde(skip)]
    pub key: Secret,
    /// The place where it was found.
    pub found_in: String,
}

/// The text that shapes how hob speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedPersona {
    pub found_in: String,
    pub text: String,
}

/// Something that is not imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkippedItem {
    pub what: String,
    pub reason: String,
}
