//! A call that may run. Holding an [`Approved`] is the proof; its fields are private, so that only
//! this file makes one.

use super::canonical::{canonical, hash};
use hob_wire::work::ToolContext;
use serde_json::{Value, json};

/// Everything that decides what a tool call does.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// The tool's own name, never an alias.
    pub tool: String,
    /// The hash of its declaration.
    pub fingerprint: String,
    pub args: Value,
    pub context: ToolContext,
    /// What the tool saw of what it would change, if it looks.
    pub state: Option<String>,
}

impl Work {
    /// What an approval of this work is bound to.
    pub fn digest(&self) -> String {
        let context = serde_json::to_value(&self.context).unwrap_or_default();
        hash(&canonical(&json!({
            "tool": self.tool,
            "fingerprint": self.fingerprint,
            "args": self.args,
            "context": context,
            "state": self.state,
        })))
    }
}

/// Proof that a call may run.
#[derive(Debug)]
pub struct Approved<T> {
    call: T,
    digest: String,
}

impl<T> Approved<T> {
    pub fn call(&self) -> &T {
        &self.call
    }

    pub fn into_call(self) -> T {
        self.call
    }

    /// What the approval was bound to.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

impl Approved<Work> {
    /// Takes up the digest that a ticket was redeemed for. Work that differs from it in any byte
    /// is not approved.
    pub fn redeemed(work: Work, digest: &str) -> Option<Self> {
        (work.digest() == digest).then(|| Approved {
            digest: digest.to_owned(),
            call: work,
        })
    }

    /// What a person does with their own hands and the scope `control` is not asked for. A call
    /// of a run is never such an act, whoever brings it.
    pub fn own_act(work: Work, may_control: bool) -> Option<Self> {
        (may_control && work.context.run_id.is_none()).then(|| Approved {
            digest: work.digest(),
            call: work,
        })
    }
}

#[cfg(test)]
#[path = "approved_tests.rs"]
mod tests;
