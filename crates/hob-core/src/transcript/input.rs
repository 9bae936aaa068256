//! The inputs of the transcript fold: stored messages, and what happens in runs before it is
//! stored. They can be written as JSON, so that test vectors are files.

use hob_wire::block::QuestionKind;
use hob_wire::content::Message;
use hob_wire::id::RunId;
use hob_wire::rule::PermissionDenial;
use hob_wire::work::{RunEndCause, ToolCallState};
use serde::{Deserialize, Serialize};

/// The end of a stored answer that was stopped. It is for the model; the blocks leave it out, since a
/// notice has the reason.
pub const STOPPED_MARK: &str = "\n[The answer was stopped here.]";

/// One attempt of one step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRef {
    pub run: RunId,
    pub step: u32,
    pub attempt: u32,
}

/// The run that wrote a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageOrigin {
    /// The step that an answer or a tool result belongs to; for other messages, only its run counts.
    #[serde(flatten)]
    pub step: StepRef,
    /// For a tool result: the end of its call; done without a denial when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CallOutcome>,
}

/// The end of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallOutcome {
    pub state: ToolCallState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial: Option<PermissionDenial>,
}

/// A message of the session with its origin. Messages of older databases and of `session.send` have
/// none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredMessage {
    pub message: Message,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<MessageOrigin>,
    /// True if the stored row is damaged, and the message only says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub damaged: bool,
}

impl StoredMessage {
    pub fn new(message: Message, origin: Option<MessageOrigin>) -> Self {
        StoredMessage {
            message,
            origin,
            damaged: false,
        }
    }
}

/// An input of the fold. Messages come in the order of their `seq`; the messages of a run come before
/// its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "camelCase")]
#[expect(
    clippy::large_enum_variant,
    reason = "an input is applied at once and never kept"
)]
pub enum TranscriptInput {
    /// A message was stored.
    Message(StoredMessage),
    /// A run begins or resumes. Until its end its last step is not final.
    RunBegun { run: RunId },
    /// An attempt of a step begins. It replaces the blocks of the former attempt.
    Attempt(StepRef),
    /// A piece of the answer's text, at this byte offset of the attempt's text.
    Text {
        #[serde(flatten)]
        at: StepRef,
        offset: u64,
        text: String,
    },
    /// A piece of the model's reasoning, at this byte offset of the attempt's reasoning.
    Thinking {
        #[serde(flatten)]
        at: StepRef,
        offset: u64,
        text: String,
    },
    /// A piece of the arguments of a tool call as the model writes them. `index` tells the calls of
    /// an answer apart.
    CallText {
        #[serde(flatten)]
        at: StepRef,
        index: u32,
        name: String,
        text: String,
    },
    /// A stored call begins to run, perhaps again.
    #[serde(rename_all = "camelCase")]
    CallBegun { run: RunId, call_id: String },
    /// A piece of the output of a running call.
    #[serde(rename_all = "camelCase")]
    CallOutput {
        run: RunId,
        call_id: String,
        text: String,
    },
    /// A person is asked. A doubt also puts the call in doubt.
    #[serde(rename_all = "camelCase")]
    Asked {
        run: RunId,
        asks: QuestionKind,
        /// The id for the answer.
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        sentence: String,
    },
    /// A question is answered or withdrawn.
    Answered { run: RunId, id: String },
    /// A run ended. What it did not store is dropped.
    #[serde(rename_all = "camelCase")]
    RunEnded {
        run: RunId,
        cause: RunEndCause,
        /// The cause as a sentence; missing if the model answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
}
