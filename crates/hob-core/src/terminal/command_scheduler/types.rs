//! What the desk is told, and what it says.

use hob_wire::id::CommandId;
use hob_wire::terminal::CommandState;
use sha2::{Digest, Sha256};

/// A command that waits for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    pub id: CommandId,
    /// Its place in the order of the record.
    pub number: u64,
    /// Those of one chain are dropped when one of them fails.
    pub chain: Option<u64>,
    /// How long it may run.
    pub timeout_ms: Option<u64>,
}

/// Where a terminal was when it was last lived through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// Its shell has not said anything yet.
    Starting,
    /// Its shell was at the prompt, or about to be.
    Prompt,
    /// A command of hob's ran, for so long.
    Command { job: Job, ago_ms: u64 },
    /// A line of the person's ran, by the shell's name of it.
    Line(String),
}

/// What another life of the daemon handed over last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed {
    pub id: CommandId,
    /// Whether it still lies there; if not, the shell has it or had it.
    pub is_there: bool,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A command is on record.
    Queued(Job),
    /// A command or line begins to run, or began so long ago.
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
    /// The shell has taken a command.
    Taken {
        id: &'a str,
    },
    /// The shell asks for the rest of a line.
    Incomplete,
    /// The shell is left.
    Left {
        status: i32,
    },
    /// Some of the recording is missing.
    Skipped,
    /// What was recorded so far was lived through.
    Live(Option<Handed>),
    /// Somebody wants a command ended, or all of hob's.
    Cancel(Option<CommandId>),
    /// The terminal is closed by somebody.
    Close,
    /// The terminal is gone.
    Gone,
    /// Time has passed.
    Tick,
}

/// Whose command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    Hob(CommandId),
    Person,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Give the shell this command, and say so.
    HandOver(CommandId),
    /// Tell the shell again that a command is there.
    Nudge,
    /// Take back what was given, if it is still there.
    Withdraw,
    /// Press control and C.
    Interrupt,
    /// Ask what runs in the foreground to end.
    Terminate,
    /// End it.
    Kill,
    Began(Who),
    Ended(Who, End),
    /// The terminal is over; what is left of it is to be removed.
    Over(Over),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    pub state: CommandState,
    pub exit_code: Option<i32>,
    pub why: Option<Why>,
}

/// Why it ended so, where the state does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was dropped before it began.
    Dropped,
    /// One before it, of the same request, failed.
    Chain,
    /// Its line is not complete.
    Incomplete,
    /// It left the shell.
    LeftShell,
    /// The terminal was closed.
    Closed,
    /// The terminal went away.
    Gone,
    /// It could not be ended, so the terminal was given up.
    Stubborn,
    /// The shell did not take it.
    Untaken,
    /// The shell took it, and it never began.
    Unbegun,
    /// Its end was in what is missing of the recording.
    Unseen,
    /// It may have run: hob was away when the shell took it.
    Doubtful,
}

/// How a terminal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Somebody closed it.
    Closed,
    /// Its shell was left.
    Left { status: i32 },
    /// It went away.
    Gone,
    /// Its shell never showed a mark.
    Silent,
    /// A command in it could not be ended.
    Stubborn,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waited {
    /// The first prompt.
    Starting,
    Prompt,
    Running,
    Over,
}

/// The id of a line that a person typed, the same however often it is lived through. The shell's
/// name of it alone would not do: a shell that replaces itself counts from the beginning.
pub fn line_id(terminal: &str, shell_id: &str, at_us: u64) -> CommandId {
    let mut digest = Sha256::new();
    digest.update(format!("{terminal} {shell_id} {at_us}"));
    let mut tail = [0; 10];
    tail.copy_from_slice(&digest.finalize()[..10]);
    CommandId::at(at_us / 1_000, tail)
}
