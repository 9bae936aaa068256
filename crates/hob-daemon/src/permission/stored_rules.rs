//! The stored rules: listed, added, removed, tried. The store holds them; the book in memory is
//! changed after it, in the same order, and before anyone is answered.

use super::desk::{Desk, Said};
use super::settings;
use crate::grants::RULE_ID_BYTES;
use hob_core::permission::{Verdict, check_terms, grant, rule_note};
use hob_store::{Judgement, KeptRule, NewRule};
use hob_wire::rooms::agent::RunState;
use hob_wire::rooms::permission::{
    AddParams, CheckParams, Checked, ListParams, RemoveParams, Rule, RuleDecision, Rules, Terms,
};
use hob_wire::rooms::tool::{Describe, DescribeParams};
use hob_wire::work::Reach;
use hob_wire::{ErrorCode, RunId, SessionId, WireError};
use std::sync::PoisonError;

impl Desk {
    pub(super) async fn list(&self, params: ListParams) -> Result<Rules, WireError> {
        let now_ms = self.parts.clock.wall_ms();
        let page = self.parts.store.list_rules(params, now_ms).await?;
        let (rules, more) = page.rows;
        let in_force = settings::mode(&self.parts.settings.borrow());
        let notes = rules.iter();
        let notes = notes.filter_map(|rule| Some((rule.id.clone(), rule_note(&rule.terms)?)));
        Ok(Rules {
            mode: in_force,
            notes: notes.collect(),
            rules,
            more,
            damaged: page.damaged,
        })
    }

    pub(super) async fn add(&self, by: &str, params: AddParams) -> Result<Rule, WireError> {
        let idempotency_key = params.idempotency_key.clone();
        let terms = Terms::from(params);
        let wrong = |message| WireError::new(ErrorCode::InvalidParams, message);
        check_terms(&terms).map_err(wrong)?;
        if let (Reach::Run, Some(run)) = (terms.scope, terms.run_id) {
            let row = self.parts.store.run(&run).await?;
            if row.summary.state == RunState::Done {
                let message = "This run has ended; a rule for it would cover nothing.";
                return Err(WireError::new(ErrorCode::Conflict, message));
            }
        }
        let id = self.new_rule_id();
        let judgement = Judgement {
            entries: vec![self.recorder.rule("rule-added", by, &id, &terms)],
            event: None,
            rule: Some(NewRule {
                id,
                terms,
                created_by: by.to_owned(),
                idempotency_key,
            }),
        };
        let lost = || WireError::new(ErrorCode::Internal, "the rule got lost");
        Ok(self.judge(judgement).await?.ok_or_else(lost)?.rule)
    }

    pub(super) async fn remove(&self, by: &str, params: RemoveParams) -> Result<Rule, WireError> {
        self.ready().await?;
        let _turn = self.pen.lock().await;
        let rule = self.parts.store.rule(&params.id).await?;
        let terms = &rule.terms;
        let entry = self.recorder.rule("rule-removed", by, &rule.id, terms);
        let removed = self.parts.store.remove_rule(&rule.id, entry).await?;
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        rules.remove(&rule.id);
        Ok(removed)
    }

    /// What would be decided of a call; asks nobody and records nothing.
    pub(super) async fn check(&self, params: CheckParams) -> Result<Checked, WireError> {
        self.ready().await?;
        let describe = DescribeParams {
            name: params.tool,
            wait: false,
        };
        let tool = self.caller.call::<Describe>(&describe).await?;
        let said = Said {
            ceiling: params.ceiling,
            channel: params.channel.as_deref(),
            unattended: false,
        };
        let mut around = self.around(&tool, &params.context, said).await?;
        let seen = self.look(&tool, &params.args, &params.context).await;
        around.asks_always = seen.asks_always;
        let call = around.call(&tool, &params.args, &params.context);
        Ok(match self.decide(&call, &around) {
            Verdict::Allow { rule } => checked(RuleDecision::Allow, rule, None),
            Verdict::Deny { rule, reason } => checked(RuleDecision::Deny, rule, Some(reason)),
            Verdict::Ask { rule } if around.unattended => {
                let reason = match grant(&call) {
                    Some(_) => "Nobody would be there to be asked; a stored rule can allow it.",
                    None => "Nobody would be there to be asked.",
                };
                checked(RuleDecision::Deny, rule, Some(reason.to_owned()))
            }
            Verdict::Ask { rule } => checked(RuleDecision::Ask, rule, None),
        })
    }

    /// Takes the rules of a run that is over away.
    pub(super) async fn run_ended(&self, run: RunId) {
        // Without it they would only lie there until the next start: no other run has this id.
        if self.ready().await.is_err() {
            return;
        }
        let _turn = self.pen.lock().await;
        let is_of_run =
            |rule: &Rule| rule.terms.scope == Reach::Run && rule.terms.run_id == Some(run);
        let any = {
            let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
            let before = rules.len();
            rules.retain(|rule| !is_of_run(rule));
            rules.len() < before
        };
        if any && let Err(error) = self.parts.store.end_run_rules(run).await {
            tracing::warn!(%run, "the rules of a run that is over stay until the next start: {error}");
        }
    }

    /// The store took the rules of a deleted session away with it.
    pub(super) async fn session_deleted(&self, session: SessionId) {
        if self.ready().await.is_err() {
            return;
        }
        let _turn = self.pen.lock().await;
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        rules.end_session(&session.to_string());
    }

    /// Writes a decision that stores a rule, and puts the rule in the book.
    pub(super) async fn judge(&self, judgement: Judgement) -> Result<Option<KeptRule>, WireError> {
        self.ready().await?;
        let _turn = self.pen.lock().await;
        let kept = self.parts.store.judge(judgement).await?;
        if let Some(kept) = kept.as_ref().filter(|kept| !kept.duplicate) {
            let now_ms = self.parts.clock.wall_ms();
            let session = kept.session.map(|id| id.to_string());
            let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
            rules.forget_expired(now_ms);
            rules.add(kept.rule.clone(), session.as_deref());
        }
        Ok(kept)
    }

    pub(super) fn new_rule_id(&self) -> String {
        self.parts.dice.hex(RULE_ID_BYTES)
    }
}

fn checked(decision: RuleDecision, by: String, reason: Option<String>) -> Checked {
    Checked {
        decision,
        by,
        reason,
    }
}
