//! The built-in tools, one folder each with its code, its tests and its README. A folder's `ENTRY`
//! is its whole face: what it declares and how it runs. To add a tool, make a folder and name its
//! `ENTRY` in [`entries`].
//!
//! - [`Entry`], [`Ground`]: what a tool is, and what it gets from outside; [`outlet`] takes what one
//!   prints while it runs
//! - [`schema`]: whether arguments fit what a tool declares
//! - [`outcome`]: what a tool answers
//! - `refusal`: calls that can never run, refused before anybody is asked
//! - [`manual`]: the page about the tools
//! - `beneath`, `spot`, `put`: files below a workspace, by directory handle: opening, looking,
//!   changing; `protected` says what is never changed
//! - `change`, `lookup`, `moved_thing`, [`undo`]: what the tools that change files share: planning, showing,
//!   keeping what was there, finding out after a crash, undoing
//! - `walk`, `tree`, `diff`: looking through folders, and what a change looks like
//! - `commands`: what the tools that run programs share: the sandbox, its limits, what a person is
//!   shown
//! - [`kept`]: what is too long to be told
//! - `time`, `calculate`, `read`, `list`, `glob`, `grep`, `write`, `edit`, `move`, `remove`, `exec`,
//!   `process`, `output`, [`web_fetch`]: the tools
//! - `sessions_list`, `sessions_history`, `sessions_send`, `sessions_spawn`, `sessions_delete`,
//!   `agent_status`, `model_list`, `config_read`, `service_status`, `loop_memory`, [`terminal`]: tools
//!   that ask other rooms; `rooms` is what they share
//!
//! Invariants: a tool runs only with an [`Approved`] call; it never panics on any arguments; what
//! it answers is bounded; no path ever leads out of the workspace; what a run changes can be undone.

mod agent_status;
mod beneath;
mod calculate;
mod change;
mod commands;
mod config_read;
mod diff;
mod edit;
mod exec;
mod glob;
mod grep;
mod ground;
pub mod kept;
mod list;
mod lookup;
mod loop_memory;
pub mod manual;
mod model_list;
mod moved_thing;
#[path = "move/mod.rs"]
mod moving;
pub mod outcome;
pub mod outlet;
mod output;
mod process;
mod put;
mod read;
mod refusal;
mod remove;
mod rooms;
pub mod schema;
mod service_status;
mod sessions_delete;
mod sessions_history;
mod sessions_list;
mod sessions_send;
mod sessions_spawn;
mod spot;
pub mod terminal;
mod time;
mod tree;
pub mod undo;
mod walk;
pub mod web_fetch;
mod write;

pub use commands::{
    COMMAND_CHARS_MAX, Commands, KEYS, OwnCommand, ProxyReport, Spawned, left_behind_note,
};
pub use ground::Ground;
pub use refusal::refusal;

use hob_core::permission::{Approved, Work};
use hob_wire::rooms::tool::{Executed, Probed};
use hob_wire::work::ToolSpec;
use serde::Deserialize;
use spot::Refused;
use std::pin::Pin;
use walk::{Stop, StopAtEnd};

/// A tool: what it declares, and how it runs.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub spec: fn() -> ToolSpec,
    /// Dropping the future stops the tool.
    pub run: fn(Approved<Work>, Ground) -> Running,
    /// Refuses a call that can never run, beyond what its schema and its paths say, so that nobody is
    /// asked about it. Changes nothing and sends nothing. Blocks.
    pub check: Option<Check>,
    /// For a tool that changes something.
    pub looks: Option<Looks>,
}

/// How a tool says that a call can never run; the error is the reason, for the model.
pub type Check = fn(&Work, &Ground) -> Result<(), String>;

/// How a tool says what a call would do, and whether one did.
#[derive(Clone, Copy, Debug)]
pub struct Looks {
    /// What a call would do now; changes nothing. Blocks.
    pub look: fn(&Work, &Ground) -> Look,
    /// Whether an earlier call happened.
    pub probe: fn(Work, Ground) -> Probing,
}

/// What a call would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// For a person; not escaped yet.
    pub preview: String,
    /// What it rests on: an approval is bound to it.
    pub state: String,
    /// Why it would do nothing, if so.
    pub would_fail: Option<String>,
    /// Whether a person is asked also where a rule or a mode allows the call: it changes a file
    /// that something else may run by itself.
    pub asks_always: bool,
}

/// A look at what happened.
pub type Probing = Pin<Box<dyn Future<Output = Probed> + Send>>;

/// A tool at work.
pub type Running = Pin<Box<dyn Future<Output = Executed> + Send>>;

/// Every built-in tool.
pub fn entries() -> &'static [Entry] {
    &[
        time::ENTRY,
        calculate::ENTRY,
        read::ENTRY,
        list::ENTRY,
        glob::ENTRY,
        grep::ENTRY,
        write::ENTRY,
        edit::ENTRY,
        moving::ENTRY,
        remove::ENTRY,
        exec::ENTRY,
        process::ENTRY,
        output::ENTRY,
        web_fetch::ENTRY,
        sessions_list::ENTRY,
        sessions_history::ENTRY,
        sessions_send::ENTRY,
        sessions_spawn::ENTRY,
        sessions_delete::ENTRY,
        agent_status::ENTRY,
        model_list::ENTRY,
        config_read::ENTRY,
        service_status::ENTRY,
        loop_memory::ENTRY,
        terminal::ENTRY,
    ]
}

/// A call's arguments in the tool's own form.
fn arguments<'w, T: Deserialize<'w>>(work: &'w Work) -> Result<T, Refused> {
    T::deserialize(&work.args)
        .map_err(|error| Refused(format!("The arguments do not fit: {error}.")))
}

/// Runs a tool that looks through files, on a thread of its own; dropping the future ends it.
fn looking(call: Approved<Work>, ground: Ground, look: Looker) -> Running {
    Box::pin(async move {
        let stop = Stop::default();
        let told = stop.clone();
        let _at_end = StopAtEnd(stop);
        let looked = tokio::task::spawn_blocking(move || look(call.call(), &ground, &told));
        looked
            .await
            .unwrap_or_else(|_| outcome::failed("Looking was interrupted. Try again."))
    })
}

/// How a tool looks.
type Looker = fn(&Work, &Ground, &Stop) -> Executed;

#[cfg(test)]
#[path = "trial_tests.rs"]
mod trial;

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
