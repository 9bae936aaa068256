//! The blocks of one tool call: the call, the questions about it, and its output.
//!
//! Invariant: the call and its output are closed together, with the result; a call without one is
//! closed at the end of its run.

use super::changes::{Changes, close_with};
use super::input::CallOutcome;
use hob_wire::block::{Block, BlockContent, BlockStatus};
use hob_wire::content::{ContentPart, ToolCall, ToolResult};
use hob_wire::work::ToolCallState;

/// The bytes kept of the output of a running call. Its result has the output as the model sees it.
pub(super) const OUTPUT_BYTES_MAX: usize = 64 * 1_024;

/// The blocks of one tool call, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CallBlocks {
    /// The model's number of the call, while it writes it.
    index: Option<u32>,
    call: Block,
    pub(super) questions: Vec<Block>,
    output: Option<Block>,
}

impl CallBlocks {
    /// A call that the model begins to write.
    pub(super) fn written(
        mut block: Block,
        index: u32,
        name: &str,
        text: &str,
        changes: &mut Changes,
    ) -> Self {
        text.clone_into(&mut block.text);
        set_call(&mut block, name, None);
        changes.insert(&block);
        CallBlocks {
            index: Some(index),
            call: block,
            questions: Vec::new(),
            output: None,
        }
    }

    /// A call of a stored answer.
    pub(super) fn stored(mut block: Block, call: ToolCall, changes: &mut Changes) -> Self {
        let name = call.name.clone();
        set_call(&mut block, &name, Some(call));
        changes.insert(&block);
        CallBlocks {
            index: None,
            call: block,
            questions: Vec::new(),
            output: None,
        }
    }

    pub(super) fn blocks(&self) -> impl DoubleEndedIterator<Item = &Block> {
        let call = std::iter::once(&self.call);
        call.chain(&self.questions).chain(&self.output)
    }

    pub(super) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        let call = std::iter::once(&mut self.call);
        call.chain(&mut self.questions).chain(&mut self.output)
    }

    /// Its id; `None` until the answer is stored.
    pub(super) fn id(&self) -> Option<&str> {
        match &self.call.details.content {
            Some(BlockContent::Call { call, .. }) => call.as_ref().map(|call| call.id.as_str()),
            _ => None,
        }
    }

    pub(super) fn is_written_as(&self, index: u32) -> bool {
        self.index == Some(index)
    }

    /// Adds a piece of its arguments.
    pub(super) fn push_arguments(&mut self, text: &str, changes: &mut Changes) {
        self.call.text.push_str(text);
        changes.append(&self.call, text);
    }

    /// Replaces the written call by the stored one.
    pub(super) fn store(&mut self, call: ToolCall, changes: &mut Changes) {
        self.index = None;
        let name = call.name.clone();
        set_call(&mut self.call, &name, Some(call));
        self.call.text.clear();
        self.call.revision += 1;
        changes.replace(&self.call);
    }

    /// Changes its state, unless it is settled.
    pub(super) fn set_state(&mut self, to: ToolCallState, changes: &mut Changes) {
        if self.is_settled() || self.state() == Some(to) {
            return;
        }
        if let Some(BlockContent::Call { state, .. }) = &mut self.call.details.content {
            *state = to;
        }
        self.call.revision += 1;
        changes.replace(&self.call);
    }

    /// Adds a piece of its output. `fresh` is the output's block, if it has none yet.
    pub(super) fn push_output(&mut self, text: &str, fresh: Block, changes: &mut Changes) {
        if self.is_settled() {
            return;
        }
        let Some(block) = &mut self.output else {
            let mut block = fresh;
            set_output(&mut block, self.id().unwrap_or_default());
            block.text.push_str(text);
            changes.insert(&block);
            self.output = Some(block);
            return;
        };
        block.text.push_str(text);
        changes.append(block, text);
        // Twice the bound, so that trimming is rare.
        if block.text.len() > 2 * OUTPUT_BYTES_MAX {
            let cut = block
                .text
                .ceil_char_boundary(block.text.len() - OUTPUT_BYTES_MAX);
            block.text.drain(..cut);
            block.start += cut as u64;
        }
    }

    /// Adds its result and closes it. `fresh` is the output's block, if it has none yet.
    pub(super) fn settle(
        &mut self,
        result: &ToolResult,
        outcome: Option<&CallOutcome>,
        fresh: Block,
        changes: &mut Changes,
    ) {
        if self.is_settled() {
            return;
        }
        for question in self.questions.drain(..) {
            changes.drop(&question);
        }
        let output = self.output.get_or_insert_with(|| {
            let mut block = fresh;
            set_output(&mut block, &result.id);
            changes.insert(&block);
            block
        });
        set_result(output, result);
        close_with(output, result_text(result), changes);
        let state = outcome.map_or(ToolCallState::Done, |outcome| outcome.state);
        let denial = outcome.and_then(|outcome| outcome.denial.clone());
        if let Some(BlockContent::Call { denial: held, .. }) = &mut self.call.details.content {
            *held = denial;
        }
        self.close_call(state, changes);
    }

    /// Closes it if its run ended without a result. Its output is not stored, so it is dropped.
    pub(super) fn cancel(&mut self, changes: &mut Changes) {
        if self.is_settled() {
            return;
        }
        if let Some(output) = self.output.take() {
            changes.drop(&output);
        }
        self.close_call(ToolCallState::Cancelled, changes);
    }

    fn close_call(&mut self, to: ToolCallState, changes: &mut Changes) {
        if let Some(BlockContent::Call { state, .. }) = &mut self.call.details.content {
            *state = to;
        }
        self.call.revision += 1;
        self.call.status = BlockStatus::Closed;
        changes.close(&self.call, &self.call.text);
    }

    fn state(&self) -> Option<ToolCallState> {
        match &self.call.details.content {
            Some(BlockContent::Call { state, .. }) => Some(*state),
            _ => None,
        }
    }

    fn is_settled(&self) -> bool {
        self.call.status == BlockStatus::Closed
    }
}

/// The text of a result, as the model sees it.
pub(super) fn result_text(result: &ToolResult) -> String {
    let mut text = String::new();
    for part in &result.content {
        if let ContentPart::Text { text: part } = part {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(part);
        }
    }
    text
}

/// Sets the content of an output from the result.
pub(super) fn set_result(block: &mut Block, result: &ToolResult) {
    let images = result.content.iter().filter_map(|part| match part {
        ContentPart::Image { mime_type, .. } => Some(mime_type.clone()),
        _ => None,
    });
    block.details.content = Some(BlockContent::Output {
        call_id: result.id.clone(),
        is_error: result.is_error,
        mime_types: images.collect(),
    });
}

fn set_output(block: &mut Block, call: &str) {
    block.details.content = Some(BlockContent::Output {
        call_id: call.to_owned(),
        is_error: false,
        mime_types: Vec::new(),
    });
}

fn set_call(block: &mut Block, name: &str, call: Option<ToolCall>) {
    block.details.content = Some(BlockContent::Call {
        name: name.to_owned(),
        call,
        state: ToolCallState::Asked,
        denial: None,
    });
}
