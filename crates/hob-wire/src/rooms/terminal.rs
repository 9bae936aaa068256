//! `terminal.*`: shells in tmux that a person and hob share. What hob types there is visible, what
//! the person types there is seen and marked as theirs.
//!
//! A terminal is named by a person and lives in a tmux server of its own socket, which outlives the
//! daemon. Which bytes a command printed, how it ended and how long it took is told by marks of the
//! shell itself, never read off a prompt.
//!
//! All of it needs the scope `admin`: whoever types into a person's shell, or reads what it shows, is
//! that person in effect.

use crate::event::events;
use crate::id::{CommandId, RunId};
use crate::method::{Cli, methods};
pub use crate::terminal::CommandState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The terminal that is meant when none is named.
pub const DEFAULT_TERMINAL: &str = "main";

methods! { "terminal";
    /// Makes a terminal, or shows the one of that name.
    Create = "terminal.create" {
        params: CreateParams, result: Created, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Lists the terminals by name.
    List = "terminal.list" {
        params: ListParams, result: Terminals, scope: Admin, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Runs commands one after the other in a terminal, behind what waits there already.
    /// A terminal that is not there is made.
    Execute = "terminal.execute" {
        params: ExecuteParams, result: Executed, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Types into a terminal as a keyboard would, whatever runs there.
    Keys = "terminal.keys" {
        params: KeysParams, result: Typed, scope: Admin, effect: Opaque,
        cli: Cli::Hidden,
    }
    /// Shows the last lines of a terminal.
    Capture = "terminal.capture" {
        params: CaptureParams, result: Captured, scope: Admin, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Shows one command; with `waitMs`, when it has ended or that time is over.
    Command = "terminal.command" {
        params: CommandParams, result: TerminalCommand, scope: Admin, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Lists the commands of a terminal, the newest first.
    History = "terminal.history" {
        params: HistoryParams, result: TerminalCommands, scope: Admin, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Ends a command, or all of hob's in a terminal, and answers when they have ended.
    /// One that waits is dropped, one that runs is interrupted and, if it does not heed that,
    /// killed.
    Cancel = "terminal.cancel" {
        params: CancelParams, result: Cancelled, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Opens a window of the desktop attached to a terminal, which is made if it is not there.
    Open = "terminal.open" {
        params: OpenParams, result: Opened, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Closes a terminal with what runs in it, or only the windows hob opened on it.
    Close = "terminal.close" {
        params: CloseParams, result: Closed, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// What a command's output says: its kind, its facts, and what deserves attention.
    Analyze = "terminal.analyze" {
        params: AnalyzeParams, result: crate::analysis::Analysis, scope: Admin, effect: Pure,
        cli: Cli::Hidden,
    }
}

events! { "terminal";
    /// What a terminal is doing has changed.
    TerminalStatus = "terminal.status" {
        payload: Terminal, scope: Admin, durability: Logged,
    }
    /// A command waits, has begun or has ended, whoever typed it.
    /// Its output is left out: the method of the same name has it.
    TerminalCommandChanged = "terminal.command" {
        payload: TerminalCommand, scope: Admin, durability: Logged,
    }
    /// What is printed in a terminal, as plain text: control sequences are taken out.
    TerminalOutput = "terminal.output" {
        payload: OutputPayload, scope: Admin, durability: Volatile,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateParams {
    /// Letters, digits, `-` and `_`, 64 at the most; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The folder its shell starts in; the person's home when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The shell; the setting `terminal.shell` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Its size while nobody is attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    /// Whether it was made by this call.
    pub created: bool,
    pub terminal: Terminal,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Terminals {
    pub terminals: Vec<Terminal>,
    /// The socket of the tmux server they live in.
    pub socket: String,
    /// Which tmux there is, such as `3.3a`.
    #[serde(default)]
    pub tmux: Option<String>,
    /// Why no terminal can be made here, and what to do.
    #[serde(default)]
    pub problem: Option<String>,
}

/// A terminal and what it is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Terminal {
    pub name: String,
    pub state: TerminalState,
    /// Why it is so, in a sentence.
    #[serde(default)]
    pub detail: Option<String>,
    /// The program of its shell.
    pub shell: String,
    /// The shell's folder when it was last at its prompt.
    #[serde(default)]
    pub folder: Option<String>,
    /// The shell's process.
    #[serde(default)]
    pub pid: Option<u32>,
    pub columns: u16,
    pub rows: u16,
    /// Commands that wait for their turn.
    pub queued: u32,
    /// What runs in it, hob's or the person's.
    #[serde(default)]
    pub running: Option<CommandId>,
    /// Windows and terminals attached to it now.
    pub attached: u32,
    /// Milliseconds since 1970.
    pub created_at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TerminalState {
    /// The shell has not shown its first prompt yet.
    Starting,
    /// The shell waits at its prompt.
    Idle,
    /// A command runs.
    Busy,
    /// It is gone and was not closed by anybody: its shell ended, or tmux was killed.
    Lost,
    /// It was closed, or its shell was left with `exit`.
    Closed,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecuteParams {
    /// The terminal; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// One command line. Either this or `commands`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Several, run in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Answer at once, when they are on record and wait for their turn, instead of at their end.
    #[serde(default)]
    pub detach: bool,
    /// Drop the rest when one of several fails.
    #[serde(default)]
    pub stop_on_failure: bool,
    /// When a command is interrupted, counted from its own beginning; never when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Answer after this time even if commands still run, with what there is; they run on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Why, in one line; kept with the commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same key for the same terminal again is the same commands, typed once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The run whose model asked for it. Only the house sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Executed {
    pub name: String,
    /// In the order they were given.
    pub commands: Vec<TerminalCommand>,
}

/// A command in a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalCommand {
    pub id: CommandId,
    pub terminal: String,
    pub by: CommandBy,
    /// Missing when the person kept it out of their shell's history.
    #[serde(default)]
    pub command: Option<String>,
    #[serde(default)]
    pub reason: Option<String>,
    pub state: CommandState,
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// Between the shell's own marks.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// Milliseconds since 1970.
    pub queued_at: u64,
    #[serde(default)]
    pub started_at: Option<u64>,
    #[serde(default)]
    pub ended_at: Option<u64>,
    /// What it printed, as the terminal would show it: head and tail of a long one, or what there
    /// is of one that runs. Left out of lists and events.
    #[serde(default)]
    pub output: Option<String>,
    /// How many bytes it printed, control sequences included.
    #[serde(default)]
    pub output_bytes: u64,
    /// Whether the middle of `output` is missing.
    #[serde(default)]
    pub truncated: bool,
    /// Why it ended as it did, in a sentence, where the exit code does not say it.
    #[serde(default)]
    pub detail: Option<String>,
}

/// Who had a command run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CommandBy {
    /// Typed in the terminal itself.
    Person,
    /// Sent by a client of the person's.
    Client,
    /// A model asked for it and was allowed to.
    Model,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeysParams {
    /// The terminal; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Typed letter by letter; nothing in it is the name of a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Names of keys, pressed after the text: `Enter`, `Tab`, `Escape`, `Up`, `C-c`, `M-f`, `F5`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// The run whose model asked for it. Only the house sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Typed {
    pub name: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaptureParams {
    /// The terminal; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Lines of the past beside those on the screen; 100 when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Captured {
    pub name: String,
    /// Lines end with a newline; empty ones at the end of the screen are left out.
    pub text: String,
    pub lines: u32,
    pub columns: u16,
    pub rows: u16,
    /// Where the cursor is on the screen, from 0.
    pub cursor_column: u16,
    pub cursor_row: u16,
    /// Whether a program has the whole screen, such as an editor.
    pub full_screen: bool,
    /// Lines of the past there are.
    pub past_lines: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommandParams {
    pub id: CommandId,
    /// Wait this long for its end, 240000 at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryParams {
    /// The terminal; all of them when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// 50 when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only those before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<CommandId>,
    /// Only those that a request with this key asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalCommands {
    pub commands: Vec<TerminalCommand>,
    /// Whether there are older ones.
    pub more: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelParams {
    /// The terminal; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// One command; everything of hob's that waits or runs there when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<CommandId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cancelled {
    pub name: String,
    /// Those that this call ended.
    pub ended: Vec<CommandId>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenParams {
    /// The terminal; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The program of the window; the setting `terminal.window`, or the first one found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The desktop of whoever asks (`DISPLAY`, `WAYLAND_DISPLAY`, `XAUTHORITY`,
    /// `XDG_RUNTIME_DIR`, `DBUS_SESSION_BUS_ADDRESS`); the daemon's own when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
    /// Open one even if hob has one open on this terminal already.
    #[serde(default)]
    pub another: bool,
}

/// What a program needs to know to show a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Display {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x11: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wayland: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_dir: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    pub name: String,
    /// Whether a window was opened by this call.
    pub opened: bool,
    /// The program that shows it.
    pub program: String,
    /// Windows hob has open on this terminal.
    pub windows: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CloseParams {
    /// The terminal; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Close only the windows hob opened on it; the terminal and others' windows stay.
    #[serde(default)]
    pub windows_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Closed {
    pub name: String,
    /// Windows that were closed.
    pub windows: u32,
    /// Whether the terminal itself was closed by this call.
    pub terminal: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnalyzeParams {
    /// A command of the record. Either this or `output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<CommandId>,
    /// Any text a command printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The command line that printed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// A piece of what is printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputPayload {
    pub name: String,
    /// The command that prints it; missing for the shell's own prompt and what is typed at it.
    #[serde(default)]
    pub command: Option<CommandId>,
    /// Plain text: newlines, tabs and returns, no other control characters.
    pub text: String,
    /// Bytes left out before this piece, because they came too fast.
    #[serde(default)]
    pub dropped: Option<u64>,
}
