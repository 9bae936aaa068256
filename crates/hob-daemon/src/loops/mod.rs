//! `loop.*`: prompts that are asked again and again. The pure loop machine of `hob_core` decides
//! what comes next; this room gives it time, the store, the agent and the monitors.
//!
//! - `requests`: the methods of the room
//! - `owner`: one task for each running loop; `iteration` and `monitor` are its work
//! - `recording`: stores the ends of iterations and loops, and notifies a session
//! - `registry`: the loops that have an owner
//! - `recovery`: continues loops that ran in the previous daemon
//! - `formatting`: session keys, conversions and sentences
//!
//! Invariants: a loop has at most one owner; an iteration is stored before it starts and its run is
//! requested with a key, so a crash neither repeats nor loses it; a stop is answered when nothing
//! of the loop works any more.

mod formatting;
mod iteration;
mod monitor;
mod owner;
mod recording;
mod recovery;
mod registry;
mod requests;

use crate::model_library::ModelLibrary;
use crate::scheduled_command::ScheduledCommandRunner;
use hob_bus::{Bus, Caller, EventEmitter, Room};
use hob_kit::clock::Clock;
use hob_kit::mask::SecretMask;
use hob_kit::randomness::Randomness;
use hob_kit::settings::{SettingKey, SettingKind};
use hob_kit::tasks::TaskGroup;
use hob_store::Store;
use hob_wire::WireError;
use hob_wire::rooms::loops::{
    Create, Delete, Get, History, List, LoopConfigured, LoopDeleted, LoopError, LoopIteration,
    LoopMonitor, LoopPrompt, LoopResponse, LoopStateChanged, LoopStopped, Once, Persistent, Start,
    Stop, Update, Working,
};
use registry::LoopRegistry;
use std::fmt;
use std::sync::Arc;

/// Requests handled at once. A stop holds one until the loop has ended.
const CONCURRENCY: usize = 1_024;

pub const KEYS: &[SettingKey] = &[SettingKey::new(
    "loop.history",
    SettingKind::Integer {
        min: 10,
        max: 100_000,
    },
    "1000",
    "Iterations kept of each loop, with their sessions. The oldest are deleted first.",
)
.live()];

/// The dependencies of the room.
#[derive(Clone, Debug)]
pub struct LoopDeps {
    pub bus: Bus,
    pub store: Store,
    pub clock: Clock,
    /// Makes the ids of rules.
    pub randomness: Randomness,
    pub tasks: TaskGroup,
    /// Resolves the models that a loop may name, and holds the settings.
    pub library: ModelLibrary,
    /// Runs the monitors.
    pub command_runner: ScheduledCommandRunner,
    /// Secrets to hide from the audit record.
    pub mask: SecretMask,
}

/// The state that the files of this room share.
struct LoopContext {
    deps: LoopDeps,
    /// Calls the agent, the sessions and the permissions.
    caller: Caller,
    emitter: EventEmitter,
    registry: LoopRegistry,
}

impl fmt::Debug for LoopContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopContext").finish_non_exhaustive()
    }
}

/// Serves the room, then continues the loops that ran in the previous daemon. The agent must be
/// served before, because iterations call it.
pub fn serve(deps: LoopDeps) -> Result<(), WireError> {
    let context = Arc::new(LoopContext {
        caller: deps.bus.caller("loops"),
        emitter: deps.bus.emitter("loops"),
        registry: LoopRegistry::default(),
        deps,
    });
    context.deps.bus.serve(room(&context))?;
    let tasks = context.deps.tasks.clone();
    tasks.spawn_until_stop("loops", recovery::recover(context));
    Ok(())
}

fn room(context: &Arc<LoopContext>) -> Room {
    macro_rules! handler {
        ($method:ident) => {{
            let context = Arc::clone(context);
            move |call, params| {
                let context = Arc::clone(&context);
                async move { context.$method(call, params).await }
            }
        }};
    }
    Room::new("loops")
        .concurrency(CONCURRENCY)
        .method::<Create, _, _>(handler!(create))
        .method::<Update, _, _>(handler!(update))
        .method::<Get, _, _>(handler!(get))
        .method::<List, _, _>(handler!(list))
        .method::<Start, _, _>(handler!(start))
        .method::<Stop, _, _>(handler!(stop))
        .method::<Once, _, _>(handler!(once))
        .method::<Delete, _, _>(handler!(delete))
        .method::<History, _, _>(handler!(history))
        .method::<Working, _, _>(handler!(working))
        .method::<Persistent, _, _>(handler!(persistent))
        .event::<LoopIteration>()
        .event::<LoopMonitor>()
        .event::<LoopPrompt>()
        .event::<LoopResponse>()
        .event::<LoopError>()
        .event::<LoopConfigured>()
        .event::<LoopStateChanged>()
        .event::<LoopStopped>()
        .event::<LoopDeleted>()
}
