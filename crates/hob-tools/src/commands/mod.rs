//! What `exec` and `process` share: what is to be run, behind which walls, within which limits, and
//! what a person is shown of it.
//!
//! - [`Errand`]: a command line in a folder of the workspace, checked
//! - [`OwnCommand`]: a person's own command line, under the same policy
//! - `walls`: the one sandbox policy of all of them
//! - `scripts`: the files a command line runs, so that a person sees them and the run gets no
//!   others; `script_calls` and `command_words` find their names
//! - `network`: which network a command has, and the proxy that is its exit
//! - `left_behind`: what a run left behind, in sentences
//!
//! Invariant: what cannot be enforced here is refused with the remedy, never run weaker.

mod command_words;
mod left_behind;
mod network;
mod own;
mod script_calls;
pub(crate) mod scripts;
mod walls;

pub use left_behind::left_behind_note;
pub(crate) use left_behind::told as left_behind;
pub use network::{ProxyReport, Spawned};
pub use own::OwnCommand;

use crate::beneath;
use crate::outcome::failed;
use crate::process::Owners;
use crate::spot::{Refused, hash};
use crate::{Ground, Look};
use hob_core::permission::Work;
use hob_exec::home_view::HOME_NOTE;
use hob_exec::protected_paths::PersonHome;
use hob_exec::{Level, Limits, Plan, Spawner, Walls};
use hob_kit::settings::{Key, Kind, Settings};
use hob_net::Web;
use hob_wire::NetworkGrant;
use hob_wire::rooms::tool::Executed;
pub(crate) use network::{Network, parameters as network_parameters};
use scripts::{ScriptPlace, Scripts};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Letters of one command line; the kernel takes 128 KiB of bytes.
pub const COMMAND_CHARS_MAX: usize = 30_000;
/// The longest time a command may take; the tool room waits a little longer.
pub(crate) const TIMEOUT_MS_MAX: u64 = 230_000;
/// What the room waits: a command's own deadline always comes first.
pub(crate) const ROOM_TIMEOUT_MS: u64 = 240_000;

const MIB: u64 = 1024 * 1024;

pub const KEYS: &[Key] = &[
    Key::new(
        "exec.timeout",
        Kind::Duration {
            min_ms: 1_000,
            max_ms: TIMEOUT_MS_MAX,
        },
        "120s",
        "How long a command may take, unless the call says less or more; then it is ended with everything it started.",
    )
    .live(),
    Key::new(
        "exec.memory_mib",
        Kind::Integer {
            min: 0,
            max: 1_048_576,
        },
        "16384",
        "Address space of one process of a command, in MiB; 0 is no limit.",
    )
    .live(),
    Key::new(
        "exec.processes",
        Kind::Integer {
            min: 8,
            max: 32_768,
        },
        "512",
        "Processes and threads of one command at once.",
    )
    .live(),
    Key::new(
        "exec.cpu",
        Kind::Duration {
            min_ms: 0,
            max_ms: 86_400_000,
        },
        "30m",
        "Processor time of one process of a command; 0s is no limit.",
    )
    .live(),
    Key::new(
        "exec.file_mib",
        Kind::Integer {
            min: 1,
            max: 1_048_576,
        },
        "4096",
        "The largest file a command may write, in MiB.",
    )
    .live(),
    Key::new(
        "exec.tmp_mib",
        Kind::Integer {
            min: 1,
            max: 65_536,
        },
        "512",
        "What a command's own /tmp holds, in MiB; it goes with the command.",
    )
    .live(),
    Key::new(
        "exec.shown_bytes",
        Kind::Integer {
            min: 1_024,
            max: 131_072,
        },
        "32768",
        "How much of each of a command's streams the model is shown, its beginning and its end.",
    )
    .live(),
    Key::new(
        "exec.output_mib",
        Kind::Integer { min: 1, max: 1_024 },
        "64",
        "How much of a command's whole output is kept when it is longer than what is shown, in MiB.",
    )
    .live(),
    Key::new(
        "exec.kept_mib",
        Kind::Integer {
            min: 1,
            max: 1_048_576,
        },
        "512",
        "How much of outputs that were too long to be shown is kept in all, in MiB; the oldest go first.",
    )
    .live(),
];

/// How programs are run; cheap to clone.
#[derive(Clone, Debug)]
pub struct Commands {
    pub(crate) spawner: Spawner,
    /// For the keys of `exec.*`.
    pub(crate) settings: watch::Receiver<Arc<Settings>>,
    person_home: Option<PersonHome>,
    /// What the proxy of a command's network reaches the world by.
    web: Option<Web>,
    /// Whose each background process is.
    pub(crate) owners: Owners,
}

impl Commands {
    /// `person_home` is the person's own, whose start-up files are protected.
    pub fn new(
        spawner: Spawner,
        settings: watch::Receiver<Arc<Settings>>,
        person_home: Option<&Path>,
    ) -> Commands {
        Commands {
            spawner,
            settings,
            person_home: person_home.map(PersonHome::new),
            web: None,
            owners: Owners::default(),
        }
    }

    /// The same, where commands may have a network that leads through a proxy.
    #[must_use]
    pub fn with_web(mut self, web: Web) -> Commands {
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

    /// What starts them.
    pub fn spawner(&self) -> &Spawner {
        &self.spawner
    }
}

/// A command line and where it runs.
#[derive(Clone, Debug)]
pub(crate) struct Errand {
    command: String,
    /// The workspace, as the kernel has it.
    root: PathBuf,
    /// A folder in it.
    cwd: PathBuf,
    network: Network,
    scripts: Scripts,
}

/// What a call says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said<'a> {
    pub(crate) command: &'a str,
    pub(crate) cwd: Option<&'a str>,
    pub(crate) network: NetworkGrant,
    /// The only hosts that it asks to reach.
    pub(crate) hosts: Option<&'a [String]>,
}

impl Errand {
    /// Checks what a call says, and reads the scripts it names. Blocks.
    pub(crate) fn new(work: &Work, said: Said<'_>, ground: &Ground) -> Result<Errand, Refused> {
        let mut errand = Errand::within(work.context.workspace.as_deref(), said)?;
        let home = ground.commands().and_then(Commands::person_home);
        let place = ScriptPlace {
            root: &errand.root,
            folder: Some(&errand.cwd),
            home,
            hidden: ground.hidden(),
        };
        errand.scripts = Scripts::of(said.command, &place);
        Ok(errand)
    }

    /// Checks what is said to be run in a workspace. Blocks.
    fn within(workspace: Option<&str>, said: Said<'_>) -> Result<Errand, Refused> {
        check_command(said.command)?;
        let network = Network::new(said.network, said.hosts)?;
        let (root, workspace) = beneath::root(workspace)?;
        let cwd = said.cwd.unwrap_or(".");
        beneath::check_path(cwd)?;
        let outside = || beneath::NotOpened::Outside(beneath::shorten(cwd));
        let below = beneath::below(workspace, cwd).ok_or_else(outside)?;
        let folder = beneath::folder(&root, &below).map_err(|error| match error {
            rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR => {
                let shown = beneath::shorten(cwd);
                Refused(format!("There is no folder '{shown}' in the workspace."))
            }
            error => beneath::refused(cwd, error).into(),
        })?;
        let real = |handle| {
            let failed = |error: std::io::Error| Refused(format!("'{cwd}' is lost: {error}."));
            beneath::real_path(handle).map_err(failed)
        };
        Ok(Errand {
            command: said.command.to_owned(),
            scripts: Scripts::default(),
            root: real(&root)?,
            cwd: real(&folder)?,
            network,
        })
    }

    /// What a person is shown, and what the approval is bound to. Blocks.
    pub(crate) fn look(&self, ground: &Ground) -> Result<(String, String), Refused> {
        let commands = commands(ground)?;
        let level = self.level(commands, ground)?;
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
        text.push_str(&self.scripts.shown(true));
        let state = format!(
            "{}|{}|{}|{network}|{}",
            level.name(),
            self.root.display(),
            self.cwd.display(),
            self.scripts.mark(),
        );
        Ok((text, hash(state.as_bytes())))
    }

    /// Whether the workspace is the person's home folder or holds it.
    pub(crate) fn is_home(&self, commands: &Commands) -> bool {
        let home = commands.person_home.as_ref();
        home.is_some_and(|home| home.inside(&self.root).is_some())
    }

    /// The plan of a run. Waits for the disk, and at the first run for what the machine can enforce.
    pub(crate) async fn plan(&self, ground: &Ground) -> Result<Plan, Refused> {
        let commands = commands(ground)?;
        let (errand, seen) = (self.clone(), ground.clone());
        let made = tokio::task::spawn_blocking(move || errand.policy(&seen, true));
        let interrupted = |_| Err(Refused("Looking around was interrupted.".to_owned()));
        let policy = made.await.unwrap_or_else(interrupted)?;
        let argv = self.argv().iter().map(Into::into).collect();
        let mut plan = Plan::new(argv, self.cwd.clone(), Walls::Policy(policy));
        plan.limits = limits(&commands.settings.borrow());
        Ok(plan)
    }

    /// Which network it asks for.
    pub(crate) fn network(&self) -> &Network {
        &self.network
    }

    fn argv(&self) -> [&str; 3] {
        argv(&self.command)
    }

    /// Which level the walls would have, or why they cannot stand. Blocks.
    fn level(&self, commands: &Commands, ground: &Ground) -> Result<Level, Refused> {
        let facts = tokio::runtime::Handle::current().block_on(commands.spawner.facts());
        self.policy(ground, false)?;
        Ok(facts?.choose()?)
    }

    fn policy(&self, ground: &Ground, whole: bool) -> Result<hob_exec::Policy, Refused> {
        let home = commands(ground)?.person_home.as_ref();
        let mut policy = walls::policy(&self.root, home, ground.hidden())?;
        if whole {
            walls::protect_below(&mut policy, &self.root, home)?;
        }
        policy.bound_files = self.scripts.bound_files();
        policy.network = self.network.access();
        Ok(policy)
    }
}

fn argv(command: &str) -> [&str; 3] {
    ["bash", "-c", command]
}

fn check_command(command: &str) -> Result<(), Refused> {
    if command.contains('\0') || command.trim().is_empty() {
        return Err(Refused("There is no command to run.".to_owned()));
    }
    if command.chars().count() > COMMAND_CHARS_MAX {
        return Err(Refused(format!(
            "The command has more than {COMMAND_CHARS_MAX} letters; put it into a script."
        )));
    }
    Ok(())
}

/// What a call would do now.
pub(crate) fn look(errand: Result<&Errand, Refused>, ground: &Ground) -> Look {
    match errand.and_then(|errand| errand.look(ground)) {
        Ok((preview, state)) => Look {
            preview,
            state,
            would_fail: None,
            asks_always: false,
        },
        Err(Refused(reason)) => Look::failing(reason),
    }
}

impl Look {
    /// A call that would do nothing.
    pub(crate) fn failing(reason: String) -> Look {
        Look {
            preview: String::new(),
            state: format!("refused:{}", hash(reason.as_bytes())),
            would_fail: Some(reason),
            asks_always: false,
        }
    }
}

/// Whether a call is still what its approval was bound to. Blocks.
pub(crate) fn check_state(work: &Work, look: &Look) -> Result<(), Refused> {
    match (&work.state, &look.would_fail) {
        (Some(state), _) if *state != look.state => Err(Refused(
            "What would run is not what was approved any more; nothing was run.".to_owned(),
        )),
        // Nobody was asked about a call that was to fail, so it does.
        (Some(_), Some(reason)) => Err(Refused(reason.clone())),
        _ => Ok(()),
    }
}

pub(crate) fn commands(ground: &Ground) -> Result<&Commands, Refused> {
    let missing = || Refused("No programs are run here.".to_owned());
    ground.commands().ok_or_else(missing)
}

/// The time a command may take.
pub(crate) fn deadline(commands: &Commands, asked_ms: Option<u64>) -> Duration {
    let usual = || commands.settings.borrow().duration_ms("exec.timeout");
    Duration::from_millis(asked_ms.unwrap_or_else(usual).clamp(1, TIMEOUT_MS_MAX))
}

/// What a person chose as bounds of one run.
fn limits(settings: &Settings) -> Limits {
    let above_zero = |value: u64| Some(value).filter(|value| *value > 0);
    Limits {
        processes: settings.u64("exec.processes"),
        file_bytes: settings.u64("exec.file_mib") * MIB,
        tmp_bytes: settings.u64("exec.tmp_mib") * MIB,
        cpu_seconds: above_zero(settings.duration_ms("exec.cpu").div_ceil(1_000)),
        memory_bytes: above_zero(settings.u64("exec.memory_mib") * MIB),
        kept_output_bytes: settings.usize("exec.shown_bytes"),
        file_output_bytes: settings.u64("exec.output_mib") * MIB,
        ..Limits::default()
    }
}

/// A refusal as the model is told it.
pub(crate) fn told(refused: Refused) -> Executed {
    let Refused(reason) = refused;
    failed(reason)
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
