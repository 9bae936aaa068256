//! Supervision of local services. Pure.
//!
//! - [`ServiceMachine`]: starts, probes, kills, restarts and gives up one service
//! - [`dependency_order`]: the order in which dependent services start and stop
//!
//! Invariants: a service never restarts sooner than its backoff says, nor more often than its
//! restart limit allows; after a stop request nothing starts until somebody wants it again; a
//! service that hob did not start is never killed.

pub mod dependency_order;
mod machine;
mod types;

pub use machine::ServiceMachine;
pub use types::{RestartPolicy, ServiceEffect, ServiceEvent, ServiceMachineState, ServicePolicy};
