//! What the audit record keeps of a decision: who, about what, bound to which bytes. Arguments are
//! bounded and masked here; what is too long is kept as its length and its hash.

use crate::grants::rule_entry;
use hob_core::permission::recorded;
use hob_kit::mask::Mask;
use hob_store::NewEntry;
use hob_wire::rooms::permission::{AskParams, Question};
use hob_wire::rule::Terms;
use hob_wire::work::{Decision, ToolContext};
use serde_json::{Value, json};

/// Makes entries of the record.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    mask: Mask,
}

impl Recorder {
    pub(super) fn new(mask: Mask) -> Self {
        Recorder { mask }
    }

    /// A call that was decided by rule, or that a person is asked about.
    pub(super) fn ruled(
        &self,
        act: &'static str,
        by: &str,
        params: &AskParams,
        digest: &str,
    ) -> NewEntry {
        let mut entry = entry(act, by, &params.tool.name, &params.context);
        let mut matter = json!({
            "args": params.args,
            "callId": params.context.call_id,
            "workspace": params.context.workspace,
        });
        if let Some(channel) = &params.channel {
            matter["channel"] = json!(channel);
        }
        entry.matter = self.kept(&matter);
        // A digest looks like a token, and is none.
        entry.matter["digest"] = json!(digest);
        entry
    }

    /// An answered question.
    pub(super) fn answered(&self, decision: Decision, by: &str, question: &Question) -> NewEntry {
        let matter = json!({
            "question": question.id,
            "args": question.args,
            "callId": question.call_id,
        });
        let mut matter = self.kept(&matter);
        matter["digest"] = json!(question.digest);
        NewEntry {
            act: word(decision),
            by: by.to_owned(),
            session_key: Some(question.session_key.clone()),
            run_id: Some(question.run_id),
            tool: Some(question.tool.clone()),
            matter,
        }
    }

    pub(super) fn rule(&self, act: &'static str, by: &str, id: &str, terms: &Terms) -> NewEntry {
        rule_entry(&self.mask, act, by, id, terms)
    }

    fn kept(&self, matter: &Value) -> Value {
        recorded(matter, &|text| self.mask.apply(text).into_owned())
    }
}

pub(super) fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allowed",
        Decision::Deny => "denied",
    }
}

fn entry(act: &'static str, by: &str, tool: &str, context: &ToolContext) -> NewEntry {
    NewEntry {
        act,
        by: by.to_owned(),
        session_key: context.session_key.clone(),
        run_id: context.run_id,
        tool: Some(tool.to_owned()),
        matter: Value::Null,
    }
}
