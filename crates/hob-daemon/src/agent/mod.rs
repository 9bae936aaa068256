//! `agent.*`: tasks on sessions, executed by models and tools, durable to the step.
//!
//! - `requests`: what callers ask; `chat`, `chat_call`, `chat_tools`: conversations that callers
//!   keep themselves
//! - `authority`: what a caller may have a model do
//! - `family`: runs that other runs start
//! - `queue`: whose turn it is, one owner task
//! - `driver`: one run, one task: `advance` writes, `work` carries out, `answers` takes what came
//!   back, `stopping` ends, `commands` hears people
//! - `journal`, `story`: the inputs of the turn machine and what they carried
//! - `draft`: what a write holds; its messages and events derive from two stories
//! - `unattended`: runs of loops and jobs, which wait for nobody
//! - `steering`: whether words may be handed to a run under way
//! - `next_call`: which model is asked next; `order`, `conversation`, `history`, `prompt`,
//!   `schema`: what it is asked
//! - `hands`: tools and permissions over the bus
//! - `live`, `views`: runs as watchers see them
//! - `settings`: what a person may choose
//!
//! Invariants: a step's journal, messages, ledger and events are one transaction, and nothing is
//! carried out before it; a run that was cut off goes on at that very step; `run.completed` is
//! the one last event of every run; no more runs of a generation are at work than there are slots;
//! a run that another one started reaches no farther than that one and ends with it.

mod advance;
mod answers;
mod authority;
mod chat;
mod chat_call;
mod chat_tools;
mod commands;
mod conversation;
mod draft;
mod driver;
mod family;
mod hands;
mod history;
mod journal;
mod live;
mod next_call;
mod order;
mod prompt;
mod queue;
mod requests;
mod schema;
mod settings;
mod shared;
mod steering;
mod stopping;
mod story;
mod tool_list;
mod unattended;
mod views;
mod work;

pub use settings::KEYS;
pub use shared::Parts;

use hob_bus::Room;
use hob_wire::WireError;
use hob_wire::rooms::agent::{
    Abort, Allow, Chat, List, Resolve, Run, RunCompleted, RunDelta, RunInDoubt, RunPaused,
    RunQueued, RunStarted, RunStep, RunTool, Stats, Status, Wait,
};
use queue::Queue;
use requests::Requests;
use shared::Shared;
use std::sync::Arc;

/// Requests handled at once. Many of them only wait for a run, and must not keep an abort out.
const HANDLERS_MAX: usize = 8_192;

/// Serves the room: first its methods, then the runs that the last daemon left. The rooms of
/// tools and permissions are served before, because runs call them.
pub fn serve(parts: Parts) -> Result<(), WireError> {
    let shared = Arc::new(Shared::new(parts));
    let (queue, owner) = Queue::new(&shared);
    let requests = Requests::new(&shared, queue);
    shared.parts.bus.serve(room(&requests))?;
    let tasks = &shared.parts.tasks;
    tasks.spawn_until_stop("agent queue", owner.run());
    Ok(())
}

fn room(requests: &Requests) -> Room {
    macro_rules! handler {
        ($method:ident) => {{
            let requests = requests.clone();
            move |_, params| requests.clone().$method(params)
        }};
    }
    Room::new("agent")
        .concurrency(HANDLERS_MAX)
        .method::<Run, _, _>({
            let requests = requests.clone();
            move |call, params| requests.clone().run(call, params)
        })
        .method::<Wait, _, _>({
            let requests = requests.clone();
            move |call, params| requests.clone().wait_for(call, params)
        })
        .method::<Abort, _, _>(handler!(abort))
        .method::<Status, _, _>(handler!(status))
        .method::<List, _, _>(handler!(list))
        .method::<Stats, _, _>(handler!(stats))
        .method::<Chat, _, _>({
            let requests = requests.clone();
            move |call, params| requests.clone().chat(call, params)
        })
        .method::<Allow, _, _>(handler!(allow))
        .method::<Resolve, _, _>(handler!(resolve))
        .event::<RunQueued>()
        .event::<RunStarted>()
        .event::<RunDelta>()
        .event::<RunTool>()
        .event::<RunStep>()
        .event::<RunPaused>()
        .event::<RunInDoubt>()
        .event::<RunCompleted>()
}
