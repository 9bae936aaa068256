//! Lists, adds, removes and checks stored rules. The store changes first; memory follows in the
//! same order, before the caller gets its reply.

use super::service::{ClaimedLimits, PermissionService};
use super::settings;
use crate::grants::RULE_ID_BYTES;
use hob_bus::RequestContext;
use hob_core::permission::{RuleVerdict, check_terms, rule_note, suggest_grant};
use hob_store::{AuditedDecision, NewRule, StoredRule};
use hob_wire::rooms::agent::{RunCompletedPayload, RunState};
use hob_wire::rooms::permission::{
    PermissionAddParams, PermissionCheckParams, PermissionCheckResult, PermissionListParams,
    PermissionListResult, PermissionRemoveParams, PermissionRule, RuleDecision, RuleTerms,
};
use hob_wire::rooms::session::SessionDeletedPayload;
use hob_wire::rooms::tool::{Describe, ToolDescribeParams};
use hob_wire::work::{AnswerReach, Tier};
use hob_wire::{ErrorCode, WireError};
use std::sync::{Arc, PoisonError};

impl PermissionService {
    pub(super) async fn list(
        &self,
        params: PermissionListParams,
    ) -> Result<PermissionListResult, WireError> {
        let now_ms = self.deps.clock.wall_ms();
        let page = self.deps.store.list_rules(params, now_ms).await?;
        let (rules, more) = page.rows;
        let in_force = settings::mode(&self.deps.settings.borrow());
        let notes = rules.iter();
        let notes = notes.filter_map(|rule| Some((rule.id.clone(), rule_note(&rule.terms)?)));
        Ok(PermissionListResult {
            mode: in_force,
            notes: notes.collect(),
            rules,
            more,
            damaged: page.damaged,
        })
    }

    pub(super) async fn add(
        &self,
        call: RequestContext,
        params: PermissionAddParams,
    ) -> Result<PermissionRule, WireError> {
        let by = call.caller.as_str();
        let idempotency_key = params.idempotency_key.clone();
        let terms = RuleTerms::from(params);
        let wrong = |message| WireError::new(ErrorCode::InvalidParams, message);
        check_terms(&terms).map_err(wrong)?;
        if let (AnswerReach::Run, Some(run)) = (terms.scope, terms.run_id) {
            let row = self.deps.store.run(&run).await?;
            if row.summary.state == RunState::Done {
                let message = "This run has ended; a rule for it would cover nothing.";
                return Err(WireError::new(ErrorCode::Conflict, message));
            }
        }
        let id = self.new_rule_id();
        let decision = AuditedDecision {
            entries: vec![self.recorder.rule_entry("rule-added", by, &id, &terms)],
            event: None,
            rule: Some(NewRule {
                id,
                terms,
                created_by: by.to_owned(),
                idempotency_key,
            }),
        };
        let lost = || WireError::new(ErrorCode::Internal, "the rule got lost");
        Ok(self.record_rule(decision).await?.ok_or_else(lost)?.rule)
    }

    pub(super) async fn remove(
        &self,
        call: RequestContext,
        params: PermissionRemoveParams,
    ) -> Result<PermissionRule, WireError> {
        let by = call.caller.as_str();
        // Loaded before the lock is taken, because loading takes it as well.
        self.load_rules().await?;
        let _lock = self.rules_write_lock.lock().await;
        let rule = self.deps.store.rule(&params.id).await?;
        let terms = &rule.terms;
        let entry = self
            .recorder
            .rule_entry("rule-removed", by, &rule.id, terms);
        let removed = self.deps.store.remove_rule(&rule.id, entry).await?;
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        rules.remove(&rule.id);
        Ok(removed)
    }

    /// Returns what would be decided about a call. Asks nobody and records nothing.
    pub(super) async fn check(
        &self,
        params: PermissionCheckParams,
    ) -> Result<PermissionCheckResult, WireError> {
        self.load_rules().await?;
        let describe = ToolDescribeParams {
            name: params.tool,
            wait: false,
        };
        let tool = self.caller.call::<Describe>(&describe).await?;
        let claimed = ClaimedLimits {
            ceiling: params.ceiling,
            channel: params.channel.as_deref(),
            unattended: false,
        };
        let mut call_context = self.call_context(&tool, &params.context, claimed).await?;
        let mut call = call_context.to_call(&tool, &params.args, &params.context);
        let mut verdict = self.decide(&call, &call_context);
        // The preview of a file change tells whether the call always asks, which beats an allow and
        // is named in the answer. For other tools it can only change an allow.
        if tool.tier == Tier::Write || matches!(verdict, RuleVerdict::Allow { .. }) {
            let previewed = self
                .preview_call(&tool, &params.args, &params.context)
                .await;
            call_context.asks_always = previewed.asks_always;
            call = call_context.to_call(&tool, &params.args, &params.context);
            verdict = self.decide(&call, &call_context);
        }
        Ok(match verdict {
            RuleVerdict::Allow { rule } => checked(RuleDecision::Allow, rule, None),
            RuleVerdict::Deny { rule, reason } => checked(RuleDecision::Deny, rule, Some(reason)),
            RuleVerdict::Ask { rule } if call_context.unattended => {
                let reason = match suggest_grant(&call) {
                    Some(_) => "Nobody could be asked; a stored rule can allow it.",
                    None => "Nobody could be asked.",
                };
                checked(RuleDecision::Deny, rule, Some(reason.to_owned()))
            }
            RuleVerdict::Ask { rule } => checked(RuleDecision::Ask, rule, None),
        })
    }

    /// Removes the rules of a run that has ended.
    pub(super) async fn remove_run_rules(self: Arc<Self>, ended: RunCompletedPayload) {
        let run = ended.run.run_id;
        // If this fails, the rules stay until the next start and do no harm: no other run has this
        // id.
        if self.load_rules().await.is_err() {
            return;
        }
        let _lock = self.rules_write_lock.lock().await;
        let is_of_run = |rule: &PermissionRule| {
            rule.terms.scope == AnswerReach::Run && rule.terms.run_id == Some(run)
        };
        // Memory first: the run has ended, so no call can need these rules any more.
        let any = {
            let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
            let before = rules.len();
            rules.retain(|rule| !is_of_run(rule));
            rules.len() < before
        };
        if any && let Err(error) = self.deps.store.end_run_rules(run).await {
            tracing::warn!(%run, "the rules of an ended run stay until the next start: {error}");
        }
    }

    /// Removes the rules of a deleted session from memory; the store has removed them already.
    pub(super) async fn forget_session_rules(self: Arc<Self>, deleted: SessionDeletedPayload) {
        if self.load_rules().await.is_err() {
            return;
        }
        let _lock = self.rules_write_lock.lock().await;
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        rules.end_session(&deleted.session_id.to_string());
    }

    /// Records a decision that stores a rule, and adds the rule to memory.
    pub(super) async fn record_rule(
        &self,
        decision: AuditedDecision,
    ) -> Result<Option<StoredRule>, WireError> {
        self.load_rules().await?;
        let _lock = self.rules_write_lock.lock().await;
        let stored = self.deps.store.record_decision(decision).await?;
        // A duplicate is in memory already.
        if let Some(stored) = stored.as_ref().filter(|stored| !stored.duplicate) {
            let now_ms = self.deps.clock.wall_ms();
            let session = stored.session.map(|id| id.to_string());
            let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
            // Expired rules cover nothing; dropping them here keeps memory bounded.
            rules.forget_expired(now_ms);
            rules.add(stored.rule.clone(), session.as_deref());
        }
        Ok(stored)
    }

    pub(super) fn new_rule_id(&self) -> String {
        self.deps.randomness.hex(RULE_ID_BYTES)
    }
}

fn checked(decision: RuleDecision, by: String, reason: Option<String>) -> PermissionCheckResult {
    PermissionCheckResult {
        decision,
        by,
        reason,
    }
}
