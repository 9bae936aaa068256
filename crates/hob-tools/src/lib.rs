//! The built-in tools, one folder each with its code, its tests and its README. A folder's `ENTRY`
//! holds what the tool declares and how it runs. To add a tool, create a folder and list its
//! `ENTRY` in [`entries`].
//!
//! - [`ToolEntry`]: the definition of a tool; [`ToolEnv`]: its dependencies
//! - [`live_output`]: the output of a tool while it runs
//! - [`schema`]: JSON Schema checks of arguments
//! - [`outcome`]: bounded answers
//! - `refusal`: refuses calls that can never run before a person is asked
//! - [`manual`]: the generated page about the tools
//! - `workspace_dir`, `workspace_path`, `atomic_write`: opens, reads and changes files below a
//!   workspace by directory handle
//! - `file_change`, `crash_probe`, `moved_entry`, [`undo`]: shared by the tools that change files:
//!   plan, preview, backup, crash recovery, undo
//! - `walk`, `folder_tree`, `diff`: folder traversal and unified diffs
//! - `commands`: shared by the tools that run programs: sandbox policy, limits, preview
//! - [`stored_output`]: stores output that is too long for an answer
//! - `room_calls`: shared by the tools that call other rooms
//! - every other module is a tool
//!
//! Invariants: nothing outside a tool's folder knows its name, except its line in [`entries`]; a tool runs only with an [`Approved`] call; no arguments make it panic; its answer
//! is bounded; no path leads out of the workspace; the file changes of a run can be undone.

mod agent_status;
mod atomic_write;
mod calculate;
mod commands;
mod config_read;
mod crash_probe;
mod diff;
mod edit;
mod exec;
mod file_change;
mod folder_tree;
mod glob;
mod grep;
mod list;
pub mod live_output;
mod loop_memory;
pub mod manual;
mod model_list;
mod moved_entry;
#[path = "move/mod.rs"]
mod moving;
pub mod outcome;
mod output;
mod process;
mod read;
mod refusal;
mod remove;
mod room_calls;
pub mod schema;
mod service_status;
mod sessions_delete;
mod sessions_history;
mod sessions_list;
mod sessions_send;
mod sessions_spawn;
pub mod stored_output;
mod terminal;
mod time;
mod tool_env;
pub mod undo;
mod walk;
mod web_fetch;
mod workspace_dir;
mod workspace_path;
mod write;

pub use commands::{
    COMMAND_CHARS_MAX, CommandRunner, ProxyReport, SpawnedCommand, UserCommand, left_behind_note,
};
pub use refusal::refusal;
pub use tool_env::ToolEnv;

use hob_core::permission::{Approved, PreparedCall};
use hob_core::tool_traits::ToolTraits;
use hob_kit::settings::SettingKey;
use hob_wire::rooms::tool::{ToolExecuteResult, ToolProbeResult};
use hob_wire::work::ToolSpec;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::LazyLock;
use walk::{StopFlag, StopOnDrop};
use workspace_path::ToolRefusal;

/// A built-in tool: its declaration and its functions.
#[derive(Clone, Copy, Debug)]
pub struct ToolEntry {
    pub spec: fn() -> ToolSpec,
    /// Dropping the future stops the tool.
    pub run: fn(Approved<PreparedCall>, ToolEnv) -> ToolFuture,
    /// Refuses a call that can never run, beyond the checks of its schema and paths, so that nobody
    /// is asked about it. Changes nothing and sends nothing. Blocks.
    pub check: Option<CallCheck>,
    /// Present for a tool that changes something.
    pub effect_hooks: Option<EffectHooks>,
    /// What is special about it, for the code that would otherwise have to know its name.
    pub traits: ToolTraits,
    pub settings: &'static [SettingKey],
}

impl ToolEntry {
    /// A tool with nothing special about it.
    pub(crate) const fn plain(
        spec: fn() -> ToolSpec,
        run: fn(Approved<PreparedCall>, ToolEnv) -> ToolFuture,
    ) -> ToolEntry {
        ToolEntry {
            spec,
            run,
            check: None,
            effect_hooks: None,
            traits: ToolTraits::NONE,
            settings: &[],
        }
    }
}

/// Checks whether a call can ever run; the error is the reason, for the model.
pub type CallCheck = fn(&PreparedCall, &ToolEnv) -> Result<(), String>;

/// The functions of a tool with effects: preview before the call, probe after a crash.
#[derive(Clone, Copy, Debug)]
pub struct EffectHooks {
    /// Describes what a call would do now; changes nothing. Blocks.
    pub preview: fn(&PreparedCall, &ToolEnv) -> CallPreview,
    /// Finds out whether an earlier call took effect.
    pub probe: fn(PreparedCall, ToolEnv) -> ProbeFuture,
}

/// A description of what a call would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPreview {
    /// Text for a person; not escaped yet.
    pub preview: String,
    /// Fingerprint of the inputs of the call: an approval is bound to it.
    pub state: String,
    /// The reason why the call would do nothing, if it would.
    pub would_fail: Option<String>,
    /// True if a person is asked even where a rule or a mode allows the call: it changes a file
    /// that another program may run by itself.
    pub asks_always: bool,
}

/// The future of a probe.
pub type ProbeFuture = Pin<Box<dyn Future<Output = ToolProbeResult> + Send>>;

/// The future of a running tool.
pub type ToolFuture = Pin<Box<dyn Future<Output = ToolExecuteResult> + Send>>;

/// Every built-in tool.
pub fn entries() -> &'static [ToolEntry] {
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

/// Every built-in tool with its name.
pub fn builtins() -> impl Iterator<Item = (&'static str, &'static ToolEntry)> {
    BUILTINS.iter().map(|(name, entry)| (name.as_str(), entry))
}

static BUILTINS: LazyLock<BTreeMap<String, ToolEntry>> = LazyLock::new(|| {
    let named = |entry: &ToolEntry| ((entry.spec)().name, *entry);
    entries().iter().map(named).collect()
});

/// Returns the built-in tool of this name.
pub fn builtin(name: &str) -> Option<&'static ToolEntry> {
    BUILTINS.get(name)
}

/// Returns what is special about a tool; nothing about a tool of an outside service.
pub fn traits(name: &str) -> ToolTraits {
    builtin(name).map_or(ToolTraits::NONE, |entry| entry.traits)
}

/// The settings of all tools, in the order the default file shows them.
pub fn setting_keys() -> Vec<SettingKey> {
    let own = entries().iter().map(|entry| entry.settings);
    [commands::KEYS]
        .into_iter()
        .chain(own)
        .collect::<Vec<_>>()
        .concat()
}

/// Deserializes the arguments of a call.
fn arguments<'w, T: Deserialize<'w>>(work: &'w PreparedCall) -> Result<T, ToolRefusal> {
    T::deserialize(&work.args)
        .map_err(|error| ToolRefusal(format!("The arguments do not fit: {error}.")))
}

/// Runs a tool that reads files on a blocking thread; dropping the future stops it.
fn run_search(call: Approved<PreparedCall>, env: ToolEnv, search: SearchFn) -> ToolFuture {
    Box::pin(async move {
        // A blocking thread cannot be cancelled; the flag lets it end by itself when the future is dropped.
        let stop = StopFlag::default();
        let stopped = stop.clone();
        let _at_end = StopOnDrop(stop);
        let searched = tokio::task::spawn_blocking(move || search(call.call(), &env, &stopped));
        searched
            .await
            .unwrap_or_else(|_| outcome::failed("The search was interrupted. Try again."))
    })
}

/// The blocking function of a tool that reads files.
type SearchFn = fn(&PreparedCall, &ToolEnv, &StopFlag) -> ToolExecuteResult;

#[cfg(test)]
#[path = "trial_tests.rs"]
mod trial;

#[cfg(test)]
#[path = "tool_names_tests.rs"]
mod tool_names;

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
