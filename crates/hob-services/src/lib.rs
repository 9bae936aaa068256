//! The local services hob can install, start and use: one folder per service that ships.
//!
//! - [`Descriptor`]: all that the supervisor needs to know of a service
//! - [`Entry`]: a service that ships: its descriptor, and how it is found on a machine
//! - [`Found`], [`Place`]: what there is to start, and where it is looked for
//! - [`Shelf`], [`entries`]: which services there are; [`file`]: how a home describes its own
//! - [`Filling`]: what a command is filled in with at each start
//! - [`trust`]: whose servers on this machine are used
//! - [`install`]: bringing a service onto this machine, whole or not at all
//! - [`llm`]: a language model on this machine; [`opencode`]: an agent with models of its own;
//!   [`tts`]: speech; [`others`]: what a person may have beside them
//!
//! Invariants: a descriptor says everything that is run, and nothing is run that it does not say;
//! finding a service changes nothing.

mod descriptor;
pub mod file;
mod fill;
mod found;
pub mod install;
mod llama;
pub mod llm;
pub mod opencode;
pub mod others;
mod shelf;
pub mod trust;
pub mod tts;

pub use descriptor::{
    Descriptor, Guard, Health, Intensity, Kind, Liveness, Port, READY, Restart, STOP, ServiceLimits,
};
pub use fill::Filling;
pub use found::{Entry, Finding, Found, Place, Planning};
pub use shelf::{BrokenFile, Shelf, Shelved, entries};
