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
    pub intensity: Intensity,
    /// Between SIGTERM and SIGKILL.
    pub stop: Duration,
    /// Services that must be ready before it starts.
    pub needs: Vec<String>,
    pub autostart: bool,
    /// Opt-in listeners of hob that its processes may connect to without a token.
    pub listen: Vec<String>,
    /// It is stopped after so long without being asked for.
    pub idle: Option<Duration>,
    /// The user name its password goes with. A password is made at each start and filled in as
    /// `{password}`; health is asked with both (HTTP Basic).
    pub login: Option<String>,
    pub limits: ServiceLimits,
    pub guard: Guard,
    pub licence: Option<String>,
}

impl Descriptor {
    /// A service of which nothing is known yet but its name: a process without port or health.
    pub fn defaults(name: &str) -> Descriptor {
        Descriptor {
            name: name.to_owned(),
            about: String::new(),
            kind: Kind::Process,
            role: None,
            aliases: Vec::new(),
            command: Vec::new(),
            env: BTreeMap::new(),
            port: Port::None,
            health: None,
            ready: READY,
            liveness: Liveness::default(),
            restart: Restart::OnFailure,
            intensity: Intensity::default(),
            stop: STOP,
            needs: Vec::new(),
            autostart: false,
            listen: Vec::new(),
            idle: None,
            login: None,
            limits: ServiceLimits::default(),
            guard: Guard::default(),
            licence: None,
        }
    }
}

/// How long a service may take until it is ready, unless it says otherwise.
pub const READY: Duration = Duration::from_secs(30);
/// Between SIGTERM and SIGKILL, unless it says otherwise.
pub const STOP: Duration = Duration::from_secs(2);

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

impl Default for Liveness {
    fn default() -> Self {
        Liveness {
            every: Duration::from_secs(5),
            timeout: Duration::from_secs(2),
            failures: 3,
        }
    }
}

/// How often a service may be started again before it counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intensity {
    pub restarts: u32,
    pub within: Duration,
}

impl Default for Intensity {
    fn default() -> Self {
        Intensity {
            // One that ends at once has failed after half a minute, not after five.
            restarts: 5,
            within: Duration::from_mins(1),
        }
    }
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

impl Guard {
    /// Why it does not run on a machine of this system and processor.
    pub fn refusal(&self, os: &str, arch: &str) -> Option<String> {
        let refused = |allowed: &[String], here: &str| {
            let any = allowed.is_empty() || allowed.iter().any(|name| name == here);
            (!any).then(|| allowed.join(" or "))
        };
        if let Some(wanted) = refused(&self.os, os) {
            return Some(format!("It runs on {wanted} only; this is {os}."));
        }
        let wanted = refused(&self.arch, arch)?;
        Some(format!("It runs on {wanted} only; this is {arch}."))
    }
}
