//! Command failures: an exit code for scripts, a sentence and a next step for people.

use crate::render::text::sentence_case;
use hob_client::ClientError;
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};
use std::io;

/// The `reason` in the details of a refusal of something that the demo model cannot do.
const DEMO_MODEL: &str = "demo-model";

/// The exit status of a command. The numbers are documented in the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    Done,
    Failed,
    Usage,
    Denied,
    Unreachable,
    NotFound,
    NoAnswer,
    Waits,
    Repeated,
    Interrupted,
    /// The exit code of a command in a terminal, passed through.
    Own(u8),
}

impl ExitStatus {
    pub const ALL: [(ExitStatus, &'static str); 10] = [
        (ExitStatus::Done, "done"),
        (ExitStatus::Failed, "failed"),
        (
            ExitStatus::Usage,
            "the command line or its values are wrong",
        ),
        (
            ExitStatus::Denied,
            "denied: a token, a scope, or a permission that a run asked for",
        ),
        (ExitStatus::Unreachable, "the daemon cannot be reached"),
        (ExitStatus::NotFound, "what was named does not exist"),
        (
            ExitStatus::NoAnswer,
            "the run ended without an answer: a limit, a failing model, a stop",
        ),
        (ExitStatus::Waits, "the run waits for a person's answer"),
        (
            ExitStatus::Repeated,
            "the model repeated itself, and its answer was ended there",
        ),
        (ExitStatus::Interrupted, "interrupted (Ctrl-C)"),
    ];

    pub fn code(self) -> u8 {
        match self {
            ExitStatus::Done => 0,
            ExitStatus::Failed => 1,
            ExitStatus::Usage => 2,
            ExitStatus::Denied => 3,
            ExitStatus::Unreachable => 4,
            ExitStatus::NotFound => 5,
            ExitStatus::NoAnswer => 6,
            ExitStatus::Waits => 7,
            ExitStatus::Repeated => 8,
            ExitStatus::Interrupted => 130,
            ExitStatus::Own(code) => code,
        }
    }
}

/// The reason a command failed.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandFailure {
    pub exit: ExitStatus,
    /// The machine-readable code: a wire error code, or one of the CLI's own.
    pub code: &'static str,
    /// The message for people.
    pub sentence: String,
    /// The next step, if the sentence does not name it.
    pub next: Option<String>,
    pub details: Option<Box<Value>>,
    /// Prints nothing: the reader is gone, or the command has printed everything.
    pub silent: bool,
}

impl CommandFailure {
    pub fn new(exit: ExitStatus, code: &'static str, sentence: impl Into<String>) -> Self {
        CommandFailure {
            exit,
            code,
            sentence: sentence.into(),
            next: None,
            details: None,
            silent: false,
        }
    }

    pub fn failed(sentence: impl Into<String>) -> Self {
        CommandFailure::new(ExitStatus::Failed, "FAILED", sentence)
    }

    pub fn usage(sentence: impl Into<String>) -> Self {
        CommandFailure::new(ExitStatus::Usage, "USAGE", sentence)
    }

    /// Ends with this status and prints nothing.
    pub fn quiet(exit: ExitStatus) -> Self {
        let mut failure = CommandFailure::new(exit, "", "");
        failure.silent = true;
        failure
    }

    #[must_use]
    pub fn next(mut self, step: impl Into<String>) -> Self {
        self.next = Some(step.into());
        self
    }

    /// The text for people: one sentence, then the next step.
    pub fn text(&self) -> String {
        match &self.next {
            Some(next) => format!("error: {}\n  {next}", self.sentence),
            None => format!("error: {}", self.sentence),
        }
    }

    /// The JSON object for programs.
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

impl From<io::Error> for CommandFailure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // `hob … | head` closes the pipe early; that is a success.
            io::ErrorKind::BrokenPipe => CommandFailure::quiet(ExitStatus::Done),
            _ => CommandFailure::failed(format!("The output could not be written: {error}.")),
        }
    }
}

impl From<ClientError> for CommandFailure {
    fn from(error: ClientError) -> Self {
        let sentence = error.to_string();
        match error {
            ClientError::Wire(error) => error.into(),
            ClientError::RefusedToken { .. } => CommandFailure::new(
                ExitStatus::Denied,
                ErrorCode::Unauthorized.as_str(),
                sentence,
            ),
            ClientError::NotRunning { .. } => {
                CommandFailure::new(ExitStatus::Unreachable, "NOT_RUNNING", sentence)
            }
            ClientError::Unreachable { .. } => {
                CommandFailure::new(ExitStatus::Unreachable, "UNREACHABLE", sentence)
            }
            ClientError::NotStarted { .. } => {
                CommandFailure::new(ExitStatus::Unreachable, "NOT_STARTED", sentence)
                    .next("`hob doctor` looks for the cause; `hob logs` shows the daemon's log.")
            }
            ClientError::ProtocolSkew { .. } => {
                CommandFailure::new(ExitStatus::Unreachable, "PROTOCOL_SKEW", sentence)
            }
            ClientError::ConnectionLost { .. } => {
                CommandFailure::new(ExitStatus::Unreachable, "CONNECTION_LOST", sentence)
            }
            ClientError::TimedOut { .. } => {
                CommandFailure::new(ExitStatus::Failed, ErrorCode::Timeout.as_str(), sentence)
            }
            ClientError::BadTarget { .. } | ClientError::TooLarge { .. } => {
                CommandFailure::usage(sentence)
            }
            ClientError::CursorAhead { .. } => {
                CommandFailure::new(ExitStatus::NotFound, ErrorCode::NotFound.as_str(), sentence)
            }
            ClientError::Unreadable { .. } | ClientError::Closed => {
                CommandFailure::failed(sentence)
            }
        }
    }
}

impl From<WireError> for CommandFailure {
    fn from(error: WireError) -> Self {
        let exit = match error.code {
            ErrorCode::Unauthorized | ErrorCode::Forbidden => ExitStatus::Denied,
            ErrorCode::NotFound | ErrorCode::NoHandler => ExitStatus::NotFound,
            ErrorCode::InvalidParams | ErrorCode::ParseError => ExitStatus::Usage,
            _ => ExitStatus::Failed,
        };
        let mut sentence = sentence_case(&error.message);
        if !sentence.ends_with(['.', '!', '?']) {
            sentence.push('.');
        }
        let mut failure = CommandFailure::new(exit, error.code.as_str(), sentence);
        if error
            .details
            .as_ref()
            .is_some_and(|it| it["reason"] == DEMO_MODEL)
        {
            // As for a missing model: there is none that can do it.
            failure.exit = ExitStatus::NoAnswer;
            failure.code = "DEMO_MODEL";
        }
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

/// The next step for errors whose message is the same for every client.
fn next_after(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::Forbidden => Some("A token with that scope can: `hob token create` makes one."),
        ErrorCode::NoHandler => Some("`hob gateway describe` lists the methods."),
        _ => None,
    }
}
