//! What a person granted to a loop or a job: stored rules for its sessions alone, made and removed
//! through the permission room.
//!
//! Invariants: granting needs the scope `admin`; settling twice, or again after a crash, leaves
//! exactly the rules that are wanted; rules of anybody else are not touched.

use hob_bus::{Call, Caller};
use hob_core::permission::check_terms;
use hob_wire::limits::PAGE_ROWS_MAX;
use hob_wire::rooms::permission::{
    Add, AddParams, List, ListParams, Remove, RemoveParams, Rule, Terms,
};
use hob_wire::schedule::GrantView;
use hob_wire::work::{Reach, RuleDecision};
use hob_wire::{ErrorCode, Scope, WireError};

/// Grants of one loop or job.
pub const GRANTS_MAX: usize = 64;

/// Whose grants they are.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'o> {
    /// The room that keeps them: what its rules say made them.
    pub room: &'o str,
    /// The kind of its sessions: `loop`, `cron` or `webhook`.
    pub kind: &'o str,
    /// The name of the loop or job.
    pub name: &'o str,
}

impl Owner<'_> {
    /// Which sessions its rules are for.
    pub fn sessions(&self) -> String {
        format!("{}:{}:*", self.kind, self.name)
    }

    fn terms(&self, grant: &GrantView) -> Terms {
        Terms {
            matches: grant.matches.clone(),
            path: grant.path.clone(),
            host: grant.host.clone(),
            sessions: Some(self.sessions()),
            kind: Some(self.kind.to_owned()),
            ..Terms::new(&grant.tool, RuleDecision::Allow, Reach::Always)
        }
    }

    fn owns(&self, rule: &Rule) -> bool {
        rule.created_by == self.room
            && rule.terms.kind.as_deref() == Some(self.kind)
            && rule.terms.sessions.as_deref() == Some(&self.sessions())
    }
}

/// Refuses grants that nobody may give here or that no rule could say; changes nothing.
pub fn check(call: &Call, owner: Owner<'_>, grants: &[GrantView]) -> Result<(), WireError> {
    if !call.scopes.allow(Scope::Admin) {
        let message = "Granting needs a token with the scope `admin`.";
        return Err(WireError::new(ErrorCode::Forbidden, message));
    }
    if grants.len() > GRANTS_MAX {
        let message = format!("At most {GRANTS_MAX} grants, not {}.", grants.len());
        return Err(WireError::new(ErrorCode::InvalidParams, message));
    }
    for grant in grants {
        let wrong = |reason| {
            let message = format!("The grant for '{}' cannot be kept: {reason}", grant.tool);
            WireError::new(ErrorCode::InvalidParams, message)
        };
        check_terms(&owner.terms(grant)).map_err(wrong)?;
    }
    Ok(())
}

/// Makes the rules of `owner` these and no others; none removes them all. May be repeated.
/// `caller` calls as the owner's room.
pub async fn settle(
    caller: &Caller,
    owner: Owner<'_>,
    grants: &[GrantView],
) -> Result<(), WireError> {
    let mut wanted: Vec<Terms> = Vec::new();
    for terms in grants.iter().map(|grant| owner.terms(grant)) {
        if !wanted.contains(&terms) {
            wanted.push(terms);
        }
    }
    for rule in kept(caller, owner).await? {
        let at = wanted.iter().position(|terms| *terms == rule.terms);
        if let Some(at) = at {
            wanted.remove(at);
            continue;
        }
        let removed = caller.call::<Remove>(&RemoveParams { id: rule.id }).await;
        match removed {
            // Somebody else took it away meanwhile.
            Err(error) if error.code == ErrorCode::NotFound => {}
            other => drop(other?),
        }
    }
    for terms in wanted {
        caller.call::<Add>(&AddParams::from(terms)).await?;
    }
    Ok(())
}

/// The rules of `owner` as they are stored.
async fn kept(caller: &Caller, owner: Owner<'_>) -> Result<Vec<Rule>, WireError> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let params = ListParams {
            after: after.take(),
            limit: Some(PAGE_ROWS_MAX),
            ..ListParams::default()
        };
        let page = caller.call::<List>(&params).await?;
        after = page.rules.last().map(|rule| rule.id.clone());
        found.extend(page.rules.into_iter().filter(|rule| owner.owns(rule)));
        if !page.more || after.is_none() {
            return Ok(found);
        }
    }
}
