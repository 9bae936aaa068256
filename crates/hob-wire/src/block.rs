//! Blocks: the one model of a transcript. Clients show a conversation by these types alone.
//!
//! A transcript is a list of blocks. `session.blocks` returns pages of it, from stored messages and
//! from runs in progress. The volatile event `session.block` changes it. Both are made by the same
//! fold (`hob_core::transcript`), so ids and contents agree whether a block was read from history
//! or followed live.
//!
//! What always holds:
//! - The text of a block only grows at its end. Any other change has a higher `revision`.
//! - A closed block never changes. It may still be dropped as long as it is not final: with its
//!   attempt, if the model is asked again, or if the stored answer differs from the streamed one.
//! - A block with a `seq` of at most `settled` is final: it is neither changed nor dropped.
//! - The texts of the text blocks of a step, joined in order, are the text of its answer.

use crate::content::{Role, ToolCall};
use crate::id::RunId;
use crate::rule::PermissionDenial;
use crate::work::ToolCallState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a block.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// A message of a person, or one top-level Markdown block of an answer.
    Text,
    /// The model's reasoning in one step.
    Thinking,
    /// A tool call. It is open until the call is settled. While the model writes it, `text` has its
    /// arguments so far; then `text` is empty and `content.call` has the call.
    ToolCall,
    /// The output of a tool call, directly after its call. While the tool runs, `text` has the
    /// output so far; then the result that the model sees.
    ToolOutput,
    /// A sentence of hob for people: a note, the reason why a run ended, a damaged message.
    Notice,
    /// A question to a person. It is dropped when it is answered; the call's block has the outcome.
    Question,
}

/// The kind of text that a piece of a model's answer (`run.delta`) carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeltaKind {
    Text,
    Thinking,
    /// The arguments of a tool call.
    Tool,
}

/// Whether a block can still change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BlockStatus {
    Open,
    Closed,
}

/// One block of a transcript.
///
/// Its id is `RUN/STEP/ATTEMPT/NAME` in a step of a run and `mSEQ/NAME` in any other message. NAME is
/// `k` (thinking), `tN` (the N-th text), `cN` (the N-th tool call) or `oN` (the output of the N-th
/// call). A notice of a run is `RUN/nN` or, for the reason of its end, `RUN/end`; a question is
/// `RUN/qID`. Clients need not parse it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    pub id: String,
    /// From 1. It grows with every change that does not append to `text`.
    pub revision: u64,
    pub kind: BlockKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    pub status: BlockStatus,
    /// The number of bytes before `text` that are not kept: a long output of a running tool.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start: u64,
    pub text: String,
    #[serde(flatten)]
    pub details: BlockDetails,
}

/// What a block has beside its text. A change that opens or closes a block carries all of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockDetails {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The position in the session: the `seq` of its message; for the output of a call, of the
    /// message with the call; for a notice of a run, of the step or message before it. Missing as
    /// long as that message is not stored. If a change gives it to one block of a step, it holds for
    /// all blocks of that step, and so does `createdAt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The author of a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<BlockContent>,
    /// The commit time of its message, in milliseconds since 1970; missing until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<u64>,
}

/// The structured content of a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
#[expect(
    clippy::large_enum_variant,
    reason = "most contents are calls, so a box would only add an allocation"
)]
pub enum BlockContent {
    /// The images of a message. `session.history` has their data.
    #[serde(rename_all = "camelCase")]
    Images { mime_types: Vec<String> },
    /// A tool call.
    #[serde(rename_all = "camelCase")]
    Call {
        name: String,
        /// Missing while the model writes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<ToolCall>,
        state: ToolCallState,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        denial: Option<PermissionDenial>,
    },
    /// The output of a tool call.
    #[serde(rename_all = "camelCase")]
    Output {
        call_id: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        /// The types of its images. `session.history` has their data.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        mime_types: Vec<String>,
    },
    /// The reason of a notice, for programs: `note`, `damaged`, or the cause of a run's end.
    #[serde(rename_all = "camelCase")]
    Notice { code: String },
    /// A question; `text` has the sentence.
    #[serde(rename_all = "camelCase")]
    Question {
        asks: QuestionKind,
        /// The id for `permission.answer`; the call's id for `agent.resolve`; the run's id for
        /// `agent.allow`.
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
    },
}

/// What a person is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuestionKind {
    /// Permission for a call: `permission.answer`. `permission.pending` has the whole question.
    Permission,
    /// Whether an interrupted call happened: `agent.resolve`.
    Doubt,
    /// More money: `agent.allow`.
    Money,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BlockOp {
    /// The whole block as it is now. A known block with a lower revision is replaced where it is. A
    /// new one is inserted before the block `before`, or added at the end without it.
    Open,
    /// Appends `text` at `offset`, which must be the length of the known text (with `start`). If
    /// the known text is longer, only the rest of `text` is new; if it is shorter, or the revision
    /// is another one, a change was missed.
    Delta,
    /// Like a delta with the same revision; with a higher revision, `text` replaces the text and
    /// `offset` the `start`. `details` replace the details. The block is closed.
    Close,
    /// Removes the block, unless the known one has a higher revision.
    Drop,
}

/// A change of one block.
///
/// `position` counts the changes of a session. If it is not the last one plus one, a change was
/// missed or the daemon started again: ask `session.blocks` with `after` set to the last `settled`,
/// and replace everything behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockChange {
    pub position: u64,
    pub op: BlockOp,
    pub id: String,
    pub revision: u64,
    pub kind: BlockKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The byte offset of `text` in the block.
    #[serde(default)]
    pub offset: u64,
    #[serde(default)]
    pub text: String,
    /// With `open`: the block that it stands before; missing at the end of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// With `open` and `close`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<BlockDetails>,
    /// If it grew: the blocks with at most this `seq` are final now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<u64>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(value: &u64) -> bool {
    *value == 0
}
