//! The description of a service for the supervisor. Shipped services are described in code, others
//! in a file `services/NAME.toml` of the home.

use hob_wire::rooms::service::ServiceRole;
use std::collections::BTreeMap;
use std::time::Duration;

/// The description of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceDescriptor {
    pub name: String,
    /// A description in one line.
    pub about: String,
    pub kind: ServiceKind,
    pub role: Option<ServiceRole>,
    pub aliases: Vec<String>,
    /// The program and its arguments. `{port}`, `{home}` and `{dir}` are filled in at the start.
    pub command: Vec<String>,
    /// Variables beside those that every child inherits; filled in like the command.
    pub env: BTreeMap<String, String>,
    pub port: PortChoice,
    pub health: Option<HealthProbe>,
    /// The time limit until it is ready.
    pub ready: Duration,
    pub liveness: LivenessCheck,
    pub restart: ServiceRestart,
    pub intensity: RestartIntensity,
    /// The time between SIGTERM and SIGKILL.
    pub stop: Duration,
    /// Services that must be ready before it starts.
    pub needs: Vec<String>,
    pub autostart: bool,
    /// Opt-in listeners of hob that its processes may connect to without a token.
    pub listen: Vec<String>,
    /// The time without requests after which it is stopped.
    pub idle: Option<Duration>,
    /// The user name of its password. Each start generates a new password, which fills in
    /// `{password}`; health requests use both (HTTP Basic).
    pub login: Option<String>,
    pub limits: ServiceLimits,
    pub guard: PlatformGuard,
    pub licence: Option<String>,
}

impl ServiceDescriptor {
    /// A descriptor with only a name: a process without port or health check.
    pub fn defaults(name: &str) -> ServiceDescriptor {
        ServiceDescriptor {
            name: name.to_owned(),
            about: String::new(),
            kind: ServiceKind::Process,
            role: None,
            aliases: Vec::new(),
            command: Vec::new(),
            env: BTreeMap::new(),
            port: PortChoice::None,
            health: None,
            ready: READY_TIMEOUT_DEFAULT,
            liveness: LivenessCheck::default(),
            restart: ServiceRestart::OnFailure,
            intensity: RestartIntensity::default(),
            stop: STOP_TIMEOUT_DEFAULT,
            needs: Vec::new(),
            autostart: false,
            listen: Vec::new(),
            idle: None,
            login: None,
            limits: ServiceLimits::default(),
            guard: PlatformGuard::default(),
            licence: None,
        }
    }
}

/// The default time limit until a service is ready.
pub const READY_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
/// The default time between SIGTERM and SIGKILL.
pub const STOP_TIMEOUT_DEFAULT: Duration = Duration::from_secs(2);

/// The sign that a service is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceKind {
    /// An answer to a health request.
    Http,
    /// A running process.
    Process,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortChoice {
    None,
    /// A free port, chosen at each start.
    Free,
    Fixed(u16),
}

/// The address of health requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealthProbe {
    /// A path at the service's own port.
    Path(String),
    /// A full address, in which `{port}` is filled in.
    Url(String),
}

/// The health checks of a running service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivenessCheck {
    pub every: Duration,
    pub timeout: Duration,
    /// The number of failures in a row after which it counts as hanging.
    pub failures: u32,
}

impl Default for LivenessCheck {
    fn default() -> Self {
        LivenessCheck {
            every: Duration::from_secs(5),
            timeout: Duration::from_secs(2),
            failures: 3,
        }
    }
}

/// The number of restarts after which a service counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartIntensity {
    pub restarts: u32,
    pub within: Duration,
}

impl Default for RestartIntensity {
    fn default() -> Self {
        RestartIntensity {
            // A service that exits at once then fails after half a minute instead of five minutes.
            restarts: 5,
            within: Duration::from_mins(1),
        }
    }
}

/// The condition for restarting a service that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceRestart {
    Always,
    OnFailure,
    Never,
}

/// The limits of a service beyond those of every child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceLimits {
    pub processes: Option<u64>,
    pub open_files: Option<u64>,
    /// Address space of one process.
    pub memory_bytes: Option<u64>,
}

/// The platforms that a service supports; an empty list means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlatformGuard {
    /// Names as in `std::env::consts::OS`.
    pub os: Vec<String>,
    /// Names as in `std::env::consts::ARCH`.
    pub arch: Vec<String>,
}

impl PlatformGuard {
    /// The reason why it does not run on this platform, if any.
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
