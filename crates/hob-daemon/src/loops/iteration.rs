//! One iteration: stores the memories it shows, requests a run with a key, and waits for the
//! answer. After a crash it finds the run of that key and waits for it.

use super::LoopContext;
use super::formatting::{format_time, session_key, shown_output};
use crate::run_outcome::{RunOutcome, RunWaiter};
use hob_core::loop_machine::{PromptInputs, iteration_prompt};
use hob_core::unattended::WorkOwner;
use hob_store::IterationPrompt;
use hob_wire::rooms::agent::{AgentRunParams, Run, RunEndCause};
use hob_wire::rooms::loops::{KIND, LoopConfig, MonitorOutput};
use hob_wire::work::Budget;
use hob_wire::{RunId, WireError};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Everything that one iteration needs.
#[derive(Debug)]
pub(super) struct IterationRequest {
    pub(super) name: String,
    pub(super) iteration: u32,
    pub(super) config: LoopConfig,
    pub(super) monitor: Option<MonitorOutput>,
    /// The money that is left for all iterations of this start.
    pub(super) money_left: Option<u64>,
    /// Gets the run id, once there is one.
    pub(super) run_sender: Option<oneshot::Sender<RunId>>,
    pub(super) stop: CancellationToken,
}

/// Runs an iteration, or continues to wait for one that was requested before a restart.
pub(super) async fn run_iteration(
    context: Arc<LoopContext>,
    mut request: IterationRequest,
) -> RunOutcome {
    let begun = match find_or_start_run(&context, &request).await {
        Ok(Some(run)) => run,
        Ok(None) => {
            return RunOutcome {
                cause: Some(RunEndCause::Aborted),
                ..RunOutcome::failed("It was stopped before its run began.".to_owned())
            };
        }
        Err(error) => return RunOutcome::failed(error.message),
    };
    if let Some(run_sender) = request.run_sender.take() {
        // The owner may have stopped listening.
        let _ = run_sender.send(begun);
    }
    let awaited = RunWaiter {
        caller: &context.caller,
        store: &context.deps.store,
        run_id: begun,
        owner: WorkOwner::Loop(&request.name),
    };
    match awaited.wait_for_end(&request.stop).await {
        Ok(answer) => answer,
        Err(error) => RunOutcome::failed(error.message),
    }
}

/// Returns the run of this iteration, an existing or a new one; none when it was stopped before.
async fn find_or_start_run(
    context: &LoopContext,
    request: &IterationRequest,
) -> Result<Option<RunId>, WireError> {
    let store = &context.deps.store;
    let key = session_key(&request.name, request.iteration);
    let run = match store.run_of_session(&key).await? {
        Some(run) => run,
        // Checked only without a run: an existing run is waited for, and stopped there.
        None if request.stop.is_cancelled() => return Ok(None),
        None => {
            let params = run_params(context, request, key).await?;
            hob_kit::failpoint::reach("loop.ask.before");
            let reply = context.caller.call::<Run>(&params).await?;
            hob_kit::failpoint::reach("loop.ask.after");
            reply.run_id
        }
    };
    let prompted = IterationPrompt {
        name: request.name.clone(),
        number: request.iteration,
        run,
        monitor: request.monitor.clone(),
    };
    // If a crash loses this write, the session's key still leads to the run.
    store.prompt_iteration(prompted).await?;
    Ok(Some(run))
}

/// Builds the run's parameters, after the memories that it shows are stored.
async fn run_params(
    context: &LoopContext,
    request: &IterationRequest,
    key: String,
) -> Result<AgentRunParams, WireError> {
    let store = &context.deps.store;
    let (name, config) = (&request.name, &request.config);
    let (persistent, working) = store.show_memories(name, request.iteration).await?;
    let previous = store.last_response(name).await?;
    let at = request
        .monitor
        .as_ref()
        .map(|output| format_time(output.at));
    let shown = PromptInputs {
        persistent: &persistent.text,
        working: &working.text,
        monitor: request
            .monitor
            .as_ref()
            .map(|output| shown_output(output, at.as_deref().unwrap_or_default())),
        previous: &previous,
        task: &config.user,
        iteration: request.iteration,
    };
    let mut budget: Budget = config.budget.into();
    // The smaller of the iteration's own limit and what is left for the whole start.
    if let Some(left) = request.money_left {
        budget.micro_dollars = Some(budget.micro_dollars.map_or(left, |most| most.min(left)));
    }
    Ok(AgentRunParams {
        task: iteration_prompt(&shown),
        // The same key after a crash returns the same run.
        idempotency_key: Some(key.clone()),
        session_key: key,
        kind: Some(KIND.to_owned()),
        model: config.model.clone(),
        budget: Some(budget),
        system: Some(config.system.clone()).filter(|system| !system.is_empty()),
        tools: config.tools.clone(),
        workspace: config.workspace.clone(),
        unattended: true,
        ..AgentRunParams::default()
    })
}
