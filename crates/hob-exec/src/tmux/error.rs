//! Errors of tmux.

use crate::error::ExecError;
use hob_kit::home::HomeError;
use std::io;

#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    #[error("A terminal named '{0}' already exists.")]
    Exists(String),
    #[error("There is no terminal '{0}'.")]
    NoSession(String),
    #[error("There is no key '{0}'; names are such as Enter, Tab, Escape, Up, C-c, M-f, F5.")]
    NoKey(String),
    #[error("tmux refused: {0}")]
    Refused(String),
    /// The connection has ended; the terminal may still exist.
    #[error("The connection to the terminal has ended: {0}")]
    Gone(String),
    #[error("tmux does not answer.")]
    Silent,
    #[error("tmux cannot be reached: {0}")]
    Io(#[from] io::Error),
    #[error("tmux did not start: {0}")]
    Start(#[from] ExecError),
    /// Another user may own the server behind the socket, so it is not used.
    #[error("tmux is not used: {0}")]
    Socket(#[from] HomeError),
}
