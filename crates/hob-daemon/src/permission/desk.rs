//! Where calls are asked for, answered and redeemed. The machine decides under a lock held for a
//! few lines; waiting and writing happen outside it.

use super::Parts;
use bytes::Bytes;
use hob_bus::{Caller, NewEvent, SessionTag};
use hob_core::permission::{
    Book, Bounds, Call, Full, Matter, NoTicket, Opened, Refused, Settled, Verdict, Work, decide,
    fingerprint, preview, preview_of_change, sentence,
};
use hob_wire::id::{RunId, SessionRef};
use hob_wire::rooms::permission::{
    AnswerParams, Answered, AskParams, Decision, PendingParams, PermissionAnswered,
    PermissionRequested, Question, Questions, Reach, RedeemParams, Redeemed, Ruling, Withdrawn,
};
use hob_wire::rooms::tool::{ExecuteParams, Preview, Previewed};
use hob_wire::work::Effect;
use hob_wire::{ErrorCode, Topic, WireError};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Settled questions whose outcome is remembered, to tell a late answerer.
const SETTLED_MAX: usize = 256;
/// Random bytes of a ticket.
const TICKET_BYTES: usize = 24;
/// How long a caller should wait when the book is full.
const FULL_RETRY_MS: u64 = 5_000;
/// Who decided when nobody did.
const BY_DEADLINE: &str = "deadline";
const BY_WITHDRAWN: &str = "withdrawn";
const BY_JOURNAL: &str = "journal";
/// The rule for a call that would only be told why it cannot be done.
const BY_NO_EFFECT: &str = "rule:no-effect";

pub(super) struct Desk {
    parts: Parts,
    /// For `tool.preview`.
    caller: Caller,
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<State>,
}

struct State {
    book: Book,
    open: BTreeMap<String, OpenQuestion>,
    settled: VecDeque<Answered>,
}

struct OpenQuestion {
    question: Question,
    /// Told once, when it is over.
    outcome: watch::Sender<Option<Ruling>>,
}

impl Desk {
    pub(super) fn new(parts: Parts) -> Self {
        Desk {
            caller: parts.bus.caller("permissions"),
            parts,
            state: Mutex::new(State {
                book: Book::new(Bounds::DEFAULT),
                open: BTreeMap::new(),
                settled: VecDeque::new(),
            }),
        }
    }

    /// Decides by rule, or asks a person and waits.
    pub(super) async fn ask(&self, params: AskParams) -> Result<Ruling, WireError> {
        let seen = self.look(&params).await;
        let work = Work {
            tool: params.tool.name.clone(),
            fingerprint: fingerprint(&params.tool),
            args: params.args.clone(),
            context: params.context.clone(),
            state: seen.state.clone(),
        };
        let digest = work.digest();
        let verdict = decide(&Call {
            tool: &params.tool,
            args: &params.args,
            context: &params.context,
            ceiling: params.ceiling,
        });
        match verdict {
            Verdict::Allow { rule } => self.allow(rule, &digest),
            Verdict::Deny { rule, reason } => Ok(denied(rule, Some(reason))),
            Verdict::Ask if params.approved.as_deref() == Some(&digest) => {
                self.allow(BY_JOURNAL, &digest)
            }
            // The ticket is bound to what would make it fail, so it can do nothing else.
            Verdict::Ask if seen.would_fail.is_some() => self.allow(BY_NO_EFFECT, &digest),
            Verdict::Ask => self.ask_a_person(params, digest, seen.text).await,
        }
    }

    /// What the call would do now. A tool that cannot say is asked for as it stands.
    async fn look(&self, params: &AskParams) -> Previewed {
        if params.tool.effect == Effect::Pure {
            return Previewed::default();
        }
        let call = ExecuteParams {
            name: params.tool.name.clone(),
            args: params.args.clone(),
            context: params.context.clone(),
            ticket: None,
        };
        let seen = self.caller.call::<Preview>(&call).await;
        seen.unwrap_or_default()
    }

    async fn ask_a_person(
        &self,
        params: AskParams,
        digest: String,
        seen: Option<String>,
    ) -> Result<Ruling, WireError> {
        let deadline_ms = {
            let settings = self.parts.settings.borrow();
            settings.duration_ms("permission.deadline")
        };
        let (mut outcome, new) = self.open(&params, digest, seen.as_deref(), deadline_ms)?;
        if let Some(question) = new {
            let id = question.id.clone();
            if let Err(error) = self.announce::<PermissionRequested>(&question).await {
                // Nobody will ever see it, so nobody can answer it.
                self.state().forget(&id);
                return Err(error);
            }
        }
        loop {
            if let Some(ruling) = outcome.borrow_and_update().clone() {
                return Ok(ruling);
            }
            let next = self.state().book.next_deadline_ms();
            let now_ms = self.parts.clock.monotonic_ms();
            let wait = next.map_or(deadline_ms, |next| next.saturating_sub(now_ms).max(1));
            let changed = tokio::time::timeout(Duration::from_millis(wait), outcome.changed());
            match changed.await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Ok(denied(BY_WITHDRAWN, None)),
                Err(_) => self.expire().await,
            }
        }
    }

    /// Opens the question, or joins it when the same call is being asked for already.
    fn open(
        &self,
        params: &AskParams,
        digest: String,
        seen: Option<&str>,
        deadline_ms: u64,
    ) -> Result<(watch::Receiver<Option<Ruling>>, Option<Question>), WireError> {
        let question = self.question(params, digest, seen, deadline_ms)?;
        let matter = Matter {
            run: question.run_id,
            call: question.call_id.clone(),
            digest: question.digest.clone(),
        };
        let until_ms = self.parts.clock.monotonic_ms().saturating_add(deadline_ms);
        let mut state = self.state();
        let opened = state.book.ask(&question.id, matter, until_ms);
        match opened.map_err(full)? {
            Opened::Joined(id) => match state.open.get(&id) {
                Some(open) => Ok((open.outcome.subscribe(), None)),
                None => Err(WireError::new(ErrorCode::Internal, "the question got lost")),
            },
            Opened::New => {
                let (outcome, heard) = watch::channel(None);
                let open = OpenQuestion {
                    question: question.clone(),
                    outcome,
                };
                state.open.insert(question.id.clone(), open);
                Ok((heard, Some(question)))
            }
        }
    }

    fn question(
        &self,
        params: &AskParams,
        digest: String,
        seen: Option<&str>,
        deadline_ms: u64,
    ) -> Result<Question, WireError> {
        let context = &params.context;
        let (Some(session_key), Some(run_id), Some(call_id)) =
            (&context.session_key, context.run_id, &context.call_id)
        else {
            let message = "A person can only be asked about a call of a run: the context must name sessionKey, runId and callId.";
            return Err(WireError::new(ErrorCode::InvalidParams, message));
        };
        let asked_at = self.parts.clock.wall_ms();
        Ok(Question {
            id: self.parts.dice.uuid(asked_at).to_string(),
            session_key: session_key.clone(),
            run_id,
            call_id: call_id.clone(),
            tool: params.tool.name.clone(),
            args: params.args.clone(),
            tier: params.tool.tier,
            sentence: sentence(&params.tool, &params.args),
            offers: Vec::new(),
            preview: Some(match seen {
                Some(seen) => preview_of_change(&params.tool, context, seen),
                None => preview(&params.tool, &params.args, context),
            }),
            digest,
            asked_at,
            deadline_at: asked_at.saturating_add(deadline_ms),
        })
    }

    /// Takes an answer; the first valid one counts.
    pub(super) async fn answer(
        &self,
        by: &str,
        params: AnswerParams,
    ) -> Result<Answered, WireError> {
        let reach = params.scope.unwrap_or_default();
        if reach != Reach::Once {
            let message = "An answer reaches one call so far: answer with scope 'once'.";
            return Err(WireError::new(ErrorCode::InvalidParams, message));
        }
        let settled = {
            let now_ms = self.parts.clock.monotonic_ms();
            let mut state = self.state();
            let shown = params.digest.as_deref();
            let answered = state
                .book
                .answer(&params.id, params.decision, shown, now_ms);
            answered.map_err(|refused| state.refusal(&params.id, refused))?
        };
        self.conclude(settled, by).await
    }

    /// Takes up a ticket, once.
    pub(super) fn redeem(&self, params: RedeemParams) -> Result<Redeemed, WireError> {
        let work = Work {
            tool: params.tool,
            fingerprint: params.fingerprint,
            args: params.args,
            context: params.context,
            state: params.state,
        };
        let digest = work.digest();
        let now_ms = self.parts.clock.monotonic_ms();
        let redeemed = self.state().book.redeem(&params.ticket, &digest, now_ms);
        match redeemed {
            Ok(()) => Ok(Redeemed { digest }),
            Err(reason) => Err(void(reason)),
        }
    }

    /// Takes back what a run that is over has asked.
    pub(super) async fn withdraw(&self, run: RunId) -> Withdrawn {
        let settled = self.state().book.withdraw(run);
        let questions = u32::try_from(settled.len()).unwrap_or(u32::MAX);
        self.conclude_all(settled, BY_WITHDRAWN).await;
        Withdrawn { questions }
    }

    pub(super) fn pending(&self, params: &PendingParams) -> Questions {
        let state = self.state();
        let wanted = |question: &&Question| {
            let key = params.session_key.as_ref();
            key.is_none_or(|key| *key == question.session_key)
        };
        let open = state.open.values().map(|open| &open.question);
        let mut questions: Vec<Question> = open.filter(wanted).cloned().collect();
        questions.sort_by(|one, other| (one.asked_at, &one.id).cmp(&(other.asked_at, &other.id)));
        Questions { questions }
    }

    async fn expire(&self) {
        let now_ms = self.parts.clock.monotonic_ms();
        let settled = self.state().book.expire(now_ms);
        self.conclude_all(settled, BY_DEADLINE).await;
    }

    async fn conclude_all(&self, settled: Vec<Settled>, by: &str) {
        for settled in settled {
            // A no holds whether or not it could be written down.
            let _ = self.conclude(settled, by).await;
        }
    }

    /// Logs the outcome, then tells whoever waits. A yes that cannot be logged is a no.
    async fn conclude(&self, settled: Settled, by: &str) -> Result<Answered, WireError> {
        let Some(open) = self.state().open.remove(&settled.id) else {
            return Err(WireError::new(ErrorCode::Internal, "the question got lost"));
        };
        let answered = Answered {
            id: settled.id,
            session_key: open.question.session_key.clone(),
            run_id: open.question.run_id,
            decision: settled.decision,
            scope: Reach::Once,
            by: by.to_owned(),
        };
        let logged = self.announce::<PermissionAnswered>(&answered).await;
        let ruling = match (settled.decision, &logged) {
            (Decision::Allow, Ok(())) => self
                .allow(by, &settled.matter.digest)
                .unwrap_or_else(|error| denied(by, Some(error.message))),
            (Decision::Allow, Err(error)) => {
                let reason = format!("It was allowed, but that could not be recorded: {error}");
                denied(by, Some(reason))
            }
            (Decision::Deny, _) => denied(by, Some(reason(by))),
        };
        self.state().remember(&answered);
        open.outcome.send_replace(Some(ruling));
        logged.map(|()| answered)
    }

    fn allow(&self, by: &str, digest: &str) -> Result<Ruling, WireError> {
        let ticket = self.parts.dice.hex(TICKET_BYTES);
        let now_ms = self.parts.clock.monotonic_ms();
        let granted = self.state().book.grant(&ticket, digest, now_ms);
        granted.map_err(full)?;
        Ok(Ruling {
            decision: Decision::Allow,
            ticket: Some(ticket),
            by: by.to_owned(),
            digest: Some(digest.to_owned()),
            reason: None,
            grant: None,
        })
    }

    async fn announce<T: Topic>(&self, payload: &T::Payload) -> Result<(), WireError>
    where
        T::Payload: About,
    {
        let session = self.tag(payload.session_key()).await;
        let json = serde_json::to_vec(payload)
            .map_err(|error| WireError::new(ErrorCode::Internal, error.to_string()))?;
        let event = NewEvent {
            source: T::SPEC.service.into(),
            topic: T::SPEC.topic.into(),
            session,
            payload: Some(Bytes::from(json)),
        };
        self.parts.store.append_event(event).await?;
        Ok(())
    }

    /// The session's names, for whoever listens to one session only.
    async fn tag(&self, key: &str) -> Option<SessionTag> {
        let named = SessionRef::parse(key);
        let session = self.parts.store.get_session(&named).await.ok()?;
        let id = session.id.to_string();
        let key = (session.session_key != id).then(|| session.session_key.into());
        Some(SessionTag { id: id.into(), key })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn forget(&mut self, id: &str) {
        self.book.drop_question(id);
        self.open.remove(id);
    }

    fn remember(&mut self, answered: &Answered) {
        if self.settled.len() >= SETTLED_MAX {
            self.settled.pop_front();
        }
        self.settled.push_back(answered.clone());
    }

    fn refusal(&self, id: &str, refused: Refused) -> WireError {
        let known = self.settled.iter().find(|answered| answered.id == id);
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

/// What an event of this room is about.
trait About {
    fn session_key(&self) -> &str;
}

impl About for Question {
    fn session_key(&self) -> &str {
        &self.session_key
    }
}

impl About for Answered {
    fn session_key(&self) -> &str {
        &self.session_key
    }
}

fn denied(by: &str, reason: Option<String>) -> Ruling {
    Ruling {
        decision: Decision::Deny,
        ticket: None,
        by: by.to_owned(),
        digest: None,
        reason,
        grant: None,
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

fn full(full: Full) -> WireError {
    let message = match full {
        Full::Questions => "Too many questions wait for an answer already.",
        Full::QuestionsOfRun => "Too many questions of this run wait for an answer already.",
        Full::Tickets => "Too many allowed calls have not begun yet.",
    };
    WireError::new(ErrorCode::Overloaded, message).retry_after(FULL_RETRY_MS)
}

fn void(reason: NoTicket) -> WireError {
    let message = match reason {
        NoTicket::Unknown => "There is no such approval, or it was used already; ask again.",
        NoTicket::Expired => "The approval is too old; ask again.",
        NoTicket::OtherDigest => {
            "What would run is not what was approved; nothing was run. Ask again."
        }
    };
    WireError::new(ErrorCode::Forbidden, message)
}
