//! The command line of `hob terminal`.

use crate::tree::help_text::examples;
use clap::value_parser;
use hob_kit::duration::parse_ms;
use hob_wire::limits::TERMINAL_CAPTURE_LINES_MAX;

/// Shares a terminal with hob: run, watch and type in it.
///
/// A terminal is a shell in tmux that you and hob share. You see what hob types; what you type is
/// recorded as yours. It keeps running when you detach and when the daemon restarts. Without a name,
/// the terminal 'main' is used.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = examples(&[
    "hob terminal run make test",
    "hob terminal attach",
    "hob terminal capture -t build -n 200",
    "hob terminal history",
]))]
pub enum TerminalSubcommand {
    /// Lists the terminals and their states.
    #[command(after_help = examples(&["hob terminal list", "hob terminal list --json"]))]
    List,
    Run(TerminalRunArgs),
    /// Opens a terminal here, to type in it yourself.
    ///
    /// Ctrl-b d detaches; everything in it keeps running. A missing terminal is created in the
    /// current folder. Also works inside your own tmux.
    #[command(after_help = examples(&["hob terminal attach", "hob terminal attach -t build"]))]
    Attach(TerminalName),
    Capture(TerminalCaptureArgs),
    Stream(TerminalStreamArgs),
    History(TerminalHistoryArgs),
    Keys(TerminalKeysArgs),
    Cancel(TerminalCancelArgs),
    Open(TerminalOpenArgs),
    Close(TerminalCloseArgs),
}

/// The name of a terminal: `-t NAME`, or the bare name of earlier versions.
#[derive(Debug, clap::Args)]
pub struct TerminalName {
    #[command(flatten)]
    pub(super) flag: TerminalFlag,
    /// The terminal; main if missing.
    #[arg(value_name = "NAME", hide = true, conflicts_with = "name")]
    pub(super) bare_name: Option<String>,
}

impl TerminalName {
    pub(super) fn given(&self) -> Option<&str> {
        self.flag.name.as_deref().or(self.bare_name.as_deref())
    }

    pub(super) fn into_name(self) -> Option<String> {
        self.flag.name.or(self.bare_name)
    }
}

/// The name of a terminal, as a flag.
#[derive(Debug, clap::Args)]
pub(super) struct TerminalFlag {
    /// The terminal; main if missing.
    #[arg(long = "terminal", short = 't', value_name = "NAME")]
    pub(super) name: Option<String>,
}

/// Runs a command in a terminal and shows its output.
///
/// The words are joined and typed as one line, after commands that are already queued; quote what
/// your own shell must not expand. Exits with the command's exit code. Ctrl-C ends the command; a
/// second Ctrl-C exits without waiting. A missing terminal is created in the current folder; an
/// existing one keeps its own folder.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob terminal run uptime",
    "hob terminal run 'make && make test'",
    "hob terminal run -t build --timeout 10m make test",
    "hob terminal run --detach ./long.sh",
    "hob --json terminal run df -h",
]))]
pub struct TerminalRunArgs {
    #[command(flatten)]
    pub(super) terminal: TerminalFlag,
    /// Returns at once; `hob terminal history` shows how it ended.
    #[arg(long, short)]
    pub(super) detach: bool,
    /// Interrupts the command after this time, such as 10m; exit code 124.
    #[arg(long, value_name = "TIME", value_parser = parse_ms)]
    pub(super) timeout: Option<u64>,
    /// The command line.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) command: Vec<String>,
}

/// Prints a terminal's screen and the lines before it.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob terminal capture",
    "hob terminal capture -t build -n 1000",
    "hob terminal capture -n 0 --json",
]))]
pub struct TerminalCaptureArgs {
    #[command(flatten)]
    pub(super) terminal: TerminalName,
    /// The number of lines before the screen; 100 if missing.
    #[arg(long, short = 'n', value_name = "N",
        value_parser = value_parser!(u32).range(..=i64::from(TERMINAL_CAPTURE_LINES_MAX)))]
    pub(super) lines: Option<u32>,
}

/// Writes the bytes that a terminal printed to stdout, as they are.
///
/// With colours and all other control sequences, such as for a file or another program. The last
/// 16 MiB are kept. They can take over a terminal that shows them, so stdout must not be one, unless
/// --raw is given. With --json, prints pages with their offsets.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob terminal stream > main.log",
    "hob terminal stream build --follow | grep -a error",
    "hob --json terminal stream --since 4096",
]))]
pub struct TerminalStreamArgs {
    #[command(flatten)]
    pub(super) terminal: TerminalName,
    /// The offset of the first byte; the oldest kept byte if missing.
    #[arg(long, value_name = "N")]
    pub(super) since: Option<u64>,
    /// Continues with what is printed from now on, until the terminal ends.
    #[arg(long, short)]
    pub(super) follow: bool,
    /// Writes the control sequences to this terminal too.
    #[arg(long)]
    pub(super) raw: bool,
}

/// Lists the commands of a terminal, newest last.
///
/// The column BY names the author: 'you' typed it in the terminal, a 'client' sent it, or a 'model'
/// ran it with permission. With --id, shows one command and its output.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob terminal history",
    "hob terminal history -t build -n 200",
    "hob terminal history --id 3f9a01cc",
]))]
pub struct TerminalHistoryArgs {
    /// The terminal; all if missing.
    #[arg(long = "terminal", short = 't', value_name = "NAME")]
    pub(super) name: Option<String>,
    /// The terminal; all if missing.
    #[arg(value_name = "NAME", hide = true, conflicts_with = "name")]
    pub(super) bare_name: Option<String>,
    /// The number of commands; 50 if missing.
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u32).range(1..=1_000))]
    pub(super) lines: Option<u32>,
    /// One command, by its id or the end of its id as the list shows it.
    #[arg(long, conflicts_with_all = ["name", "bare_name", "lines"])]
    pub(super) id: Option<String>,
}

/// Types into the program that runs in a terminal.
///
/// Types the text, then presses the keys, which are given by name: Enter, Tab, Escape, Up, C-c, M-f,
/// F5.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob terminal keys C-c",
    "hob terminal keys --text yes Enter",
    "hob terminal keys -t build q",
]))]
pub struct TerminalKeysArgs {
    #[command(flatten)]
    pub(super) terminal: TerminalFlag,
    /// Text to type as it is; key names in it are not special.
    #[arg(long, allow_hyphen_values = true)]
    pub(super) text: Option<String>,
    /// Keys to press after the text.
    #[arg(value_name = "KEY", required_unless_present = "text")]
    pub(super) keys: Vec<String>,
}

/// Ends hob's command in a terminal and drops queued ones.
///
/// The running command is interrupted, and killed if it does not stop. Your own commands keep
/// running; Ctrl-C in the terminal ends them.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob terminal cancel",
    "hob terminal cancel -t build",
    "hob terminal cancel --id 3f9a01cc",
]))]
pub struct TerminalCancelArgs {
    #[command(flatten)]
    pub(super) terminal: TerminalName,
    /// Only this command, by its id or the end of its id.
    #[arg(long)]
    pub(super) id: Option<String>,
}

/// Opens a terminal in a window of your desktop.
///
/// The program is the setting terminal.window, or the first one installed of foot, kitty, alacritty,
/// gnome-terminal, konsole, xfce4-terminal, terminator and xterm. A window that is already open is
/// kept; closing a window keeps the terminal.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob terminal open",
    "hob terminal open -t build --program kitty",
    "hob terminal open --another",
]))]
pub struct TerminalOpenArgs {
    #[command(flatten)]
    pub(super) terminal: TerminalName,
    /// The program to use.
    #[arg(long)]
    pub(super) program: Option<String>,
    /// Opens another window even if one is open.
    #[arg(long)]
    pub(super) another: bool,
}

/// Closes a terminal and everything in it, or only its windows.
///
/// Asks first if something is running there. Windows that others opened on it close too.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob terminal close -t build",
    "hob terminal close --windows",
    "hob terminal close -t build --yes",
]))]
pub struct TerminalCloseArgs {
    #[command(flatten)]
    pub(super) terminal: TerminalName,
    /// Closes only the windows that hob opened; the terminal stays.
    #[arg(long)]
    pub(super) windows: bool,
    /// Closes it even if something is running.
    #[arg(long, short)]
    pub(super) yes: bool,
}
