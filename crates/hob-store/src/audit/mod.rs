//! Permissions: the stored rules, and the hash-chained audit record of every decision.
//!
//! - `types`: the types of decisions and rules
//! - `rules`: the stored rules; `granted_rules`: the rules of loops and jobs
//! - `audit_log`: the audit record
//!
//! Invariants: a decision, its event, its rule and its audit entry are one transaction; entries are
//! only ever appended, one after the other, by the writer.

pub(crate) mod audit_log;
pub(crate) mod granted_rules;
mod rules;
mod types;

pub use granted_rules::{RuleChange, RuleReplacement};
pub(crate) use rules::end_session;
pub use types::{AuditedDecision, NewAuditEntry, NewRule, StoredRule};

use crate::checksums::damage::WithDamage;
use crate::error::StoreError;
use crate::events::PayloadSource;
use crate::store::Store;
use crate::validate;
use hob_core::permission::AuditChain;
use hob_wire::RunId;
use hob_wire::limits::{PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX};
use hob_wire::rooms::audit::{AuditExportResult, AuditListParams, AuditListResult};
use hob_wire::rooms::permission::PermissionListParams;
use hob_wire::rule::PermissionRule;
use rules::RulePlan;

/// Rules read at once when all are read.
const RULES_A_READ: usize = 512;

impl Store {
    /// Writes a decision with its audit entries, event and rule; returns the rule, if there is one.
    /// A rule that its idempotency key stored before writes nothing.
    pub async fn record_decision(
        &self,
        decision: AuditedDecision,
    ) -> Result<Option<StoredRule>, StoreError> {
        let payload = decision.event.as_ref();
        let payload = payload.and_then(|event| event.payload.as_ref());
        let key = decision.rule.as_ref();
        let key = key.and_then(|rule| rule.idempotency_key.as_deref());
        key.map_or(Ok(()), validate::idempotency_key)?;
        let bytes = audit_log::check(&decision.entries)? + payload.map_or(0, bytes::Bytes::len);
        self.write(bytes, move |batch| {
            let kept = match &decision.rule {
                None => None,
                Some(new) => match rules::plan(batch, new)? {
                    // No entry and no event: the first call wrote them.
                    RulePlan::Repeat(kept) => return Ok(Some(*kept)),
                    RulePlan::New { session } => Some(rules::insert(batch, new, session.as_ref())?),
                },
            };
            audit_log::append(batch, &decision.entries)?;
            if let Some(event) = decision.event.clone() {
                batch.log_event(event, PayloadSource::Log)?;
            }
            hob_kit::failpoint::reach("judgement.written");
            Ok(kept)
        })
        .await
    }

    /// Returns the rule with this id, or the only one whose id begins with it.
    pub async fn rule(&self, id: &str) -> Result<PermissionRule, StoreError> {
        let id = id.to_owned();
        self.read(move |sql| rules::find(sql, &id)).await
    }

    /// Removes the rule with this full id, with an audit entry.
    pub async fn remove_rule(
        &self,
        id: &str,
        entry: NewAuditEntry,
    ) -> Result<PermissionRule, StoreError> {
        let named = id.to_owned();
        let entries = vec![entry];
        let bytes = audit_log::check(&entries)?;
        let removed = self.write(bytes, move |batch| {
            // Found in the command, so that the entry is written only for a rule that exists.
            let rule = rules::find(batch.sql, &named)?;
            rules::remove(batch, &rule.id)?;
            audit_log::append(batch, &entries)?;
            Ok(rule)
        });
        let rule = removed.await?;
        self.forget_damaged("rules", id);
        Ok(rule)
    }

    /// Returns every rule, after removing expired ones; damaged ones apart.
    pub async fn all_rules(&self) -> Result<WithDamage<Vec<StoredRule>>, StoreError> {
        // Rules of runs that ended without `end_run_rules`, as after a crash, are removed here.
        self.write(0, |batch| Ok(rules::prune(batch)?)).await?;
        let mut all = WithDamage::<Vec<StoredRule>>::default();
        let mut after = 0;
        loop {
            let read = self.read_with_damage(move |sql| rules::page(sql, after, RULES_A_READ));
            let page = read.await?;
            let (rules, last) = page.rows;
            all.rows.extend(rules);
            all.damaged.extend(page.damaged);
            match last {
                Some(last) => after = last,
                None => return Ok(all),
            }
        }
    }

    /// Returns rules that have not expired, the newest first, and whether there are more.
    pub async fn list_rules(
        &self,
        params: PermissionListParams,
        now_ms: u64,
    ) -> Result<WithDamage<(Vec<PermissionRule>, bool)>, StoreError> {
        let session = params.session_key.as_deref().map(validate::session_ref);
        let filter = rules::RuleFilter {
            tool: params.tool,
            session: session.transpose()?,
            after: params.after,
            rows_max: validate::page_rows(params.limit, PAGE_ROWS_DEFAULT)?,
        };
        self.read_with_damage(move |sql| rules::list(sql, &filter, now_ms))
            .await
    }

    /// Returns the rules that a room made for its loops or jobs, in order; with `sessions` only the
    /// rules for these.
    pub async fn rules_made_by(
        &self,
        room: &str,
        sessions: Option<&str>,
    ) -> Result<Vec<PermissionRule>, StoreError> {
        let (room, sessions) = (room.to_owned(), sessions.map(str::to_owned));
        self.read(move |sql| granted_rules::made_by(sql, &room, sessions.as_deref()))
            .await
    }

    /// A counter of commits that changed rules together with a loop or a job. Holders of rules in
    /// memory compare it and read them again.
    pub fn rules_version(&self) -> u64 {
        self.shared().rules_version()
    }

    /// Verifies the chain of the record, a page at a time. New entries are verified too, and
    /// writers never wait. Returns the problem, if there is one.
    pub async fn verify_audit(&self, chain: &mut AuditChain) -> Result<Option<String>, StoreError> {
        loop {
            let page = self.audit_after(chain.entries()).await?;
            let problem = audit_log::verify_page(chain, &page.entries, &page.damaged);
            if problem.is_some() || !page.more {
                return Ok(problem);
            }
        }
    }

    /// Removes the rules of a run that has ended; returns their number.
    pub async fn end_run_rules(&self, run: RunId) -> Result<usize, StoreError> {
        self.write(0, move |batch| Ok(rules::end_run(batch, run)?))
            .await
    }

    /// Returns entries of the record, the newest first.
    pub async fn list_audit(&self, params: AuditListParams) -> Result<AuditListResult, StoreError> {
        let filter = audit_log::AuditFilter {
            session_key: params.session_key,
            run: params.run_id,
            tool: params.tool,
            before: params.before,
            rows_max: validate::page_rows(params.limit, PAGE_ROWS_DEFAULT)?,
        };
        let read = self.read_with_damage(move |sql| audit_log::list(sql, &filter));
        let page = read.await?;
        let (entries, more) = page.rows;
        Ok(AuditListResult {
            entries,
            more,
            damaged: page.damaged,
        })
    }

    /// Returns entries of the record in order, after one.
    pub async fn audit_after(&self, after: u64) -> Result<AuditExportResult, StoreError> {
        let rows_max = PAGE_ROWS_MAX as usize;
        let read = self.read_with_damage(move |sql| audit_log::after(sql, after, rows_max));
        let page = read.await?;
        let (entries, more) = page.rows;
        Ok(AuditExportResult {
            entries,
            more,
            damaged: page.damaged,
        })
    }
}
