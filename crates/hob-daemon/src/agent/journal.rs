//! Entries of a run's journal: the inputs of its turn machine with their data. Invariant: the
//! journal alone rebuilds everything that a run needs to continue; the conversation itself is in
//! its session.

use hob_core::turn::TurnEvent;
use hob_store::BudgetScope;
use hob_wire::ToolResult;
use hob_wire::rooms::agent::InlineImage;
use hob_wire::rooms::permission::PermissionDenial;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One entry of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JournalEntry {
    #[serde(flatten)]
    pub(crate) event: TurnEvent,
    #[serde(flatten)]
    pub(crate) data: EntryData,
}

/// Data of an event; each field belongs to few kinds of events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EntryData {
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The model of the call that follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asks: Option<String>,
    /// Most that the model call that follows may cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reserved: Option<u64>,
    /// True if the model call that follows was deferred, because hob was stopping.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unasked: bool,
    /// Digest that an approval is bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approved: Option<String>,
    /// The denial of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) denial: Option<PermissionDenial>,
    /// The result of a call, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<ToolResult>,
    /// True if the call was stopped while it ran.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) stopped: bool,
    /// Known facts about a call in doubt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) known: Option<String>,
    /// Steering text for the run.
    #[serde(rename = "words", skip_serializing_if = "Option::is_none")]
    pub(crate) steering: Option<SteeringText>,
    /// The budget that stopped the run, or that is raised.
    #[serde(rename = "purse", skip_serializing_if = "Option::is_none")]
    pub(crate) budget: Option<BudgetName>,
    /// Amount that a person allows on top of a ceiling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allowance: Option<u64>,
}

/// A text that a person adds to a running task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SteeringText {
    pub(crate) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) images: Vec<InlineImage>,
    /// Idempotency key: the same text sent again is taken once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
}

/// A budget beyond the run's own, as the journal names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum BudgetName {
    Session,
    Day,
    Total,
}

impl From<BudgetScope> for BudgetName {
    fn from(budget: BudgetScope) -> Self {
        match budget {
            BudgetScope::Session => BudgetName::Session,
            BudgetScope::Day => BudgetName::Day,
            BudgetScope::Total => BudgetName::Total,
        }
    }
}

impl JournalEntry {
    pub(crate) fn new(event: TurnEvent) -> Self {
        JournalEntry {
            event,
            data: EntryData::default(),
        }
    }

    pub(crate) fn with_data(event: TurnEvent, data: EntryData) -> Self {
        JournalEntry { event, data }
    }

    /// The idempotency key of its steering text, if any.
    pub(crate) fn steer_key(&self) -> Option<String> {
        self.data.steering.as_ref()?.key.clone()
    }

    pub(crate) fn from_json(json: Value) -> Result<JournalEntry, serde_json::Error> {
        serde_json::from_value(json)
    }

    pub(crate) fn to_json(&self) -> Value {
        // Plain fields only: nothing here can fail to become JSON.
        serde_json::to_value(self).unwrap_or_default()
    }
}
