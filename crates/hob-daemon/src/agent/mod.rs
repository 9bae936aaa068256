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
//! - `live_runs`, `views`: runs as watchers see them; `folder_runs`: the runs of a folder;
//!   `transcript_inputs`: what runs tell the transcript of their session
//! - `timeline`, `timeline_rows`: what happened in a run, from its journal
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
pub(crate) mod demo_limits;
mod driver;
mod effects;
mod folder_runs;
mod guarded_call;
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
mod timeline;
mod timeline_rows;
mod tool_client;
mod tool_list_cache;
mod tool_results;
mod transcript_inputs;
mod unattended;
mod views;

pub use settings::KEYS;

use crate::RoomContext;
use crate::model_library::ModelLibrary;
use agent_context::AgentContext;
use handlers::AgentHandlers;
use hob_bus::Room;
use hob_wire::rooms::agent::{Abort, Allow, Chat, EVENTS, List, Resolve, Run, Stats, Status, Wait};
use hob_wire::rooms::timeline::Timeline;
use hob_wire::{RunId, WireError};
use queue::RunQueue;
use std::sync::Arc;

/// Requests handled at once. Many only wait for a run and must not block an abort.
const HANDLERS_MAX: usize = 8_192;

/// Serves the room `agent`: first its methods, then the runs that the last daemon left unfinished.
/// The rooms of tools and permissions must be served before, because runs call them.
pub fn serve(context: &RoomContext, library: &ModelLibrary) -> Result<(), WireError> {
    let shared = Arc::new(AgentContext::new(context, library));
    let (queue, owner) = RunQueue::new(&shared);
    let room = Room::new("agent")
        .concurrency(HANDLERS_MAX)
        .events(EVENTS)
        .state(Arc::new(AgentHandlers::new(shared, queue)))
        .method(Run, AgentHandlers::run)
        .method(Wait, AgentHandlers::wait_for)
        .method(Abort, AgentHandlers::abort)
        .method(Status, AgentHandlers::status)
        .method(List, AgentHandlers::list)
        .method(Timeline, AgentHandlers::timeline)
        .method(Stats, AgentHandlers::stats)
        .method(Chat, AgentHandlers::chat)
        .method(Allow, AgentHandlers::allow)
        .method(Resolve, AgentHandlers::resolve);
    // The methods are served before the queue starts, so that an abort reaches a run as soon as it
    // is resumed.
    context.bus.serve(room)?;
    context.tasks.spawn_until_stop("agent queue", owner.run());
    Ok(())
}

/// The ledger key of a model call of a run, stable across restarts.
fn ledger_key(run: RunId, step: u32, attempt: u32) -> String {
    format!("{run}/{step}/{attempt}")
}
