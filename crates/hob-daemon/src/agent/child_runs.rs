//! Runs that other runs start: narrowed from what their parent may do, joined once, ended with it.
//!
//! Invariants: only the house starts a child, for a call of its parent; a repeat of that call finds
//! the same child; no child goes on when its parent has ended.

use super::draft::Draft;
use super::driver::Driver;
use super::journal::Entry;
use super::live::Command;
use super::queue::{Queue, fail_unreadable, unreadable};
use super::requests::{RETRY_AFTER_MS, Requests};
use super::shared::{Shared, refused};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use hob_bus::Call;
use hob_core::family::{self, DEPTH_MAX, KIND};
use hob_core::turn::{Event, Limits, Spent};
use hob_store::{RunRow, StoreError};
use hob_wire::limits::SESSION_KEY_BYTES_MAX;
use hob_wire::rooms::agent::{Budget, Cost, RunParams, RunState, RunView};
use hob_wire::work::{Cause, Effect};
use hob_wire::{ErrorCode, RunId, WireError};
use std::sync::Arc;

/// How often an abort tries to catch a run that changes hands.
const ABORT_TRIES: usize = 8;
/// The surface of the house's own callers.
const HOUSE: &str = "house";
/// What a child is told of its place, unless its caller says more.
const SYSTEM: &str = "You work on one task for another assistant, which waits for you. It sees nothing but your last answer: put everything it needs to know there. It cannot answer questions.";

impl Requests {
    /// Starts the child that a call of `parent` makes, or finds the one it made before.
    pub(super) async fn bear(
        &self,
        call: &Call,
        parent: RunId,
        params: RunParams,
    ) -> Result<RunRow, WireError> {
        if call.surface != HOUSE {
            let message =
                "`parent` is set by the house alone, for a call of that run. Leave it out.";
            return Err(refused(ErrorCode::Forbidden, message));
        }
        let Some(key) = params.idempotency_key.clone() else {
            let message = "A run that another one starts needs an `idempotencyKey`.";
            return Err(refused(ErrorCode::InvalidParams, message));
        };
        let store = &self.shared.parts.store;
        let parent = store.run(&parent).await?;
        let name = family::name(parent.id, &parent.session_key, &key);
        match store.run(&name.run).await {
            Err(StoreError::NotFound(_)) => {}
            found => return Ok(found?),
        }
        check_place(&parent, &name.session_key)?;
        let limits = self.limits_below(&parent, &params).await?;
        let of_parent = store.run_params(&parent.id).await?;
        let of_parent: RunParams = serde_json::from_value(of_parent).map_err(|error| {
            let message = format!("The parameters of run {} are damaged: {error}", parent.id);
            refused(ErrorCode::Internal, message)
        })?;
        let narrowed = RunParams {
            session_key: name.session_key,
            ..narrow(&of_parent, params, &limits)
        };
        self.check(&narrowed)?;
        self.accept_as(name.run, Some(KIND.to_owned()), limits, narrowed)
            .await
    }

    /// The bounds of one more child: what the parent has left when all its other children use all
    /// that they may.
    async fn limits_below(&self, parent: &RunRow, params: &RunParams) -> Result<Limits, WireError> {
        let store = &self.shared.parts.store;
        let mut spent = Spent {
            steps: parent.summary.step,
            ..Spent::default()
        };
        add(&mut spent, &parent.summary.cost);
        add(&mut spent, &store.family_cost(&parent.id).await?);
        for child in store.children(&parent.id).await? {
            if child.summary.state == RunState::Done {
                continue;
            }
            let mut used = Spent::default();
            add(&mut used, &child.summary.cost);
            add(&mut used, &store.family_cost(&child.id).await?);
            let (may, money) = (child.limits.tokens, child.limits.micro_dollars);
            spent.tokens = spent.tokens.saturating_add(may.saturating_sub(used.tokens));
            let money = money.saturating_sub(used.micro_dollars);
            spent.micro_dollars = spent.micro_dollars.saturating_add(money);
        }
        let now_ms = self.shared.now_ms();
        let elapsed_ms = now_ms.saturating_sub(parent.summary.started_at.unwrap_or(now_ms));
        let asked = params.budget.unwrap_or_default();
        family::limits(&parent.limits, &spent, elapsed_ms, &asked).map_err(|what| {
            let message = format!("The run has no {what} left to give. Go on without another.");
            refused(ErrorCode::Conflict, message)
        })
    }
}

impl Driver {
    /// Counts what runs below this one have cost since the last time, before what ended is taken:
    /// the limits see it.
    pub(super) async fn charge(&mut self, draft: &mut Draft) -> Result<(), StoreError> {
        let is_keyed = |entry: &Entry| match &entry.event {
            Event::ToolDone { call, .. } => {
                let mut calls = self.story.turn.calls().iter();
                let spec = calls.find(|known| known.spec.id == *call);
                spec.is_some_and(|known| known.spec.effect == Effect::Keyed)
            }
            _ => false,
        };
        if !draft.entries.iter().any(is_keyed) {
            return Ok(());
        }
        let cost = self.shared.parts.store.family_cost(&self.row.id).await?;
        let all_tokens = cost.input_tokens.saturating_add(cost.output_tokens);
        let all_money = cost.micro_dollars.unwrap_or(0);
        let tokens = all_tokens.saturating_sub(self.story.charged.0);
        let micro_dollars = all_money.saturating_sub(self.story.charged.1);
        if tokens > 0 || micro_dollars > 0 {
            let charged = Event::Charged {
                tokens,
                micro_dollars,
                at: self.at(),
            };
            draft.entries.insert(0, Entry::new(charged));
        }
        Ok(())
    }
}

/// What a child may do: of what is asked for it, no more than its parent may.
fn narrow(parent: &RunParams, asked: RunParams, limits: &Limits) -> RunParams {
    RunParams {
        model: asked.model.or_else(|| parent.model.clone()),
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
        system: asked.system.or_else(|| Some(SYSTEM.to_owned())),
        tools: family::tools(parent.tools.as_deref(), asked.tools),
        workspace: parent.workspace.clone(),
        ceiling: family::ceiling(parent.ceiling, asked.ceiling),
        unattended: parent.unattended || asked.unattended,
        ..asked
    }
}

fn check_place(parent: &RunRow, session_key: &str) -> Result<(), WireError> {
    let message = if family::depth(&parent.session_key) >= DEPTH_MAX {
        format!("Runs may start others {DEPTH_MAX} generations deep, and this is the last one.")
    } else if session_key.len() > SESSION_KEY_BYTES_MAX {
        "The session's key is too long for a session below it.".to_owned()
    } else if parent.summary.state == RunState::Done {
        format!("Run {} has ended and starts nothing more.", parent.id)
    } else {
        return Ok(());
    };
    Err(refused(ErrorCode::Conflict, message))
}

fn add(spent: &mut Spent, cost: &Cost) {
    let tokens = cost.input_tokens.saturating_add(cost.output_tokens);
    spent.tokens = spent.tokens.saturating_add(tokens);
    let money = cost.micro_dollars.unwrap_or(0);
    spent.micro_dollars = spent.micro_dollars.saturating_add(money);
}

/// Whether the parent of a run has ended, or is gone.
pub(super) async fn is_orphan(shared: &Shared, row: &RunRow) -> bool {
    let Some(parent) = row.parent else {
        return false;
    };
    match shared.parts.store.run(&parent).await {
        Ok(parent) => parent.summary.state == RunState::Done,
        Err(StoreError::NotFound(_)) => true,
        // What cannot be read now does not end a run.
        Err(_) => false,
    }
}

/// Ends one run; nothing when it had ended by itself.
pub(super) async fn end_run(
    shared: &Arc<Shared>,
    queue: &Queue,
    run: RunId,
) -> Result<Option<RunView>, WireError> {
    for _ in 0..ABORT_TRIES {
        if let Some(live) = shared.live.find(&run)
            && let Some(ended) = live.tell(Command::Abort).await
        {
            return ended.map(Some);
        }
        let row = shared.parts.store.run(&run).await?;
        if row.summary.state == RunState::Done {
            return Ok(None);
        }
        let ended = match Driver::load(shared, row.clone()).await {
            Ok(driver) => driver.cancel().await,
            // It can be ended all the same.
            Err(error) if is_unreadable(&error) => {
                fail_unreadable(shared, row.clone(), Cause::Aborted, unreadable(&error)).await
            }
            Err(error) => Err(error),
        };
        match ended {
            Ok(view) => {
                shared.live.end(&run, view.clone());
                queue.look(&row).await;
                return Ok(Some(view));
            }
            // A driver took it up meanwhile; it is told the next time round.
            Err(StoreError::Conflict(_)) => tokio::task::yield_now().await,
            Err(error) => return Err(error.into()),
        }
    }
    let message = "The run changes hands; try again.";
    Err(refused(ErrorCode::Conflict, message).retry_after(RETRY_AFTER_MS))
}

/// Whether what a run had written is lost, so that reading it again gives the same.
fn is_unreadable(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Damaged { .. } | StoreError::DamagedRow(_) | StoreError::Internal(_)
    )
}

/// Ends all that a run started and that has not ended, and all below; all at once, because a stop
/// takes effect within a second.
pub(super) fn end_children<'a>(
    shared: &'a Arc<Shared>,
    queue: &'a Queue,
    run: RunId,
) -> BoxFuture<'a, Vec<RunView>> {
    async move {
        let children = match shared.parts.store.children(&run).await {
            Ok(children) => children,
            Err(error) => {
                tracing::error!(%run, "the runs it started cannot be read: {error}");
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
                Err(error) => tracing::warn!(run = %child.id, "it could not be ended: {error}"),
            }
            below
        });
        join_all(ends).await.into_iter().flatten().collect()
    }
    .boxed()
}
