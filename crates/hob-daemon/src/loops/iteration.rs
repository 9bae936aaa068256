//! The heart of an iteration: what is shown is put on record, the agent is asked with a key, and
//! its answer is waited for. After a crash the run that the key made is found and waited for.

use super::Shared;
use super::words::{moment, session_key, watched};
use crate::answer::{Answer, Awaited};
use hob_core::rounds::{Shown, prompt};
use hob_core::unattended::WorkOwner;
use hob_store::Prompted;
use hob_wire::rooms::agent::{Cause, Run, RunParams};
use hob_wire::rooms::loops::{KIND, LoopConfig, MonitorOutput};
use hob_wire::work::Budget;
use hob_wire::{RunId, WireError};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// What an iteration needs.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) name: String,
    pub(super) iteration: u32,
    pub(super) config: LoopConfig,
    pub(super) monitor: Option<MonitorOutput>,
    /// What all iterations of this start may still cost.
    pub(super) money_left: Option<u64>,
    /// Told which run it is, once there is one.
    pub(super) begun: Option<oneshot::Sender<RunId>>,
    pub(super) stop: CancellationToken,
}

/// Asks, or goes on waiting for the answer of an iteration that was asked before.
pub(super) async fn ask(shared: Arc<Shared>, mut question: Question) -> Answer {
    let begun = match begin(&shared, &question).await {
        Ok(Some(run)) => run,
        Ok(None) => {
            return Answer {
                cause: Some(Cause::Aborted),
                ..Answer::failed("It was stopped before it was asked.".to_owned())
            };
        }
        Err(error) => return Answer::failed(error.message),
    };
    if let Some(told) = question.begun.take() {
        // Nobody may listen any more.
        let _ = told.send(begun);
    }
    let awaited = Awaited {
        caller: &shared.caller,
        store: &shared.parts.store,
        run: begun,
        owner: WorkOwner::Loop(&question.name),
    };
    match awaited.end(&question.stop).await {
        Ok(answer) => answer,
        Err(error) => Answer::failed(error.message),
    }
}

/// The run of this iteration: the one that is there, or a new one; none when it was stopped first.
async fn begin(shared: &Shared, question: &Question) -> Result<Option<RunId>, WireError> {
    let store = &shared.parts.store;
    let key = session_key(&question.name, question.iteration);
    let run = match store.run_of_session(&key).await? {
        Some(run) => run,
        None if question.stop.is_cancelled() => return Ok(None),
        None => {
            let params = request(shared, question, key).await?;
            hob_kit::failpoint::reach("loop.ask.before");
            let reply = shared.caller.call::<Run>(&params).await?;
            hob_kit::failpoint::reach("loop.ask.after");
            reply.run_id
        }
    };
    let prompted = Prompted {
        name: question.name.clone(),
        number: question.iteration,
        run,
        monitor: question.monitor.clone(),
    };
    store.prompt_iteration(prompted).await?;
    Ok(Some(run))
}

/// What the agent is asked, after the memories it shows were put on record.
async fn request(
    shared: &Shared,
    question: &Question,
    key: String,
) -> Result<RunParams, WireError> {
    let store = &shared.parts.store;
    let (name, config) = (&question.name, &question.config);
    let (persistent, working) = store.show_memories(name, question.iteration).await?;
    let previous = store.last_response(name).await?;
    let at = question.monitor.as_ref().map(|output| moment(output.at));
    let shown = Shown {
        persistent: &persistent.text,
        working: &working.text,
        watched: question
            .monitor
            .as_ref()
            .map(|output| watched(output, at.as_deref().unwrap_or_default())),
        previous: &previous,
        task: &config.user,
        iteration: question.iteration,
    };
    let mut budget: Budget = config.budget.into();
    if let Some(left) = question.money_left {
        budget.micro_dollars = Some(budget.micro_dollars.map_or(left, |most| most.min(left)));
    }
    Ok(RunParams {
        task: prompt(&shown),
        idempotency_key: Some(key.clone()),
        session_key: key,
        kind: Some(KIND.to_owned()),
        model: config.model.clone(),
        budget: Some(budget),
        system: Some(config.system.clone()).filter(|system| !system.is_empty()),
        tools: config.tools.clone(),
        workspace: config.workspace.clone(),
        unattended: true,
        ..RunParams::default()
    })
}
