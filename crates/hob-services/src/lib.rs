//! The local services that hob can install, start and use: one folder per shipped service.
//!
//! - [`ServiceDescriptor`]: everything that the supervisor needs to know of a service
//! - [`ShippedService`]: a service that ships with hob: its descriptor, and how to find it on a
//!   machine
//! - [`FoundService`], [`DiscoveryContext`]: the result and the input of finding a service
//! - [`ServiceCatalog`], [`shipped_services`]: all services; [`service_file`]: services that a home
//!   describes
//! - [`StartValues`]: the values that fill in a command at each start
//! - [`trust`]: whose servers on this machine may be used
//! - [`install`]: installs a service, completely or not at all
//! - [`models`]: model files to fetch
//! - [`llm`]: a language model on this machine; [`opencode`]: an agent with its own models;
//!   [`tts`]: speech; [`others`]: further services that a user may have
//!
//! Invariants: a descriptor names everything that is run, and nothing else is run; finding a
//! service changes nothing.

mod catalog;
mod descriptor;
mod discovery;
pub mod install;
mod llama;
pub mod llm;
pub mod models;
pub mod opencode;
pub mod others;
pub mod service_file;
mod start_values;
pub mod trust;
pub mod tts;

pub use catalog::{BrokenFile, CatalogService, ServiceCatalog, shipped_services};
pub use descriptor::{
    HealthProbe, LivenessCheck, PlatformGuard, PortChoice, READY_TIMEOUT_DEFAULT, RestartIntensity,
    STOP_TIMEOUT_DEFAULT, ServiceDescriptor, ServiceKind, ServiceLimits, ServiceRestart,
};
pub use discovery::{DiscoveryContext, FindFuture, FoundService, RecipeFuture, ShippedService};
pub use start_values::StartValues;
