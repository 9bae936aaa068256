//! `service.*`: managed services: local programs that hob installs, starts, monitors and stops.
//!
//! A service has a descriptor: one that hob ships, or a file `services/NAME.toml` in the home.
//! Names that other systems use for the same service (`kokomo`, `mlx`) are aliases.

use crate::event::events;
use crate::method::{CliExposure, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "services";
    /// Lists the services and their states.
    List = "service.list" {
        params: ServiceListParams, result: ServiceListResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Shows the state of a service.
    Status = "service.status" {
        params: ServiceSelector, result: ServiceStatus, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Starts a service and its dependencies. A running service stays as it is.
    Start = "service.start" {
        params: ServiceStartParams, result: ServiceStatus, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Stops a service after its dependents. Answers when all their processes have ended.
    Stop = "service.stop" {
        params: ServiceSelector, result: ServiceStatus, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Stops a service and starts it again.
    Restart = "service.restart" {
        params: ServiceStartParams, result: ServiceStatus, scope: Control, effect: Opaque,
        cli: CliExposure::Hidden,
    }
    /// Shows the last output lines of a service.
    Logs = "service.logs" {
        params: ServiceLogsParams, result: ServiceLogs, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Shows the processor time and memory of a service over the last hour.
    ///
    /// A service that was not started by hob has no samples.
    Metrics = "service.metrics" {
        params: ServiceSelector, result: ServiceMetrics, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Installs a service, or shows the installation plan.
    /// Installing needs a person's consent (`yes`). It answers once the work has begun;
    /// `service.install.progress` reports the progress.
    Install = "service.install" {
        params: ServiceInstallParams, result: ServiceInstallResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Stops a service and removes its installation.
    Uninstall = "service.uninstall" {
        params: ServiceSelector, result: ServiceUninstallResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Starts a service if needed, and returns its address once it is ready.
    /// For built-in services only: the answer may contain the service's password.
    Reach = "service.reach" {
        params: ServiceSelector, result: ServiceReachResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
}

events! { "services";
    /// The state of a service has changed.
    ServiceStatusChanged = "service.status" {
        payload: ServiceStatus, scope: Read, durability: Logged,
    }
    /// An output line of a service.
    ServiceLog = "service.log" {
        payload: ServiceLogPayload, scope: Read, durability: Volatile,
    }
    /// The progress of an installation.
    ServiceInstallProgress = "service.install.progress" {
        payload: InstallProgress, scope: Read, durability: Volatile,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceListParams {}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceSelector {
    /// The service's name or alias.
    pub name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceStartParams {
    /// The service's name or alias.
    pub name: String,
    /// Answers once it is ready or has failed, instead of once it is starting.
    #[serde(default)]
    pub wait: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceListResult {
    pub services: Vec<ManagedService>,
    /// Descriptor files in the home that could not be read, each with the reason.
    #[serde(default)]
    pub problems: Vec<String>,
    /// The unreadable files that are named after a service. That service cannot be started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<BrokenService>,
}

/// A file `services/NAME.toml` that is not a valid descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrokenService {
    pub name: String,
    pub file: String,
    /// The problem, with the file and the line.
    pub problem: String,
}

/// A managed service and its state.
#[expect(
    clippy::struct_excessive_bools,
    reason = "four facts that are independent of each other"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedService {
    #[serde(flatten)]
    pub status: ServiceStatus,
    /// A one-line description.
    pub about: String,
    /// Its role for hob, if it has one.
    #[serde(default)]
    pub role: Option<ServiceRole>,
    /// True if it can be started: it is installed, or was found on this machine.
    pub installed: bool,
    /// The reason why it cannot be started here, and what to do.
    #[serde(default)]
    pub missing: Option<String>,
    /// True if hob can install it.
    pub installable: bool,
    pub autostart: bool,
    /// True if it runs but was not started by hob. hob uses it and never stops it.
    pub adopted: bool,
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Services that must be ready before it starts.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Its descriptor file; missing for services that hob ships.
    #[serde(default)]
    pub file: Option<String>,
    #[serde(default)]
    pub licence: Option<String>,
    /// The current installation, or the last failed one.
    #[serde(default)]
    pub installation: Option<InstallProgress>,
}

/// The role of a service for hob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServiceRole {
    /// Answers chat completions.
    Llm,
    /// Text to speech.
    Tts,
    /// Answers chat completions about images.
    Vlm,
    /// A complete agent with its own models.
    Agent,
}

/// The state of a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceStatus {
    pub name: String,
    pub state: ServiceState,
    /// The main process, if hob started it.
    pub pid: Option<u32>,
    pub port: Option<u16>,
    /// The reason for the state, as a sentence.
    pub detail: Option<String>,
    /// The last exit of its process.
    pub last_exit: Option<LastExit>,
    /// Automatic restarts since a person started it or it started on demand.
    pub restarts: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServiceState {
    Stopped,
    Starting,
    Running,
    Stopping,
    /// It ended and is restarted after a delay.
    Backoff,
    /// It ended too often or could not be started. Only a person can start it again.
    Failed,
}

impl ServiceState {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            ServiceState::Stopped => "stopped",
            ServiceState::Starting => "starting",
            ServiceState::Running => "running",
            ServiceState::Stopping => "stopping",
            ServiceState::Backoff => "backoff",
            ServiceState::Failed => "failed",
        }
    }
}

/// The end of a process: an exit code, or the name of a signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LastExit {
    Code(i32),
    Signal(String),
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceLogsParams {
    /// The service's name or alias.
    pub name: String,
    /// The number of newest lines to return; 100 when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
    /// Only lines after this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceLogs {
    pub lines: Vec<ServiceLogLine>,
    /// The log file.
    #[serde(default)]
    pub file: Option<String>,
}

/// An output line of a service. Numbers increase by one; a gap means lines that came too fast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceLogLine {
    pub number: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    pub stream: crate::rooms::tool::OutputStream,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceLogPayload {
    pub name: String,
    #[serde(flatten)]
    pub line: ServiceLogLine,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceInstallParams {
    /// The service's name or alias.
    pub name: String,
    /// True if a person has seen the plan and agrees. Otherwise only the plan is returned.
    #[serde(default)]
    pub yes: bool,
}

/// The plan of an installation and its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceInstallResult {
    pub name: String,
    pub plan: InstallPlan,
    /// Missing if only the plan was requested.
    #[serde(default)]
    pub progress: Option<InstallProgress>,
}

/// The plan of an installation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallPlan {
    /// True if nothing has to be done: the service can be started.
    pub ready: bool,
    pub steps: Vec<InstallStep>,
    /// The remaining download size.
    pub download_bytes: u64,
    /// The disk space after installation.
    pub disk_bytes: u64,
    /// The installation folder.
    pub folder: String,
    #[serde(default)]
    pub licences: Vec<String>,
    /// The reason why it cannot be installed here, and what to do instead.
    #[serde(default)]
    pub obstacle: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallStep {
    /// A one-line description.
    pub about: String,
    /// The command, if the step is one.
    #[serde(default)]
    pub command: Option<String>,
    #[serde(default)]
    pub bytes: Option<u64>,
    #[serde(default)]
    pub sha256: Option<String>,
    /// True if an earlier attempt completed it.
    #[serde(default)]
    pub done: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallProgress {
    pub name: String,
    pub state: InstallState,
    /// The number of the current step in the plan, from 1.
    pub step: u32,
    pub steps: u32,
    pub about: String,
    pub bytes_done: u64,
    pub bytes_total: u64,
    /// The reason for a failure and what to do. A failed installation leaves nothing half done.
    #[serde(default)]
    pub message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InstallState {
    Running,
    Done,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceUninstallResult {
    pub name: String,
    pub freed_bytes: u64,
}

/// Samples of a service, oldest first. They are kept in memory, for an hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMetrics {
    pub name: String,
    /// The time between two samples. A request may add one in between.
    pub interval_ms: u64,
    pub samples: Vec<ServiceSample>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceSample {
    pub at: u64,
    /// Thousandths of one processor core, since the previous sample; missing in the first one of a
    /// process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_millis: Option<u64>,
    /// Resident memory of all its processes.
    pub memory_bytes: u64,
    pub processes: u32,
}

/// The address of a running service.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceReachResult {
    pub name: String,
    /// `http://127.0.0.1:PORT`, without a path.
    pub url: String,
    /// The password it requires.
    #[serde(default)]
    pub password: Option<String>,
    /// A description for people, if hob found the server running: `Ollama 0.12.0 at
    /// 127.0.0.1:11434`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

impl std::fmt::Debug for ServiceReachResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceReachResult")
            .field("name", &self.name)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}
