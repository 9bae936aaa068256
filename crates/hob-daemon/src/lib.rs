//! The rooms of the daemon, one folder each. A folder's `serve(…)` is its interface: it takes the
//! [`RoomContext`] and what only that room needs, and serves the room on the bus.
//!
//! - [`agent`]: runs, `agent.*`
//! - [`cost`]: sums of the ledger, `cost.summary`
//! - [`cron`]: jobs that run by the calendar or when called, `cron.*`
//! - [`session`]: conversations, `session.*`
//! - [`config`]: settings, `config.*`
//! - [`daemon`]: the process itself, `daemon.*`
//! - [`desktop`]: the machine and its applications, `desktop.*`
//! - [`log`]: the daemon's log as events, `log.line`
//! - [`tool`]: built-in tools and tools of external services, `tool.*`
//! - [`model`]: models of all configured providers, `model.*`
//! - [`onboard`]: the choice of a first model, `onboard.*`
//! - [`service`]: managed local services, `service.*`
//! - [`speech`]: text spoken by one of those, `speech.say`
//! - [`terminal`]: shells in tmux that a person and hob share, `terminal.*`
//! - [`permission`]: rules, and questions about tool calls, `permission.*`
//! - [`audit`]: the record of every decision, `audit.*`
//! - [`loops`]: prompts that are repeated, `loop.*`
//!
//! Shared by several rooms:
//!
//! - [`RoomContext`] holds what most rooms need
//! - [`model_library`] gives access to models, [`service_resolver`] to the managed services behind
//!   some of them
//! - [`reserved_sessions`] protects the sessions of loops, jobs and sub-agents
//! - [`scheduled_command`] runs commands that a person set, [`grants`] stores what they may do,
//!   [`notice`] posts their outcome to a session
//! - [`transcripts`]: the sessions as blocks; rooms tell it what happens
//! - `run_outcome` waits for the end of runs of loops and jobs, `retrying_call` retries calls of
//!   rooms that are not served yet
//!
//! Invariants: a room never calls another room's code, it calls its methods on the bus; what must
//! be true together is one call of the store.

pub mod agent;
pub mod audit;
pub mod config;
pub mod cost;
pub mod cron;
pub mod daemon;
mod demo_model;
pub mod desktop;
pub mod doctor;
pub mod grants;
pub mod log;
pub mod loops;
pub mod model;
pub mod model_library;
pub mod notice;
pub mod onboard;
pub mod permission;
pub mod reserved_sessions;
mod retrying_call;
mod room_context;
mod run_outcome;
pub mod scheduled_command;
pub mod service;
pub mod service_resolver;
pub mod session;
pub mod speech;
pub mod terminal;
pub mod tool;
pub mod transcripts;

pub use room_context::RoomContext;
