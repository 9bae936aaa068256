//! Child runs: started for a tool call of their parent, with no more rights than the parent, ended
//! with it.
//!
//! Invariants: only the daemon itself starts a child, for a call of its parent; a repeat of that
//! call finds the same child; no child continues when its parent has ended.

use super::agent_context::AgentContext;
use super::driver::RunDriver;
use super::handlers::{AgentHandlers, RETRY_AFTER_MS};
use super::journal::JournalEntry;
use super::live_runs::RunAction;
use super::queue::RunQueue;
use super::session_turn::{fail_unreadable, unreadable_message};
use super::step_draft::StepDraft;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use hob_bus::RequestContext;
use hob_core::child_runs::{self, DEPTH_MAX, SESSION_KIND};
use hob_core::turn::{RunLimits, RunUsage, TurnEvent};
use hob_store::{RunRow, StoreError};
use hob_wire::limits::SESSION_KEY_BYTES_MAX;
use hob_wire::rooms::agent::{AgentRunParams, Budget, Cost, RunState, RunView};
use hob_wire::work::{Idempotency, RunEndCause};
use hob_wire::{ErrorCode, RunId, WireError};
use std::sync::Arc;

/// Attempts of an abort to catch a run that moves between queue and driver.
const ABORT_ATTEMPTS_MAX: usize = 8;
/// The surface of the daemon's own callers.
const INTERNAL_SURFACE: &str = "house";
/// System prompt of a child whose caller gives none.
const CHILD_SYSTEM_PROMPT: &str = "You work on one task for another assistant, which waits for you. It sees nothing but your last answer: put everything it needs to know there. It cannot answer questions.";

impl AgentHandlers {
    /// Starts the child run for a call of `parent`, or returns the one that the same call started
    /// before.
    pub(super) async fn spawn_child(
        &self,
        call: &RequestContext,
        parent: RunId,
        params: AgentRunParams,
    ) -> Result<RunRow, WireError> {
        if call.surface != INTERNAL_SURFACE {
            let message =
                "`parent` is set only by hob itself, for a tool call of that run. Leave it out.";
            return Err(WireError::new(ErrorCode::Forbidden, message));
        }
        let Some(key) = params.idempotency_key.clone() else {
            let message = "A child run needs an `idempotencyKey`.";
            return Err(WireError::new(ErrorCode::InvalidParams, message));
        };
        let store = &self.shared.deps.store;
        let parent = store.run(&parent).await?;
        // Run id and session key derive from the parent and the key, so a repeated call finds the
        // same child.
        let name = child_runs::identity(parent.id, &parent.session_key, &key);
        match store.run(&name.run).await {
            Err(StoreError::NotFound(_)) => {}
            found => return Ok(found?),
        }
        // Checked only for a new child: a repeat must find the existing one even after the parent
        // has ended.
        check_may_spawn(&parent, &name.session_key)?;
        let limits = self.child_limits(&parent, &params).await?;
        let of_parent = store.run_params(&parent.id).await?;
        let of_parent: AgentRunParams = serde_json::from_value(of_parent).map_err(|error| {
            let message = format!("The parameters of run {} are damaged: {error}", parent.id);
            WireError::new(ErrorCode::Internal, message)
        })?;
        let narrowed = AgentRunParams {
            session_key: name.session_key,
            ..narrow_child(&of_parent, params, &limits)
        };
        self.check_params(&narrowed)?;
        self.accept_run_as(name.run, Some(SESSION_KIND.to_owned()), limits, narrowed)
            .await
    }

    /// The limits of one more child: the parent's remaining budget, minus all that its other
    /// children may still use.
    async fn child_limits(
        &self,
        parent: &RunRow,
        params: &AgentRunParams,
    ) -> Result<RunLimits, WireError> {
        let store = &self.shared.deps.store;
        let mut spent = RunUsage {
            steps: parent.summary.step,
            ..RunUsage::default()
        };
        add_spent(&mut spent, &parent.summary.cost);
        add_spent(&mut spent, &store.descendants_cost(&parent.id).await?);
        for child in store.children(&parent.id).await? {
            // Ended children are part of the family cost already.
            if child.summary.state == RunState::Done {
                continue;
            }
            // An active child counts at its full budget, so that siblings together cannot exceed
            // the parent's.
            let mut used = RunUsage::default();
            add_spent(&mut used, &child.summary.cost);
            add_spent(&mut used, &store.descendants_cost(&child.id).await?);
            let (may, money) = (child.limits.tokens, child.limits.micro_dollars);
            spent.tokens = spent.tokens.saturating_add(may.saturating_sub(used.tokens));
            let money = money.saturating_sub(used.micro_dollars);
            spent.micro_dollars = spent.micro_dollars.saturating_add(money);
        }
        let now_ms = self.shared.now_ms();
        let elapsed_ms = now_ms.saturating_sub(parent.summary.started_at.unwrap_or(now_ms));
        let requested = params.budget.unwrap_or_default();
        child_runs::limits(&parent.limits, &spent, elapsed_ms, &requested).map_err(|what| {
            let message =
                format!("The run has no {what} left for another run. Continue without one.");
            WireError::new(ErrorCode::Conflict, message)
        })
    }
}

impl RunDriver {
    /// Adds the cost of child runs since the last charge in front of the draft's entries, so that
    /// the limits see it.
    pub(super) async fn charge_children(
        &mut self,
        draft: &mut StepDraft,
    ) -> Result<(), StoreError> {
        let is_keyed = |entry: &JournalEntry| match &entry.event {
            TurnEvent::ToolDone { call, .. } => {
                let mut calls = self.replayed.turn.calls().iter();
                let spec = calls.find(|known| known.spec.id == *call);
                spec.is_some_and(|known| known.spec.effect == Idempotency::Keyed)
            }
            _ => false,
        };
        // Only keyed tools start child runs; other results need no query.
        if !draft.entries.iter().any(is_keyed) {
            return Ok(());
        }
        let cost = self
            .shared
            .deps
            .store
            .descendants_cost(&self.row.id)
            .await?;
        let all_tokens = cost.input_tokens.saturating_add(cost.output_tokens);
        let all_money = cost.micro_dollars.unwrap_or(0);
        let tokens = all_tokens.saturating_sub(self.replayed.charged.0);
        let micro_dollars = all_money.saturating_sub(self.replayed.charged.1);
        if tokens > 0 || micro_dollars > 0 {
            let charged = TurnEvent::Charged {
                tokens,
                micro_dollars,
                at: self.now_ms(),
            };
            // First, so that the limits apply before the result is taken.
            draft.entries.insert(0, JournalEntry::new(charged));
        }
        Ok(())
    }
}

/// The parameters of a child: those requested, limited to the parent's rights.
fn narrow_child(
    parent: &AgentRunParams,
    requested: AgentRunParams,
    limits: &RunLimits,
) -> AgentRunParams {
    AgentRunParams {
        model: requested.model.or_else(|| parent.model.clone()),
        channel: parent.channel.clone(),
        context: None,
        mode: None,
        wait: false,
        budget: Some(Budget {
            steps: Some(limits.steps),
            tokens: Some(limits.tokens),
            micro_dollars: Some(limits.micro_dollars),
            wall_ms: Some(limits.wall_ms),
        }),
        system: requested
            .system
            .or_else(|| Some(CHILD_SYSTEM_PROMPT.to_owned())),
        tools: child_runs::tools(parent.tools.as_deref(), requested.tools, |tool| {
            hob_tools::traits(tool).closed_to_children
        }),
        workspace: parent.workspace.clone(),
        ceiling: child_runs::ceiling(parent.ceiling, requested.ceiling),
        unattended: parent.unattended || requested.unattended,
        ..requested
    }
}

fn check_may_spawn(parent: &RunRow, session_key: &str) -> Result<(), WireError> {
    let message = if child_runs::depth(&parent.session_key) >= DEPTH_MAX {
        format!("Runs can nest {DEPTH_MAX} levels deep, and this is the last level.")
    } else if session_key.len() > SESSION_KEY_BYTES_MAX {
        "The session's key is too long for a session below it.".to_owned()
    } else if parent.summary.state == RunState::Done {
        format!("Run {} has ended and cannot start another.", parent.id)
    } else {
        return Ok(());
    };
    Err(WireError::new(ErrorCode::Conflict, message))
}

fn add_spent(spent: &mut RunUsage, cost: &Cost) {
    let tokens = cost.input_tokens.saturating_add(cost.output_tokens);
    spent.tokens = spent.tokens.saturating_add(tokens);
    let money = cost.micro_dollars.unwrap_or(0);
    spent.micro_dollars = spent.micro_dollars.saturating_add(money);
}

/// True if the parent of a run has ended or was deleted.
pub(super) async fn is_orphan(shared: &AgentContext, row: &RunRow) -> bool {
    let Some(parent) = row.parent else {
        return false;
    };
    match shared.deps.store.run(&parent).await {
        Ok(parent) => parent.summary.state == RunState::Done,
        Err(StoreError::NotFound(_)) => true,
        // A read error is no proof; the run continues.
        Err(_) => false,
    }
}

/// Ends one run. Returns `None` if it had already ended.
pub(super) async fn end_run(
    shared: &Arc<AgentContext>,
    queue: &RunQueue,
    run: RunId,
) -> Result<Option<RunView>, WireError> {
    for _ in 0..ABORT_ATTEMPTS_MAX {
        // A driver must write its own end. Only a run without one is ended from here.
        if let Some(live) = shared.live.find(&run)
            && let Some(ended) = live.send_action(RunAction::Abort).await
        {
            return ended.map(Some);
        }
        let row = shared.deps.store.run(&run).await?;
        if row.summary.state == RunState::Done {
            return Ok(None);
        }
        let ended = match RunDriver::load(shared, row.clone()).await {
            Ok(driver) => driver.cancel().await,
            // Its end can still be written without reading the journal.
            Err(error) if is_unreadable(&error) => {
                fail_unreadable(
                    shared,
                    row.clone(),
                    RunEndCause::Aborted,
                    unreadable_message(&error),
                )
                .await
            }
            Err(error) => Err(error),
        };
        match ended {
            Ok(view) => {
                shared.live.finish(&run, view.clone());
                queue.wake(&row).await;
                return Ok(Some(view));
            }
            // A driver took the run in the meantime; the next attempt sends it the abort.
            Err(StoreError::Conflict(_)) => tokio::task::yield_now().await,
            Err(error) => return Err(error.into()),
        }
    }
    let message = "The run is being handed over. Try again.";
    Err(WireError::new(ErrorCode::Conflict, message).retry_after(RETRY_AFTER_MS))
}

/// True if stored data of a run is damaged, so that reading it again fails the same way.
fn is_unreadable(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Damaged { .. } | StoreError::DamagedRow(_) | StoreError::Internal(_)
    )
}

/// Ends all unfinished descendants of a run, in parallel, because a stop must take effect within a
/// second.
pub(super) fn end_children<'a>(
    shared: &'a Arc<AgentContext>,
    queue: &'a RunQueue,
    run: RunId,
) -> BoxFuture<'a, Vec<RunView>> {
    async move {
        let children = match shared.deps.store.children(&run).await {
            Ok(children) => children,
            Err(error) => {
                tracing::error!(%run, "the child runs cannot be read: {error}");
                return Vec::new();
            }
        };
        let live = children
            .into_iter()
            .filter(|child| child.summary.state != RunState::Done);
        let ends = live.map(|child| async move {
            let ended = end_run(shared, queue, child.id);
            let below = end_children(shared, queue, child.id);
            let (ended, mut below) = tokio::join!(ended, below);
            match ended {
                Ok(view) => below.extend(view),
                Err(error) => {
                    tracing::warn!(run = %child.id, "the child run could not be ended: {error}");
                }
            }
            below
        });
        join_all(ends).await.into_iter().flatten().collect()
    }
    .boxed()
}
