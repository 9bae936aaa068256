//! Pure state machines: they decide and never act.
//!
//! - [`amounts`]: sizes and counts as text
//! - [`child_runs`]: the identity, tools and limits of a run that another run starts
//! - [`command_line`]: parses a shell command line into the programs it starts
//! - [`context_window`]: cuts a history to the turns that fit a model's context window
//! - [`excerpt`]: shortens a long text to its beginning and end
//! - [`failover`]: retry, next model or give up after a failed model call
//! - [`image_type`]: the MIME type of image bytes
//! - [`limiter`]: rate limit of failed authentications
//! - [`loop_machine`]: the state machine of a loop, its prompt and its settings
//! - [`onboarding`]: the choice of a first model
//! - [`permission`]: rules, questions, tickets and the audit chain of tool calls
//! - [`reconnect`]: backoff of a client that lost its daemon
//! - [`retention`]: the part of the event log that may be pruned
//! - [`schedule`]: due times of jobs, and the decision about each of them
//! - [`service`]: supervision of a local service, and the start order of services
//! - [`session_title`]: the title of a session, from its first message
//! - [`speech`]: splits a text for speech synthesis and joins WAV files
//! - [`terminal`]: shell marks, the screen, command output and the command scheduler of a terminal
//! - [`text_calls`]: tool calls written as plain text
//! - [`tool_traits`]: what is special about a built-in tool
//! - [`transcript`]: the blocks of a session, on both sides of the wire
//! - [`turn`]: the state machine of an agent run
//! - [`unattended`]: the outcome of work that nobody watches
//! - [`visible_text`]: escapes hidden and look-alike characters in untrusted text
//! - [`webhook`]: authentication of webhook calls and the task they start
//!
//! Invariants: no I/O, no async, no clock, no randomness. Time comes in as milliseconds. State
//! holds no floats, instants or hash maps, so it can be stored, hashed and replayed.

pub mod amounts;
pub mod child_runs;
pub mod command_line;
pub mod context_window;
pub mod excerpt;
pub mod failover;
pub mod image_type;
pub mod limiter;
pub mod loop_machine;
pub mod onboarding;
pub mod permission;
pub mod reconnect;
pub mod retention;
pub mod schedule;
pub mod service;
pub mod session_title;
pub mod speech;
pub mod terminal;
pub mod text_calls;
pub mod tool_traits;
pub mod transcript;
pub mod turn;
pub mod unattended;
pub mod visible_text;
pub mod webhook;
