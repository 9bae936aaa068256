//! `agent.*`: runs tasks on sessions with models and tools, durable to the step.
//!
//! - `handlers`, `run_admission`: requests of callers; `chat`, `chat_call`, `chat_tools`:
//!   conversations that the caller stores itself
//! - `authority`: limits on what a caller may have a model do
//! - `child_runs`: runs that other runs start
//! - `queue`, `session_turn`: scheduling of sessions onto slots, one owner task
//! - `driver`: one run, one task. `advance` writes, `effects` starts work, `model_results` and
//!   `tool_results` take what came back, `stopping` ends work, `commands` handles requests of
//!   people
//! - `journal`, `replayed_run`: the inputs of the turn machine, and the state they replay to
//! - `step_draft`: content of the next write; its messages and events derive from the state before
//!   and after
//! - `unattended`: runs of loops and jobs, which wait for no person
//! - `steering`: decides whether text may be added to a run in progress
//! - `next_call`: choice of the next model; `model_call`, `conversation`, `history`,
//!   `system_prompt`, `schema`: its prompt
//! - `tool_client`: tools and permissions over the bus
//! - `live_runs`, `views`: runs as watchers see them
//! - `settings`: settings of runs and budgets
//!
//! Invariants: a step's journal, messages, ledger and events are one transaction, and nothing of it
//! is carried out before that transaction; an interrupted run resumes at the same step;
//! `run.completed` is the only last event of every run; no generation has more active runs than
//! slots; a child run may do no more than its parent and ends with it.

mod advance;
mod agent_context;
mod authority;
mod chat;
mod chat_call;
mod chat_tools;
mod child_runs;
mod commands;
mod conversation;
mod driver;
mod effects;
mod handlers;
mod history;
mod journal;
mod live_runs;
mod model_call;
mod model_results;
mod next_call;
mod queue;
mod replayed_run;
mod run_admission;
mod schema;
mod session_turn;
mod settings;
mod steering;
mod step_draft;
mod stopping;
mod system_prompt;
mod tool_client;
mod tool_list_cache;
mod tool_results;
mod unattended;
mod views;

pub use agent_context::AgentDeps;
pub use settings::KEYS;

use agent_context::AgentContext;
use handlers::AgentHandlers;
use hob_bus::Room;
use hob_wire::WireError;
use hob_wire::rooms::agent::{
    Abort, Allow, Chat, List, Resolve, Run, RunCompleted, RunDelta, RunInDoubt, RunPaused,
    RunQueued, RunStarted, RunStep, RunTool, Stats, Status, Wait,
};
use queue::RunQueue;
use std::sync::Arc;

/// Requests handled at once. Many only wait for a run and must not block an abort.
const HANDLERS_MAX: usize = 8_192;

/// Serves the room: first its methods, then the runs that the last daemon left unfinished. The
/// rooms of tools and permissions must be served before, because runs call them.
pub fn serve(deps: AgentDeps) -> Result<(), WireError> {
    let shared = Arc::new(AgentContext::new(deps));
    let (queue, owner) = RunQueue::new(&shared);
    let handlers = AgentHandlers::new(&shared, queue);
    // The methods are served before the queue starts, so that an abort reaches a run as soon as it
    // is resumed.
    shared.deps.bus.serve(room(&handlers))?;
    let tasks = &shared.deps.tasks;
    tasks.spawn_until_stop("agent queue", owner.run());
    Ok(())
}

fn room(handlers: &AgentHandlers) -> Room {
    macro_rules! handler {
        ($method:ident) => {{
            let handlers = handlers.clone();
            move |_, params| handlers.clone().$method(params)
        }};
    }
    Room::new("agent")
        .concurrency(HANDLERS_MAX)
        .method::<Run, _, _>({
            let handlers = handlers.clone();
            move |call, params| handlers.clone().run(call, params)
        })
        .method::<Wait, _, _>({
            let handlers = handlers.clone();
            move |call, params| handlers.clone().wait_for(call, params)
        })
        .method::<Abort, _, _>(handler!(abort))
        .method::<Status, _, _>(handler!(status))
        .method::<List, _, _>(handler!(list))
        .method::<Stats, _, _>(handler!(stats))
        .method::<Chat, _, _>({
            let handlers = handlers.clone();
            move |call, params| handlers.clone().chat(call, params)
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
