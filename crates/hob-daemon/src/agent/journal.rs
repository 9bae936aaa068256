//! What a run's journal holds: the inputs of its machine, each with what it carried. Invariant:
//! a journal alone rebuilds everything a run must know to go on; the conversation itself is in
//! its session.

use hob_core::turn::Event;
use hob_store::Purse;
use hob_wire::ToolResult;
use hob_wire::rooms::agent::Image;
use hob_wire::rooms::permission::Denial;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    #[serde(flatten)]
    pub(crate) event: Event,
    #[serde(flatten)]
    pub(crate) with: With,
}

/// What came with an event; each field belongs to few kinds of events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct With {
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The model that is asked next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asks: Option<String>,
    /// What the model call that follows may cost at the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reserved: Option<u64>,
    /// The model call that follows was not prepared, because hob was stopping.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unasked: bool,
    /// What a person's yes is bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approved: Option<String>,
    /// Why a call was not allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) denial: Option<Denial>,
    /// What the model is told a call gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<ToolResult>,
    /// The call was stopped while it ran.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) stopped: bool,
    /// What is known of a call in doubt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) known: Option<String>,
    /// Words for a run under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) words: Option<Words>,
    /// Whose ceiling stopped the run, or who gives more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) purse: Option<PurseName>,
    /// What a person allows on top of a ceiling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allowance: Option<u64>,
}

/// What a person adds to a running task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Words {
    pub(crate) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) images: Vec<Image>,
    /// Makes saying them again one saying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
}

/// A budget beyond the run's own, as the journal names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum PurseName {
    Session,
    Day,
    Total,
}

impl From<Purse> for PurseName {
    fn from(purse: Purse) -> Self {
        match purse {
            Purse::Session => PurseName::Session,
            Purse::Day => PurseName::Day,
            Purse::Total => PurseName::Total,
        }
    }
}

impl Entry {
    pub(crate) fn new(event: Event) -> Self {
        Entry {
            event,
            with: With::default(),
        }
    }

    pub(crate) fn with(event: Event, with: With) -> Self {
        Entry { event, with }
    }

    /// The key of the words that came with it, if they have one.
    pub(crate) fn steer_key(&self) -> Option<String> {
        self.with.words.as_ref()?.key.clone()
    }

    pub(crate) fn read(json: Value) -> Result<Entry, serde_json::Error> {
        serde_json::from_value(json)
    }

    pub(crate) fn to_json(&self) -> Value {
        // Plain fields only: nothing here can fail to become JSON.
        serde_json::to_value(self).unwrap_or_default()
    }
}
