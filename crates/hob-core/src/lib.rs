//! The mind of hob: machines that decide and never act.
//!
//! - [`analysis`]: what a command's output says, and what in it deserves attention
//! - [`command_line`]: a shell's command line, taken apart into the programs it starts
//! - [`context`]: which turns of a history fit a model's window
//! - [`excerpt`]: a text that is too long, by its ends
//! - [`failover`]: what follows a failed model call
//! - [`fallback`]: tool calls in plain text
//! - [`family`]: what a run that another run starts may do
//! - [`follow`]: what a face shows of a run's stream, whatever was lost on the way
//! - [`hook`]: whether a call of another system is genuine, and what it makes of a task
//! - [`limiter`]: how many failed authentications a listener answers before it answers tersely
//! - [`packs`]: the agents AgentLoop's clients know, and which one a message asks for
//! - [`permission`]: whether a tool call may run, what a person is asked, what their yes is bound to
//! - [`picture`]: what kind of picture some bytes are
//! - [`reconnect`]: when a client that lost its daemon tries again, and when it starts one
//! - [`retention`]: how much of the event log is kept
//! - [`rounds`]: what a loop does next, and what it asks in each iteration
//! - [`schedule`]: when jobs are due, and what becomes of each time
//! - [`service`]: when a local service is started, watched, started again or given up
//! - [`speech`]: a text in pieces to be spoken, and their sound in one file
//! - [`terminal`]: what a terminal's bytes say: marks, the screen, what a command printed
//! - [`turn`]: what an agent run does next
//! - [`unattended`]: what calls make of the outcome of work that nobody watches
//! - [`visible_text`]: names and commands that another party chose, with nothing hidden in them
//!
//! Invariants: no I/O, no async, no clock, no randomness; time comes in as milliseconds and state holds no floats, instants or hash maps, so it can be stored, hashed and replayed.

pub mod analysis;
pub mod command_line;
pub mod context;
pub mod excerpt;
pub mod failover;
pub mod fallback;
pub mod family;
pub mod follow;
pub mod hook;
pub mod limiter;
pub mod packs;
pub mod permission;
pub mod picture;
pub mod reconnect;
pub mod retention;
pub mod rounds;
pub mod schedule;
pub mod service;
pub mod speech;
pub mod terminal;
pub mod turn;
pub mod unattended;
pub mod visible_text;
