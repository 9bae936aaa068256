//! Audit entries of decisions: who, about what, bound to which digest. Arguments are bounded and
//! masked here; long ones are stored as length and hash.

use crate::grants::rule_entry;
use hob_core::permission::to_audit_value;
use hob_kit::mask::SecretMask;
use hob_store::NewAuditEntry;
use hob_wire::rooms::permission::{PermissionAskParams, PermissionQuestion};
use hob_wire::rule::RuleTerms;
use hob_wire::work::{PermissionDecision, ToolContext};
use serde_json::{Value, json};

/// Builds audit entries.
#[derive(Clone, Debug)]
pub(super) struct AuditRecorder {
    mask: SecretMask,
}

impl AuditRecorder {
    pub(super) fn new(mask: SecretMask) -> Self {
        AuditRecorder { mask }
    }

    /// The entry of a call that was decided by rule, or that a person is asked about.
    pub(super) fn ruling_entry(
        &self,
        act: &'static str,
        by: &str,
        params: &PermissionAskParams,
        digest: &str,
    ) -> NewAuditEntry {
        let mut entry = call_entry(act, by, &params.tool.name, &params.context);
        let mut matter = json!({
            "args": params.args,
            "callId": params.context.call_id,
            "workspace": params.context.workspace,
        });
        if let Some(channel) = &params.channel {
            matter["channel"] = json!(channel);
        }
        entry.matter = self.redacted(&matter);
        // Added after masking: a digest looks like a secret and would be masked.
        entry.matter["digest"] = json!(digest);
        entry
    }

    /// The entry of an answered question.
    pub(super) fn answer_entry(
        &self,
        decision: PermissionDecision,
        by: &str,
        question: &PermissionQuestion,
    ) -> NewAuditEntry {
        let matter = json!({
            "question": question.id,
            "args": question.args,
            "callId": question.call_id,
        });
        let mut matter = self.redacted(&matter);
        matter["digest"] = json!(question.digest);
        NewAuditEntry {
            act: decision_name(decision),
            by: by.to_owned(),
            session_key: Some(question.session_key.clone()),
            run_id: Some(question.run_id),
            tool: Some(question.tool.clone()),
            matter,
        }
    }

    pub(super) fn rule_entry(
        &self,
        act: &'static str,
        by: &str,
        id: &str,
        terms: &RuleTerms,
    ) -> NewAuditEntry {
        rule_entry(&self.mask, act, by, id, terms)
    }

    fn redacted(&self, matter: &Value) -> Value {
        to_audit_value(matter, &|text| self.mask.apply(text).into_owned())
    }
}

pub(super) fn decision_name(decision: PermissionDecision) -> &'static str {
    match decision {
        PermissionDecision::Allow => "allowed",
        PermissionDecision::Deny => "denied",
    }
}

fn call_entry(act: &'static str, by: &str, tool: &str, context: &ToolContext) -> NewAuditEntry {
    NewAuditEntry {
        act,
        by: by.to_owned(),
        session_key: context.session_key.clone(),
        run_id: context.run_id,
        tool: Some(tool.to_owned()),
        matter: Value::Null,
    }
}
