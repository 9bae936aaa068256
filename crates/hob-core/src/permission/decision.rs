//! The decision about a call: first the ceiling, then the stored rules, then the mode. Pure.
//!
//! Invariants: nothing beyond the ceiling is allowed, whatever a rule says; deny wins; a call that
//! no rule and no mode allows is asked about.

use super::call_facts::CallFacts;
use super::paths_and_hosts::{CallPath, folder_steps};
use super::rule_index::RuleIndex;
use crate::tool_traits::ToolTraits;
use crate::unattended;
use hob_wire::work::{
    Idempotency, NeedKind, PermissionMode, RuleDecision, Tier, ToolContext, ToolSpec,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// A call that needs a decision.
#[derive(Clone, Copy, Debug)]
pub struct PermissionRequest<'c> {
    pub tool: &'c ToolSpec,
    pub args: &'c Value,
    pub context: &'c ToolContext,
    /// The highest tier it may have: the lowest ceiling of its run, its session kind and its
    /// channel.
    pub ceiling: Option<Tier>,
    pub decision_context: DecisionContext<'c>,
}

/// The circumstances of a call, known to hob and not claimed by the model.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecisionContext<'c> {
    /// The id of its session, if it is stored.
    pub session: Option<&'c str>,
    /// The kind of its session.
    pub kind: Option<&'c str>,
    /// The channel that the run's task came from.
    pub channel: Option<&'c str>,
    /// A built-in tool: it stays in its workspace and runs commands in the sandbox.
    pub is_builtin: bool,
    /// What is special about the tool; nothing about one that is not built in.
    pub traits: ToolTraits,
    /// The call changes a file that another program may execute on its own: a person is asked,
    /// whatever a rule or the mode allows.
    pub asks_always: bool,
    pub mode: PermissionMode,
    pub now_ms: u64,
}

/// The result. `rule` names what decided: `rule:ID`, or a built-in rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleVerdict {
    /// It may run.
    Allow { rule: String },
    /// It may not run, and nobody is asked.
    Deny { rule: String, reason: String },
    /// A person decides.
    Ask { rule: String },
}

/// The highest tiers for session kinds and channels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TierCeilings {
    pub kinds: BTreeMap<String, Tier>,
    pub channels: BTreeMap<String, Tier>,
}

/// Reading inside the workspace.
const RULE_READ: &str = "rule:read";
/// A tier beyond the ceiling.
const RULE_CEILING: &str = "rule:ceiling";
/// A call that reaches only what belongs to its own session, as a loop's memory does.
const RULE_OWN_MEMORY: &str = "rule:own-memory";
/// A change of a file that another program may execute on its own.
const RULE_ASKS_ALWAYS: &str = "rule:asks-always";
/// A channel without its own ceiling may only read.
const CHANNEL_CEILING: Tier = Tier::Read;

impl TierCeilings {
    /// Returns the lowest ceiling of a run, its session kind and its channel.
    pub fn lowest(
        &self,
        run: Option<Tier>,
        kind: Option<&str>,
        channel: Option<&str>,
    ) -> Option<Tier> {
        let kind = kind.and_then(|kind| self.kinds.get(kind).copied());
        let channel =
            channel.map(|name| self.channels.get(name).copied().unwrap_or(CHANNEL_CEILING));
        [run, kind, channel].into_iter().flatten().min()
    }
}

/// Returns true if nobody can be asked about a run on a session of this kind.
pub fn is_unattended(kind: Option<&str>, channel: Option<&str>) -> bool {
    channel.is_some() || kind.is_some_and(|kind| unattended::SESSION_KINDS.contains(&kind))
}

/// Returns the tier of a call: its tool's, or higher if an argument opens the network.
pub fn call_tier(call: &PermissionRequest<'_>) -> Tier {
    CallFacts::from_call(call.tool, call.args, call.context).tier
}

pub fn decide(call: &PermissionRequest<'_>, rules: &RuleIndex) -> RuleVerdict {
    match (decide_by_known_rules(call, rules), rules.damaged()) {
        // The damaged rule may have denied exactly this call.
        (RuleVerdict::Allow { .. }, Some(damaged)) => RuleVerdict::Ask {
            rule: format!("rule:{damaged}"),
        },
        (verdict, _) => verdict,
    }
}

fn decide_by_known_rules(call: &PermissionRequest<'_>, rules: &RuleIndex) -> RuleVerdict {
    let facts = CallFacts::from_call(call.tool, call.args, call.context);
    if let Some(ceiling) = call.ceiling
        && facts.tier > ceiling
    {
        return RuleVerdict::Deny {
            rule: RULE_CEILING.to_owned(),
            reason: format!(
                "This run may use tools up to the tier '{}', and this call of '{}' is of the tier '{}'. Go on without it.",
                ceiling.name(),
                call.tool.name,
                facts.tier.name()
            ),
        };
    }
    if let Some(found) = rules.find_match(&facts, &call.decision_context) {
        let rule = format!("rule:{}", found.rule);
        return match found.decision {
            RuleDecision::Allow => RuleVerdict::Allow { rule },
            RuleDecision::Ask => RuleVerdict::Ask { rule },
            RuleDecision::Deny => RuleVerdict::Deny {
                rule,
                reason: "A rule of the person denies this call. Do not try it another way; go on without it.".to_owned(),
            },
        };
    }
    decide_by_mode(call, &facts)
}

/// Returns true if a call that would fail needs no approval: it has no effect, and its error
/// reveals nothing new. Built-in tools refuse by the call itself, by what reading the workspace
/// would reveal, or by what this machine lacks, such as tmux or a sandbox.
pub fn can_fail_without_asking(call: &PermissionRequest<'_>) -> bool {
    call.decision_context.is_builtin
}

/// Decides about a call that no stored rule covers.
fn decide_by_mode(call: &PermissionRequest<'_>, facts: &CallFacts<'_>) -> RuleVerdict {
    let rule = || format!("mode:{}", call.decision_context.mode.name());
    if is_free_for_its_session(call) {
        return RuleVerdict::Allow {
            rule: RULE_OWN_MEMORY.to_owned(),
        };
    }
    let looks_only = facts.tier == Tier::Read && call.tool.effect == Idempotency::Pure;
    if looks_only
        && (call.tool.needs.is_empty() || is_inside_workspace(facts) || is_own_session(call))
    {
        return RuleVerdict::Allow {
            rule: RULE_READ.to_owned(),
        };
    }
    // Read-only mode denies the call anyway, so nobody needs to be asked.
    if call.decision_context.asks_always && call.decision_context.mode != PermissionMode::ReadOnly {
        return RuleVerdict::Ask {
            rule: RULE_ASKS_ALWAYS.to_owned(),
        };
    }
    // Only built-in tools are known to stay in the workspace.
    let in_workspace =
        call.decision_context.is_builtin && facts.tier <= Tier::Exec && is_inside_workspace(facts);
    match call.decision_context.mode {
        PermissionMode::Full => RuleVerdict::Allow { rule: rule() },
        PermissionMode::Workspace if in_workspace => RuleVerdict::Allow { rule: rule() },
        PermissionMode::Workspace | PermissionMode::Ask => RuleVerdict::Ask { rule: rule() },
        PermissionMode::ReadOnly => RuleVerdict::Deny {
            rule: rule(),
            reason: "Only looking inside the workspace is allowed now (permission.mode is 'read-only'). Go on without it.".to_owned(),
        },
    }
}

/// Returns true if the call names paths, all of them lexically in the workspace, and no host.
fn is_inside_workspace(facts: &CallFacts<'_>) -> bool {
    let root = facts.context.workspace.as_deref().and_then(folder_steps);
    let Some(root) = root else {
        return false;
    };
    let reaches_out = |kind: NeedKind| {
        let mut needs = facts.tool.needs.iter();
        needs.any(|need| need.kind == kind)
    };
    let inside = |place: &CallPath| match place {
        CallPath::Known { steps, .. } => steps.starts_with(&root),
        CallPath::Unknown => false,
    };
    !facts.paths.is_empty()
        && facts.paths.iter().all(inside)
        && !facts.network
        && !reaches_out(NeedKind::Host)
        && !reaches_out(NeedKind::Session)
        && (facts.tier >= Tier::Exec || !reaches_out(NeedKind::Command))
}

/// Returns true if the call reaches only what belongs to its own session, as a loop's memory does.
fn is_free_for_its_session(call: &PermissionRequest<'_>) -> bool {
    let kind = call.decision_context.traits.free_for_kind;
    call.decision_context.is_builtin && kind.is_some() && kind == call.decision_context.kind
}

/// Returns true if the call needs nothing but its own session.
fn is_own_session(call: &PermissionRequest<'_>) -> bool {
    call.tool.needs.iter().all(|need| {
        let own = call.context.session_key.as_ref();
        let names_own = match call.args.get(&need.arg) {
            None | Some(Value::Null) => true,
            Some(Value::String(key)) => own == Some(key),
            Some(_) => false,
        };
        need.kind == NeedKind::Session && names_own
    })
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
