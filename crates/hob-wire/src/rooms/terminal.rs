//! `terminal.*`: shells in tmux that the user and hob share. The user sees what hob types. Commands
//! that the user types are recorded as the user's.
//!
//! The user names a terminal. It lives in a tmux server with its own socket, which outlives the
//! daemon. The output, exit code and duration of a command come from marks that the shell prints;
//! hob never parses a prompt.
//!
//! All methods and events need the scope `admin`: whoever types into the user's shell, or reads its
//! screen, has the user's rights.

use crate::event::events;
use crate::id::{CommandId, RunId};
use crate::method::{CliExposure, methods};
pub use crate::terminal::CommandState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The default terminal.
pub const DEFAULT_TERMINAL: &str = "main";

methods! { "terminal";
    /// Creates a terminal, or shows the existing one of that name.
    Create = "terminal.create" {
        params: TerminalCreateParams, result: TerminalCreateResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Lists the terminals by name.
    List = "terminal.list" {
        params: TerminalListParams, result: TerminalListResult, scope: Admin, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Runs commands one after the other in a terminal, after those already queued.
    /// Creates the terminal if it does not exist.
    Execute = "terminal.execute" {
        params: TerminalExecuteParams, result: TerminalExecuteResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Sends keystrokes to a terminal, whatever runs there.
    Keys = "terminal.keys" {
        params: TerminalKeysParams, result: TerminalKeysResult, scope: Admin, effect: Opaque,
        cli: CliExposure::Hidden,
    }
    /// Shows the last lines of a terminal.
    Capture = "terminal.capture" {
        params: TerminalCaptureParams, result: TerminalCaptureResult, scope: Admin, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Reads the bytes that a terminal printed, or those of one command, from an offset on.
    ///
    /// With `waitMs`, waits for new ones. The bytes are as the programs printed them, with control
    /// sequences: whoever shows them filters them or lets a terminal emulator draw them.
    Stream = "terminal.stream" {
        params: TerminalStreamParams, result: TerminalStreamResult, scope: Admin, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Shows one command. With `waitMs`, waits for its end or for that time.
    Command = "terminal.command" {
        params: TerminalCommandParams, result: TerminalCommand, scope: Admin, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Lists the commands of a terminal, newest first.
    History = "terminal.history" {
        params: TerminalHistoryParams, result: TerminalHistoryResult, scope: Admin, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Cancels a command, or all of hob's commands in a terminal. Answers when they have ended.
    /// A queued command is dropped. A running command is interrupted, and killed if it does not
    /// stop.
    Cancel = "terminal.cancel" {
        params: TerminalCancelParams, result: TerminalCancelResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Opens a desktop window that is attached to a terminal. Creates the terminal if needed.
    Open = "terminal.open" {
        params: TerminalOpenParams, result: TerminalOpenResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Closes a terminal and everything in it, or only the windows that hob opened for it.
    Close = "terminal.close" {
        params: TerminalCloseParams, result: TerminalCloseResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Analyses a command's output: its format, its facts, and findings.
    Analyze = "terminal.analyze" {
        params: TerminalAnalyzeParams, result: crate::analysis::OutputAnalysis, scope: Admin, effect: Pure,
        cli: CliExposure::Hidden,
    }
}

events! { "terminal";
    /// The state of a terminal has changed.
    TerminalStatus = "terminal.status" {
        payload: TerminalInfo, scope: Admin, durability: Logged,
    }
    /// A command was queued, has begun or has ended, whoever typed it.
    /// The output is not included; the method of the same name returns it.
    TerminalCommandChanged = "terminal.command" {
        payload: TerminalCommand, scope: Admin, durability: Logged,
    }
    /// New output of a terminal as plain text, without control sequences.
    TerminalOutput = "terminal.output" {
        payload: TerminalOutputPayload, scope: Admin, durability: Volatile,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalCreateParams {
    /// At most 64 letters, digits, `-` and `_`; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The folder its shell starts in; the user's home when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The shell; the setting `terminal.shell` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// The width while no window is attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalCreateResult {
    /// True if this call created it.
    pub created: bool,
    pub terminal: TerminalInfo,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalListParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalListResult {
    pub terminals: Vec<TerminalInfo>,
    /// The socket of the tmux server.
    pub socket: String,
    /// The version of tmux, such as `3.3a`.
    #[serde(default)]
    pub tmux: Option<String>,
    /// The reason why no terminal can be created here, and what to do.
    #[serde(default)]
    pub problem: Option<String>,
}

/// A terminal and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalInfo {
    pub name: String,
    pub state: TerminalState,
    /// The reason for the state, as a sentence.
    #[serde(default)]
    pub detail: Option<String>,
    /// The shell program.
    pub shell: String,
    /// The shell's folder at its last prompt.
    #[serde(default)]
    pub folder: Option<String>,
    /// The process id of the shell.
    #[serde(default)]
    pub pid: Option<u32>,
    pub columns: u16,
    pub rows: u16,
    /// The number of queued commands.
    pub queued: u32,
    /// The running command, of hob or of the user.
    #[serde(default)]
    pub running: Option<CommandId>,
    /// The number of attached windows and terminals.
    pub attached: u32,
    /// Milliseconds since 1970.
    pub created_at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TerminalState {
    /// The shell has not shown its first prompt yet.
    Starting,
    /// The shell is at its prompt.
    Idle,
    /// A command runs.
    Busy,
    /// It ended without being closed: its shell died, or tmux was killed.
    Lost,
    /// It was closed, or its shell ended with `exit`.
    Closed,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalExecuteParams {
    /// The terminal; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// One command line. Give either this or `commands`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Several command lines, run in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Answers as soon as the commands are stored and queued, instead of at their end.
    #[serde(default)]
    pub detach: bool,
    /// Drops the remaining commands if one fails.
    #[serde(default)]
    pub stop_on_failure: bool,
    /// The time limit of each command, from its own start; none when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Answers after this time with the output so far. The commands continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// The reason in one line, stored with the commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A repeated request with the same key and terminal does not run the commands again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The run whose model asked for it. Only the daemon sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalExecuteResult {
    pub name: String,
    /// In the requested order.
    pub commands: Vec<TerminalCommand>,
}

/// A command in a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalCommand {
    pub id: CommandId,
    pub terminal: String,
    pub by: CommandOrigin,
    /// Missing if the user kept it out of the shell's history.
    #[serde(default)]
    pub command: Option<String>,
    #[serde(default)]
    pub reason: Option<String>,
    pub state: CommandState,
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// The time between the shell's start and end marks.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// Milliseconds since 1970.
    pub queued_at: u64,
    #[serde(default)]
    pub started_at: Option<u64>,
    #[serde(default)]
    pub ended_at: Option<u64>,
    /// The output as the terminal shows it: head and tail if it is long, or the output so far of a
    /// running command. Not included in lists and events.
    #[serde(default)]
    pub output: Option<String>,
    /// The size of the output in bytes, including control sequences.
    #[serde(default)]
    pub output_bytes: u64,
    /// The place of the output in the terminal's recording; missing until the command has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedRange>,
    /// True if the middle of `output` is left out.
    #[serde(default)]
    pub truncated: bool,
    /// The reason for its end as a sentence, if the exit code does not show it.
    #[serde(default)]
    pub detail: Option<String>,
}

/// A part of a terminal's recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedRange {
    /// The id of the recording. Each terminal has its own, also one that is created again under
    /// the same name.
    pub recording: String,
    /// The offset of the first byte.
    pub from: u64,
    /// The offset after the last byte; missing while the command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
}

/// The origin of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CommandOrigin {
    /// Typed in the terminal itself.
    Person,
    /// Sent by a client of the user.
    Client,
    /// Requested by a model and allowed.
    Model,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalKeysParams {
    /// The terminal; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Text that is typed literally. Key names in it have no meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Names of keys to press after the text: `Enter`, `Tab`, `Escape`, `Up`, `C-c`, `M-f`, `F5`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// The run whose model asked for it. Only the daemon sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalKeysResult {
    pub name: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalCaptureParams {
    /// The terminal; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Scrollback lines in addition to the screen; 100 when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalCaptureResult {
    pub name: String,
    /// Lines end with a newline. Empty lines at the end of the screen are left out.
    pub text: String,
    pub lines: u32,
    pub columns: u16,
    pub rows: u16,
    /// The column of the cursor on the screen, from 0.
    pub cursor_column: u16,
    pub cursor_row: u16,
    /// True if a program uses the full screen, such as an editor.
    pub full_screen: bool,
    /// The number of available scrollback lines.
    pub past_lines: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalStreamParams {
    /// The terminal; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Only the output of this command, in the terminal where it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandId>,
    /// The offset of the first byte to read: the `next` of the page before; the oldest byte when
    /// missing.
    #[serde(default)]
    pub since: u64,
    /// The `recording` of the page before. If the terminal has another one by now, the call fails
    /// with `NOT_FOUND`, because the offsets have no meaning there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<String>,
    /// The most bytes to return, at most and by default 262144.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The time to wait for a byte if there is none yet, at most 240000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// A page of a terminal's recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalStreamResult {
    pub name: String,
    /// The id of the recording; missing if the command has not begun.
    #[serde(default)]
    pub recording: Option<String>,
    /// The offset of the first byte of `data`.
    pub offset: u64,
    /// The bytes, in base64. The key in the marks of hob's shell hooks is overwritten with zeros,
    /// so that nobody who replays them can forge a mark.
    pub data: String,
    /// The offset after `data`, for the next call.
    pub next: u64,
    /// The offset after the last byte there is.
    pub end: u64,
    /// Bytes between `since` and `offset` that are gone: the recording keeps the last 16 MiB.
    #[serde(default)]
    pub skipped: u64,
    /// No byte will ever follow `next`: the command or the terminal has ended.
    #[serde(default)]
    pub ended: bool,
    /// The state of the command, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<CommandState>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalCommandParams {
    pub id: CommandId,
    /// The time to wait for its end, at most 240000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalHistoryParams {
    /// The terminal; all of them when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The most commands to return; 50 when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only commands before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<CommandId>,
    /// Only commands of the request with this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalHistoryResult {
    pub commands: Vec<TerminalCommand>,
    /// True if there are older commands.
    pub more: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalCancelParams {
    /// The terminal; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The command to cancel; all queued and running commands of hob when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<CommandId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalCancelResult {
    pub name: String,
    /// The commands that this call ended.
    pub ended: Vec<CommandId>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalOpenParams {
    /// The terminal; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The terminal emulator; the setting `terminal.window` when missing, else the first one found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The caller's display (`DISPLAY`, `WAYLAND_DISPLAY`, `XAUTHORITY`, `XDG_RUNTIME_DIR`,
    /// `DBUS_SESSION_BUS_ADDRESS`); the daemon's own when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<DisplayEnv>,
    /// Opens another window even if hob already opened one for this terminal.
    #[serde(default)]
    pub another: bool,
}

/// The environment variables that a program needs to open a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DisplayEnv {
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
pub struct TerminalOpenResult {
    pub name: String,
    /// True if this call opened a window.
    pub opened: bool,
    /// The terminal emulator.
    pub program: String,
    /// Windows that hob has open for this terminal.
    pub windows: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalCloseParams {
    /// The terminal; `main` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Closes only the windows that hob opened. The terminal and other windows stay.
    #[serde(default)]
    pub windows_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalCloseResult {
    pub name: String,
    /// The number of closed windows.
    pub windows: u32,
    /// True if this call closed the terminal itself.
    pub terminal: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalAnalyzeParams {
    /// A recorded command. Give either this or `output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<CommandId>,
    /// The output of any command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The command line that produced the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// A piece of terminal output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalOutputPayload {
    pub name: String,
    /// The running command; missing for the prompt and for typed text.
    #[serde(default)]
    pub command: Option<CommandId>,
    /// The place in the terminal's recording of the bytes that `text` was made of. Where it is not
    /// the `end` of the piece before, something is missing; `terminal.stream` has it.
    #[serde(default)]
    pub offset: u64,
    /// The offset after those bytes. A character or control sequence that is unfinished there is
    /// part of the next piece.
    #[serde(default)]
    pub end: u64,
    /// Plain text. Newlines, tabs and returns are its only control characters.
    pub text: String,
    /// Bytes that were dropped before this piece, because they came too fast.
    #[serde(default)]
    pub dropped: Option<u64>,
}
