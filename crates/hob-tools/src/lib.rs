//! The built-in tools, one folder each with its code, its tests and its README. A folder's `ENTRY`
//! is its whole face: what it declares and how it runs. To add a tool, make a folder and name its
//! `ENTRY` in [`entries`].
//!
//! - [`Entry`], [`Ground`]: what a tool is, and what it gets from outside
//! - [`schema`]: whether arguments fit what a tool declares
//! - [`outcome`]: what a tool answers
//! - `beneath`: files below a workspace, by directory handle
//! - `time`, `read`: the tools
//!
//! Invariants: a tool runs only with an [`Approved`] call; it never panics on any arguments; what
//! it answers is bounded; no path ever leads out of the workspace.

mod beneath;
pub mod outcome;
mod read;
pub mod schema;
mod time;

use hob_core::permission::{Approved, Work};
use hob_kit::clock::Clock;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::ToolSpec;
use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

/// A tool: what it declares, and how it runs.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub spec: fn() -> ToolSpec,
    /// Dropping the future stops the tool.
    pub run: fn(Approved<Work>, Ground) -> Running,
}

/// A tool at work.
pub type Running = Pin<Box<dyn Future<Output = Executed> + Send>>;

/// What tools get from outside; cheap to clone.
#[derive(Clone)]
pub struct Ground(Arc<Places>);

struct Places {
    clock: Clock,
    /// Folders no tool may look into, whatever the workspace is: hob's own.
    hidden: Vec<PathBuf>,
}

impl Ground {
    pub fn new<'p>(clock: Clock, hidden: impl IntoIterator<Item = &'p Path>) -> Self {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Ground(Arc::new(Places {
            clock,
            hidden: hidden.into_iter().map(real).collect(),
        }))
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    pub(crate) fn hidden(&self) -> &[PathBuf] {
        &self.0.hidden
    }
}

impl fmt::Debug for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ground")
    }
}

/// Every built-in tool.
pub fn entries() -> &'static [Entry] {
    &[time::ENTRY, read::ENTRY]
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
