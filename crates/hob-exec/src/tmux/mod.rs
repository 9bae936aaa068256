//! Terminals in tmux that a user and hob share.
//!
//! - [`detect`]: finds a usable tmux
//! - [`server`]: the server on hob's own socket, its terminals
//! - [`connection`]: a connection to one terminal (control mode): keys, queries, notices;
//!   `protocol` parses tmux's output, `connection_task` owns the connection, `quoting` and `keys`
//!   encode input
//! - [`recording`]: every byte a terminal prints, written by `hob record` below tmux
//! - [`shells`]: the hooks that mark where commands begin and end, and take commands
//! - [`foreground`]: the process group that has a terminal's keyboard, and ending it
//!
//! ```text
//! daemon ──▶ hob shim ──▶ tmux -C ──┐                       ┌──▶ shell (hooks) ──▶ commands
//!    ▲                              ├── socket ──▶ tmux ────┤
//!    │                  a window ───┘                       └──▶ hob record ──▶ FOLDER/out.*
//!    └──────────────────────────── inotify, reads ─────────────────────────────────┘
//! ```
//!
//! Invariants: the server, its shells and recorders belong to the user and outlive the daemon; hob
//! learns the output and the end of a command from the recording alone.

pub mod connection;
mod connection_task;
pub mod detect;
pub mod error;
pub mod foreground;
mod keys;
mod protocol;
pub(crate) mod quoting;
pub mod recording;
pub mod server;
pub mod shells;

pub use connection::{TmuxClient, TmuxConnection, TmuxNotice, TmuxNotices};
pub use detect::{TmuxMissing, TmuxProgram};
pub use error::TmuxError;
pub use server::{NewTmuxSession, TmuxServer, TmuxServerParts, TmuxSession};
