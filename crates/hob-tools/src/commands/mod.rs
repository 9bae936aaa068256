//! Shared by `exec` and `process`: the command, its sandbox, its limits and its preview.
//!
//! - [`SandboxedCommand`]: a checked command line in a folder of the workspace
//! - [`UserCommand`]: a command line that a person set, under the same policy
//! - `sandbox_policy`: the one sandbox policy of all commands
//! - `scripts`: the files a command line runs; a person sees them and the run gets no others;
//!   `script_calls` finds their names
//! - `network`: the network access of a command, and its proxy
//! - `left_behind`: notes about new files that would run by themselves
//!
//! Invariant: a command whose sandbox cannot be enforced is refused with the remedy; it never runs
//! with less.

mod left_behind;
mod network;
mod sandbox_policy;
mod script_calls;
pub(crate) mod scripts;
mod setting_keys;
mod user_command;

pub(crate) use left_behind::append_left_behind;
pub use left_behind::left_behind_note;
pub use network::{ProxyReport, SpawnedCommand};
pub(crate) use setting_keys::KEYS;
pub use user_command::UserCommand;

use crate::outcome::failed;
use crate::process::ProcessOwners;
use crate::workspace_dir;
use crate::workspace_path::{ToolRefusal, sha256_hex};
use crate::{CallPreview, ToolEnv};
use hob_core::permission::PreparedCall;
use hob_exec::home_view::HOME_NOTE;
use hob_exec::protected_paths::PersonHome;
use hob_exec::{ResourceLimits, SandboxLevel, SandboxMode, SpawnPlan, Spawner};
use hob_kit::settings::Settings;
use hob_net::WebClient;
use hob_wire::NetworkGrant;
use hob_wire::rooms::tool::ToolExecuteResult;
pub(crate) use network::{CommandNetwork, parameters as network_parameters};
use scripts::{CommandScripts, ScriptContext};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Characters of one command line; the kernel limits one argument to 128 KiB.
pub const COMMAND_CHARS_MAX: usize = 30_000;
/// The longest timeout of a command.
pub(crate) const TIMEOUT_MS_MAX: u64 = 230_000;
/// The timeout of the tool room; longer, so that the deadline of the command comes first.
pub(crate) const ROOM_TIMEOUT_MS: u64 = 240_000;

const MIB: u64 = 1024 * 1024;

/// Runs programs; cheap to clone.
#[derive(Clone, Debug)]
pub struct CommandRunner {
    pub(crate) spawner: Spawner,
    /// For the keys of `exec.*`.
    pub(crate) settings: watch::Receiver<Arc<Settings>>,
    person_home: Option<PersonHome>,
    /// The client that the egress proxy of a command uses.
    web: Option<WebClient>,
    /// The owners of the background processes.
    pub(crate) owners: ProcessOwners,
}

impl CommandRunner {
    /// `person_home` is the person's home folder, whose start-up files are protected.
    pub fn new(
        spawner: Spawner,
        settings: watch::Receiver<Arc<Settings>>,
        person_home: Option<&Path>,
    ) -> CommandRunner {
        CommandRunner {
            spawner,
            settings,
            person_home: person_home.map(PersonHome::new),
            web: None,
            owners: ProcessOwners::default(),
        }
    }

    /// Lets commands have network access through a proxy.
    #[must_use]
    pub fn with_web(mut self, web: WebClient) -> CommandRunner {
        self.web = Some(web);
        self
    }

    /// The person's home folder.
    pub(crate) fn home(&self) -> Option<&PersonHome> {
        self.person_home.as_ref()
    }

    fn person_home(&self) -> Option<&Path> {
        self.home().map(PersonHome::path)
    }

    /// The spawner of all programs.
    pub fn spawner(&self) -> &Spawner {
        &self.spawner
    }
}

/// A command line with its folder, network and scripts.
#[derive(Clone, Debug)]
pub(crate) struct SandboxedCommand {
    command: String,
    /// The real path of the workspace.
    root: PathBuf,
    /// The working directory, in the workspace.
    cwd: PathBuf,
    network: CommandNetwork,
    scripts: CommandScripts,
}

/// The arguments of a call that runs a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandArguments<'a> {
    pub(crate) command: &'a str,
    pub(crate) cwd: Option<&'a str>,
    pub(crate) network: NetworkGrant,
    /// The only hosts it asks to reach.
    pub(crate) hosts: Option<&'a [String]>,
}

impl SandboxedCommand {
    /// Checks the arguments and reads the scripts that the command line names. Blocks.
    pub(crate) fn new(
        work: &PreparedCall,
        arguments: CommandArguments<'_>,
        env: &ToolEnv,
    ) -> Result<SandboxedCommand, ToolRefusal> {
        let mut sandboxed =
            SandboxedCommand::in_workspace(work.context.workspace.as_deref(), arguments)?;
        let home = env.commands().and_then(CommandRunner::person_home);
        let place = ScriptContext {
            root: &sandboxed.root,
            folder: Some(&sandboxed.cwd),
            home,
            hidden: env.hidden(),
        };
        sandboxed.scripts = CommandScripts::find(arguments.command, &place);
        Ok(sandboxed)
    }

    /// Checks the arguments against a workspace. Blocks.
    fn in_workspace(
        workspace: Option<&str>,
        arguments: CommandArguments<'_>,
    ) -> Result<SandboxedCommand, ToolRefusal> {
        check_command(arguments.command)?;
        let network = CommandNetwork::new(arguments.network, arguments.hosts)?;
        let (root, workspace) = workspace_dir::open_workspace(workspace)?;
        let cwd = arguments.cwd.unwrap_or(".");
        workspace_dir::check_path(cwd)?;
        let outside = || workspace_dir::WorkspaceOpenError::Outside(workspace_dir::shorten(cwd));
        let below = workspace_dir::relative_path(workspace, cwd).ok_or_else(outside)?;
        let folder = workspace_dir::open_folder(&root, &below).map_err(|error| match error {
            rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR => {
                let shown = workspace_dir::shorten(cwd);
                ToolRefusal(format!("There is no folder '{shown}' in the workspace."))
            }
            error => workspace_dir::open_error(cwd, error).into(),
        })?;
        let real = |handle| {
            let failed = |error: std::io::Error| ToolRefusal(format!("'{cwd}' is lost: {error}."));
            workspace_dir::real_path(handle).map_err(failed)
        };
        Ok(SandboxedCommand {
            command: arguments.command.to_owned(),
            scripts: CommandScripts::default(),
            root: real(&root)?,
            cwd: real(&folder)?,
            network,
        })
    }

    /// The preview for a person, and the state that the approval is bound to. Blocks.
    pub(crate) fn preview(&self, env: &ToolEnv) -> Result<(String, String), ToolRefusal> {
        let commands = command_runner(env)?;
        let level = self.level(commands, env)?;
        let argv = serde_json::to_string(&self.argv()).unwrap_or_default();
        let mut text = format!("argv: {argv}\n");
        let network = self.network.question();
        let lines = [
            ("in", self.cwd.display().to_string()),
            ("sandbox", level.name().to_owned()),
            ("network", network.clone()),
            ("may change", self.root.display().to_string()),
            ("environment", "nothing added".to_owned()),
        ];
        for (name, value) in lines {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name}: {value}");
        }
        if self.is_home(commands) {
            let _ = writeln!(text, "home folder: {HOME_NOTE}");
        }
        text.push_str(&self.scripts.preview(true));
        let state = format!(
            "{}|{}|{}|{network}|{}",
            level.name(),
            self.root.display(),
            self.cwd.display(),
            self.scripts.fingerprint(),
        );
        Ok((text, sha256_hex(state.as_bytes())))
    }

    /// Returns true if the workspace is the person's home folder or holds it.
    pub(crate) fn is_home(&self, commands: &CommandRunner) -> bool {
        let home = commands.person_home.as_ref();
        home.is_some_and(|home| home.inside(&self.root).is_some())
    }

    /// Plans a run. Waits for the disk, and the first time for the probe of the sandbox support.
    pub(crate) async fn plan(&self, env: &ToolEnv) -> Result<SpawnPlan, ToolRefusal> {
        let commands = command_runner(env)?;
        let (sandboxed, seen) = (self.clone(), env.clone());
        let made = tokio::task::spawn_blocking(move || sandboxed.policy(&seen, true));
        let interrupted = |_| {
            Err(ToolRefusal(
                "Checking the workspace was interrupted.".to_owned(),
            ))
        };
        let policy = made.await.unwrap_or_else(interrupted)?;
        let argv = self.argv().iter().map(Into::into).collect();
        let mut plan = SpawnPlan::new(argv, self.cwd.clone(), SandboxMode::Policy(policy));
        plan.limits = limits(&commands.settings.borrow());
        Ok(plan)
    }

    /// The network access it asks for.
    pub(crate) fn network(&self) -> &CommandNetwork {
        &self.network
    }

    fn argv(&self) -> [&str; 3] {
        argv(&self.command)
    }

    /// The sandbox level, or why the sandbox is impossible. Blocks.
    fn level(&self, commands: &CommandRunner, env: &ToolEnv) -> Result<SandboxLevel, ToolRefusal> {
        // Previews run on a blocking thread, so blocking on the runtime is safe here.
        let facts = tokio::runtime::Handle::current().block_on(commands.spawner.sandbox_support());
        self.policy(env, false)?;
        Ok(facts?.require_level()?)
    }

    fn policy(&self, env: &ToolEnv, whole: bool) -> Result<hob_exec::SandboxPolicy, ToolRefusal> {
        let home = command_runner(env)?.person_home.as_ref();
        let mut policy = sandbox_policy::workspace_policy(&self.root, home, env.hidden())?;
        if whole {
            sandbox_policy::protect_below(&mut policy, &self.root, home)?;
        }
        policy.bound_files = self.scripts.bound_files();
        policy.network = self.network.access();
        Ok(policy)
    }
}

fn argv(command: &str) -> [&str; 3] {
    ["bash", "-c", command]
}

fn check_command(command: &str) -> Result<(), ToolRefusal> {
    if command.contains('\0') || command.trim().is_empty() {
        return Err(ToolRefusal("There is no command to run.".to_owned()));
    }
    if command.chars().count() > COMMAND_CHARS_MAX {
        return Err(ToolRefusal(format!(
            "The command has more than {COMMAND_CHARS_MAX} characters; put it into a script."
        )));
    }
    Ok(())
}

/// Previews a call.
pub(crate) fn preview(
    sandboxed: Result<&SandboxedCommand, ToolRefusal>,
    env: &ToolEnv,
) -> CallPreview {
    match sandboxed.and_then(|sandboxed| sandboxed.preview(env)) {
        Ok((preview, state)) => CallPreview {
            preview,
            state,
            would_fail: None,
            asks_always: false,
        },
        Err(ToolRefusal(reason)) => CallPreview::failing(reason),
    }
}

impl CallPreview {
    /// The preview of a call that would fail.
    pub(crate) fn failing(reason: String) -> CallPreview {
        CallPreview {
            preview: String::new(),
            state: format!("refused:{}", sha256_hex(reason.as_bytes())),
            would_fail: Some(reason),
            asks_always: false,
        }
    }
}

/// Checks that a call is still what was approved. Blocks.
pub(crate) fn check_state(work: &PreparedCall, preview: &CallPreview) -> Result<(), ToolRefusal> {
    match (&work.state, &preview.would_fail) {
        (Some(state), _) if *state != preview.state => Err(ToolRefusal(
            "The command or its scripts changed after the approval; nothing was run.".to_owned(),
        )),
        // Nobody was asked about a call that would fail, so it must not run even if it could now.
        (Some(_), Some(reason)) => Err(ToolRefusal(reason.clone())),
        _ => Ok(()),
    }
}

pub(crate) fn command_runner(env: &ToolEnv) -> Result<&CommandRunner, ToolRefusal> {
    let missing = || ToolRefusal("Programs cannot be run here.".to_owned());
    env.commands().ok_or_else(missing)
}

/// The time limit of a command.
pub(crate) fn deadline(commands: &CommandRunner, asked_ms: Option<u64>) -> Duration {
    let usual = || commands.settings.borrow().duration_ms("exec.timeout");
    Duration::from_millis(asked_ms.unwrap_or_else(usual).clamp(1, TIMEOUT_MS_MAX))
}

/// The resource limits of one run, from the settings.
fn limits(settings: &Settings) -> ResourceLimits {
    let above_zero = |value: u64| Some(value).filter(|value| *value > 0);
    ResourceLimits {
        processes: settings.u64("exec.processes"),
        file_bytes: settings.u64("exec.file_mib") * MIB,
        tmp_bytes: settings.u64("exec.tmp_mib") * MIB,
        cpu_seconds: above_zero(settings.duration_ms("exec.cpu").div_ceil(1_000)),
        memory_bytes: above_zero(settings.u64("exec.memory_mib") * MIB),
        kept_output_bytes: settings.usize("exec.shown_bytes"),
        file_output_bytes: settings.u64("exec.output_mib") * MIB,
        ..ResourceLimits::default()
    }
}

/// The answer to the model for a refusal.
pub(crate) fn refusal_answer(refused: ToolRefusal) -> ToolExecuteResult {
    let ToolRefusal(reason) = refused;
    failed(reason)
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
