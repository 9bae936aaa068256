//! Child runs: runs that another run starts. Pure.
//!
//! Invariants: a child never has a higher ceiling, more tools or a larger budget than its parent
//! has left; the same call of the same parent always yields the same child.

use crate::turn::{RunLimits, RunUsage};
use hob_wire::RunId;
use hob_wire::work::{Budget, Tier};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The most generations below a run that a person started.
pub const DEPTH_MAX: usize = 3;
/// The most runs that one run may start.
pub const CHILDREN_MAX: u32 = 10;
/// The session kind of child runs.
pub const SESSION_KIND: &str = "subagent";
/// Separates a child's name from its parent's session key.
const CHILD_SEPARATOR: &str = ":subagent:";
/// The bytes of the digest that name a child within its parent's session.
const NAME_BYTES: usize = 6;

/// Returns the number of generations between a session and one that a person started.
pub fn depth(session_key: &str) -> usize {
    session_key.matches(CHILD_SEPARATOR).count()
}

/// Returns true if a session belongs to a child, grandchild and so on of another.
pub fn is_descendant(session_key: &str, above: &str) -> bool {
    let rest = session_key.strip_prefix(above);
    rest.is_some_and(|rest| rest.starts_with(CHILD_SEPARATOR))
}

/// The session and run of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildIdentity {
    /// The session key of the child.
    pub session_key: String,
    pub run: RunId,
}

/// Returns the identity of the child that the call with this `key` starts.
pub fn identity(parent: RunId, parent_session: &str, key: &str) -> ChildIdentity {
    // Derived, not random: a call that is repeated after a crash finds the child it started before.
    let mut digest = Sha256::new();
    digest.update(parent.0.as_bytes());
    // The parent's id has a fixed length, so the border between the two is never in doubt.
    digest.update(key.as_bytes());
    let digest = digest.finalize();
    let mut session_key = format!("{parent_session}{CHILD_SEPARATOR}");
    for byte in &digest[..NAME_BYTES] {
        // Writing to a string cannot fail.
        let _ = write!(session_key, "{byte:02x}");
    }
    let mut tail = [0; 10];
    tail.copy_from_slice(&digest[NAME_BYTES..NAME_BYTES + 10]);
    ChildIdentity {
        session_key,
        run: parent.with_tail(tail),
    }
}

/// Returns the tools of a child: the requested ones that its parent has, without those closed to
/// children. `None` means all.
pub fn tools(
    parent: Option<&[String]>,
    asked: Option<Vec<String>>,
    is_closed: impl Fn(&str) -> bool,
) -> Option<Vec<String>> {
    let mut tools = match (parent, asked) {
        (None, asked) => asked?,
        (Some(parent), None) => parent.to_vec(),
        (Some(parent), Some(mut asked)) => {
            asked.retain(|tool| parent.contains(tool));
            asked
        }
    };
    tools.retain(|tool| !is_closed(tool));
    Some(tools)
}

/// Returns the lower of two ceilings; `None` means no ceiling.
pub fn ceiling(parent: Option<Tier>, asked: Option<Tier>) -> Option<Tier> {
    [parent, asked].into_iter().flatten().min()
}

/// Returns the limits of a child: the requested ones, capped by what its parent has left. `spent`
/// includes everything that the parent and its other children have used or may still use. The error
/// names the resource that is used up.
pub fn limits(
    parent: &RunLimits,
    spent: &RunUsage,
    elapsed_ms: u64,
    asked: &Budget,
) -> Result<RunLimits, &'static str> {
    let left = RunLimits {
        steps: parent.steps.saturating_sub(spent.steps),
        tokens: parent.tokens.saturating_sub(spent.tokens),
        micro_dollars: parent.micro_dollars.saturating_sub(spent.micro_dollars),
        wall_ms: parent.wall_ms.saturating_sub(elapsed_ms),
        ..*parent
    };
    let used_up = [
        (left.steps == 0, "steps"),
        (left.tokens == 0, "tokens"),
        (left.micro_dollars == 0, "money"),
        (left.wall_ms == 0, "time"),
    ];
    if let Some((_, what)) = used_up.into_iter().find(|(is_used_up, _)| *is_used_up) {
        return Err(what);
    }
    let asked = left.with_budget(asked);
    Ok(RunLimits {
        steps: asked.steps.min(left.steps),
        tokens: asked.tokens.min(left.tokens),
        micro_dollars: asked.micro_dollars.min(left.micro_dollars),
        wall_ms: asked.wall_ms.min(left.wall_ms),
        ..left
    })
}

#[cfg(test)]
#[path = "child_runs_tests.rs"]
mod tests;
