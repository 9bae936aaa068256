//! Rules that the rooms of loops and jobs make for their own sessions. The rules are the one place
//! where a grant is stored: what a loop or a job may do is read from here.
//!
//! Invariant: the rules of a loop or a job change in one transaction with its own row.

use super::words::{NewEntry, NewRule};
use super::{audit, rules};
use crate::batch::Batch;
use crate::error::{StoreError, Trouble};
use hob_wire::rule::Rule;
use hob_wire::schedule::GrantView;

pub(crate) use rules::made_by;

/// One step from the rules of a loop or a job to those it shall have.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleChange {
    Add {
        rule: Box<NewRule>,
        entry: NewEntry,
    },
    Remove {
        id: String,
        entry: NewEntry,
    },
    /// The rule holds for other sessions from now on. One that somebody removed meanwhile stays
    /// removed.
    Replace(Box<RuleReplacement>),
}

/// A rule that takes the place of another.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleReplacement {
    /// The rule that goes.
    pub id: String,
    pub removed: NewEntry,
    pub rule: NewRule,
    pub added: NewEntry,
}

/// Refuses entries that are too large before anything is queued; answers about what they take.
pub(crate) fn check(changes: &[RuleChange]) -> Result<usize, StoreError> {
    let mut bytes = 0;
    for change in changes {
        bytes += match change {
            RuleChange::Add { entry, .. } | RuleChange::Remove { entry, .. } => {
                audit::check(std::slice::from_ref(entry))?
            }
            RuleChange::Replace(both) => {
                audit::check(std::slice::from_ref(&both.removed))?
                    + audit::check(std::slice::from_ref(&both.added))?
            }
        };
    }
    Ok(bytes)
}

/// Changes the rules, and records each change that was one.
pub(crate) fn apply(batch: &mut Batch<'_>, changes: &[RuleChange]) -> Result<(), Trouble> {
    for change in changes {
        match change {
            RuleChange::Add { rule, entry } => add(batch, rule, entry)?,
            RuleChange::Remove { id, entry } => {
                remove(batch, id, entry)?;
            }
            RuleChange::Replace(both) => {
                if remove(batch, &both.id, &both.removed)? {
                    add(batch, &both.rule, &both.added)?;
                }
            }
        }
        batch.changed_rules = true;
    }
    Ok(())
}

fn add(batch: &Batch<'_>, rule: &NewRule, entry: &NewEntry) -> Result<(), Trouble> {
    rules::check_room(batch)?;
    rules::insert(batch, rule, None)?;
    Ok(audit::append(batch, std::slice::from_ref(entry))?)
}

/// Removes a rule; false when it was gone already.
fn remove(batch: &Batch<'_>, id: &str, entry: &NewEntry) -> Result<bool, Trouble> {
    let is_removed = rules::remove(batch, id)?;
    if is_removed {
        audit::append(batch, std::slice::from_ref(entry))?;
    }
    Ok(is_removed)
}

/// A rule of a loop or a job as its grant.
pub(crate) fn grant(rule: Rule) -> GrantView {
    let terms = rule.terms;
    GrantView {
        tool: terms.tool,
        matches: terms.matches,
        path: terms.path,
        host: terms.host,
    }
}
