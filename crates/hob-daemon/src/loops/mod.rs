//! `loop.*`: prompts that are asked again and again. What comes next is decided by
//! `hob_core::rounds`; this room gives it time, the store, the agent and the monitors.
//!
//! - `requests`: what callers ask
//! - `owner`: one task for each loop that runs; `asking` and `watching` are its work
//! - `recording`: what an owner puts on record, and whom it tells
//! - `roll`: which loops have an owner
//! - `recovery`: loops that a former daemon left running
//! - `words`: settings as others need them, and sentences
//!
//! Invariants: a loop has one owner at the most; an iteration is on record before anything of it
//! happens, and asked for with a key, so that a crash neither doubles nor loses it; a stop answers
//! when nothing of the loop works any more.

mod asking;
mod owner;
mod recording;
mod recovery;
mod requests;
mod roll;
mod watching;
mod words;

use crate::errand::Errands;
use crate::library::Library;
use hob_bus::{Bus, Caller, Emitter, Room};
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::mask::Mask;
use hob_kit::settings::{Key, Kind};
use hob_kit::tasks::Tasks;
use hob_store::Store;
use hob_wire::WireError;
use hob_wire::rooms::loops::{
    Create, Delete, Get, History, List, LoopConfigured, LoopDeleted, LoopError, LoopIteration,
    LoopMonitor, LoopPrompt, LoopResponse, LoopStateChanged, LoopStopped, Once, Persistent, Start,
    Stop, Update, Working,
};
use roll::Roll;
use std::fmt;
use std::sync::Arc;

/// Requests handled at once: a stop waits for the end of what it stops.
const CONCURRENCY: usize = 1_024;

pub const KEYS: &[Key] = &[Key::new(
    "loop.history",
    Kind::Integer {
        min: 10,
        max: 100_000,
    },
    "1000",
    "Iterations of a loop that are kept, with their sessions; the oldest go first.",
)
.live()];

/// What the room is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    pub bus: Bus,
    pub store: Store,
    pub clock: Clock,
    /// For the ids of rules.
    pub dice: Dice,
    pub tasks: Tasks,
    /// For the models a loop may name, and the settings.
    pub library: Library,
    /// How monitors are run.
    pub errands: Errands,
    /// What the audit record must not show.
    pub mask: Mask,
}

/// What the room's files share.
struct Shared {
    parts: Parts,
    /// For the agent, the sessions and the permissions.
    caller: Caller,
    emitter: Emitter,
    roll: Roll,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loops").finish_non_exhaustive()
    }
}

/// Serves the room: first its methods, then the loops that the last daemon left running. The
/// agent is served before, because iterations ask it.
pub fn serve(parts: Parts) -> Result<(), WireError> {
    let shared = Arc::new(Shared {
        caller: parts.bus.caller("loops"),
        emitter: parts.bus.emitter("loops"),
        roll: Roll::default(),
        parts,
    });
    shared.parts.bus.serve(room(&shared))?;
    let tasks = shared.parts.tasks.clone();
    tasks.spawn_until_stop("loops", recovery::recover(shared));
    Ok(())
}

fn room(shared: &Arc<Shared>) -> Room {
    macro_rules! handler {
        ($method:ident) => {{
            let shared = Arc::clone(shared);
            move |call, params| {
                let shared = Arc::clone(&shared);
                async move { shared.$method(call, params).await }
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
