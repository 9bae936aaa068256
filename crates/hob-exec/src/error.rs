//! Errors of starting and watching a process.

use crate::sandbox_level::SandboxLevel;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ExecError {
    /// A rule of the policy would not hold here; nothing ran.
    #[error("This machine cannot enforce {rule} (sandbox level: {}). {remedy}", level.name())]
    Unenforceable {
        rule: String,
        level: SandboxLevel,
        remedy: String,
    },
    /// The policy contradicts itself or names a path that does not exist; nothing ran.
    #[error("The sandbox cannot be set up like this: {0}")]
    Policy(String),
    #[error("There is no program '{0}'.")]
    NotFound(String),
    #[error("'{}' is not a folder the program may start in: {reason}.", path.display())]
    Cwd { path: PathBuf, reason: String },
    /// The sandbox or the program did not start; nothing ran.
    #[error("The program did not start: {0}")]
    Start(String),
    #[error(
        "{running} processes are running in the background, which is the limit; end one first."
    )]
    TooMany { running: usize },
    /// The shim vanished without a report. The kernel then kills the run's first process.
    #[error("The process that watched over the program is gone, so how it ended is unknown.")]
    Lost,
    #[error("The program reads no input any more.")]
    StdinClosed,
}
