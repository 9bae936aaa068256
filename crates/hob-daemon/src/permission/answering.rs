//! Settles questions: by an answer, by withdrawal with their run, or by their deadline.

use super::service::{OpenQuestion, PermissionService, PermissionState, new_event};
use super::tickets::deny;
use hob_bus::RequestContext;
use hob_core::permission::{AnswerError, QuestionDeadline, SettledQuestion, offer};
use hob_store::{AuditedDecision, NewRule, StoredRule};
use hob_wire::id::RunId;
use hob_wire::rooms::permission::{
    AnswerReach, PermissionAnswer, PermissionAnswerParams, PermissionAnswered,
    PermissionAttendParams, PermissionAttendResult, PermissionDecision, PermissionPendingParams,
    PermissionPendingResult, PermissionQuestion, PermissionRuling, PermissionWithdrawParams,
    PermissionWithdrawResult,
};
use hob_wire::rule::RuleTerms;
use hob_wire::work::RuleDecision;
use hob_wire::{ErrorCode, WireError};
use std::sync::Arc;

/// Settled questions kept in memory, to explain a late answer.
const SETTLED_MAX: usize = 256;
/// `by` of a question whose deadline passed.
const BY_DEADLINE: &str = "deadline";
pub(super) const BY_WITHDRAWN: &str = "withdrawn";

impl PermissionService {
    /// Accepts an answer; the first valid one counts.
    pub(super) async fn answer(
        &self,
        call: RequestContext,
        params: PermissionAnswerParams,
    ) -> Result<PermissionAnswer, WireError> {
        let reach = params.scope.unwrap_or_default();
        let (settled, terms) = {
            let now_ms = self.deps.clock.monotonic_ms();
            let mut state = self.state();
            let terms = state.rule_terms(&params.id, reach, params.decision)?;
            // The digest proves that the person saw this exact call.
            let shown = params.digest.as_deref();
            let answered = state
                .book
                .answer(&params.id, params.decision, shown, now_ms);
            let settled = answered.map_err(|refused| state.answer_error(&params.id, refused))?;
            (settled, terms)
        };
        self.settle_question(settled, &call.caller, terms).await
    }

    /// Withdraws the questions of a run that has ended.
    pub(super) async fn withdraw(
        &self,
        params: PermissionWithdrawParams,
    ) -> Result<PermissionWithdrawResult, WireError> {
        let settled = self.state().book.withdraw_run(params.run_id);
        let questions = u32::try_from(settled.len()).unwrap_or(u32::MAX);
        self.settle_all(settled, BY_WITHDRAWN).await;
        Ok(PermissionWithdrawResult { questions })
    }

    fn unattend(&self, connection: u64) {
        let now_ms = self.deps.clock.monotonic_ms();
        self.state().book.leave(connection, now_ms);
        self.deadlines.send_replace(());
    }

    /// Withdraws a run's questions if no request waits for any of them.
    pub(super) async fn withdraw_unawaited(&self, run: RunId) {
        // The abandoned request has dropped its own receiver by now.
        let is_heard = self
            .state()
            .open
            .values()
            .any(|open| open.question.run_id == run && open.outcome.receiver_count() > 0);
        if !is_heard {
            let settled = self.state().book.withdraw_run(run);
            self.settle_all(settled, BY_WITHDRAWN).await;
        }
    }

    pub(super) async fn expire_questions(&self) {
        let now_ms = self.deps.clock.monotonic_ms();
        let settled = self.state().book.expire(now_ms);
        self.settle_all(settled, BY_DEADLINE).await;
    }

    async fn settle_all(&self, settled: Vec<SettledQuestion>, by: &str) {
        for settled in settled {
            // A denial holds even if it could not be recorded.
            let _ = self.settle_question(settled, by, None).await;
        }
    }

    /// Records the outcome with its rule, then wakes the waiters. An allow that cannot be recorded
    /// becomes a denial.
    async fn settle_question(
        &self,
        settled: SettledQuestion,
        by: &str,
        terms: Option<RuleTerms>,
    ) -> Result<PermissionAnswer, WireError> {
        let open = self.state().open.get(&settled.id).cloned();
        let Some(open) = open else {
            return Err(WireError::new(ErrorCode::Internal, "the question got lost"));
        };
        let answered = PermissionAnswer {
            id: settled.id,
            session_key: open.question.session_key.clone(),
            run_id: open.question.run_id,
            decision: settled.decision,
            scope: terms
                .as_ref()
                .map_or(AnswerReach::Once, |terms| terms.scope),
            by: by.to_owned(),
        };
        let written = self.record_answer(&open, &answered, terms).await;
        let ruling = match (settled.decision, &written) {
            // Without a ticket the call could not run, so a full table of tickets is a denial.
            (PermissionDecision::Allow, Ok(())) => self
                .issue_ticket(by, &settled.subject.digest)
                .unwrap_or_else(|error| deny(by, Some(error.message))),
            (PermissionDecision::Allow, Err(error)) => {
                let reason = format!("It was allowed, but that could not be recorded: {error}");
                deny(by, Some(reason))
            }
            (PermissionDecision::Deny, _) => deny(by, Some(denial_reason(by))),
        };
        {
            let mut state = self.state();
            // Removed only after the record is written: until then a repeated request joins this
            // question.
            state.open.remove(&answered.id);
            state.remember(&answered, &ruling);
        }
        let watched = open.context.tag.as_ref();
        self.deps
            .transcripts
            .remove_question(watched, &open.question);
        open.outcome.send_replace(Some(ruling));
        // Deadlines of other questions may have changed.
        self.deadlines.send_replace(());
        written.map(|()| answered)
    }

    /// Writes the answer's event, its audit entry and the rule it stores, in one transaction.
    async fn record_answer(
        &self,
        open: &OpenQuestion,
        answered: &PermissionAnswer,
        terms: Option<RuleTerms>,
    ) -> Result<(), WireError> {
        let (answer, by) = (answered.decision, answered.by.as_str());
        let mut decision = AuditedDecision {
            entries: vec![self.recorder.answer_entry(answer, by, &open.question)],
            event: Some(new_event::<PermissionAnswered>(answered, &open.context)?),
            rule: None,
        };
        let Some(terms) = terms else {
            self.deps.store.record_decision(decision).await?;
            return Ok(());
        };
        let id = self.new_rule_id();
        let added = self.recorder.rule_entry("rule-added", by, &id, &terms);
        decision.entries.push(added);
        decision.rule = Some(NewRule {
            id,
            terms,
            created_by: by.to_owned(),
            idempotency_key: None,
        });
        self.record_rule(decision)
            .await
            .map(|_: Option<StoredRule>| ())
    }
}

/// Marks a connection as one that shows questions to a person, until it closes.
pub(super) async fn attend(
    service: &Arc<PermissionService>,
    call: RequestContext,
    _: PermissionAttendParams,
) -> Result<PermissionAttendResult, WireError> {
    let connection = call.connection;
    let now_ms = service.deps.clock.monotonic_ms();
    let is_new = service.state().book.attend(connection, now_ms);
    let leaving = Arc::clone(service);
    // The hook is registered once per connection; registering fails if the connection has
    // closed.
    let stays = !is_new
        || service
            .deps
            .bus
            .when_closed(connection, move || leaving.unattend(connection));
    if !stays {
        service.unattend(connection);
        let message = "Questions can only be shown over a lasting connection: use the WebSocket or the unix socket.";
        return Err(WireError::new(ErrorCode::InvalidParams, message));
    }
    service.deadlines.send_replace(());
    let connections = service.state().book.attending();
    let connections = u32::try_from(connections).unwrap_or(u32::MAX);
    Ok(PermissionAttendResult { connections })
}

/// Lists the open questions.
pub(super) async fn pending(
    service: &PermissionService,
    params: PermissionPendingParams,
) -> Result<PermissionPendingResult, WireError> {
    let state = service.state();
    let wanted = |question: &PermissionQuestion| {
        let key = params.session_key.as_ref();
        key.is_none_or(|key| *key == question.session_key)
    };
    let open = state
        .open
        .values()
        .filter_map(|open| state.current_view(open));
    let mut questions: Vec<PermissionQuestion> = open.filter(wanted).collect();
    questions.sort_by(|one, other| (one.asked_at, &one.id).cmp(&(other.asked_at, &other.id)));
    Ok(PermissionPendingResult { questions })
}

impl PermissionState {
    pub(super) fn forget(&mut self, id: &str) {
        self.book.drop_question(id);
        self.open.remove(id);
    }

    /// The rule that an answer with this scope stores; an error if there is none.
    fn rule_terms(
        &self,
        id: &str,
        reach: AnswerReach,
        decision: PermissionDecision,
    ) -> Result<Option<RuleTerms>, WireError> {
        // A question that is not open is reported by the machine's own check.
        let Some(open) = self.open.get(id).filter(|_| reach != AnswerReach::Once) else {
            return Ok(None);
        };
        let decision = match decision {
            PermissionDecision::Allow => RuleDecision::Allow,
            PermissionDecision::Deny => RuleDecision::Deny,
        };
        let call = open
            .context
            .to_call(&open.tool, &open.question.args, &open.tool_context);
        let missing = || {
            let message = "No rule of this scope would cover the call; the question's `offers` list the scopes that would.";
            WireError::new(ErrorCode::InvalidParams, message)
        };
        offer(&call, reach, decision).map(Some).ok_or_else(missing)
    }

    /// An open question with its current deadline; `None` if it is settled.
    pub(super) fn current_view(&self, open: &OpenQuestion) -> Option<PermissionQuestion> {
        let deadline = self.book.deadline(&open.question.id)?;
        let mut question = open.question.clone();
        question.attended = deadline == QuestionDeadline::None;
        if let QuestionDeadline::At(at_ms) = deadline {
            // The deadline is monotonic, so only its distance from the question is added to
            // wall-clock time.
            let wait_ms = at_ms.saturating_sub(open.asked_ms);
            question.deadline_at = question.asked_at.saturating_add(wait_ms);
        }
        Some(question)
    }

    fn remember(&mut self, answered: &PermissionAnswer, ruling: &PermissionRuling) {
        if self.settled.len() >= SETTLED_MAX {
            self.settled.pop_front();
        }
        self.settled.push_back((answered.clone(), ruling.clone()));
    }

    fn answer_error(&self, id: &str, refused: AnswerError) -> WireError {
        let known = self.settled.iter().map(|(answered, _)| answered);
        let known = known.into_iter().find(|answered| answered.id == id);
        let (code, message) = match (refused, known) {
            (AnswerError::NotOpen, Some(answered)) => {
                let decision = match answered.decision {
                    PermissionDecision::Allow => "allowed",
                    PermissionDecision::Deny => "denied",
                };
                let message = format!("This question was already {decision} by {}.", answered.by);
                (ErrorCode::Conflict, message)
            }
            (AnswerError::NotOpen, None) => {
                let message =
                    "No such question is open; 'hob permission pending' lists the open ones.";
                (ErrorCode::NotFound, message.to_owned())
            }
            (AnswerError::Late, _) => {
                let message = "The question's deadline has passed; the call was denied.";
                (ErrorCode::Conflict, message.to_owned())
            }
            (AnswerError::OtherDigest, _) => {
                let message = "The answer is for a different version of the call; look at the question again.";
                (ErrorCode::Conflict, message.to_owned())
            }
        };
        WireError::new(code, message)
    }
}

fn denial_reason(by: &str) -> String {
    match by {
        BY_DEADLINE => "Nobody answered in time, so the call was denied.".to_owned(),
        BY_WITHDRAWN => "The run has ended.".to_owned(),
        _ => "The person denied this call. Do not try it again; ask them what they want instead."
            .to_owned(),
    }
}
