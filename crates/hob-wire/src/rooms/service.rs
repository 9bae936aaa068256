//! `service.*`: the local services hob installs, starts, watches and stops.
//!
//! A service is named by its descriptor: one that hob ships, or a file `services/NAME.toml` of the
//! home. Names of other systems for the same thing (`kokomo`, `mlx`) are taken as aliases.

use crate::event::events;
use crate::method::{Cli, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "services";
    /// Lists the services there are, with what each is doing.
    List = "service.list" {
        params: ListParams, result: Services, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Shows what one service is doing.
    Status = "service.status" {
        params: NameParams, result: ServiceStatus, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Starts a service and those it needs. One that runs stays as it is.
    Start = "service.start" {
        params: StartParams, result: ServiceStatus, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Stops a service and, before it, those that need it. Answers when nothing of them lives.
    Stop = "service.stop" {
        params: NameParams, result: ServiceStatus, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Stops a service and starts it again.
    Restart = "service.restart" {
        params: StartParams, result: ServiceStatus, scope: Control, effect: Opaque,
        cli: Cli::Hidden,
    }
    /// Shows the last lines a service printed.
    Logs = "service.logs" {
        params: LogsParams, result: ServiceLogs, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Installs a service, or shows what that would do.
    /// It needs a person's yes, answers once the work has begun, and `service.install.progress`
    /// tells the rest.
    Install = "service.install" {
        params: InstallParams, result: Installing, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Stops a service and removes what installing it brought.
    Uninstall = "service.uninstall" {
        params: NameParams, result: Uninstalled, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Starts a service if it does not run, and says where it answers once it is ready.
    /// For rooms of the house: the answer may hold the service's password.
    Reach = "service.reach" {
        params: NameParams, result: Reached, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
}

events! { "services";
    /// What a service is doing has changed.
    ServiceStatusChanged = "service.status" {
        payload: ServiceStatus, scope: Read, durability: Logged,
    }
    /// A line a service printed.
    ServiceLog = "service.log" {
        payload: ServiceLogPayload, scope: Read, durability: Volatile,
    }
    /// How far an installation is.
    ServiceInstallProgress = "service.install.progress" {
        payload: InstallProgress, scope: Read, durability: Volatile,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NameParams {
    /// The service's name or alias.
    pub name: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartParams {
    /// The service's name or alias.
    pub name: String,
    /// Answer once it is ready or has failed, instead of once it is starting.
    #[serde(default)]
    pub wait: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Services {
    pub services: Vec<Service>,
    /// Files of the home that could not be read as descriptors, each with the reason.
    #[serde(default)]
    pub problems: Vec<String>,
    /// Those of these files that have a service's name: such a service cannot be started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<BrokenService>,
}

/// A file `services/NAME.toml` that does not describe a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrokenService {
    pub name: String,
    pub file: String,
    /// What is wrong, with the file and the line.
    pub problem: String,
}

/// A service and what it is doing.
#[expect(
    clippy::struct_excessive_bools,
    reason = "four facts that are independent of each other"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    #[serde(flatten)]
    pub status: ServiceStatus,
    /// What it is, in one line.
    pub about: String,
    /// What it does for hob, if anything.
    #[serde(default)]
    pub role: Option<ServiceRole>,
    /// Whether it can be started: installed, or found on this machine.
    pub installed: bool,
    /// Why it cannot be started here, and what to do.
    #[serde(default)]
    pub missing: Option<String>,
    /// Whether hob ships how to install it.
    pub installable: bool,
    pub autostart: bool,
    /// Runs, but was not started by hob: it is used and never stopped.
    pub adopted: bool,
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Services that must be ready before it starts.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The file it is described in; missing for those hob ships.
    #[serde(default)]
    pub file: Option<String>,
    #[serde(default)]
    pub licence: Option<String>,
    /// An installation under way, or how the last one failed.
    #[serde(default)]
    pub installation: Option<InstallProgress>,
}

/// What a service does for hob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServiceRole {
    /// Answers chat completions.
    Llm,
    /// Speaks.
    Tts,
    /// Answers chat completions about pictures.
    Vlm,
    /// An agent of its own, with models of its own.
    Agent,
}

/// What a service is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceStatus {
    pub name: String,
    pub state: ServiceState,
    /// Its first process, while there is one of ours.
    pub pid: Option<u32>,
    pub port: Option<u16>,
    /// Why it is so, in a sentence.
    pub detail: Option<String>,
    /// How its process last ended.
    pub last_exit: Option<LastExit>,
    /// Restarts since it was started by a person or on demand.
    pub restarts: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServiceState {
    Stopped,
    Starting,
    Running,
    Stopping,
    /// It ended and is started again after a while.
    Backoff,
    /// It ended too often, or could not be started; only a person starts it again.
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

/// How a process ended: an exit code, or the name of the signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LastExit {
    Code(i32),
    Signal(String),
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogsParams {
    /// The service's name or alias.
    pub name: String,
    /// The most lines, the newest of them; 100 when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
    /// Only lines after the one of this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceLogs {
    pub lines: Vec<ServiceLine>,
    /// The file with more of them.
    #[serde(default)]
    pub file: Option<String>,
}

/// A line a service printed. Numbers rise by one; a hole is lines that came too fast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceLine {
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
    pub line: ServiceLine,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstallParams {
    /// The service's name or alias.
    pub name: String,
    /// A person has seen the plan and wants it; without it only the plan is answered.
    #[serde(default)]
    pub yes: bool,
}

/// The plan, and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Installing {
    pub name: String,
    pub plan: InstallPlan,
    /// Missing when only the plan was asked for.
    #[serde(default)]
    pub progress: Option<InstallProgress>,
}

/// What installing would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallPlan {
    /// Nothing is to be done: it can be started.
    pub ready: bool,
    pub steps: Vec<InstallStep>,
    /// What is still to be fetched.
    pub download_bytes: u64,
    /// What it takes on disk in the end.
    pub disk_bytes: u64,
    /// Where it goes.
    pub folder: String,
    #[serde(default)]
    pub licences: Vec<String>,
    /// Why it cannot be installed here, and what to do instead.
    #[serde(default)]
    pub obstacle: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallStep {
    /// What it does, in one line.
    pub about: String,
    /// The command that does it, for steps that are one.
    #[serde(default)]
    pub command: Option<String>,
    #[serde(default)]
    pub bytes: Option<u64>,
    #[serde(default)]
    pub sha256: Option<String>,
    /// Done by an earlier attempt.
    #[serde(default)]
    pub done: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallProgress {
    pub name: String,
    pub state: InstallState,
    /// The step under way, from 1; its number in the plan.
    pub step: u32,
    pub steps: u32,
    pub about: String,
    pub bytes_done: u64,
    pub bytes_total: u64,
    /// Why it failed and what to do; nothing is left half done.
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
pub struct Uninstalled {
    pub name: String,
    pub freed_bytes: u64,
}

/// Where a service answers.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reached {
    pub name: String,
    /// `http://127.0.0.1:PORT`, without a path.
    pub url: String,
    /// What it must be shown to answer.
    #[serde(default)]
    pub password: Option<String>,
    /// What answers there, for people, where hob found it running: `Ollama 0.12.0 at
    /// 127.0.0.1:11434`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

impl std::fmt::Debug for Reached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reached")
            .field("name", &self.name)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}
