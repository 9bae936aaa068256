//! Talking with a model from a terminal or a script: what `hob ask` and `hob chat` share.
//!
//! - [`order`]: what is asked, from the command line, stdin and files; [`plain`]: plain words, whose
//!   one tool is the shared terminal
//! - [`talk`]: a run from its order to its end; within, `following` hears and answers, `shown`
//!   prints, `duty` waits for what was asked
//! - [`heard`]: what an event says; [`page`] and [`flow`]: its words on the screen; `tail`: what
//!   its tools print; [`lines`]: everything about them
//! - [`question`]: what a run asks a person, `permission` the most frequent of it; [`person`]:
//!   the person at the terminal
//! - [`editor`]: lines that a person types; [`slash`]: those that are commands
//! - [`advice`]: what to do first when there is no model; [`offer`]: the offer of a local one
//! - [`ending`]: how it ended, and the exit code of that
//!
//! Invariant: words of the model go to stdout, everything about them to stderr.

pub mod advice;
mod duty;
pub mod editor;
pub mod ending;
pub mod flow;
mod following;
pub mod heard;
pub mod lines;
pub mod offer;
pub mod order;
pub mod page;
mod permission;
pub mod person;
pub mod plain;
pub mod question;
mod shown;
pub mod slash;
mod tail;
pub mod talk;
