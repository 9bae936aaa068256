//! Decides a call by rule, or asks a person and waits for the answer.

use super::answering::BY_WITHDRAWN;
use super::audit_recorder::decision_name;
use super::service::{CallContext, ClaimedLimits, OpenQuestion, PermissionService, new_event};
use super::tickets::{deny, overloaded_error};
use hob_bus::RequestContext;
use hob_core::permission::{
    AskOutcome, PreparedCall, QuestionSubject, RuleVerdict, approval_sentence, call_preview,
    call_tier, can_fail_without_asking, change_preview, offers, suggest_grant, tool_fingerprint,
};
use hob_store::AuditedDecision;
use hob_wire::rooms::permission::{
    BY_CANNOT_RUN, PermissionAskParams, PermissionDecision, PermissionQuestion,
    PermissionRequested, PermissionRuling,
};
use hob_wire::rooms::tool::{Preview, ToolExecuteParams, ToolPreviewResult};
use hob_wire::work::{Idempotency, ToolContext, ToolSpec};
use hob_wire::{ErrorCode, WireError};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// `by` of a call approved before a restart.
const BY_JOURNAL: &str = "journal";
/// `by` of a denial because no person could be asked.
const BY_UNATTENDED: &str = "unattended";
/// `by` of a call that would fail without effect.
const BY_NO_EFFECT: &str = "rule:no-effect";
/// Prefix of the built-in mode rules.
const BY_MODE: &str = "mode:";

type OutcomeReceiver = watch::Receiver<Option<PermissionRuling>>;

/// A question that a request waits for, new or already open.
struct JoinedQuestion {
    id: String,
    outcome: OutcomeReceiver,
    /// The question to announce, if it is new.
    new: Option<PermissionQuestion>,
}

impl PermissionService {
    /// Decides by rule, or asks a person and waits as long as the caller does.
    pub(super) async fn ask(
        &self,
        call: RequestContext,
        params: PermissionAskParams,
    ) -> Result<PermissionRuling, WireError> {
        let run = params.context.run_id;
        tokio::select! {
            ruling = self.decide_or_ask(params) => ruling,
            // The run is gone, so nobody could act on an answer.
            () = call.abandoned.cancelled() => {
                if let Some(run) = run {
                    self.withdraw_unawaited(run).await;
                }
                let message = "Nobody waits for this permission any more.";
                Err(WireError::new(ErrorCode::Cancelled, message))
            }
        }
    }

    async fn decide_or_ask(
        &self,
        params: PermissionAskParams,
    ) -> Result<PermissionRuling, WireError> {
        self.load_rules().await?;
        let claimed = ClaimedLimits {
            ceiling: params.ceiling,
            channel: params.channel.as_deref(),
            unattended: params.unattended,
        };
        let mut call_context = self
            .call_context(&params.tool, &params.context, claimed)
            .await?;
        let is_pure = params.tool.effect == Idempotency::Pure;
        // A read-only tool has no preview to decide on, so it is asked for one only if a person
        // will see it.
        let mut previewed = ToolPreviewResult::default();
        if !is_pure {
            previewed = self
                .preview_call(&params.tool, &params.args, &params.context)
                .await;
        }
        call_context.asks_always = previewed.asks_always;
        let work = PreparedCall {
            tool: params.tool.name.clone(),
            fingerprint: tool_fingerprint(&params.tool),
            args: params.args.clone(),
            context: params.context.clone(),
            state: previewed.state.clone(),
        };
        let digest = work.digest();
        let call = call_context.to_call(&params.tool, &params.args, &params.context);
        let verdict = self.decide(&call, &call_context);
        if is_pure && matches!(verdict, RuleVerdict::Ask { .. }) {
            previewed = self
                .preview_call(&params.tool, &params.args, &params.context)
                .await;
        }
        let by = match verdict {
            RuleVerdict::Allow { rule } => rule,
            RuleVerdict::Deny { rule, reason } => {
                let no = deny(&rule, Some(reason));
                return self.record_ruling(no, &params, &digest).await;
            }
            // Approved before a restart: the run's journal has the digest of exactly this call.
            RuleVerdict::Ask { .. } if params.approved.as_deref() == Some(&digest) => {
                BY_JOURNAL.to_owned()
            }
            RuleVerdict::Ask { .. } if previewed.cannot_run.is_some() => {
                let no = deny(BY_CANNOT_RUN, previewed.cannot_run);
                return self.record_ruling(no, &params, &digest).await;
            }
            // The ticket is bound to the state that makes the call fail, so it can do nothing else.
            // A rule that a person stored is still asked.
            RuleVerdict::Ask { rule }
                if rule.starts_with(BY_MODE)
                    && previewed.would_fail.is_some()
                    && previewed.state.is_some()
                    && can_fail_without_asking(&call) =>
            {
                BY_NO_EFFECT.to_owned()
            }
            RuleVerdict::Ask { .. } if call_context.unattended => {
                let no = PermissionRuling {
                    grant: suggest_grant(&call),
                    ..deny(BY_UNATTENDED, Some(nobody_there_reason()))
                };
                return self.record_ruling(no, &params, &digest).await;
            }
            RuleVerdict::Ask { .. } => {
                return self
                    .ask_person(params, call_context, digest, previewed.text)
                    .await;
            }
        };
        // `record_ruling` adds the ticket once the record is written.
        let yes = PermissionRuling {
            decision: PermissionDecision::Allow,
            ..deny(&by, None)
        };
        self.record_ruling(yes, &params, &digest).await
    }

    /// Records a decision made without a person. It holds only once it is recorded.
    async fn record_ruling(
        &self,
        ruling: PermissionRuling,
        params: &PermissionAskParams,
        digest: &str,
    ) -> Result<PermissionRuling, WireError> {
        let act = decision_name(ruling.decision);
        let entry = self.recorder.ruling_entry(act, &ruling.by, params, digest);
        let decision = AuditedDecision {
            entries: vec![entry],
            ..AuditedDecision::default()
        };
        self.deps.store.record_decision(decision).await?;
        match ruling.decision {
            PermissionDecision::Allow => self.issue_ticket(&ruling.by, digest),
            PermissionDecision::Deny => Ok(ruling),
        }
    }

    /// Previews the effect of a call. A tool without a preview is asked about as it is.
    pub(super) async fn preview_call(
        &self,
        tool: &ToolSpec,
        args: &Value,
        context: &ToolContext,
    ) -> ToolPreviewResult {
        let call = ToolExecuteParams {
            name: tool.name.clone(),
            args: args.clone(),
            context: context.clone(),
            ticket: None,
        };
        let previewed = self.caller.call::<Preview>(&call).await;
        previewed.unwrap_or_default()
    }

    async fn ask_person(
        &self,
        params: PermissionAskParams,
        call_context: CallContext,
        digest: String,
        previewed: Option<String>,
    ) -> Result<PermissionRuling, WireError> {
        // A scope of its own, because the borrow of the settings must not cross an await.
        let wait_ms = {
            let settings = self.deps.settings.borrow();
            settings.duration_ms("permission.deadline")
        };
        let question = self.build_question(&params, &call_context, digest, previewed.as_deref())?;
        // Opened before it is announced: an answer to the event must find it.
        let opened = self.open_question(&params, &call_context, question, wait_ms)?;
        if let Some(question) = opened.new
            && let Err(error) = self.announce(&params, &call_context, question).await
        {
            // The question was not announced, so nobody can answer it.
            self.state().forget(&opened.id);
            return Err(error);
        }
        Ok(self.wait_for_outcome(opened.outcome).await)
    }

    /// Waits for the outcome of a question, however long a person takes.
    async fn wait_for_outcome(&self, mut outcome: OutcomeReceiver) -> PermissionRuling {
        let mut deadlines = self.deadlines.subscribe();
        loop {
            if let Some(ruling) = outcome.borrow_and_update().clone() {
                return ruling;
            }
            let next = self.state().book.next_deadline_ms();
            let now_ms = self.deps.clock.monotonic_ms();
            let due = async {
                match next {
                    Some(next_ms) => {
                        // At least 1 ms, so that a deadline of this very moment has passed when it
                        // is checked.
                        let wait_ms = next_ms.saturating_sub(now_ms).max(1);
                        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = outcome.changed() => {
                    if changed.is_err() {
                        return deny(BY_WITHDRAWN, None);
                    }
                }
                // The sender lives as long as the room.
                _ = deadlines.changed() => {}
                // Each waiter may expire questions, so no separate timer task is needed.
                () = due => self.expire_questions().await,
            }
        }
    }

    /// Records the question and announces it.
    async fn announce(
        &self,
        params: &PermissionAskParams,
        call_context: &CallContext,
        question: PermissionQuestion,
    ) -> Result<(), WireError> {
        let by = "permissions";
        let entry = self
            .recorder
            .ruling_entry("asked", by, params, &question.digest);
        let decision = AuditedDecision {
            entries: vec![entry],
            event: Some(new_event::<PermissionRequested>(&question, call_context)?),
            rule: None,
        };
        let (transcripts, watched) = (&self.deps.transcripts, call_context.tag.as_ref());
        // Before the event: the question may be answered as soon as it is announced.
        transcripts.add_question(watched, &question);
        let announced = self.deps.store.record_decision(decision).await;
        if announced.is_err() {
            transcripts.remove_question(watched, &question);
        }
        announced?;
        Ok(())
    }

    /// Opens the question, or joins it if the same call is already being asked.
    fn open_question(
        &self,
        params: &PermissionAskParams,
        call_context: &CallContext,
        question: PermissionQuestion,
        wait_ms: u64,
    ) -> Result<JoinedQuestion, WireError> {
        let matter = QuestionSubject {
            run: question.run_id,
            call: question.call_id.clone(),
            digest: question.digest.clone(),
        };
        let asked_ms = self.deps.clock.monotonic_ms();
        let mut state = self.state();
        let opened = state.book.ask(&question.id, matter, asked_ms, wait_ms);
        match opened.map_err(overloaded_error)? {
            AskOutcome::Joined(id) => match state.open.get(&id) {
                Some(open) => Ok(JoinedQuestion {
                    outcome: open.outcome.subscribe(),
                    id,
                    new: None,
                }),
                None => Err(WireError::new(ErrorCode::Internal, "the question got lost")),
            },
            AskOutcome::New => {
                let (sender, outcome) = watch::channel(None);
                let open = OpenQuestion {
                    question,
                    asked_ms,
                    context: call_context.clone(),
                    tool: params.tool.clone(),
                    tool_context: params.context.clone(),
                    outcome: sender,
                };
                let id = open.question.id.clone();
                // The view has the deadline that the machine just gave it.
                let new = state.current_view(&open);
                state.open.insert(id.clone(), Arc::new(open));
                Ok(JoinedQuestion { id, outcome, new })
            }
        }
    }

    fn build_question(
        &self,
        params: &PermissionAskParams,
        call_context: &CallContext,
        digest: String,
        previewed: Option<&str>,
    ) -> Result<PermissionQuestion, WireError> {
        let context = &params.context;
        let (Some(session_key), Some(run_id), Some(call_id)) =
            (&context.session_key, context.run_id, &context.call_id)
        else {
            let message = "A person can only be asked about a call of a run: the context must name sessionKey, runId and callId.";
            return Err(WireError::new(ErrorCode::InvalidParams, message));
        };
        let call = call_context.to_call(&params.tool, &params.args, context);
        let asked_at = self.deps.clock.wall_ms();
        Ok(PermissionQuestion {
            id: self.deps.randomness.uuid(asked_at).to_string(),
            session_key: session_key.clone(),
            run_id,
            call_id: call_id.clone(),
            tool: params.tool.name.clone(),
            args: params.args.clone(),
            tier: call_tier(&call),
            sentence: approval_sentence(&params.tool, &params.args),
            offers: offers(&call),
            preview: Some(match previewed {
                Some(previewed) => change_preview(&params.tool, context, previewed),
                None => call_preview(&params.tool, &params.args, context),
            }),
            digest,
            asked_at,
            // Replaced when the question is opened.
            deadline_at: asked_at,
            attended: false,
        })
    }
}

fn nobody_there_reason() -> String {
    "Nobody can be asked, and no stored rule allows this call, so it was denied. Continue without it, and say in your answer what you could not do.".to_owned()
}
