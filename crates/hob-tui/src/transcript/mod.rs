//! The conversation: the blocks of the session, how they are laid out, and which part is seen. Pure.
//!
//! Invariants: only blocks that are seen are laid out; a layout is kept until its block, the width or
//! its fold changes; what a person reads does not move when blocks above or below it change.

mod block_rows;
mod call_rows;
mod layout_cache;
mod mirror;
mod viewport;

pub use mirror::BlockUpdate;
pub use viewport::VisibleRow;

use crate::text::{Row, clean};
use hob_wire::block::{Block, BlockKind};
use hob_wire::content::Role as Author;
use layout_cache::LayoutCache;
use std::collections::BTreeMap;
use std::rc::Rc;
use viewport::TopRow;

/// The most blocks whose fold is remembered.
const FOLDS_MAX: usize = 4_096;

/// The blocks of one session and the view of them.
#[derive(Debug, Default)]
pub struct Transcript {
    blocks: Vec<Block>,
    cache: LayoutCache,
    /// Folds that a person changed, by block.
    folds: BTreeMap<String, bool>,
    /// Thinking and outputs are unfolded unless one is folded by hand.
    unfolds_all: bool,
    columns: usize,
    height: usize,
    /// The first row that is seen; `None` while the end is followed.
    top: Option<TopRow>,
    /// The foldable block that was chosen by key.
    chosen: Option<String>,
    /// Something came below what is seen.
    has_unseen: bool,
    query: String,
}

impl Transcript {
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Forgets everything: another session is shown.
    pub fn clear(&mut self) {
        *self = Transcript {
            columns: self.columns,
            height: self.height,
            unfolds_all: self.unfolds_all,
            ..Transcript::default()
        };
    }

    /// Sets the size of the part of the screen that shows it.
    pub fn resize(&mut self, columns: usize, height: usize) {
        if self.columns != columns {
            // The row inside the block that is read stands elsewhere now.
            if let Some(top) = &mut self.top {
                let before = self.cache.row_count(&self.blocks, top.index);
                top.scale(before);
            }
            self.columns = columns;
        }
        self.height = height;
    }

    /// Returns true while the end is followed.
    pub fn is_following(&self) -> bool {
        self.top.is_none()
    }

    /// Returns true if something came below what is seen.
    pub fn has_unseen(&self) -> bool {
        self.has_unseen && self.top.is_some()
    }

    pub fn chosen(&self) -> Option<&str> {
        self.chosen.as_deref()
    }

    /// Folds or unfolds all thinking, calls and outputs.
    pub fn fold_all(&mut self) -> bool {
        self.unfolds_all = !self.unfolds_all;
        self.folds.clear();
        self.unfolds_all
    }

    /// Folds or unfolds the block at this index, if it can be.
    pub fn fold(&mut self, index: usize) {
        let Some(block) = self.blocks.get(index).filter(|block| is_foldable(block)) else {
            return;
        };
        let is_unfolded = self.is_unfolded(block);
        if self.folds.len() >= FOLDS_MAX {
            self.folds.clear();
        }
        self.folds.insert(block.id.clone(), !is_unfolded);
    }

    /// Folds or unfolds the chosen block, else the last foldable one that is seen.
    pub fn fold_chosen(&mut self) {
        let chosen = self.chosen.clone();
        let index = match chosen {
            Some(id) => self.blocks.iter().position(|block| block.id == id),
            None => self.foldable_in_view().last().copied(),
        };
        if let Some(index) = index {
            self.fold(index);
        }
    }

    /// Chooses the foldable block above or below the chosen one and shows it.
    pub fn choose(&mut self, is_above: bool) {
        let current = self.chosen.as_ref();
        let current = current.and_then(|id| self.blocks.iter().position(|it| it.id == *id));
        let foldable = |index: &usize| self.blocks.get(*index).is_some_and(is_foldable);
        let found = match (current, is_above) {
            (Some(current), true) => (0..current).rev().find(foldable),
            (Some(current), false) => (current + 1..self.blocks.len()).find(foldable),
            (None, _) => self.foldable_in_view().last().copied(),
        };
        if let Some(index) = found {
            self.chosen = self.blocks.get(index).map(|block| block.id.clone());
            self.reveal(index);
        }
    }

    /// Ends the choice of a block.
    pub fn choose_none(&mut self) -> bool {
        self.chosen.take().is_some()
    }

    fn foldable_in_view(&mut self) -> Vec<usize> {
        let rows = self.visible();
        let mut seen: Vec<usize> = rows.iter().map(|row| row.index).collect();
        seen.dedup();
        seen.retain(|index| self.blocks.get(*index).is_some_and(is_foldable));
        seen
    }

    fn is_unfolded(&self, block: &Block) -> bool {
        let by_hand = self.folds.get(&block.id).copied();
        by_hand.unwrap_or(self.unfolds_all)
    }

    /// The rows of a block, laid out at most once for its state.
    fn rows_of(&mut self, index: usize) -> Rc<Vec<Row>> {
        let Some(block) = self.blocks.get(index) else {
            return Rc::default();
        };
        let is_unfolded = self.is_unfolded(block);
        self.cache.rows(block, self.columns, is_unfolded)
    }

    /// The words that are marked where they are seen.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// Looks for words from what is seen upward, and from the end when the beginning is reached.
    /// Returns false if they occur nowhere.
    pub fn search(&mut self, query: &str, is_again: bool) -> bool {
        query.clone_into(&mut self.query);
        let wanted = query.to_lowercase();
        if wanted.is_empty() || self.blocks.is_empty() {
            return false;
        }
        let start = match (&self.top, is_again) {
            (Some(top), true) => top.index,
            (Some(top), false) => top.index + 1,
            (None, _) => self.blocks.len(),
        };
        let start = start.min(self.blocks.len());
        let order = (0..start).rev().chain((start..self.blocks.len()).rev());
        let has = |index: &usize| {
            clean(&self.blocks[*index].text)
                .to_lowercase()
                .contains(&wanted)
        };
        let found = order.into_iter().find(has);
        if let Some(index) = found {
            self.show_at_top(index);
        }
        found.is_some()
    }

    /// The text of the last answer.
    pub fn last_answer(&self) -> Option<String> {
        let is_answer = |block: &&Block| {
            block.kind == BlockKind::Text && block.details.role == Some(Author::Assistant)
        };
        let last = self.blocks.iter().rev().find(is_answer)?;
        let step = (last.run_id, last.details.step);
        let of_step = self.blocks.iter().filter(is_answer);
        let of_step = of_step.filter(|block| (block.run_id, block.details.step) == step);
        Some(of_step.map(|block| block.text.as_str()).collect())
    }

    /// The whole conversation as plain text, without borders and without breaks for a width.
    pub fn plain_text(&self) -> String {
        let mut out = String::new();
        for block in &self.blocks {
            out.push_str(&block_rows::plain(block));
        }
        clean(&out)
    }

    /// The rows that are left behind on the normal screen: the last question and its answer.
    pub fn tail(&mut self, rows_max: usize) -> Vec<Row> {
        let is_question = |block: &Block| {
            block.details.role == Some(Author::User) && block.kind == BlockKind::Text
        };
        let first = self.blocks.iter().rposition(is_question);
        let first = first.unwrap_or(self.blocks.len());
        let rows = (first..self.blocks.len()).flat_map(|index| self.rows_of(index).to_vec());
        let rows: Vec<Row> = rows.collect();
        let left_out = rows.len().saturating_sub(rows_max);
        rows.into_iter().skip(left_out).collect()
    }
}

/// Returns true if a block has a folded and an unfolded form.
fn is_foldable(block: &Block) -> bool {
    matches!(
        block.kind,
        BlockKind::Thinking | BlockKind::ToolCall | BlockKind::ToolOutput
    )
}

#[cfg(test)]
#[path = "../transcript_tests.rs"]
mod tests;
