//! Grants of loops and jobs: stored rules for their sessions alone. The rules are the only list of
//! grants.
//!
//! Invariants: granting needs the scope `admin`; the changes planned here are written in one
//! transaction with the loop or the job; a rule that a person removed comes back only when a person
//! grants it again; rules of other owners are not touched.

use hob_bus::RequestContext;
use hob_core::permission::{check_terms, to_audit_value};
use hob_kit::mask::SecretMask;
use hob_kit::randomness::Randomness;
use hob_store::{NewAuditEntry, NewRule, RuleChange, RuleReplacement, Store};
use hob_wire::rooms::permission::{PermissionRule, RuleTerms};
use hob_wire::schedule::ToolGrantView;
use hob_wire::work::{AnswerReach, RuleDecision};
use hob_wire::{ErrorCode, Scope, WireError};
use serde_json::json;
use std::collections::BTreeMap;

/// Most grants of one loop or job.
pub const GRANTS_MAX: usize = 64;
/// Random bytes of a rule's id.
pub(crate) const RULE_ID_BYTES: usize = 6;

/// The loop or job that owns grants.
#[derive(Clone, Copy, Debug)]
pub struct GrantOwner<'o> {
    /// The room of the owner; its rules carry it in `created_by`.
    pub room: &'o str,
    /// Kind of its sessions: `loop`, `cron` or `webhook`.
    pub kind: &'o str,
    /// The name of the loop or job.
    pub name: &'o str,
}

impl GrantOwner<'_> {
    /// The pattern of sessions that its rules cover.
    pub fn sessions(&self) -> String {
        format!("{}:{}:*", self.kind, self.name)
    }

    fn terms(&self, grant: &ToolGrantView) -> RuleTerms {
        RuleTerms {
            matches: grant.matches.clone(),
            path: grant.path.clone(),
            host: grant.host.clone(),
            sessions: Some(self.sessions()),
            kind: Some(self.kind.to_owned()),
            ..RuleTerms::new(&grant.tool, RuleDecision::Allow, AnswerReach::Always)
        }
    }

    fn owns(&self, rule: &PermissionRule) -> bool {
        rule.created_by == self.room
            && rule.terms.kind.as_deref() == Some(self.kind)
            && rule.terms.sessions.as_deref() == Some(&self.sessions())
    }
}

/// Refuses grants that the caller may not give or that are no valid rules. Changes nothing.
pub fn check_grants(
    call: &RequestContext,
    owner: GrantOwner<'_>,
    grants: &[ToolGrantView],
) -> Result<(), WireError> {
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

/// Plans changes of the stored rules of loops and jobs. Writes nothing.
#[derive(Clone, Copy, Debug)]
pub struct GrantPlanner<'g> {
    pub store: &'g Store,
    pub randomness: &'g Randomness,
    /// Secrets that the audit record must not show.
    pub mask: &'g SecretMask,
}

impl GrantPlanner<'_> {
    /// The changes that make these grants the only rules of `owner`; no grants remove all rules.
    pub async fn replace(
        &self,
        owner: GrantOwner<'_>,
        grants: &[ToolGrantView],
    ) -> Result<Vec<RuleChange>, WireError> {
        let mut wanted: Vec<RuleTerms> = Vec::new();
        for terms in grants.iter().map(|grant| owner.terms(grant)) {
            // Two equal grants would be two rules, and removing one would leave the other in force.
            if !wanted.contains(&terms) {
                wanted.push(terms);
            }
        }
        let mut changes = Vec::new();
        for rule in rules_of(self.store, owner).await? {
            // An unchanged rule keeps its id, so that references to it stay valid.
            match wanted.iter().position(|terms| *terms == rule.terms) {
                Some(at) => drop(wanted.remove(at)),
                None => changes.push(RuleChange::Remove {
                    entry: self.audit_entry("rule-removed", owner, &rule.id, &rule.terms),
                    id: rule.id,
                }),
            }
        }
        changes.extend(wanted.into_iter().map(|terms| {
            let rule = self.new_rule(owner, terms);
            RuleChange::Add {
                entry: self.audit_entry("rule-added", owner, &rule.id, &rule.terms),
                rule: Box::new(rule),
            }
        }));
        Ok(changes)
    }

    /// The changes that move the rules of `from` to `to`: the same loop or job under another name.
    pub async fn transfer(
        &self,
        from: GrantOwner<'_>,
        to: GrantOwner<'_>,
    ) -> Result<Vec<RuleChange>, WireError> {
        let rules = rules_of(self.store, from).await?;
        let steps = rules.into_iter().map(|rule| {
            let new = self.new_rule(to, to.terms(&grant_of_rule(&rule)));
            RuleChange::Replace(Box::new(RuleReplacement {
                removed: self.audit_entry("rule-removed", from, &rule.id, &rule.terms),
                added: self.audit_entry("rule-added", to, &new.id, &new.terms),
                id: rule.id,
                rule: new,
            }))
        });
        Ok(steps.collect())
    }

    fn new_rule(&self, owner: GrantOwner<'_>, terms: RuleTerms) -> NewRule {
        NewRule {
            id: self.randomness.hex(RULE_ID_BYTES),
            terms,
            created_by: owner.room.to_owned(),
            idempotency_key: None,
        }
    }

    fn audit_entry(
        &self,
        act: &'static str,
        owner: GrantOwner<'_>,
        id: &str,
        terms: &RuleTerms,
    ) -> NewAuditEntry {
        rule_entry(self.mask, act, owner.room, id, terms)
    }
}

/// The audit entry of a rule that is added or removed.
pub(crate) fn rule_entry(
    mask: &SecretMask,
    act: &'static str,
    by: &str,
    id: &str,
    terms: &RuleTerms,
) -> NewAuditEntry {
    let matter = json!({ "rule": id, "terms": terms });
    NewAuditEntry {
        act,
        by: by.to_owned(),
        session_key: terms.session_key.clone(),
        run_id: terms.run_id,
        tool: Some(terms.tool.clone()),
        matter: to_audit_value(&matter, &|text| mask.apply(text).into_owned()),
    }
}

/// The grants of `owner`, from its stored rules.
pub async fn grants_of(
    store: &Store,
    owner: GrantOwner<'_>,
) -> Result<Vec<ToolGrantView>, WireError> {
    let rules = rules_of(store, owner).await?;
    Ok(rules.iter().map(grant_of_rule).collect())
}

/// The grants of every loop or job of a room, by the sessions they cover.
pub async fn grants_by_room(
    store: &Store,
    room: &str,
) -> Result<BTreeMap<String, Vec<ToolGrantView>>, WireError> {
    let mut grants: BTreeMap<String, Vec<ToolGrantView>> = BTreeMap::new();
    for rule in store.rules_made_by(room, None).await? {
        if let Some(sessions) = &rule.terms.sessions {
            let of_owner = grants.entry(sessions.clone()).or_default();
            of_owner.push(grant_of_rule(&rule));
        }
    }
    Ok(grants)
}

/// The stored rules of `owner`.
async fn rules_of(store: &Store, owner: GrantOwner<'_>) -> Result<Vec<PermissionRule>, WireError> {
    let sessions = owner.sessions();
    let mut rules = store.rules_made_by(owner.room, Some(&sessions)).await?;
    rules.retain(|rule| owner.owns(rule));
    Ok(rules)
}

/// A stored rule as a grant.
fn grant_of_rule(rule: &PermissionRule) -> ToolGrantView {
    ToolGrantView {
        tool: rule.terms.tool.clone(),
        matches: rule.terms.matches.clone(),
        path: rule.terms.path.clone(),
        host: rule.terms.host.clone(),
    }
}
