//! Shared state of the permission room: questions and tickets, the stored rules, and the context of
//! a call. Decisions are made under a lock held for a few lines; waiting and writing happen outside
//! it.

use super::audit_recorder::AuditRecorder;
use super::settings;
use crate::RoomContext;
use bytes::Bytes;
use hob_bus::{Caller, NewEvent, SessionTag};
use hob_core::child_runs;
use hob_core::permission::{
    ApprovalLimits, DecisionContext, PendingApprovals, PermissionRequest, RuleIndex, RuleVerdict,
    decide, is_unattended, tool_fingerprint,
};
use hob_core::tool_traits::ToolTraits;
use hob_wire::id::SessionRef;
use hob_wire::rooms::permission::{PermissionAnswer, PermissionQuestion, PermissionRuling};
use hob_wire::rooms::session::Session;
use hob_wire::work::{PermissionMode, Tier, ToolContext, ToolSpec};
use hob_wire::{ErrorCode, EventTopic, WireError};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tokio::sync::watch;

pub(super) struct PermissionService {
    pub(super) deps: RoomContext,
    pub(super) recorder: AuditRecorder,
    /// Calls `tool.preview` and `tool.describe`.
    pub(super) caller: Caller,
    /// A std mutex, because it is held for a few lines without await.
    state: Mutex<PermissionState>,
    /// Notified when deadlines change, so that waiters check again.
    pub(super) deadlines: watch::Sender<()>,
    /// The stored rules, as in the store. A std lock, for the same reason.
    pub(super) rules: RwLock<RuleIndex>,
    /// Held while stored rules change, so that memory changes in the same order as the store.
    pub(super) rules_write_lock: tokio::sync::Mutex<()>,
    /// The version of the rules in memory; `None` before the first load. Loops and jobs change
    /// rules directly in the store, with their own rows; this room then reads them again.
    loaded: Mutex<Option<u64>>,
    /// The built-in tools by their fingerprints.
    builtins: BTreeMap<String, ToolTraits>,
}

pub(super) struct PermissionState {
    pub(super) book: PendingApprovals,
    /// Open questions, each until its outcome is recorded.
    pub(super) open: BTreeMap<String, Arc<OpenQuestion>>,
    /// The last settled questions.
    pub(super) settled: VecDeque<(PermissionAnswer, PermissionRuling)>,
}

pub(super) struct OpenQuestion {
    pub(super) question: PermissionQuestion,
    /// Time of the question on the monotonic clock, as used for deadlines.
    pub(super) asked_ms: u64,
    /// Context for the rule that an answer may store.
    pub(super) context: CallContext,
    pub(super) tool: ToolSpec,
    pub(super) tool_context: ToolContext,
    /// Set once, when the question is settled.
    pub(super) outcome: watch::Sender<Option<PermissionRuling>>,
}

/// The context of a call at the time it was made.
#[derive(Clone, Debug, Default)]
pub(super) struct CallContext {
    /// Id of its session, if that is stored.
    pub(super) session: Option<String>,
    /// Ids of the sessions above a sub-agent's session.
    ancestors: Vec<String>,
    /// Session kind; for a sub-agent, that of the session it was started for.
    pub(super) kind: Option<String>,
    pub(super) channel: Option<String>,
    pub(super) ceiling: Option<Tier>,
    pub(super) unattended: bool,
    /// What is special about the tool; `None` if it is not built in.
    pub(super) builtin: Option<ToolTraits>,
    /// True if the tool's preview says that the call must be asked every time.
    pub(super) asks_always: bool,
    pub(super) mode: PermissionMode,
    pub(super) now_ms: u64,
    /// The session whose watchers see its questions.
    pub(super) tag: Option<SessionTag>,
}

/// Limits that the caller claims for a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClaimedLimits<'s> {
    pub(super) ceiling: Option<Tier>,
    pub(super) channel: Option<&'s str>,
    pub(super) unattended: bool,
}

impl CallContext {
    pub(super) fn to_call<'c>(
        &'c self,
        tool: &'c ToolSpec,
        args: &'c Value,
        context: &'c ToolContext,
    ) -> PermissionRequest<'c> {
        PermissionRequest {
            tool,
            args,
            context,
            ceiling: self.ceiling,
            decision_context: DecisionContext {
                session: self.session.as_deref(),
                kind: self.kind.as_deref(),
                channel: self.channel.as_deref(),
                is_builtin: self.builtin.is_some(),
                traits: self.builtin.unwrap_or_default(),
                asks_always: self.asks_always,
                mode: self.mode,
                now_ms: self.now_ms,
            },
        }
    }
}

impl PermissionService {
    pub(super) fn new(context: &RoomContext) -> Self {
        let builtins = hob_tools::entries().iter();
        PermissionService {
            deps: context.clone(),
            caller: context.bus.caller("permissions"),
            recorder: AuditRecorder::new(context.mask.clone()),
            state: Mutex::new(PermissionState {
                book: PendingApprovals::new(ApprovalLimits::DEFAULT),
                open: BTreeMap::new(),
                settled: VecDeque::new(),
            }),
            deadlines: watch::Sender::new(()),
            rules: RwLock::new(RuleIndex::new()),
            rules_write_lock: tokio::sync::Mutex::new(()),
            loaded: Mutex::new(None),
            builtins: builtins
                .map(|entry| (tool_fingerprint(&(entry.spec)()), entry.traits))
                .collect(),
        }
    }

    /// Loads the stored rules the first time and whenever the store has a newer version. Without
    /// them nothing is decided.
    pub(super) async fn load_rules(&self) -> Result<(), WireError> {
        if self.are_rules_current() {
            return Ok(());
        }
        // Changes wait meanwhile, so that none is lost by replacing the rules in memory.
        let _lock = self.rules_write_lock.lock().await;
        if self.are_rules_current() {
            return Ok(());
        }
        // Read before the rules: a change during the read leads to another load.
        let version = self.deps.store.rules_version();
        let mut read = RuleIndex::new();
        let all = self.deps.store.all_rules().await?;
        for stored in all.rows {
            let session = stored.session.map(|id| id.to_string());
            read.add(stored.rule, session.as_deref());
        }
        for row in all.damaged {
            read.add_damaged(row.id.unwrap_or_default());
        }
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = read;
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = Some(version);
        Ok(())
    }

    fn are_rules_current(&self) -> bool {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        *loaded == Some(self.deps.store.rules_version())
    }

    /// Builds the context of a call. The session kind comes from the store, not from the caller.
    pub(super) async fn call_context(
        &self,
        tool: &ToolSpec,
        context: &ToolContext,
        claimed: ClaimedLimits<'_>,
    ) -> Result<CallContext, WireError> {
        let session = match context.session_key.as_deref() {
            Some(key) => self.find_session(key).await?,
            None => None,
        };
        let own_kind = session.as_ref().map(|session| session.kind.clone());
        let ancestors = self.ancestors(session.as_ref()).await?;
        let kind = ancestors.last().map(|session| session.kind.clone());
        let kind = kind.or_else(|| own_kind.clone());
        let (mode, ceilings) = {
            let settings = self.deps.settings.borrow();
            (settings::mode(&settings), settings::ceilings(&settings))
        };
        Ok(CallContext {
            ceiling: ceilings.lowest(
                ceilings.lowest(claimed.ceiling, own_kind.as_deref(), None),
                kind.as_deref(),
                claimed.channel,
            ),
            unattended: claimed.unattended || is_unattended(kind.as_deref(), claimed.channel),
            session: session.as_ref().map(|session| session.id.to_string()),
            // Watchers of a run also see the questions of its children.
            tag: ancestors.last().or(session.as_ref()).map(session_tag),
            ancestors: ancestors
                .iter()
                .map(|session| session.id.to_string())
                .collect(),
            channel: claimed.channel.map(str::to_owned),
            builtin: self.builtins.get(&tool_fingerprint(tool)).copied(),
            asks_always: false,
            now_ms: self.deps.clock.wall_ms(),
            kind,
            mode,
        })
    }

    /// Decides a call by rule. A child inherits its ancestors' denies, not their allows.
    pub(super) fn decide(
        &self,
        call: &PermissionRequest<'_>,
        call_context: &CallContext,
    ) -> RuleVerdict {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        let denied = call_context.ancestors.iter().find_map(|session| {
            let decision_context = DecisionContext {
                session: Some(session),
                ..call.decision_context
            };
            let verdict = decide(
                &PermissionRequest {
                    decision_context,
                    ..*call
                },
                &rules,
            );
            matches!(verdict, RuleVerdict::Deny { .. }).then_some(verdict)
        });
        denied.unwrap_or_else(|| decide(call, &rules))
    }

    /// The ancestors of a sub-agent's session, nearest first.
    async fn ancestors(&self, session: Option<&Session>) -> Result<Vec<Session>, WireError> {
        let mut ancestors: Vec<Session> = Vec::new();
        while let Some(below) = ancestors.last().or(session)
            && below.kind == child_runs::SESSION_KIND
            && ancestors.len() <= child_runs::DEPTH_MAX
            && let Some(parent) = below.parent
            && let Some(parent) = self.find_session(&parent.to_string()).await?
            // Only the daemon makes keys of this form, so a client cannot pass a session off as a
            // sub-agent.
            && child_runs::is_descendant(&below.session_key, &parent.session_key)
        {
            ancestors.push(parent);
        }
        Ok(ancestors)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, PermissionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stored session; `None` for a chat, which is not stored.
    async fn find_session(&self, key: &str) -> Result<Option<Session>, WireError> {
        use hob_store::StoreError;
        match self.deps.store.get_session(&SessionRef::parse(key)).await {
            Ok(session) => Ok(Some(session)),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// An event about a call, tagged for watchers of one session.
pub(super) fn new_event<T: EventTopic>(
    payload: &T::Payload,
    call_context: &CallContext,
) -> Result<NewEvent, WireError> {
    let json = serde_json::to_vec(payload)
        .map_err(|error| WireError::new(ErrorCode::Internal, error.to_string()))?;
    Ok(NewEvent {
        source: T::SPEC.service.into(),
        topic: T::SPEC.topic.into(),
        session: call_context.tag.clone(),
        payload: Some(Bytes::from(json)),
    })
}

fn session_tag(session: &Session) -> SessionTag {
    let id = session.id.to_string();
    // A session without a key of its own has its id as key, which the tag has already.
    let key = (session.session_key != id).then(|| session.session_key.as_str().into());
    SessionTag { id: id.into(), key }
}
