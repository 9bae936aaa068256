//! How a command ends when it does not succeed: an exit code for scripts, a sentence and a next
//! step for people.

use crate::render::words::sentence_case;
use hob_client::ClientError;
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};
use std::io;

/// How a command ended; the numbers are part of the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    Failed,
    Usage,
    Denied,
    Unreachable,
    NotFound,
    NoAnswer,
    Waits,
    Interrupted,
    /// What a command in a terminal ended with, handed on.
    Own(u8),
}

impl Exit {
    pub const ALL: [(Exit, &'static str); 9] = [
        (Exit::Done, "done"),
        (Exit::Failed, "failed"),
        (Exit::Usage, "the command line or its values are wrong"),
        (
            Exit::Denied,
            "denied: a token, a scope, or a permission that a run asked for",
        ),
        (Exit::Unreachable, "the daemon cannot be reached"),
        (Exit::NotFound, "what was named does not exist"),
        (
            Exit::NoAnswer,
            "the run ended without an answer: a limit, a failing model, a stop",
        ),
        (Exit::Waits, "the run waits for a person's answer"),
        (Exit::Interrupted, "interrupted (Ctrl-C)"),
    ];

    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Denied => 3,
            Exit::Unreachable => 4,
            Exit::NotFound => 5,
            Exit::NoAnswer => 6,
            Exit::Waits => 7,
            Exit::Interrupted => 130,
            Exit::Own(code) => code,
        }
    }
}

/// Why a command failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub exit: Exit,
    /// A word for programs: a code of the wire, or one of the CLI's own.
    pub code: &'static str,
    /// What happened.
    pub sentence: String,
    /// What to do next, where the sentence does not say it already.
    pub next: Option<String>,
    pub details: Option<Box<Value>>,
    /// Nothing needs to be said: the reader is gone, or the command has said it all.
    pub silent: bool,
}

impl Failure {
    pub fn new(exit: Exit, code: &'static str, sentence: impl Into<String>) -> Self {
        Failure {
            exit,
            code,
            sentence: sentence.into(),
            next: None,
            details: None,
            silent: false,
        }
    }

    pub fn failed(sentence: impl Into<String>) -> Self {
        Failure::new(Exit::Failed, "FAILED", sentence)
    }

    pub fn usage(sentence: impl Into<String>) -> Self {
        Failure::new(Exit::Usage, "USAGE", sentence)
    }

    /// Ends with this code and no further word.
    pub fn quiet(exit: Exit) -> Self {
        let mut failure = Failure::new(exit, "", "");
        failure.silent = true;
        failure
    }

    #[must_use]
    pub fn next(mut self, step: impl Into<String>) -> Self {
        self.next = Some(step.into());
        self
    }

    /// For a person: one sentence, then what to do.
    pub fn text(&self) -> String {
        match &self.next {
            Some(next) => format!("error: {}\n  {next}", self.sentence),
            None => format!("error: {}", self.sentence),
        }
    }

    /// For a program.
    pub fn json(&self) -> Value {
        let mut error = json!({
            "code": self.code,
            "message": self.sentence,
            "exit": self.exit.code(),
        });
        if let Some(next) = &self.next {
            error["next"] = json!(next);
        }
        if let Some(details) = &self.details {
            error["details"] = (**details).clone();
        }
        json!({ "error": error })
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // `hob … | head` has what it wanted.
            io::ErrorKind::BrokenPipe => Failure::quiet(Exit::Done),
            _ => Failure::failed(format!("The output could not be written: {error}.")),
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let sentence = error.to_string();
        match error {
            ClientError::Wire(error) => error.into(),
            ClientError::RefusedToken { .. } => {
                Failure::new(Exit::Denied, ErrorCode::Unauthorized.as_str(), sentence)
            }
            ClientError::NotRunning { .. } => {
                Failure::new(Exit::Unreachable, "NOT_RUNNING", sentence)
            }
            ClientError::Unreachable { .. } => {
                Failure::new(Exit::Unreachable, "UNREACHABLE", sentence)
            }
            ClientError::NotStarted { .. } => {
                Failure::new(Exit::Unreachable, "NOT_STARTED", sentence)
                    .next("`hob doctor` looks for the cause; `hob logs` shows the daemon's log.")
            }
            ClientError::ProtocolSkew { .. } => {
                Failure::new(Exit::Unreachable, "PROTOCOL_SKEW", sentence)
            }
            ClientError::ConnectionLost { .. } => {
                Failure::new(Exit::Unreachable, "CONNECTION_LOST", sentence)
            }
            ClientError::TimedOut { .. } => {
                Failure::new(Exit::Failed, ErrorCode::Timeout.as_str(), sentence)
            }
            ClientError::BadTarget { .. } | ClientError::TooLarge { .. } => {
                Failure::usage(sentence)
            }
            ClientError::CursorAhead { .. } => {
                Failure::new(Exit::NotFound, ErrorCode::NotFound.as_str(), sentence)
            }
            ClientError::Unreadable { .. } | ClientError::Closed => Failure::failed(sentence),
        }
    }
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        let exit = match error.code {
            ErrorCode::Unauthorized | ErrorCode::Forbidden => Exit::Denied,
            ErrorCode::NotFound | ErrorCode::NoHandler => Exit::NotFound,
            ErrorCode::InvalidParams | ErrorCode::ParseError => Exit::Usage,
            _ => Exit::Failed,
        };
        let mut sentence = sentence_case(&error.message);
        if !sentence.ends_with(['.', '!', '?']) {
            sentence.push('.');
        }
        let mut failure = Failure::new(exit, error.code.as_str(), sentence);
        failure.details = error.details.map(Box::new);
        if let Some(wait_ms) = error.retry_after_ms {
            let wait = hob_kit::duration::format_ms(wait_ms);
            failure.next = Some(format!("It may work in {wait}."));
        } else {
            failure.next = next_after(error.code).map(str::to_owned);
        }
        failure
    }
}

/// What to do about an error whose message cannot know where it is read.
fn next_after(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::Forbidden => Some("A token with that scope can: `hob token create` makes one."),
        ErrorCode::NoHandler => Some("`hob gateway describe` lists the methods there are."),
        _ => None,
    }
}
