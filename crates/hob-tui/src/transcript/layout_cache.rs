//! The laid-out rows of blocks, kept as long as they are valid. Pure.

use super::block_rows;
use crate::text::Row;
use hob_wire::block::{Block, BlockStatus};
use std::collections::HashMap;
use std::rc::Rc;

/// The most blocks whose rows are kept.
const LAYOUTS_MAX: usize = 512;

/// What the rows of a block depend on. The theme is not among it: rows have roles, not colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LayoutKey {
    revision: u64,
    start: u64,
    text_bytes: usize,
    is_open: bool,
    columns: usize,
    is_unfolded: bool,
}

#[derive(Debug, Default)]
pub(super) struct LayoutCache {
    layouts: HashMap<String, (LayoutKey, Rc<Vec<Row>>)>,
}

impl LayoutCache {
    pub(super) fn rows(
        &mut self,
        block: &Block,
        columns: usize,
        is_unfolded: bool,
    ) -> Rc<Vec<Row>> {
        let key = LayoutKey {
            revision: block.revision,
            start: block.start,
            text_bytes: block.text.len(),
            is_open: block.status == BlockStatus::Open,
            columns,
            is_unfolded,
        };
        if let Some((known, rows)) = self.layouts.get(&block.id)
            && *known == key
        {
            return Rc::clone(rows);
        }
        if self.layouts.len() >= LAYOUTS_MAX {
            self.layouts.clear();
        }
        let rows = Rc::new(block_rows::rows(block, columns, is_unfolded));
        let kept = (key, Rc::clone(&rows));
        self.layouts.insert(block.id.clone(), kept);
        rows
    }

    /// The rows that the block had when it was last laid out.
    pub(super) fn row_count(&self, blocks: &[Block], index: usize) -> Option<usize> {
        let (_, rows) = self.layouts.get(&blocks.get(index)?.id)?;
        Some(rows.len())
    }

    /// The number of layouts that are kept.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.layouts.len()
    }
}
