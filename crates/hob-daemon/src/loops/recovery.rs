//! Continues the loops that ran in the previous daemon where they were: in the middle of an
//! iteration, with the rest of a sleep, with their counts.

use super::LoopContext;
use super::formatting::session_key;
use super::owner::{self, LoopInit};
use hob_core::loop_machine::{LoopEvent, LoopMachine, LoopPolicy, SavedLoop, SavedStep};
use hob_store::{LoopMode, LoopResumePoint, LoopRow, StoreError};
use std::sync::Arc;
use std::time::Duration;

/// Time until the store is asked again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Spawns an owner for every stored loop that runs.
pub(super) async fn recover(context: Arc<LoopContext>) {
    let names = loop {
        match context.deps.store.running_loops().await {
            Ok(names) => break names,
            // The store closes when the daemon stops; the next daemon resumes the loops.
            Err(StoreError::Closed) => return,
            Err(error) => {
                tracing::warn!("the loops cannot be loaded yet: {error}");
                tokio::time::sleep(RETRY_AFTER).await;
            }
        }
    };
    for name in names {
        let mut tries = 0_u32;
        while let Err(error) = resume(&context, &name).await {
            tries += 1;
            // A loop that cannot be resumed must not hold up the others.
            if tries >= 5 {
                tracing::error!(name, "a loop could not be resumed: {error}");
                break;
            }
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }
}

/// Resumes one loop, unless it was stopped or started meanwhile.
async fn resume(context: &Arc<LoopContext>, name: &str) -> Result<(), StoreError> {
    let _lock = context.registry.lock_for_change(name).await;
    let store = &context.deps.store;
    let Some(row) = store.loop_row(name).await? else {
        return Ok(());
    };
    if row.mode == LoopMode::Idle || context.registry.find(name).is_some() {
        return Ok(());
    }
    let resume_point = store.loop_resume_point(name).await?;
    let resume_point = match resume_point {
        LoopResumePoint::Opened => {
            // A crash between the run's request and its note in the loop: the run exists all the same.
            let key = session_key(name, row.iteration);
            match store.run_of_session(&key).await? {
                Some(_) => LoopResumePoint::Asking,
                None => LoopResumePoint::Opened,
            }
        }
        other => other,
    };
    let init = init_from_record(context, row, resume_point);
    tracing::info!(name, ?resume_point, "a loop is resumed");
    owner::spawn_owner(context, name, init);
    Ok(())
}

fn init_from_record(
    context: &LoopContext,
    row: LoopRow,
    resume_point: LoopResumePoint,
) -> LoopInit {
    let clock = &context.deps.clock;
    let policy = LoopPolicy::from_config(&row.config);
    let now_ms = clock.monotonic_ms();
    let saved = |step| SavedLoop {
        iteration: row.iteration,
        since_start: row.since_start,
        errors: row.errors,
        micro_dollars: row.cost.micro_dollars.unwrap_or(0),
        run_once: row.mode == LoopMode::Once,
        step,
    };
    let mut effects = Vec::new();
    let machine = match resume_point {
        LoopResumePoint::Started => {
            let mut machine = LoopMachine::new(policy, row.iteration);
            let event = match row.mode {
                LoopMode::Once => LoopEvent::StartOnce,
                _ => LoopEvent::Start,
            };
            machine.step(event, now_ms, &mut effects);
            machine
        }
        LoopResumePoint::Opened => {
            LoopMachine::resume(policy, saved(SavedStep::Recorded), now_ms, &mut effects)
        }
        LoopResumePoint::Asking => {
            LoopMachine::resume(policy, saved(SavedStep::Asking), now_ms, &mut effects)
        }
        LoopResumePoint::Asleep { next_at } => {
            // By the wall clock: the time while no daemon ran counts as sleep.
            let left_ms = next_at.saturating_sub(clock.wall_ms());
            let asleep = SavedStep::Sleeping { left_ms };
            LoopMachine::resume(policy, saved(asleep), now_ms, &mut effects)
        }
    };
    let is_open = matches!(
        resume_point,
        LoopResumePoint::Opened | LoopResumePoint::Asking
    );
    LoopInit {
        machine,
        effects,
        cost: row.cost,
        open_iteration: is_open.then_some(row.iteration),
        monitor: row.monitor,
        config: row.config,
    }
}
