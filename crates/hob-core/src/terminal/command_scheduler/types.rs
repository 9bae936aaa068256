//! The inputs and outputs of the command scheduler.

use hob_wire::id::CommandId;
use hob_wire::terminal::CommandState;
use sha2::{Digest, Sha256};

/// A command that waits for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueuedCommand {
    pub id: CommandId,
    /// Its position in the order of the record.
    pub number: u64,
    /// If one command of a chain fails, the others are dropped.
    pub chain: Option<u64>,
    /// The longest time it may run.
    pub timeout_ms: Option<u64>,
}

/// The state of a terminal at the point where its replay begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResumePoint {
    /// Its shell has shown no mark yet.
    Starting,
    /// Its shell was at the prompt, or about to be.
    Prompt,
    /// A command of hob had been running for this long.
    HobCommand { command: QueuedCommand, ago_ms: u64 },
    /// A line of the person ran, by the shell's id.
    PersonLine(String),
}

/// The last command that an earlier daemon process handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandedOverCommand {
    pub id: CommandId,
    /// True if it is still there; if not, the shell has taken it.
    pub is_there: bool,
}

/// An input of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerEvent<'a> {
    /// A command is on record.
    Queued(QueuedCommand),
    /// A command or line begins, or began this long ago.
    Began {
        id: &'a str,
        ago_ms: u64,
    },
    Ended {
        id: &'a str,
        status: i32,
    },
    /// The shell is at its prompt.
    Prompt,
    /// The shell took a command.
    Taken {
        id: &'a str,
    },
    /// The shell asks for the rest of a line.
    Incomplete,
    /// The shell exited.
    ShellLeft {
        status: i32,
    },
    /// Some of the recording is missing.
    RecordingGap,
    /// The recording was replayed up to now.
    CaughtUp(Option<HandedOverCommand>),
    /// Somebody cancels one command, or all of hob's.
    Cancel(Option<CommandId>),
    /// Somebody closes the terminal.
    Close,
    /// The terminal is gone.
    TerminalGone,
    /// Time has passed.
    Tick,
}

/// The owner of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandOwner {
    Hob(CommandId),
    Person,
}

/// An action for the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerEffect {
    /// Offer this command to the shell, and tell it so.
    HandOver(CommandId),
    /// Tell the shell again that a command is there.
    Nudge,
    /// Withdraw the offered command, if it is still there.
    Withdraw,
    /// Press Ctrl-C.
    Interrupt,
    /// Send SIGTERM to the foreground program.
    Terminate,
    /// Send SIGKILL to the foreground program.
    Kill,
    Began(CommandOwner),
    Ended(CommandOwner, CommandEnd),
    /// The terminal ended; remove what is left of it.
    TerminalEnded(TerminalEnd),
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandEnd {
    pub state: CommandState,
    pub exit_code: Option<i32>,
    pub reason: Option<CommandEndReason>,
}

impl CommandEnd {
    pub(super) fn new(
        state: CommandState,
        exit_code: Option<i32>,
        reason: Option<CommandEndReason>,
    ) -> CommandEnd {
        CommandEnd {
            state,
            exit_code,
            reason,
        }
    }
}

/// The reason for an end, if the state does not tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEndReason {
    /// It was dropped before it began.
    Dropped,
    /// One before it, of the same request, failed.
    ChainFailed,
    /// Its line is not complete.
    Incomplete,
    /// The command made the shell exit.
    LeftShell,
    /// The terminal was closed.
    Closed,
    /// The terminal went away.
    Gone,
    /// It could not be terminated, so the terminal was given up.
    Unkillable,
    /// The shell did not take it.
    Untaken,
    /// The shell took it, and it never began.
    NeverBegan,
    /// Its end lies in a gap of the recording.
    EndNotRecorded,
    /// It may have run: the daemon was down when the shell took it.
    MayHaveRun,
}

/// The end of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalEnd {
    /// Somebody closed it.
    Closed,
    /// Its shell exited.
    ShellLeft { status: i32 },
    /// It went away.
    Gone,
    /// Its shell never showed a mark.
    NoMarks,
    /// One of its commands could not be terminated.
    Unkillable,
}

/// The present activity of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TerminalActivity {
    /// The first prompt.
    Starting,
    Prompt,
    Running,
    Ended,
}

/// Returns the id of a line that a person typed; the same in every replay. The shell's id alone is
/// not enough: a shell that replaces itself counts from the beginning again.
pub fn line_id(terminal: &str, shell_id: &str, at_us: u64) -> CommandId {
    let mut digest = Sha256::new();
    digest.update(format!("{terminal} {shell_id} {at_us}"));
    let mut tail = [0; 10];
    tail.copy_from_slice(&digest.finalize()[..10]);
    CommandId::from_timestamp(at_us / 1_000, tail)
}
