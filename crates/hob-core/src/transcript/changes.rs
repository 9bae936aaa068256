//! The changes that one input makes, before they are numbered and placed in the list.
//!
//! Invariant: blocks are inserted in the order of the list, so the place of each is the next block
//! behind it that is not inserted with it.

use hob_wire::block::{Block, BlockChange, BlockOp, BlockStatus};
use std::collections::{BTreeMap, BTreeSet};

/// The changes of one input.
#[derive(Debug, Default)]
pub(super) struct Changes {
    list: Vec<BlockChange>,
    inserted: BTreeSet<String>,
}

impl Changes {
    /// Notes a new block.
    pub(super) fn insert(&mut self, block: &Block) {
        self.inserted.insert(block.id.clone());
        self.replace(block);
    }

    /// Notes that a block has another content.
    pub(super) fn replace(&mut self, block: &Block) {
        self.list.push(BlockChange {
            offset: block.start,
            text: block.text.clone(),
            details: Some(block.details.clone()),
            ..change_of(block, BlockOp::Open)
        });
    }

    /// Notes that `text` was appended to a block.
    pub(super) fn append(&mut self, block: &Block, text: &str) {
        let end = block.start + block.text.len() as u64;
        self.list.push(BlockChange {
            offset: end.saturating_sub(text.len() as u64),
            text: text.to_owned(),
            ..change_of(block, BlockOp::Delta)
        });
    }

    /// Notes that a block was closed with `text` as its last piece, or as its text if its revision
    /// grew.
    pub(super) fn close(&mut self, block: &Block, text: &str) {
        let end = block.start + block.text.len() as u64;
        self.list.push(BlockChange {
            offset: end.saturating_sub(text.len() as u64),
            text: text.to_owned(),
            details: Some(block.details.clone()),
            ..change_of(block, BlockOp::Close)
        });
    }

    pub(super) fn drop(&mut self, block: &Block) {
        self.list.push(change_of(block, BlockOp::Drop));
    }

    /// Whether nothing changed.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the changes with their places. `backward`: all blocks after the input, last first.
    pub(super) fn place<'b>(
        mut self,
        backward: impl Iterator<Item = &'b Block>,
    ) -> Vec<BlockChange> {
        let mut places = BTreeMap::new();
        let mut next = None;
        for block in backward {
            if places.len() == self.inserted.len() {
                break;
            }
            if self.inserted.contains(&block.id) {
                places.insert(block.id.as_str(), next);
            } else {
                next = Some(&block.id);
            }
        }
        for change in &mut self.list {
            if change.op == BlockOp::Open
                && let Some(next) = places.get(change.id.as_str())
            {
                change.before = next.cloned();
            }
        }
        self.list
    }
}

/// Closes an open block with its final text; appends if the text begins with what is known.
pub(super) fn close_with(block: &mut Block, text: String, changes: &mut Changes) {
    block.status = BlockStatus::Closed;
    let known = block.text.len();
    let appends = block.start == 0 && text.starts_with(&block.text);
    if !appends {
        block.revision += 1;
        block.start = 0;
    }
    block.text = text;
    let from = if appends { known } else { 0 };
    changes.close(block, block.text.get(from..).unwrap_or_default());
}

fn change_of(block: &Block, op: BlockOp) -> BlockChange {
    BlockChange {
        // Numbered when they are emitted.
        position: 0,
        op,
        id: block.id.clone(),
        revision: block.revision,
        kind: block.kind,
        run_id: block.run_id,
        offset: 0,
        text: String::new(),
        before: None,
        details: None,
        settled: None,
    }
}
