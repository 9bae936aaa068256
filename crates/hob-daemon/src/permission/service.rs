//! What the files of this room share: the book of questions and tickets, the stored rules, and
//! what surrounds a call. The machines decide under a lock held for a few lines; waiting and
//! writing happen outside it.

use super::Parts;
use super::recording::Recorder;
use super::settings;
use bytes::Bytes;
use hob_bus::{Caller, NewEvent, SessionTag};
use hob_core::family;
use hob_core::permission::{
    Book, Bounds, Call, RuleBook, Scene, Verdict, decide, fingerprint, is_unattended,
};
use hob_kit::failpoint;
use hob_wire::id::SessionRef;
use hob_wire::rooms::permission::{Answered, Question, Ruling};
use hob_wire::rooms::session::Session;
use hob_wire::work::{Mode, Tier, ToolContext, ToolSpec};
use hob_wire::{ErrorCode, Topic, WireError};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tokio::sync::watch;

pub(super) struct Desk {
    pub(super) parts: Parts,
    pub(super) recorder: Recorder,
    /// For `tool.preview` and `tool.describe`.
    pub(super) caller: Caller,
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<State>,
    /// Changed when deadlines come or go, so that whoever waits for one looks again.
    pub(super) deadlines: watch::Sender<()>,
    /// The stored rules as they stand in the store. A std lock, for the same reason.
    pub(super) rules: RwLock<RuleBook>,
    /// Whoever changes the stored rules: the book changes in the order the store did.
    pub(super) pen: tokio::sync::Mutex<()>,
    /// The version of the stored rules that were read, once they were. Loops and jobs change rules
    /// with their own rows, beside this room, which then reads them again.
    loaded: Mutex<Option<u64>>,
    /// The hashes of what the tools of the house declare.
    of_house: BTreeSet<String>,
}

pub(super) struct State {
    pub(super) book: Book,
    /// Each until its outcome is written down.
    pub(super) open: BTreeMap<String, Arc<OpenQuestion>>,
    /// The last ones that were settled.
    pub(super) settled: VecDeque<(Answered, Ruling)>,
}

pub(super) struct OpenQuestion {
    pub(super) question: Question,
    /// When it was asked, by the clock of deadlines.
    pub(super) asked_ms: u64,
    /// What an answer beyond this call would store, for a yes as for a no.
    pub(super) around: Around,
    pub(super) tool: ToolSpec,
    pub(super) context: ToolContext,
    /// Told once, when it is over.
    pub(super) outcome: watch::Sender<Option<Ruling>>,
}

/// What surrounds a call, as it was when the call came.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    /// Of its session, if that is stored.
    pub(super) session: Option<String>,
    /// The sessions above a sub-agent's.
    above: Vec<String>,
    /// Of a sub-agent, that of the session it was started for.
    pub(super) kind: Option<String>,
    pub(super) channel: Option<String>,
    pub(super) ceiling: Option<Tier>,
    pub(super) unattended: bool,
    pub(super) of_house: bool,
    /// The call is asked for each time; said by the tool that looked.
    pub(super) asks_always: bool,
    pub(super) mode: Mode,
    pub(super) now_ms: u64,
    tag: Option<SessionTag>,
}

/// What a caller says of what surrounds a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said<'s> {
    pub(super) ceiling: Option<Tier>,
    pub(super) channel: Option<&'s str>,
    pub(super) unattended: bool,
}

impl Around {
    pub(super) fn call<'c>(
        &'c self,
        tool: &'c ToolSpec,
        args: &'c Value,
        context: &'c ToolContext,
    ) -> Call<'c> {
        Call {
            tool,
            args,
            context,
            ceiling: self.ceiling,
            scene: Scene {
                session: self.session.as_deref(),
                kind: self.kind.as_deref(),
                channel: self.channel.as_deref(),
                of_house: self.of_house,
                asks_always: self.asks_always,
                mode: self.mode,
                now_ms: self.now_ms,
            },
        }
    }
}

impl Desk {
    pub(super) fn new(parts: Parts) -> Self {
        let house = hob_tools::entries().iter();
        Desk {
            caller: parts.bus.caller("permissions"),
            recorder: Recorder::new(parts.mask.clone()),
            state: Mutex::new(State {
                book: Book::new(Bounds::DEFAULT),
                open: BTreeMap::new(),
                settled: VecDeque::new(),
            }),
            deadlines: watch::Sender::new(()),
            rules: RwLock::new(RuleBook::new()),
            pen: tokio::sync::Mutex::new(()),
            loaded: Mutex::new(None),
            of_house: house.map(|entry| fingerprint(&(entry.spec)())).collect(),
            parts,
        }
    }

    /// Reads the stored rules, the first time and whenever they were changed beside this room.
    /// Without them nothing is decided.
    pub(super) async fn ready(&self) -> Result<(), WireError> {
        if self.is_current() {
            return Ok(());
        }
        // Whoever changes rules waits, so that none of them is lost by reading.
        let _turn = self.pen.lock().await;
        if self.is_current() {
            return Ok(());
        }
        // Before the rules: what changes while they are read is read the next time.
        let version = self.parts.store.rules_version();
        let mut read = RuleBook::new();
        let all = self.parts.store.all_rules().await?;
        for kept in all.rows {
            let session = kept.session.map(|id| id.to_string());
            read.add(kept.rule, session.as_deref());
        }
        for row in all.damaged {
            read.add_damaged(row.id.unwrap_or_default());
        }
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = read;
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = Some(version);
        Ok(())
    }

    fn is_current(&self) -> bool {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        *loaded == Some(self.parts.store.rules_version())
    }

    /// What surrounds a call. The session's kind is what the store says, not what a caller does.
    pub(super) async fn around(
        &self,
        tool: &ToolSpec,
        context: &ToolContext,
        said: Said<'_>,
    ) -> Result<Around, WireError> {
        let session = match context.session_key.as_deref() {
            Some(key) => self.session(key).await?,
            None => None,
        };
        let own_kind = session.as_ref().map(|session| session.kind.clone());
        let above = self.above(session.as_ref()).await?;
        let kind = above.last().map(|session| session.kind.clone());
        let kind = kind.or_else(|| own_kind.clone());
        let (mode, ceilings) = {
            let settings = self.parts.settings.borrow();
            (settings::mode(&settings), settings::ceilings(&settings))
        };
        let channel = said.channel.filter(|_| !failpoint::broken(98));
        Ok(Around {
            ceiling: ceilings.of(
                ceilings.of(said.ceiling, own_kind.as_deref(), None),
                kind.as_deref(),
                channel,
            ),
            unattended: said.unattended || is_unattended(kind.as_deref(), said.channel),
            session: session.as_ref().map(|session| session.id.to_string()),
            // Whoever watches a run hears what the runs it started ask.
            tag: above.last().or(session.as_ref()).map(tag),
            above: above.iter().map(|session| session.id.to_string()).collect(),
            channel: said.channel.map(str::to_owned),
            of_house: self.of_house.contains(&fingerprint(tool)),
            asks_always: false,
            now_ms: self.parts.clock.wall_ms(),
            kind,
            mode,
        })
    }

    /// What the rules say of a call. What they deny in a session above its own is denied in it
    /// too; what they allow there is not allowed in it.
    pub(super) fn decide(&self, call: &Call<'_>, around: &Around) -> Verdict {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        let denied = around.above.iter().find_map(|session| {
            let scene = Scene {
                session: Some(session),
                ..call.scene
            };
            let verdict = decide(&Call { scene, ..*call }, &rules);
            matches!(verdict, Verdict::Deny { .. }).then_some(verdict)
        });
        denied.unwrap_or_else(|| decide(call, &rules))
    }

    /// The sessions that a sub-agent's was started for, the nearest first.
    async fn above(&self, session: Option<&Session>) -> Result<Vec<Session>, WireError> {
        let mut above: Vec<Session> = Vec::new();
        while let Some(below) = above.last().or(session)
            && below.kind == family::KIND
            && above.len() <= family::DEPTH_MAX
            && let Some(parent) = below.parent
            && let Some(parent) = self.session(&parent.to_string()).await?
            // Only the house makes keys of this form: a session that merely calls itself a
            // sub-agent counts as no other.
            && family::is_below(&below.session_key, &parent.session_key)
        {
            above.push(parent);
        }
        Ok(above)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stored session; a conversation that is kept nowhere has none.
    async fn session(&self, key: &str) -> Result<Option<Session>, WireError> {
        use hob_store::StoreError;
        match self.parts.store.get_session(&SessionRef::parse(key)).await {
            Ok(session) => Ok(Some(session)),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// An event about a call, named for whoever listens to one session only.
pub(super) fn event<T: Topic>(
    payload: &T::Payload,
    around: &Around,
) -> Result<NewEvent, WireError> {
    let json = serde_json::to_vec(payload)
        .map_err(|error| WireError::new(ErrorCode::Internal, error.to_string()))?;
    Ok(NewEvent {
        source: T::SPEC.service.into(),
        topic: T::SPEC.topic.into(),
        session: around.tag.clone(),
        payload: Some(Bytes::from(json)),
    })
}

fn tag(session: &Session) -> SessionTag {
    let id = session.id.to_string();
    let key = (session.session_key != id).then(|| session.session_key.as_str().into());
    SessionTag { id: id.into(), key }
}
