//! The terminal UI of a run, shared by `hob ask` and `hob chat`.
//!
//! - [`run_request`]: the request from command line, stdin and files; [`plain_language`]: requests
//!   whose only tool is the shared terminal
//! - [`follow_run`]: starts or joins a run and follows it to its end; `run_watcher`: its event loop;
//!   `run_display`: prints; `pending_calls`: the calls it waits for
//! - [`followed_event`]: parses events; [`transcript`] and [`stream_wrapper`]: the model's text on
//!   the screen; `output_tail`: the output of tools; [`lines`]: lines about the run
//! - [`question`]: questions to the person; `permission`: the permission prompt; [`terminal_user`]:
//!   reads the person's keys
//! - [`line_editor`]: line input of a chat; [`slash_command`]: its commands
//! - [`onboarding`]: the choice of a first model, and the first steps without one; [`model_choice`]:
//!   its dialogue; [`model_choice_lines`]: its lines; `shown_notices`: notices that are shown once
//! - [`outcome`]: the outcome of a run and its exit status
//!
//! Invariant: the model's text goes to stdout, everything else to stderr.

pub mod follow_run;
pub mod followed_event;
pub mod line_editor;
pub mod lines;
pub mod model_choice;
pub mod model_choice_lines;
pub mod onboarding;
pub mod outcome;
mod output_tail;
mod pending_calls;
mod permission;
pub mod plain_language;
pub mod question;
mod run_display;
pub mod run_request;
mod run_watcher;
mod shown_notices;
pub mod slash_command;
pub mod stream_wrapper;
pub mod terminal_user;
pub mod transcript;
