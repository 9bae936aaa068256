//! What the rules say of a call. Today's rules are built in: a look inside the workspace is
//! allowed, a reach beyond the ceiling is denied, everything else asks a person.
//!
//! The look at a path here is by its words only. It decides whether a person is asked; that a tool
//! stays inside the workspace is enforced where the file is opened.

use hob_wire::work::{Effect, NeedKind, Tier, ToolContext, ToolSpec};
use serde_json::Value;

/// A call that needs a decision.
#[derive(Clone, Copy, Debug)]
pub struct Call<'c> {
    pub tool: &'c ToolSpec,
    pub args: &'c Value,
    pub context: &'c ToolContext,
    /// The farthest it may reach.
    pub ceiling: Option<Tier>,
}

/// What the rules say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may run; `rule` says why.
    Allow { rule: &'static str },
    /// It may not, and nobody is asked.
    Deny { rule: &'static str, reason: String },
    /// A person decides.
    Ask,
}

/// The name of the rule that allows to look inside the workspace.
const RULE_READ: &str = "rule:read";
/// The name of the rule that denies what lies beyond the ceiling.
const RULE_CEILING: &str = "rule:ceiling";

pub fn decide(call: &Call<'_>) -> Verdict {
    if let Some(ceiling) = call.ceiling
        && call.tool.tier > ceiling
    {
        return Verdict::Deny {
            rule: RULE_CEILING,
            reason: format!(
                "This run may use tools up to the tier '{}', and '{}' is of the tier '{}'. Go on without it.",
                word(ceiling),
                call.tool.name,
                word(call.tool.tier)
            ),
        };
    }
    let looks_only = call.tool.tier == Tier::Read && call.tool.effect == Effect::Pure;
    if looks_only && call.tool.needs.iter().all(|need| is_inside(call, need)) {
        return Verdict::Allow { rule: RULE_READ };
    }
    Verdict::Ask
}

fn is_inside(call: &Call<'_>, need: &hob_wire::work::Need) -> bool {
    if need.kind != NeedKind::Path {
        return false;
    }
    let Some(workspace) = call.context.workspace.as_deref() else {
        return false;
    };
    match call.args.get(&need.arg) {
        // The tool then means the workspace itself.
        None | Some(Value::Null) => true,
        Some(Value::String(path)) => lies_in(workspace, path),
        Some(_) => false,
    }
}

/// Whether the words of `path` stay inside `workspace`, step by step.
fn lies_in(workspace: &str, path: &str) -> bool {
    let below = match path.strip_prefix('/') {
        None => path.split('/').collect(),
        Some(absolute) => {
            let root: Vec<&str> = names(workspace).collect();
            let steps: Vec<&str> = names(absolute).collect();
            if !workspace.starts_with('/') || !steps.starts_with(&root) {
                return false;
            }
            steps[root.len()..].to_vec()
        }
    };
    let mut depth = 0_usize;
    for step in below {
        match step {
            "" | "." => {}
            ".." => match depth.checked_sub(1) {
                Some(up) => depth = up,
                None => return false,
            },
            _ => depth += 1,
        }
    }
    true
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter(|step| !step.is_empty() && *step != ".")
}

fn word(tier: Tier) -> &'static str {
    match tier {
        Tier::Read => "read",
        Tier::Write => "write",
        Tier::Exec => "exec",
        Tier::External => "external",
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
