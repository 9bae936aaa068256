//! The words of hob: every frame, id, method, event and error that another process may read.
//!
//! - [`frame`]: the three frames and how their envelope is read and written
//! - [`method`], [`event`]: how a method or an event is declared, once
//! - [`rooms`]: the declarations themselves, one file per service
//! - [`catalog`]: all of them in one list, from which CLI, REST, OpenAPI and docs derive
//! - [`content`]: what a message is made of
//! - [`work`]: what repeating a call does, where a run must stop and why it did
//! - [`rule`]: stored rules, and the record of what was decided
//! - [`looping`]: what a loop can be set to, what it is doing, why it ended
//! - [`schedule`]: what loops and jobs share: what they may do unasked, and whom they tell
//! - [`network`]: which network a command may use
//! - [`terminal`]: what becomes of a command in a terminal
//! - [`analysis`]: what the output of a command says
//! - [`agentloop`], [`archy`], [`looprunner`]: the words of clients that speak another protocol
//! - [`id`], [`scope`], [`error`], [`limits`]: the small words the others use
//!
//! Invariants: nothing here acts (no I/O, no clock, no randomness); params refuse unknown
//! fields, so a newer caller is never half understood; results and payloads tolerate them, so an
//! older reader keeps working.

pub mod agentloop;
pub mod analysis;
pub mod archy;
pub mod catalog;
pub mod content;
pub mod damage;
pub mod error;
pub mod event;
pub mod frame;
mod given;
pub mod id;
pub mod limits;
pub mod looping;
pub mod looprunner;
pub mod method;
pub mod network;
pub mod rooms;
pub mod rule;
pub mod schedule;
pub mod scope;
pub mod spoken;
pub mod terminal;
mod twin;
pub mod work;

pub use content::{Content, Message, Part, Role, ToolCall, ToolResult, Usage};
pub use damage::DamagedRow;
pub use error::{ErrorCode, WireError};
pub use event::{Durability, EventSpec, Topic};
pub use id::{CommandId, MessageId, RunId, SessionId};
pub use method::{Cli, Effect, Method, MethodSpec};
pub use network::NetworkGrant;
pub use scope::{Scope, Scopes};

/// The wire's version, named in the WebSocket subprotocol (`hob.v1`) and the state file.
pub const PROTOCOL_VERSION: u32 = 1;
