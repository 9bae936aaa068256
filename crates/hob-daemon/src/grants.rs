//! What a person granted to a loop or a job: stored rules for its sessions alone. The rules are the
//! only list of its grants.
//!
//! Invariants: granting needs the scope `admin`; the changes that are planned here are written in
//! one transaction with the loop or the job; a rule that a person removed comes back only when a
//! person grants it again; rules of anybody else are not touched.

use hob_bus::Call;
use hob_core::permission::{check_terms, recorded};
use hob_kit::dice::Dice;
use hob_kit::mask::Mask;
use hob_store::{NewEntry, NewRule, RuleChange, RuleReplacement, Store};
use hob_wire::rooms::permission::{Rule, Terms};
use hob_wire::schedule::GrantView;
use hob_wire::work::{Reach, RuleDecision};
use hob_wire::{ErrorCode, Scope, WireError};
use serde_json::json;
use std::collections::BTreeMap;

/// Grants of one loop or job.
pub const GRANTS_MAX: usize = 64;
/// Random bytes of a rule's id.
pub(crate) const RULE_ID_BYTES: usize = 6;

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

/// Plans how the stored rules of loops and jobs change; writes nothing.
#[derive(Clone, Copy, Debug)]
pub struct GrantPlanner<'g> {
    pub store: &'g Store,
    pub dice: &'g Dice,
    /// What the audit record must not show.
    pub mask: &'g Mask,
}

impl GrantPlanner<'_> {
    /// The steps that make the rules of `owner` these and no others; none removes them all.
    pub async fn replace(
        &self,
        owner: Owner<'_>,
        grants: &[GrantView],
    ) -> Result<Vec<RuleChange>, WireError> {
        let mut wanted: Vec<Terms> = Vec::new();
        for terms in grants.iter().map(|grant| owner.terms(grant)) {
            if !wanted.contains(&terms) {
                wanted.push(terms);
            }
        }
        let mut changes = Vec::new();
        for rule in rules_of(self.store, owner).await? {
            // A rule that is wanted and there keeps its id.
            match wanted.iter().position(|terms| *terms == rule.terms) {
                Some(at) => drop(wanted.remove(at)),
                None => changes.push(RuleChange::Remove {
                    entry: self.entry("rule-removed", owner, &rule.id, &rule.terms),
                    id: rule.id,
                }),
            }
        }
        changes.extend(wanted.into_iter().map(|terms| {
            let rule = self.new_rule(owner, terms);
            RuleChange::Add {
                entry: self.entry("rule-added", owner, &rule.id, &rule.terms),
                rule: Box::new(rule),
            }
        }));
        Ok(changes)
    }

    /// The steps that give the rules of `from` to `to`: the same loop or job under another name.
    pub async fn hand_over(
        &self,
        from: Owner<'_>,
        to: Owner<'_>,
    ) -> Result<Vec<RuleChange>, WireError> {
        let rules = rules_of(self.store, from).await?;
        let steps = rules.into_iter().map(|rule| {
            let new = self.new_rule(to, to.terms(&grant(&rule)));
            RuleChange::Replace(Box::new(RuleReplacement {
                removed: self.entry("rule-removed", from, &rule.id, &rule.terms),
                added: self.entry("rule-added", to, &new.id, &new.terms),
                id: rule.id,
                rule: new,
            }))
        });
        Ok(steps.collect())
    }

    fn new_rule(&self, owner: Owner<'_>, terms: Terms) -> NewRule {
        NewRule {
            id: self.dice.hex(RULE_ID_BYTES),
            terms,
            created_by: owner.room.to_owned(),
            idempotency_key: None,
        }
    }

    fn entry(&self, act: &'static str, owner: Owner<'_>, id: &str, terms: &Terms) -> NewEntry {
        rule_entry(self.mask, act, owner.room, id, terms)
    }
}

/// What the audit record keeps of a rule that is added or removed.
pub(crate) fn rule_entry(
    mask: &Mask,
    act: &'static str,
    by: &str,
    id: &str,
    terms: &Terms,
) -> NewEntry {
    let matter = json!({ "rule": id, "terms": terms });
    NewEntry {
        act,
        by: by.to_owned(),
        session_key: terms.session_key.clone(),
        run_id: terms.run_id,
        tool: Some(terms.tool.clone()),
        matter: recorded(&matter, &|text| mask.apply(text).into_owned()),
    }
}

/// What `owner` was granted, as its stored rules say it now.
pub async fn granted(store: &Store, owner: Owner<'_>) -> Result<Vec<GrantView>, WireError> {
    let rules = rules_of(store, owner).await?;
    Ok(rules.iter().map(grant).collect())
}

/// What every loop or job of a room was granted, by the sessions their rules are for.
pub async fn granted_by_room(
    store: &Store,
    room: &str,
) -> Result<BTreeMap<String, Vec<GrantView>>, WireError> {
    let mut grants: BTreeMap<String, Vec<GrantView>> = BTreeMap::new();
    for rule in store.rules_made_by(room, None).await? {
        if let Some(sessions) = &rule.terms.sessions {
            let of_owner = grants.entry(sessions.clone()).or_default();
            of_owner.push(grant(&rule));
        }
    }
    Ok(grants)
}

/// The stored rules of `owner`.
async fn rules_of(store: &Store, owner: Owner<'_>) -> Result<Vec<Rule>, WireError> {
    let sessions = owner.sessions();
    let mut rules = store.rules_made_by(owner.room, Some(&sessions)).await?;
    rules.retain(|rule| owner.owns(rule));
    Ok(rules)
}

/// A stored rule as a grant.
fn grant(rule: &Rule) -> GrantView {
    GrantView {
        tool: rule.terms.tool.clone(),
        matches: rule.terms.matches.clone(),
        path: rule.terms.path.clone(),
        host: rule.terms.host.clone(),
    }
}
