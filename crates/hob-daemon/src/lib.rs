//! The services of the house, one folder each: a folder's `room(…)` is its whole face.
//!
//! - [`agent`] has runs: `agent.*`
//! - [`cost`] has the sums of the ledger: `cost.summary`
//! - [`cron`] has jobs that run by the calendar or when they are called: `cron.*`
//! - [`session`] has conversations: `session.*`
//! - [`config`] has settings: `config.*`
//! - [`daemon`] has the process itself: `daemon.status`
//! - [`desktop`] has the machine and its applications: `desktop.*`
//! - [`log`] has the daemon's log as events: `log.line`
//! - [`tool`] has the tools of the house and of services outside: `tool.*`
//! - [`model`] has the models of all configured providers: `model.*`
//! - [`library`] leads rooms to models, [`door`] to the services behind some of them
//! - [`service`] has the local services, kept alive: `service.*`
//! - [`speech`] has words spoken by one of those: `speech.say`
//! - [`terminal`] has shells in tmux that a person and hob share: `terminal.*`
//! - [`permission`] has the rules and the questions a model's call raises: `permission.*`
//! - [`audit`] has the record of every decision: `audit.*`
//! - [`loops`] has prompts that are asked again and again: `loop.*`
//! - [`reserved`] keeps the sessions of loops and jobs for the house
//! - [`errand`] runs commands that a person set, [`grants`] keeps what a person granted with them,
//!   [`notice`] tells a session what came of it; `answer` waits for the end of their runs,
//!   `asking` for rooms that are not there yet
//!
//! Invariants: a room never calls another room's code, it calls its methods on the bus; what must
//! be true together is one call of the store.

pub mod agent;
mod answer;
mod asking;
pub mod audit;
pub mod config;
pub mod cost;
pub mod cron;
pub mod daemon;
pub mod desktop;
pub mod door;
pub mod errand;
pub mod grants;
pub mod library;
pub mod log;
pub mod loops;
pub mod model;
pub mod notice;
pub mod permission;
pub mod reserved;
pub mod service;
pub mod session;
pub mod speech;
pub mod terminal;
pub mod tool;
