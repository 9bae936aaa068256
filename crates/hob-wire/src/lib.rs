//! The wire types of hob: every frame, id, method, event and error that another process may read.
//!
//! - [`frame`]: the three frames, and reading and writing their envelopes
//! - [`method`], [`event`]: the traits and macros that declare a method or an event
//! - [`rooms`]: the declarations themselves, one file per service
//! - [`catalog`]: all declarations in one list; CLI, REST, OpenAPI and docs derive from it
//! - [`content`]: messages and their parts
//! - [`block`]: the blocks of a transcript and their changes
//! - [`work`]: tool specs, idempotency, run budgets and end causes, permission decisions
//! - [`rule`]: stored permission rules and audit entries
//! - [`loop_config`]: the settings, phases and end causes of a loop
//! - [`schedule`]: types shared by loops and scheduled jobs: grants, notifications, slot policies
//! - [`network`]: the network access of a command
//! - [`terminal`]: the states of a command in a terminal
//! - [`analysis`]: the analysis of a command's output
//! - [`speech_request`]: the HTTP bodies of text-to-speech requests
//! - [`damage`]: damaged rows of the store
//! - [`id`], [`scope`], [`error`], [`limits`]: small types that the others use; [`nullable`]: fields
//!   that may be cleared
//!
//! Invariants: nothing here acts (no I/O, no clock, no randomness). Params refuse unknown fields,
//! so a newer caller is never half understood. Results and payloads tolerate unknown fields, so
//! an older reader keeps working.

pub mod analysis;
pub mod block;
pub mod catalog;
pub mod content;
pub mod damage;
pub mod error;
pub mod event;
pub mod frame;
pub mod id;
pub mod limits;
pub mod loop_config;
pub mod method;
pub mod network;
pub mod nullable;
pub mod rooms;
pub mod rule;
pub mod schedule;
pub mod scope;
pub mod speech_request;
mod strict_and_lenient;
pub mod terminal;
pub mod work;

pub use content::{ContentPart, Message, MessageContent, Role, TokenUsage, ToolCall, ToolResult};
pub use damage::DamagedRow;
pub use error::{ErrorCode, WireError};
pub use event::{Durability, EventSpec, EventTopic};
pub use id::{CommandId, MessageId, RunId, SessionId};
pub use method::{CliExposure, Idempotency, Method, MethodSpec};
pub use network::NetworkGrant;
pub use scope::{Scope, Scopes};

/// The wire's version, named in the WebSocket subprotocol (`hob.v1`) and the state file.
pub const PROTOCOL_VERSION: u32 = 1;
