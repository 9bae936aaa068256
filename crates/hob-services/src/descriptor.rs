//! What the supervisor knows of a service. Shipped ones are written in code, others in a file
//! `services/NAME.toml` of the home.

use hob_wire::rooms::service::ServiceRole;
use std::collections::BTreeMap;
use std::time::Duration;

/// A service.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    pub name: String,
    /// What it is, in one line.
    pub about: String,
    pub kind: Kind,
    pub role: Option<ServiceRole>,
    pub aliases: Vec<String>,
    /// The program and its arguments, with `{port}`, `{home}` and `{dir}` to be filled in.
    pub command: Vec<String>,
    /// Beside the few variables every child inherits; filled in like the command.
    pub env: BTreeMap<String, String>,
    pub port: Port,
    pub health: Option<Health>,
    /// How long it may take until it is ready.
    pub ready: Duration,
    pub liveness: Liveness,
    pub restart: Restart,
    /// Between SIGTERM and SIGKILL.
    pub stop: Duration,
    /// Services that must be ready before it starts.
    pub needs: Vec<String>,
    pub autostart: bool,
    /// It is stopped after so long without being asked for.
    pub idle: Option<Duration>,
    pub limits: ServiceLimits,
    pub guard: Guard,
    pub licence: Option<String>,
}

/// How it is known that a service is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It answers a health request.
    Http,
    /// It runs.
    Process,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    None,
    /// A free one, chosen at each start.
    Free,
    Fixed(u16),
}

/// What is asked to find out whether it is well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// A path at its own port.
    Path(String),
    /// A whole address, with `{port}` to be filled in.
    Url(String),
}

/// How a running service is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Liveness {
    pub every: Duration,
    pub timeout: Duration,
    /// So many failures in a row mean that it hangs.
    pub failures: u32,
}

/// When a service that ended is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    Always,
    OnFailure,
    Never,
}

/// Bounds of a service beyond those of every child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceLimits {
    pub processes: Option<u64>,
    pub open_files: Option<u64>,
    /// Address space of one process.
    pub memory_bytes: Option<u64>,
}

/// Where a service runs at all; empty lists mean anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// As `std::env::consts::OS` says it.
    pub os: Vec<String>,
    /// As `std::env::consts::ARCH` says it.
    pub arch: Vec<String>,
}
