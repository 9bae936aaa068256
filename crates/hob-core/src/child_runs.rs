//! What a run that another run starts may do. Pure.
//!
//! Invariants: a child never reaches farther, has more tools or may spend more than its parent has
//! left; the same call of the same parent always names the same child.

use crate::turn::{Limits, Spent};
use hob_wire::RunId;
use hob_wire::work::{Budget, Tier};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Generations below a run that a person started.
pub const DEPTH_MAX: usize = 3;
/// Runs that one run may ever start.
pub const CHILDREN_MAX: u32 = 10;
/// Kind of the sessions that children work on.
pub const KIND: &str = "subagent";
/// Stands in a child's session key between its parent's and its own name.
const MARK: &str = ":subagent:";
/// Tools that no child has: other conversations are none of its business.
const BARRED: &str = "sessions_";
/// Bytes of the digest that name a child within its parent's session.
const NAME_BYTES: usize = 6;

/// How many generations a session is below one that a person started.
pub fn depth(session_key: &str) -> usize {
    session_key.matches(MARK).count()
}

/// Whether a session is a child's, or its children's, of another.
pub fn is_below(session_key: &str, above: &str) -> bool {
    let rest = session_key.strip_prefix(above);
    rest.is_some_and(|rest| rest.starts_with(MARK))
}

/// Which child a call of a parent makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The child's session.
    pub session_key: String,
    pub run: RunId,
}

/// Names the child that the call with this `key` makes.
pub fn name(parent: RunId, parent_session: &str, key: &str) -> Name {
    let mut digest = Sha256::new();
    digest.update(parent.0.as_bytes());
    digest.update(key.as_bytes());
    let digest = digest.finalize();
    let mut session_key = format!("{parent_session}{MARK}");
    for byte in &digest[..NAME_BYTES] {
        // Writing to a string does not fail.
        let _ = write!(session_key, "{byte:02x}");
    }
    let mut tail = [0; 10];
    tail.copy_from_slice(&digest[NAME_BYTES..NAME_BYTES + 10]);
    Name {
        session_key,
        run: parent.with_tail(tail),
    }
}

/// Whether a child may have a tool at all.
pub fn may_use(tool: &str) -> bool {
    !tool.starts_with(BARRED)
}

/// The tools of a child: of those it asks for, the ones its parent has. Nothing means all.
pub fn tools(parent: Option<&[String]>, asked: Option<Vec<String>>) -> Option<Vec<String>> {
    let mut tools = match (parent, asked) {
        (None, asked) => asked?,
        (Some(parent), None) => parent.to_vec(),
        (Some(parent), Some(mut asked)) => {
            asked.retain(|tool| parent.contains(tool));
            asked
        }
    };
    tools.retain(|tool| may_use(tool));
    Some(tools)
}

/// The lower of two ceilings; nothing means none.
pub fn ceiling(parent: Option<Tier>, asked: Option<Tier>) -> Option<Tier> {
    [parent, asked].into_iter().flatten().min()
}

/// The bounds of a child: what it asks for, at the most what its parent has left. `spent` is all
/// that the parent and its other children have used or may still use. The error says what the
/// parent has nothing left of.
pub fn limits(
    parent: &Limits,
    spent: &Spent,
    elapsed_ms: u64,
    asked: &Budget,
) -> Result<Limits, &'static str> {
    let left = Limits {
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
    let asked = left.with(asked);
    Ok(Limits {
        steps: asked.steps.min(left.steps),
        tokens: asked.tokens.min(left.tokens),
        micro_dollars: asked.micro_dollars.min(left.micro_dollars),
        wall_ms: asked.wall_ms.min(left.wall_ms),
        ..left
    })
}

#[cfg(test)]
#[path = "family_tests.rs"]
mod tests;
