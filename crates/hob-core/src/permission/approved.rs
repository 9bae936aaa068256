//! A call that may run. An [`Approved`] is the proof; its fields are private, so only this file
//! creates one.

use super::canonical_json::{canonical_json, sha256_hex};
use hob_wire::work::ToolContext;
use serde_json::{Value, json};

/// Everything that determines what a tool call does.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedCall {
    /// The tool's own name, never an alias.
    pub tool: String,
    /// The hash of the tool's declaration.
    pub fingerprint: String,
    pub args: Value,
    pub context: ToolContext,
    /// The state the tool would change, if the tool inspects it.
    pub state: Option<String>,
}

impl PreparedCall {
    /// Returns the digest an approval is bound to.
    pub fn digest(&self) -> String {
        let context = serde_json::to_value(&self.context).unwrap_or_default();
        // Canonical bytes: equal calls have equal digests, and any other difference shows.
        sha256_hex(&canonical_json(&json!({
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

    /// Returns the digest the approval is bound to.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

impl Approved<PreparedCall> {
    /// Approves a call by the digest that a ticket was redeemed for. A call that differs in any
    /// byte is not approved.
    pub fn from_ticket(work: PreparedCall, digest: &str) -> Option<Self> {
        (work.digest() == digest).then(|| Approved {
            digest: digest.to_owned(),
            call: work,
        })
    }

    /// Approves an action of a person with the scope `control`; they are not asked. A call of a run
    /// is never such an action, whoever sends it.
    pub fn from_person(work: PreparedCall, may_control: bool) -> Option<Self> {
        (may_control && work.context.run_id.is_none()).then(|| Approved {
            digest: work.digest(),
            call: work,
        })
    }
}

#[cfg(test)]
#[path = "approved_tests.rs"]
mod tests;
