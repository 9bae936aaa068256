//! Terminals in tmux that a person and hob share.
//!
//! - [`found`]: which tmux there is, or a sentence
//! - [`server`]: the server on hob's own socket, its terminals
//! - [`control`]: a connection to one terminal (control mode): keys, questions, notices;
//!   `protocol` reads what tmux says, `wire` owns the connection, `words` and `keys` write what it
//!   reads
//! - [`recording`]: every byte a terminal prints, written by `hob record` below tmux
//! - [`shells`]: the hooks that mark where commands begin and end, and take commands
//! - [`foreground`]: what has a terminal's keyboard, and ending it
//!
//! ```text
//! daemon ──▶ hob shim ──▶ tmux -C ──┐                       ┌──▶ shell (hooks) ──▶ commands
//!    ▲                              ├── socket ──▶ tmux ────┤
//!    │                  a window ───┘                       └──▶ hob record ──▶ FOLDER/out.*
//!    └──────────────────────────── inotify, reads ─────────────────────────────────┘
//! ```
//!
//! Invariants: the server, its shells and recorders are the person's and outlive the daemon; hob
//! learns what a command printed and how it ended from the recording alone.

pub mod control;
pub mod error;
pub mod foreground;
pub mod found;
mod keys;
mod protocol;
pub mod recording;
pub mod server;
pub mod shells;
mod wire;
pub(crate) mod words;

pub use control::{Client, Control, Notice, Notices};
pub use error::TmuxError;
pub use found::{Missing, Tmux};
pub use server::{New, Server, ServerParts, Session};
