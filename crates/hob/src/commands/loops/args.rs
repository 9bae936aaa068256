//! The command line of `hob loop`.

use crate::commands::unattended_flags::{GrantArgs, NotifyArgs, without_default};
use crate::commands::value_parsers::network_grant;
use crate::run_ui::run_request::TaskArgs;
use crate::tree::help_text::examples;
use clap::value_parser;
use hob_core::amounts::parse_dollars;
use hob_kit::duration::parse_ms;
use hob_wire::NetworkGrant;

/// The values of `hob loop update --clear`.
const CLEARED: [&str; 8] = [
    "allow",
    "budget",
    "model",
    "monitor",
    "notify",
    "tools",
    "total",
    "workspace",
];

/// Creates, runs and watches loops: a task repeated again and again.
///
/// Each iteration asks the model in a new session, and shows it the loop's memories, the output of a
/// monitor command, and its own last answer. A loop keeps running in the background and after a
/// restart, until it is stopped, reaches its last iteration, or gives up after failures. A loop never
/// asks: a call that no rule and no --allow covers is denied.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = examples(&[
    "hob loop create build --task \"Look at the build and mend what is broken\" \
     --monitor 'tail -n 20 build.log' --allow write --start",
    "hob loop watch build",
    "hob loop working build \"The flaky test is known; leave it\"",
    "hob loop stop build",
]))]
pub enum LoopSubcommand {
    /// Lists the loops and their states.
    #[command(after_help = examples(&["hob loop list", "hob loop list --running --json"]))]
    List {
        /// Only running loops.
        #[arg(long)]
        running: bool,
    },
    Create(Box<LoopCreateArgs>),
    Update(Box<LoopUpdateArgs>),
    /// Shows a loop: its config, state and memories.
    #[command(after_help = examples(&["hob loop show build", "hob loop show build --json"]))]
    Show(LoopName),
    /// Starts a loop; fails if it is already running.
    #[command(after_help = examples(&["hob loop start build", "hob loop start build --watch"]))]
    Start(LoopStartArgs),
    /// Stops a loop, its current run and its monitor.
    ///
    /// Returns when everything of the loop has stopped, usually within a second.
    #[command(after_help = examples(&["hob loop stop build"]))]
    Stop(LoopName),
    /// Runs one iteration of a loop that is not running.
    #[command(after_help = examples(&["hob loop once build", "hob loop once build --watch"]))]
    Once(LoopStartArgs),
    /// Shows a loop live until it ends.
    ///
    /// On a terminal this is a live view: the iteration, the monitor, the prompt, the answer as it
    /// streams, and earlier iterations. q or Ctrl-C closes the view; the loop keeps running.
    /// Elsewhere it prints one line per event, with --json the events themselves. If the daemon
    /// restarts, hob reconnects and the view continues.
    #[command(after_help = examples(&["hob loop watch build", "hob loop watch build --json"]))]
    Watch(LoopName),
    History(LoopHistoryArgs),
    /// Sets the working memory, shown to the next iteration only.
    ///
    /// It can be set while an iteration runs; the next one gets it. Without a text the current
    /// working memory is shown; an empty text removes it.
    #[command(after_help = examples(&[
        "hob loop working build \"The flaky test is known; leave it\"",
        "hob loop working build @notes.md",
        "hob loop working build ''",
    ]))]
    Working {
        #[command(flatten)]
        name: LoopName,
        /// The text, @FILE, or - for stdin.
        #[arg(allow_hyphen_values = true)]
        text: Option<String>,
    },
    Persistent(LoopPersistentArgs),
    /// Deletes a loop that is not running, with its history.
    #[command(after_help = examples(&["hob loop delete build"]))]
    Delete(LoopName),
}

/// The name of a loop.
#[derive(Debug, clap::Args)]
pub struct LoopName {
    /// The loop's name.
    pub(super) name: String,
}

/// Creates a loop without starting it.
///
/// A TEXT is the text itself, a file (@FILE), or stdin (-). The monitor is a command line for bash. It
/// runs before each iteration, or at its own interval, in the same sandbox as a model's commands: it
/// can only change the workspace.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "hob loop create <NAME> --task <TEXT> [OPTIONS]",
    after_help = examples(&[
        "hob loop create build --task \"Look at the build and mend what is broken\" \
         --monitor 'cargo check 2>&1 | tail -n 20' --every 1m \
         --allow write --allow 'exec command=cargo *'",
        "hob loop create garden --task @garden.md --system @gardener.md --max 10 --start",
        "hob loop create news --task \"What is new?\" --monitor 'curl -s example.org' \
         --monitor-network --every 1h --notify chat:main",
    ])
)]
pub struct LoopCreateArgs {
    #[command(flatten)]
    pub(super) name: LoopName,
    /// The task of each iteration.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) task: String,
    #[command(flatten)]
    pub(super) config: LoopConfigArgs,
    /// The first persistent memory, shown to every iteration.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) persistent: Option<String>,
    /// The first working memory, shown to the first iteration only.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) working: Option<String>,
    /// Starts the loop at once.
    #[arg(long)]
    pub(super) start: bool,
}

/// Changes a loop; settings that are not named stay.
///
/// A running loop uses the change from its next iteration on. --allow adds grants; --clear resets to
/// a default first.
#[derive(Debug, clap::Args)]
#[command(
    mut_args(without_default),
    after_help = examples(&[
        "hob loop update build --every 10m",
        "hob loop update build --monitor-every 30s",
        "hob loop update build --clear allow --allow 'exec command=cargo test *'",
    ])
)]
pub struct LoopUpdateArgs {
    #[command(flatten)]
    pub(super) name: LoopName,
    /// The task of each iteration.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) task: Option<String>,
    #[command(flatten)]
    pub(super) config: LoopConfigArgs,
    /// Resets this to its default; may be repeated.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = CLEARED)]
    pub(super) clear: Vec<String>,
}

/// The flags that describe a loop.
#[derive(Debug, clap::Args)]
pub(super) struct LoopConfigArgs {
    /// The system prompt.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) system: Option<String>,
    /// The pause between two iterations; 5s if missing, at least 1s.
    #[arg(long, value_name = "TIME", value_parser = parse_ms)]
    pub(super) every: Option<u64>,
    /// The most iterations per start; 0, the default, means no limit.
    #[arg(long, value_name = "N")]
    pub(super) max: Option<u32>,
    /// A command whose output is shown to each iteration.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) monitor: Option<String>,
    /// Runs the monitor at this interval instead of before each iteration.
    #[arg(long, value_name = "TIME", value_parser = parse_ms)]
    pub(super) monitor_every: Option<u64>,
    /// Lets the monitor reach the internet, through hob's proxy; =host opens this machine's own
    /// network, which can also reach services on this machine.
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", value_parser = network_grant())]
    pub(super) monitor_network: Option<NetworkGrant>,
    /// The longest run time of the monitor; 30s if missing.
    #[arg(long, value_name = "TIME", value_parser = parse_ms)]
    pub(super) monitor_timeout: Option<u64>,
    #[command(flatten)]
    pub(super) run: TaskArgs,
    /// Ends the loop when one start has cost this much.
    #[arg(long, value_name = "X", value_parser = parse_dollars)]
    pub(super) total_dollars: Option<u64>,
    #[command(flatten)]
    pub(super) grants: GrantArgs,
    #[command(flatten)]
    pub(super) notify: NotifyArgs,
    /// The longest pause after repeated failures, which double it; 15m if missing.
    #[arg(long, value_name = "TIME", value_parser = parse_ms)]
    pub(super) backoff_max: Option<u64>,
    /// Gives up after this many failures in a row; 10 if missing, 0 means never.
    #[arg(long, value_name = "N")]
    pub(super) errors_max: Option<u32>,
}

/// The arguments of a start.
#[derive(Debug, clap::Args)]
pub struct LoopStartArgs {
    #[command(flatten)]
    pub(super) name: LoopName,
    /// Watches it until it ends.
    #[arg(long)]
    pub(super) watch: bool,
}

/// Shows iterations, newest first, or one in full.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob loop history build",
    "hob loop history build 7",
    "hob loop history build --limit 100 --json",
]))]
pub struct LoopHistoryArgs {
    #[command(flatten)]
    pub(super) name: LoopName,
    /// Shows this iteration with its prompt and answer.
    #[arg(value_parser = value_parser!(u32).range(1..))]
    pub(super) iteration: Option<u32>,
    /// At most this many; 20 if missing, 500 at most.
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub(super) limit: Option<u32>,
    /// Only iterations before this one.
    #[arg(long, value_name = "ITERATION")]
    pub(super) before: Option<u32>,
}

/// Shows, sets or reverts the persistent memory.
///
/// It is shown to every iteration, and the loop may change it by itself. Every revision is kept, so
/// --undo can revert a change.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob loop persistent build",
    "hob loop persistent build \"The tests live in tests/it\"",
    "hob loop persistent build --edit",
    "hob loop persistent build --undo",
    "hob loop persistent build --revisions",
]))]
pub struct LoopPersistentArgs {
    #[command(flatten)]
    pub(super) name: LoopName,
    /// The text, @FILE, or - for stdin.
    #[arg(allow_hyphen_values = true, conflicts_with_all = ["undo", "edit"])]
    pub(super) text: Option<String>,
    /// Goes back to the previous revision.
    #[arg(long, conflicts_with = "edit")]
    pub(super) undo: bool,
    /// Opens it in $VISUAL or $EDITOR.
    #[arg(long)]
    pub(super) edit: bool,
    /// Also shows earlier revisions.
    #[arg(long)]
    pub(super) revisions: bool,
}
