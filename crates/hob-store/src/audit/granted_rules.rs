//! Rules that the rooms of loops and jobs make for their own sessions. The rules are the only place
//! where a grant is stored.
//!
//! Invariant: the rules of a loop or a job change in one transaction with its own row.

use super::types::{NewAuditEntry, NewRule};
use super::{audit_log, rules};
use crate::batch::WriteBatch;
use crate::error::{QueryError, StoreError};
use hob_wire::rule::PermissionRule;
use hob_wire::schedule::ToolGrantView;

pub(crate) use rules::made_by;

/// One change from the present rules of a loop or job to the wanted ones.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleChange {
    Add {
        rule: Box<NewRule>,
        entry: NewAuditEntry,
    },
    Remove {
        id: String,
        entry: NewAuditEntry,
    },
    /// The rule applies to other sessions from now on. A rule that was removed meanwhile stays
    /// removed.
    Replace(Box<RuleReplacement>),
}

/// A rule that replaces another.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleReplacement {
    /// The rule to remove.
    pub id: String,
    pub removed: NewAuditEntry,
    pub rule: NewRule,
    pub added: NewAuditEntry,
}

/// Refuses entries that are too large, before anything is queued; returns their approximate size.
pub(crate) fn check(changes: &[RuleChange]) -> Result<usize, StoreError> {
    let mut bytes = 0;
    for change in changes {
        bytes += match change {
            RuleChange::Add { entry, .. } | RuleChange::Remove { entry, .. } => {
                audit_log::check(std::slice::from_ref(entry))?
            }
            RuleChange::Replace(both) => {
                audit_log::check(std::slice::from_ref(&both.removed))?
                    + audit_log::check(std::slice::from_ref(&both.added))?
            }
        };
    }
    Ok(bytes)
}

/// Applies the changes, with an audit entry for each that had an effect.
pub(crate) fn apply(batch: &mut WriteBatch<'_>, changes: &[RuleChange]) -> Result<(), QueryError> {
    for change in changes {
        match change {
            RuleChange::Add { rule, entry } => add(batch, rule, entry)?,
            RuleChange::Remove { id, entry } => {
                remove(batch, id, entry)?;
            }
            RuleChange::Replace(both) => {
                // A person may have removed the rule meanwhile. Adding its replacement would undo
                // that.
                if remove(batch, &both.id, &both.removed)? {
                    add(batch, &both.rule, &both.added)?;
                }
            }
        }
        // The permission room holds rules in memory and reads them again after this commit.
        batch.rules_changed = true;
    }
    Ok(())
}

fn add(batch: &WriteBatch<'_>, rule: &NewRule, entry: &NewAuditEntry) -> Result<(), QueryError> {
    rules::check_capacity(batch)?;
    rules::insert(batch, rule, None)?;
    Ok(audit_log::append(batch, std::slice::from_ref(entry))?)
}

/// Removes a rule; false when it was gone already.
fn remove(batch: &WriteBatch<'_>, id: &str, entry: &NewAuditEntry) -> Result<bool, QueryError> {
    let is_removed = rules::remove(batch, id)?;
    if is_removed {
        audit_log::append(batch, std::slice::from_ref(entry))?;
    }
    Ok(is_removed)
}

/// Converts a rule of a loop or job to its grant.
pub(crate) fn to_grant_view(rule: PermissionRule) -> ToolGrantView {
    let terms = rule.terms;
    ToolGrantView {
        tool: terms.tool,
        matches: terms.matches,
        path: terms.path,
        host: terms.host,
    }
}
