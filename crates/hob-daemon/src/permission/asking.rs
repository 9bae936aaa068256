//! A call is decided by rule, or a person is asked and waited for.

use super::answering::BY_WITHDRAWN;
use super::desk::{Around, Desk, OpenQuestion, Said, event};
use super::recording::word;
use super::tickets::{denied, full};
use hob_core::permission::{
    Matter, Opened, Verdict, Work, fingerprint, grant, is_change_of_files, may_fail_unasked,
    offers, preview, preview_of_change, reach, sentence,
};
use hob_kit::failpoint;
use hob_store::Judgement;
use hob_wire::rooms::permission::{
    AskParams, BY_CANNOT_RUN, Decision, PermissionRequested, Question, Ruling,
};
use hob_wire::rooms::tool::{ExecuteParams, Preview, Previewed};
use hob_wire::work::{Effect, ToolContext, ToolSpec};
use hob_wire::{ErrorCode, WireError};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Who decided when nobody had to.
const BY_JOURNAL: &str = "journal";
/// Who decided when nobody could be asked.
const BY_UNATTENDED: &str = "unattended";
/// The rule for a call that would only be told why it cannot be done.
const BY_NO_EFFECT: &str = "rule:no-effect";
/// What every rule of the house's own modes is called.
const BY_MODE: &str = "mode:";

type Outcome = watch::Receiver<Option<Ruling>>;

/// A question that a request waits for.
struct Joined {
    id: String,
    outcome: Outcome,
    /// As it is announced, if it is new.
    new: Option<Question>,
}

impl Desk {
    /// Decides by rule, or asks a person and waits.
    pub(super) async fn ask(&self, params: AskParams) -> Result<Ruling, WireError> {
        self.ready().await?;
        let said = Said {
            ceiling: params.ceiling,
            channel: params.channel.as_deref(),
            unattended: params.unattended,
        };
        let mut around = self.around(&params.tool, &params.context, said).await?;
        let is_pure = params.tool.effect == Effect::Pure;
        // A tool that only looks shows nothing, so it is asked about its call only if a person is.
        let mut seen = Previewed::default();
        if !is_pure {
            seen = self.look(&params.tool, &params.args, &params.context).await;
        }
        around.asks_always = seen.asks_always;
        let work = Work {
            tool: params.tool.name.clone(),
            fingerprint: fingerprint(&params.tool),
            args: params.args.clone(),
            context: params.context.clone(),
            state: seen.state.clone(),
        };
        let digest = work.digest();
        let call = around.call(&params.tool, &params.args, &params.context);
        let verdict = self.decide(&call, &around);
        if is_pure && matches!(verdict, Verdict::Ask { .. }) {
            seen = self.look(&params.tool, &params.args, &params.context).await;
        }
        let by = match verdict {
            Verdict::Allow { rule } => rule,
            Verdict::Deny { rule, reason } => {
                let no = denied(&rule, Some(reason));
                return self.rule(no, &params, &digest).await;
            }
            Verdict::Ask { .. } if params.approved.as_deref() == Some(&digest) => {
                BY_JOURNAL.to_owned()
            }
            Verdict::Ask { rule } if failpoint::broken(94) => rule,
            Verdict::Ask { rule } if failpoint::broken(96) && is_change_of_files(&call) => rule,
            Verdict::Ask { .. } if seen.cannot_run.is_some() => {
                let no = denied(BY_CANNOT_RUN, seen.cannot_run);
                return self.rule(no, &params, &digest).await;
            }
            // The ticket is bound to what would make it fail, so it can do nothing else. What a
            // person's own rule wants asked is asked all the same.
            Verdict::Ask { rule }
                if rule.starts_with(BY_MODE)
                    && seen.would_fail.is_some()
                    && seen.state.is_some()
                    && may_fail_unasked(&call) =>
            {
                BY_NO_EFFECT.to_owned()
            }
            Verdict::Ask { .. } if around.unattended => {
                let no = Ruling {
                    grant: grant(&call),
                    ..denied(BY_UNATTENDED, Some(nobody_there()))
                };
                return self.rule(no, &params, &digest).await;
            }
            Verdict::Ask { .. } => {
                return self.ask_a_person(params, around, digest, seen.text).await;
            }
        };
        let yes = Ruling {
            decision: Decision::Allow,
            ..denied(&by, None)
        };
        self.rule(yes, &params, &digest).await
    }

    /// Records what was decided without a person; only then it holds.
    async fn rule(
        &self,
        ruling: Ruling,
        params: &AskParams,
        digest: &str,
    ) -> Result<Ruling, WireError> {
        let act = word(ruling.decision);
        let entry = self.recorder.ruled(act, &ruling.by, params, digest);
        let judgement = Judgement {
            entries: vec![entry],
            ..Judgement::default()
        };
        self.parts.store.judge(judgement).await?;
        match ruling.decision {
            Decision::Allow => self.allow(&ruling.by, digest),
            Decision::Deny => Ok(ruling),
        }
    }

    /// What the call would do now. A tool that cannot say is asked for as it stands.
    pub(super) async fn look(
        &self,
        tool: &ToolSpec,
        args: &Value,
        context: &ToolContext,
    ) -> Previewed {
        let call = ExecuteParams {
            name: tool.name.clone(),
            args: args.clone(),
            context: context.clone(),
            ticket: None,
        };
        let seen = self.caller.call::<Preview>(&call).await;
        seen.unwrap_or_default()
    }

    async fn ask_a_person(
        &self,
        params: AskParams,
        around: Around,
        digest: String,
        seen: Option<String>,
    ) -> Result<Ruling, WireError> {
        let wait_ms = {
            let settings = self.parts.settings.borrow();
            settings.duration_ms("permission.deadline")
        };
        let question = self.question(&params, &around, digest, seen.as_deref())?;
        let opened = self.open(&params, &around, question, wait_ms)?;
        if let Some(question) = opened.new
            && let Err(error) = self.announce(&params, &around, question).await
        {
            // Nobody will ever see it, so nobody can answer it.
            self.state().forget(&opened.id);
            return Err(error);
        }
        Ok(self.wait(opened.outcome).await)
    }

    /// Waits for the outcome of a question, as long as a person takes.
    async fn wait(&self, mut outcome: Outcome) -> Ruling {
        let mut deadlines = self.deadlines.subscribe();
        loop {
            if let Some(ruling) = outcome.borrow_and_update().clone() {
                return ruling;
            }
            let next = self.state().book.next_deadline_ms();
            let now_ms = self.parts.clock.monotonic_ms();
            let due = async {
                match next {
                    Some(next_ms) => {
                        let wait_ms = next_ms.saturating_sub(now_ms).max(1);
                        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = outcome.changed() => {
                    if changed.is_err() {
                        return denied(BY_WITHDRAWN, None);
                    }
                }
                // It lives as long as this room.
                _ = deadlines.changed() => {}
                () = due => self.expire().await,
            }
        }
    }

    /// Logs the question with its entry in the record.
    async fn announce(
        &self,
        params: &AskParams,
        around: &Around,
        question: Question,
    ) -> Result<(), WireError> {
        let by = "permissions";
        let entry = self.recorder.ruled("asked", by, params, &question.digest);
        let judgement = Judgement {
            entries: vec![entry],
            event: Some(event::<PermissionRequested>(&question, around)?),
            rule: None,
        };
        self.parts.store.judge(judgement).await?;
        Ok(())
    }

    /// Opens the question, or joins it when the same call is being asked for already.
    fn open(
        &self,
        params: &AskParams,
        around: &Around,
        question: Question,
        wait_ms: u64,
    ) -> Result<Joined, WireError> {
        let matter = Matter {
            run: question.run_id,
            call: question.call_id.clone(),
            digest: question.digest.clone(),
        };
        let asked_ms = self.parts.clock.monotonic_ms();
        let mut state = self.state();
        let opened = state.book.ask(&question.id, matter, asked_ms, wait_ms);
        match opened.map_err(full)? {
            Opened::Joined(id) => match state.open.get(&id) {
                Some(open) => Ok(Joined {
                    outcome: open.outcome.subscribe(),
                    id,
                    new: None,
                }),
                None => Err(WireError::new(ErrorCode::Internal, "the question got lost")),
            },
            Opened::New => {
                let (sender, outcome) = watch::channel(None);
                let open = OpenQuestion {
                    question,
                    asked_ms,
                    around: around.clone(),
                    tool: params.tool.clone(),
                    context: params.context.clone(),
                    outcome: sender,
                };
                let id = open.question.id.clone();
                // With the deadline that it has got, or none.
                let new = state.shown(&open);
                state.open.insert(id.clone(), Arc::new(open));
                Ok(Joined { id, outcome, new })
            }
        }
    }

    fn question(
        &self,
        params: &AskParams,
        around: &Around,
        digest: String,
        seen: Option<&str>,
    ) -> Result<Question, WireError> {
        let context = &params.context;
        let (Some(session_key), Some(run_id), Some(call_id)) =
            (&context.session_key, context.run_id, &context.call_id)
        else {
            let message = "A person can only be asked about a call of a run: the context must name sessionKey, runId and callId.";
            return Err(WireError::new(ErrorCode::InvalidParams, message));
        };
        let call = around.call(&params.tool, &params.args, context);
        let asked_at = self.parts.clock.wall_ms();
        Ok(Question {
            id: self.parts.dice.uuid(asked_at).to_string(),
            session_key: session_key.clone(),
            run_id,
            call_id: call_id.clone(),
            tool: params.tool.name.clone(),
            args: params.args.clone(),
            tier: reach(&call),
            sentence: sentence(&params.tool, &params.args),
            offers: offers(&call),
            preview: Some(match seen {
                Some(seen) => preview_of_change(&params.tool, context, seen),
                None => preview(&params.tool, &params.args, context),
            }),
            digest,
            asked_at,
            // The book says until when.
            deadline_at: asked_at,
            attended: false,
        })
    }
}

fn nobody_there() -> String {
    "Nobody is there to be asked, and no stored rule allows this call, so it was denied. Go on without it, and say in your answer what you could not do.".to_owned()
}
