//! The local services hob can install, start and use: one folder per service that ships.
//!
//! - [`Descriptor`]: all that the supervisor needs to know of a service
//! - [`Entry`]: a service that ships: its descriptor, and how it is found on a machine
//! - [`Found`], [`Place`]: what there is to start, and where it is looked for
//! - [`install`]: bringing a service onto this machine, whole or not at all
//!
//! Invariants: a descriptor says everything that is run, and nothing is run that it does not say;
//! finding a service changes nothing.

mod descriptor;
mod found;
pub mod install;

pub use descriptor::{Descriptor, Guard, Health, Kind, Liveness, Port, Restart, ServiceLimits};
pub use found::{Entry, Finding, Found, Place, Planning};
