//! Changes of the client's list of blocks, carried over to the model. Pure.
//!
//! Invariant: after an update the blocks equal the client's list but for `seq` and `createdAt`, which
//! the list gives to the other blocks of a step without a change, and which are not shown.

use super::{TopRow, Transcript};
use hob_client::ListChange;
use hob_wire::block::{Block, BlockDetails, BlockKind, BlockStatus};

/// Changes of a list, with the blocks that are new or changed as they are after all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockUpdate {
    pub changes: Vec<ListChange>,
    /// The new and changed blocks by their index at the end.
    pub fresh: Vec<(usize, Block)>,
}

impl BlockUpdate {
    /// Collects what the changes made of the list.
    pub fn new(changes: Vec<ListChange>, blocks: &[Block]) -> BlockUpdate {
        let mut touched: Vec<usize> = Vec::new();
        for change in &changes {
            match change {
                ListChange::Inserted { index } => {
                    for it in &mut touched {
                        *it += usize::from(*it >= *index);
                    }
                    touched.push(*index);
                }
                ListChange::Changed { index } => {
                    if !touched.contains(index) {
                        touched.push(*index);
                    }
                }
                // The change carries its text itself.
                ListChange::Appended { .. } => {}
                ListChange::Removed { index, .. } => {
                    touched.retain(|it| it != index);
                    for it in &mut touched {
                        *it -= usize::from(*it > *index);
                    }
                }
                ListChange::Forgotten { count } => {
                    touched.retain(|it| it >= count);
                    for it in &mut touched {
                        *it -= count;
                    }
                }
            }
        }
        let fresh = touched.into_iter();
        let fresh = fresh.filter_map(|index| Some((index, blocks.get(index)?.clone())));
        BlockUpdate {
            fresh: fresh.collect(),
            changes,
        }
    }
}

impl Transcript {
    /// Applies changes of the client's list.
    pub fn apply(&mut self, update: BlockUpdate) {
        let count = self.blocks.len();
        for change in update.changes {
            self.has_unseen |= self.is_below(&change);
            match change {
                ListChange::Inserted { index } => {
                    let index = index.min(self.blocks.len());
                    self.blocks.insert(index, placeholder());
                    self.move_top(|top| top.index += usize::from(index <= top.index));
                }
                ListChange::Appended { index, text } => {
                    if let Some(block) = self.blocks.get_mut(index) {
                        block.text.push_str(&text);
                    }
                }
                ListChange::Changed { .. } => {}
                ListChange::Removed { index, .. } => {
                    if index < self.blocks.len() {
                        self.blocks.remove(index);
                        self.move_top(|top| top.remove(index));
                    }
                }
                ListChange::Forgotten { count } => {
                    let count = count.min(self.blocks.len());
                    self.blocks.drain(..count);
                    self.move_top(|top| top.forget(count));
                }
            }
        }
        for (index, block) in update.fresh {
            if let Some(place) = self.blocks.get_mut(index) {
                *place = block;
            }
        }
        if self.blocks.is_empty() || count == 0 {
            self.top = None;
        }
    }

    /// Returns true if the change is below the first row that is seen.
    fn is_below(&self, change: &ListChange) -> bool {
        let Some(top) = self.top else {
            return false;
        };
        match change {
            ListChange::Inserted { index }
            | ListChange::Appended { index, .. }
            | ListChange::Changed { index } => *index > top.index,
            ListChange::Removed { .. } | ListChange::Forgotten { .. } => false,
        }
    }

    fn move_top(&mut self, change: impl FnOnce(&mut TopRow)) {
        if let Some(top) = &mut self.top {
            change(top);
        }
    }
}

fn placeholder() -> Block {
    Block {
        id: String::new(),
        revision: 0,
        kind: BlockKind::Notice,
        run_id: None,
        status: BlockStatus::Open,
        start: 0,
        text: String::new(),
        details: BlockDetails::default(),
    }
}
