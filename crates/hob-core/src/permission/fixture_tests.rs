//! Calls and rules for the tests of this folder.

use super::decision::{DecisionContext, PermissionRequest};
use hob_wire::id::RunId;
use hob_wire::rule::{PermissionRule, RuleTerms};
use hob_wire::work::{
    AnswerReach, Idempotency, NeedKind, ResourceNeed, RuleDecision, Tier, ToolContext, ToolSpec,
};
use serde_json::{Value, json};

pub(super) const SESSION: &str = "00000000-0000-7000-8000-00000000aaaa";

pub(super) fn run(number: u8) -> RunId {
    let id = format!("00000000-0000-7000-8000-0000000000{number:02x}");
    id.parse().expect("is an id")
}

pub(super) fn tool(name: &str, tier: Tier, needs: &[(NeedKind, &str)]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        aliases: vec![format!("old.{name}")],
        description: "Works.".to_owned(),
        parameters: json!({ "type": "object" }),
        tier,
        effect: Idempotency::Opaque,
        needs: needs
            .iter()
            .map(|(kind, arg)| ResourceNeed {
                kind: *kind,
                arg: (*arg).to_owned(),
            })
            .collect(),
        approval: "Work".to_owned(),
        timeout_ms: None,
    }
}

pub(super) fn write() -> ToolSpec {
    tool("write", Tier::Write, &[(NeedKind::Path, "path")])
}

pub(super) fn exec() -> ToolSpec {
    let needs = [
        (NeedKind::Command, "command"),
        (NeedKind::Path, "cwd"),
        (NeedKind::Network, "network"),
        (NeedKind::Hosts, "hosts"),
    ];
    tool("exec", Tier::Exec, &needs)
}

pub(super) fn fetch() -> ToolSpec {
    tool("web_fetch", Tier::External, &[(NeedKind::Host, "url")])
}

/// A call and all that is around it, owned.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) tool: ToolSpec,
    pub(super) args: Value,
    pub(super) context: ToolContext,
    pub(super) ceiling: Option<Tier>,
    pub(super) decision_context: DecisionContext<'static>,
}

impl Asked {
    pub(super) fn new(tool: ToolSpec, args: Value) -> Asked {
        Asked {
            tool,
            args,
            context: ToolContext {
                session_key: Some("chat:main".to_owned()),
                run_id: Some(run(1)),
                workspace: Some("/w/app".to_owned()),
                ..ToolContext::default()
            },
            ceiling: None,
            decision_context: DecisionContext {
                session: Some(SESSION),
                is_builtin: true,
                now_ms: 1_000,
                ..DecisionContext::default()
            },
        }
    }

    pub(super) fn call(&self) -> PermissionRequest<'_> {
        PermissionRequest {
            tool: &self.tool,
            args: &self.args,
            context: &self.context,
            ceiling: self.ceiling,
            decision_context: self.decision_context,
        }
    }
}

pub(super) fn terms(tool: &str, decision: RuleDecision, scope: AnswerReach) -> RuleTerms {
    RuleTerms {
        session_key: (scope == AnswerReach::Session).then(|| "chat:main".to_owned()),
        run_id: (scope == AnswerReach::Run).then(|| run(1)),
        folder: (scope == AnswerReach::Folder).then(|| "/w".to_owned()),
        ..RuleTerms::new(tool, decision, scope)
    }
}

pub(super) fn rule(id: &str, terms: RuleTerms) -> PermissionRule {
    PermissionRule {
        id: id.to_owned(),
        terms,
        created_at: 0,
        created_by: "owner".to_owned(),
        expires_at: None,
    }
}
