//! Loops that a former daemon left running go on where they were: in the middle of an iteration,
//! with the rest of a sleep, with their counts.

use super::Shared;
use super::owner::{self, Begin};
use super::words::session_key;
use hob_core::rounds::{Event, Machine, Policy, Saved, Under as Left};
use hob_kit::failpoint;
use hob_store::{LoopRow, Mode, StoreError, Under};
use std::sync::Arc;
use std::time::Duration;

/// Before the store is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// Gives every loop that is to run an owner.
pub(super) async fn recover(shared: Arc<Shared>) {
    let names = loop {
        match shared.parts.store.awake_loops().await {
            Ok(names) => break names,
            Err(StoreError::Closed) => return,
            Err(error) => {
                tracing::warn!("the loops cannot be read yet: {error}");
                tokio::time::sleep(AGAIN).await;
            }
        }
    };
    for name in names {
        let mut tries = 0_u32;
        while let Err(error) = resume(&shared, &name).await {
            tries += 1;
            if tries >= 5 {
                tracing::error!(name, "a loop could not be taken up again: {error}");
                break;
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// Takes one loop up again, unless somebody stopped or started it meanwhile.
async fn resume(shared: &Arc<Shared>, name: &str) -> Result<(), StoreError> {
    let _pen = shared.roll.pen(name).await;
    let store = &shared.parts.store;
    let Some(row) = store.loop_row(name).await? else {
        return Ok(());
    };
    if row.mode == Mode::Idle || shared.roll.find(name).is_some() {
        return Ok(());
    }
    let under = store.loop_under_way(name).await?;
    let under = match under {
        Under::Opened => {
            let key = session_key(name, row.iteration);
            match store.run_of_session(&key).await? {
                Some(_) => Under::Asking,
                None => Under::Opened,
            }
        }
        other => other,
    };
    // Fault test 13: what was under way must not be left behind.
    let under = match under {
        Under::Opened | Under::Asking if failpoint::broken(13) => Under::Asleep { next_at: 0 },
        under => under,
    };
    let begin = begun(shared, row, under);
    tracing::info!(name, ?under, "a loop goes on");
    owner::begin(shared, name, begin);
    Ok(())
}

fn begun(shared: &Shared, row: LoopRow, under: Under) -> Begin {
    let clock = &shared.parts.clock;
    let policy = Policy::of(&row.config);
    let now_ms = clock.monotonic_ms();
    let saved = |under| Saved {
        iteration: row.iteration,
        since_start: row.since_start,
        errors: row.errors,
        micro_dollars: row.cost.micro_dollars.unwrap_or(0),
        once: row.mode == Mode::Once,
        under,
    };
    let mut effects = Vec::new();
    let machine = match under {
        Under::Started => {
            let mut machine = Machine::new(policy, row.iteration);
            let event = match row.mode {
                Mode::Once => Event::Once,
                _ => Event::Start,
            };
            machine.step(event, now_ms, &mut effects);
            machine
        }
        Under::Opened => Machine::resume(policy, saved(Left::Opened), now_ms, &mut effects),
        Under::Asking => Machine::resume(policy, saved(Left::Asking), now_ms, &mut effects),
        Under::Asleep { next_at } => {
            let left_ms = next_at.saturating_sub(clock.wall_ms());
            let asleep = Left::Sleep { left_ms };
            Machine::resume(policy, saved(asleep), now_ms, &mut effects)
        }
    };
    let is_open = matches!(under, Under::Opened | Under::Asking);
    Begin {
        machine,
        effects,
        cost: row.cost,
        open: is_open.then_some(row.iteration),
        monitor: row.monitor,
        config: row.config,
    }
}
