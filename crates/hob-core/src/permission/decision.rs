//! What the rules say of a call: first how far it may reach at all, then the stored rules, then
//! what the house does by itself. Pure.
//!
//! Invariants: nothing beyond the ceiling is allowed, whatever a rule says; a rule that denies
//! wins over every other; what no rule and no mode allows is asked.

use super::facts::Facts;
use super::place::{Place, folder};
use super::rulebook::RuleBook;
use crate::unattended;
use hob_wire::work::{Effect, Mode, NeedKind, RuleDecision, Tier, ToolContext, ToolSpec};
use serde_json::Value;
use std::collections::BTreeMap;

/// A call that needs a decision.
#[derive(Clone, Copy, Debug)]
pub struct Call<'c> {
    pub tool: &'c ToolSpec,
    pub args: &'c Value,
    pub context: &'c ToolContext,
    /// The farthest it may reach: the least of its run's, its session kind's and its channel's.
    pub ceiling: Option<Tier>,
    pub scene: Scene<'c>,
}

/// What surrounds a call: known to the house, not said by the model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scene<'c> {
    /// The id of its session, if that is stored.
    pub session: Option<&'c str>,
    /// The kind of its session.
    pub kind: Option<&'c str>,
    /// The channel its run's task came by.
    pub channel: Option<&'c str>,
    /// A tool of the house: it stays in its workspace and runs commands in the sandbox.
    pub of_house: bool,
    /// The call changes a file that something else may run by itself: a person is asked, whatever
    /// a rule or the mode allows.
    pub asks_always: bool,
    pub mode: Mode,
    pub now_ms: u64,
}

/// What the rules say. `rule` names the one that decides: `rule:ID`, or a built-in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow { rule: String },
    /// It may not, and nobody is asked.
    Deny { rule: String, reason: String },
    /// A person decides.
    Ask { rule: String },
}

/// The farthest that sessions of a kind and runs of a channel may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ceilings {
    pub kinds: BTreeMap<String, Tier>,
    pub channels: BTreeMap<String, Tier>,
}

/// Looking inside the workspace.
const RULE_READ: &str = "rule:read";
/// A reach beyond the ceiling.
const RULE_CEILING: &str = "rule:ceiling";
/// A loop that writes its own memory.
const RULE_OWN_MEMORY: &str = "rule:own-memory";
/// A change of a file that something else may run by itself.
const RULE_ASKS_ALWAYS: &str = "rule:asks-always";
/// The tool of a loop's own memory, and the kind of the sessions it is theirs in.
const LOOP_MEMORY: &str = "loop_memory";
const LOOP_KIND: &str = "loop";
/// A channel without a ceiling of its own may look, and no more.
const CHANNEL_CEILING: Tier = Tier::Read;

impl Ceilings {
    /// The least of a run's own ceiling, its session kind's and its channel's.
    pub fn of(&self, run: Option<Tier>, kind: Option<&str>, channel: Option<&str>) -> Option<Tier> {
        let kind = kind.and_then(|kind| self.kinds.get(kind).copied());
        let channel =
            channel.map(|name| self.channels.get(name).copied().unwrap_or(CHANNEL_CEILING));
        [run, kind, channel].into_iter().flatten().min()
    }
}

/// Whether nobody is there to be asked about a run on a session of this kind.
pub fn is_unattended(kind: Option<&str>, channel: Option<&str>) -> bool {
    channel.is_some() || kind.is_some_and(|kind| unattended::KINDS.contains(&kind))
}

/// How far a call reaches: as far as its tool, and further if an argument opens the network.
pub fn reach(call: &Call<'_>) -> Tier {
    Facts::of(call.tool, call.args, call.context).tier
}

pub fn decide(call: &Call<'_>, book: &RuleBook) -> Verdict {
    match (decide_by_known_rules(call, book), book.damaged()) {
        // What the damaged rule said may have been a denial of this very call.
        (Verdict::Allow { .. }, Some(damaged)) => Verdict::Ask {
            rule: format!("rule:{damaged}"),
        },
        (verdict, _) => verdict,
    }
}

fn decide_by_known_rules(call: &Call<'_>, book: &RuleBook) -> Verdict {
    let facts = Facts::of(call.tool, call.args, call.context);
    if let Some(ceiling) = call.ceiling
        && facts.tier > ceiling
    {
        return Verdict::Deny {
            rule: RULE_CEILING.to_owned(),
            reason: format!(
                "This run may use tools up to the tier '{}', and this call of '{}' is of the tier '{}'. Go on without it.",
                ceiling.name(),
                call.tool.name,
                facts.tier.name()
            ),
        };
    }
    if let Some(found) = book.find(&facts, &call.scene) {
        let rule = format!("rule:{}", found.rule);
        return match found.decision {
            RuleDecision::Allow => Verdict::Allow { rule },
            RuleDecision::Ask => Verdict::Ask { rule },
            RuleDecision::Deny => Verdict::Deny {
                rule,
                reason: "A rule of the person denies this call. Do not try it another way; go on without it.".to_owned(),
            },
        };
    }
    by_mode(call, &facts)
}

/// Whether a call is a tool of the house changing files, and nothing else. One that would fail
/// has no effect, and its refusal tells nothing that a look inside the workspace would not: of
/// what lies outside such a tool says only that it does.
pub fn is_change_of_files(call: &Call<'_>) -> bool {
    let facts = Facts::of(call.tool, call.args, call.context);
    let paths_only = call.tool.needs.iter();
    let paths_only = paths_only
        .map(|need| need.kind)
        .all(|kind| kind == NeedKind::Path);
    call.scene.of_house && facts.tier == Tier::Write && paths_only && !facts.paths.is_empty()
}

/// Whether a call that would fail needs nobody's yes: it has no effect, and its refusal tells
/// nothing that is not known. The tools of the house refuse by what the call itself says, by what a
/// look inside the workspace would tell, or by what this machine lacks, such as tmux or a sandbox.
pub fn may_fail_unasked(call: &Call<'_>) -> bool {
    call.scene.of_house
}

/// What the house does with a call that no stored rule covers.
fn by_mode(call: &Call<'_>, facts: &Facts<'_>) -> Verdict {
    let rule = || format!("mode:{}", call.scene.mode.name());
    if is_own_memory(call) {
        return Verdict::Allow {
            rule: RULE_OWN_MEMORY.to_owned(),
        };
    }
    let looks_only = facts.tier == Tier::Read && call.tool.effect == Effect::Pure;
    if looks_only && (call.tool.needs.is_empty() || is_inside(facts) || is_own(call)) {
        return Verdict::Allow {
            rule: RULE_READ.to_owned(),
        };
    }
    if call.scene.asks_always && call.scene.mode != Mode::ReadOnly {
        return Verdict::Ask {
            rule: RULE_ASKS_ALWAYS.to_owned(),
        };
    }
    let in_workspace = call.scene.of_house && facts.tier <= Tier::Exec && is_inside(facts);
    match call.scene.mode {
        Mode::Full => Verdict::Allow { rule: rule() },
        Mode::Workspace if in_workspace => Verdict::Allow { rule: rule() },
        Mode::Workspace | Mode::Ask => Verdict::Ask { rule: rule() },
        Mode::ReadOnly => Verdict::Deny {
            rule: rule(),
            reason: "Only looking inside the workspace is allowed now (permission.mode is 'read-only'). Go on without it.".to_owned(),
        },
    }
}

/// Whether the call names places, all of them in the workspace by their words, and no host.
fn is_inside(facts: &Facts<'_>) -> bool {
    let root = facts.context.workspace.as_deref().and_then(folder);
    let Some(root) = root else {
        return false;
    };
    let reaches_out = |kind: NeedKind| {
        let mut needs = facts.tool.needs.iter();
        needs.any(|need| need.kind == kind)
    };
    let inside = |place: &Place| match place {
        Place::At { steps, .. } => steps.starts_with(&root),
        Place::Unknown => false,
    };
    !facts.paths.is_empty()
        && facts.paths.iter().all(inside)
        && !facts.network
        && !reaches_out(NeedKind::Host)
        && !reaches_out(NeedKind::Session)
        && (facts.tier >= Tier::Exec || !reaches_out(NeedKind::Command))
}

/// Whether a loop writes the memory that is its own: the house knows whose it is by the session, so
/// no other loop's can be meant.
fn is_own_memory(call: &Call<'_>) -> bool {
    call.scene.of_house && call.tool.name == LOOP_MEMORY && call.scene.kind == Some(LOOP_KIND)
}

/// Whether all that a call needs is the session it is made for.
fn is_own(call: &Call<'_>) -> bool {
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
#[path = "rules_tests.rs"]
mod tests;
