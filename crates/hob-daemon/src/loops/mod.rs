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

use crate::RoomContext;
use crate::model_library::ModelLibrary;
use crate::scheduled_command::ScheduledCommandRunner;
use hob_bus::{Caller, EventEmitter, Room};
use hob_kit::settings::{SettingKey, SettingKind};
use hob_tools::CommandRunner;
use hob_wire::WireError;
use hob_wire::rooms::loops::{
    Create, Delete, EVENTS, Get, History, List, Once, Persistent, Start, Stop, Update, Working,
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

/// The state that the files of this room share.
struct LoopContext {
    deps: RoomContext,
    /// Resolves the models that a loop may name.
    library: ModelLibrary,
    /// Runs the monitors.
    command_runner: ScheduledCommandRunner,
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

/// Serves the room `loops`, then continues the loops that ran in the previous daemon. The agent must
/// be served before, because iterations call it.
pub fn serve(
    context: &RoomContext,
    library: &ModelLibrary,
    commands: CommandRunner,
) -> Result<(), WireError> {
    let loops = Arc::new(LoopContext {
        deps: context.clone(),
        library: library.clone(),
        command_runner: ScheduledCommandRunner::new(context, commands),
        caller: context.bus.caller("loops"),
        emitter: context.bus.emitter("loops"),
        registry: LoopRegistry::default(),
    });
    let room = Room::new("loops")
        .concurrency(CONCURRENCY)
        .events(EVENTS)
        .state(Arc::clone(&loops))
        .method(Create, LoopContext::create)
        .method(Update, LoopContext::update)
        .method(Get, LoopContext::get)
        .method(List, LoopContext::list)
        .method(Start, LoopContext::start)
        .method(Stop, LoopContext::stop)
        .method(Once, LoopContext::once)
        .method(Delete, LoopContext::delete)
        .method(History, LoopContext::history)
        .method(Working, LoopContext::working)
        .method(Persistent, LoopContext::persistent);
    context.bus.serve(room)?;
    context
        .tasks
        .spawn_until_stop("loops", recovery::recover(loops));
    Ok(())
}
