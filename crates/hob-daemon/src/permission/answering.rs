//! A question is answered, taken back with its run, or its deadline passes.

use super::desk::{Desk, OpenQuestion, State, event};
use super::tickets::denied;
use hob_core::permission::{QuestionDeadline, Refused, Settled, offer};
use hob_kit::failpoint;
use hob_store::{Judgement, KeptRule, NewRule};
use hob_wire::id::RunId;
use hob_wire::rooms::permission::{
    AnswerParams, Answered, Attended, Decision, PendingParams, PermissionAnswered, Question,
    Questions, Reach, Ruling, Withdrawn,
};
use hob_wire::rule::Terms;
use hob_wire::work::RuleDecision;
use hob_wire::{ErrorCode, WireError};
use std::sync::Arc;

/// Settled questions whose outcome is remembered, to tell a late answerer.
const SETTLED_MAX: usize = 256;
/// Who decided when nobody did.
const BY_DEADLINE: &str = "deadline";
pub(super) const BY_WITHDRAWN: &str = "withdrawn";

impl Desk {
    /// Takes an answer; the first valid one counts.
    pub(super) async fn answer(
        &self,
        by: &str,
        params: AnswerParams,
    ) -> Result<Answered, WireError> {
        let reach = params.scope.unwrap_or_default();
        let (settled, terms) = {
            let now_ms = self.parts.clock.monotonic_ms();
            let mut state = self.state();
            let terms = state.terms(&params.id, reach, params.decision)?;
            let shown = params.digest.as_deref().filter(|_| !failpoint::broken(72));
            let answered = state
                .book
                .answer(&params.id, params.decision, shown, now_ms);
            let settled = answered.map_err(|refused| state.refusal(&params.id, refused))?;
            (settled, terms)
        };
        self.conclude(settled, by, terms).await
    }

    /// Takes back what a run that is over has asked.
    pub(super) async fn withdraw(&self, run: RunId) -> Withdrawn {
        let settled = self.state().book.withdraw(run);
        let questions = u32::try_from(settled.len()).unwrap_or(u32::MAX);
        self.conclude_all(settled, BY_WITHDRAWN).await;
        Withdrawn { questions }
    }

    /// Marks a connection as one that shows questions to a person, until it closes.
    pub(super) fn attend(self: &Arc<Self>, connection: u64) -> Result<Attended, WireError> {
        let now_ms = self.parts.clock.monotonic_ms();
        let is_new = self.state().book.attend(connection, now_ms);
        let desk = Arc::clone(self);
        let stays = !is_new
            || self
                .parts
                .bus
                .when_closed(connection, move || desk.leave(connection));
        if !stays {
            self.leave(connection);
            let message = "Questions can only be shown over a connection that stays: use the WebSocket or the unix socket.";
            return Err(WireError::new(ErrorCode::InvalidParams, message));
        }
        self.deadlines.send_replace(());
        let connections = self.state().book.attending();
        let connections = u32::try_from(connections).unwrap_or(u32::MAX);
        Ok(Attended { connections })
    }

    fn leave(&self, connection: u64) {
        let now_ms = self.parts.clock.monotonic_ms();
        self.state().book.leave(connection, now_ms);
        self.deadlines.send_replace(());
    }

    /// Takes a run's questions back when nobody waits for an answer to any of them.
    pub(super) async fn withdraw_unheard(&self, run: RunId) {
        let is_heard = self
            .state()
            .open
            .values()
            .any(|open| open.question.run_id == run && open.outcome.receiver_count() > 0);
        if !is_heard {
            self.withdraw(run).await;
        }
    }

    pub(super) fn pending(&self, params: &PendingParams) -> Questions {
        let state = self.state();
        let wanted = |question: &Question| {
            let key = params.session_key.as_ref();
            key.is_none_or(|key| *key == question.session_key)
        };
        let open = state.open.values().filter_map(|open| state.shown(open));
        let mut questions: Vec<Question> = open.filter(wanted).collect();
        questions.sort_by(|one, other| (one.asked_at, &one.id).cmp(&(other.asked_at, &other.id)));
        Questions { questions }
    }

    pub(super) async fn expire(&self) {
        let now_ms = self.parts.clock.monotonic_ms();
        let settled = self.state().book.expire(now_ms);
        self.conclude_all(settled, BY_DEADLINE).await;
    }

    async fn conclude_all(&self, settled: Vec<Settled>, by: &str) {
        for settled in settled {
            // A no holds whether or not it could be written down.
            let _ = self.conclude(settled, by, None).await;
        }
    }

    /// Writes the outcome down with its rule, then tells whoever waits. A yes that cannot be
    /// written is a no.
    async fn conclude(
        &self,
        settled: Settled,
        by: &str,
        terms: Option<Terms>,
    ) -> Result<Answered, WireError> {
        let open = self.state().open.get(&settled.id).cloned();
        let Some(open) = open else {
            return Err(WireError::new(ErrorCode::Internal, "the question got lost"));
        };
        let answered = Answered {
            id: settled.id,
            session_key: open.question.session_key.clone(),
            run_id: open.question.run_id,
            decision: settled.decision,
            scope: terms.as_ref().map_or(Reach::Once, |terms| terms.scope),
            by: by.to_owned(),
        };
        let written = self.write_down(&open, &answered, terms).await;
        let ruling = match (settled.decision, &written) {
            (Decision::Allow, Ok(())) => self
                .allow(by, &settled.matter.digest)
                .unwrap_or_else(|error| denied(by, Some(error.message))),
            (Decision::Allow, Err(error)) => {
                let reason = format!("It was allowed, but that could not be recorded: {error}");
                denied(by, Some(reason))
            }
            (Decision::Deny, _) => denied(by, Some(reason(by))),
        };
        {
            let mut state = self.state();
            state.open.remove(&answered.id);
            state.remember(&answered, &ruling);
        }
        open.outcome.send_replace(Some(ruling));
        // The other questions have more time now.
        self.deadlines.send_replace(());
        written.map(|()| answered)
    }

    /// The answer's event, its entry in the record and the rule it stores, in one transaction.
    async fn write_down(
        &self,
        open: &OpenQuestion,
        answered: &Answered,
        terms: Option<Terms>,
    ) -> Result<(), WireError> {
        let (decision, by) = (answered.decision, answered.by.as_str());
        let mut judgement = Judgement {
            entries: vec![self.recorder.answered(decision, by, &open.question)],
            event: Some(event::<PermissionAnswered>(answered, &open.around)?),
            rule: None,
        };
        let Some(terms) = terms else {
            self.parts.store.judge(judgement).await?;
            return Ok(());
        };
        let id = self.new_rule_id();
        let added = self.recorder.rule("rule-added", by, &id, &terms);
        judgement.entries.push(added);
        judgement.rule = Some(NewRule {
            id,
            terms,
            created_by: by.to_owned(),
            idempotency_key: None,
        });
        self.judge(judgement).await.map(|_: Option<KeptRule>| ())
    }
}

impl State {
    pub(super) fn forget(&mut self, id: &str) {
        self.book.drop_question(id);
        self.open.remove(id);
    }

    /// The rule that an answer of this reach stores; an error where there is none.
    fn terms(
        &self,
        id: &str,
        reach: Reach,
        decision: Decision,
    ) -> Result<Option<Terms>, WireError> {
        // Who answers a question that is not open is told so by the book.
        let Some(open) = self.open.get(id).filter(|_| reach != Reach::Once) else {
            return Ok(None);
        };
        let decision = match decision {
            Decision::Allow => RuleDecision::Allow,
            Decision::Deny => RuleDecision::Deny,
        };
        let call = open
            .around
            .call(&open.tool, &open.question.args, &open.context);
        let missing = || {
            let message = "No rule of this scope would cover the call; the question's `offers` name those that would.";
            WireError::new(ErrorCode::InvalidParams, message)
        };
        offer(&call, reach, decision).map(Some).ok_or_else(missing)
    }

    /// An open question as it stands now; none if it is settled.
    pub(super) fn shown(&self, open: &OpenQuestion) -> Option<Question> {
        let deadline = self.book.deadline(&open.question.id)?;
        let mut question = open.question.clone();
        question.attended = deadline == QuestionDeadline::None;
        if let QuestionDeadline::At(at_ms) = deadline {
            let wait_ms = at_ms.saturating_sub(open.asked_ms);
            question.deadline_at = question.asked_at.saturating_add(wait_ms);
        }
        Some(question)
    }

    fn remember(&mut self, answered: &Answered, ruling: &Ruling) {
        if self.settled.len() >= SETTLED_MAX {
            self.settled.pop_front();
        }
        self.settled.push_back((answered.clone(), ruling.clone()));
    }

    fn refusal(&self, id: &str, refused: Refused) -> WireError {
        let known = self.settled.iter().map(|(answered, _)| answered);
        let known = known.into_iter().find(|answered| answered.id == id);
        let (code, message) = match (refused, known) {
            (Refused::NotOpen, Some(answered)) => {
                let decision = match answered.decision {
                    Decision::Allow => "allowed",
                    Decision::Deny => "denied",
                };
                let message = format!("This question was already {decision} by {}.", answered.by);
                (ErrorCode::Conflict, message)
            }
            (Refused::NotOpen, None) => {
                let message =
                    "No such question is open; 'hob permission pending' lists those that are.";
                (ErrorCode::NotFound, message.to_owned())
            }
            (Refused::Late, _) => {
                let message = "The question's deadline has passed; it counts as a no.";
                (ErrorCode::Conflict, message.to_owned())
            }
            (Refused::OtherDigest, _) => {
                let message = "The answer is to something else than what is asked; look at the question again.";
                (ErrorCode::Conflict, message.to_owned())
            }
        };
        WireError::new(code, message)
    }
}

fn reason(by: &str) -> String {
    match by {
        BY_DEADLINE => "Nobody answered in time, which counts as a no.".to_owned(),
        BY_WITHDRAWN => "The run it was for is over.".to_owned(),
        _ => "The person said no. Do not try the same again; ask them what they want instead."
            .to_owned(),
    }
}
