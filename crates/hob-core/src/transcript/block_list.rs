//! The client's copy of a session's blocks. It applies changes and pages in whatever order they
//! arrive, and says what to ask for.
//!
//! Subscribe to `session.block` first; then send what [`BlockList::next_request`] returns and give
//! the answer to [`BlockList::apply_page`]. A change that does not follow the last one is kept until
//! a page has replaced everything that is not final.
//!
//! Invariants: after a page, and the changes behind its position, the list equals the daemon's; a
//! change is applied once; the changes kept and the blocks kept are bounded.

use hob_wire::block::{Block, BlockChange, BlockOp, BlockStatus};
use std::collections::{BTreeMap, BTreeSet};

/// The most changes kept behind a gap. Beyond it they are dropped, and a page is asked for.
const KEPT_CHANGES_MAX: usize = 4_096;

/// A page of blocks, as `session.blocks` answers it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockPage {
    pub blocks: Vec<Block>,
    pub before: Option<u64>,
    pub after: Option<u64>,
    pub settled: u64,
    pub position: u64,
}

/// The parameters of `session.blocks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockRequest {
    /// The last page.
    Latest,
    /// The page before this `seq`.
    Before(u64),
    /// The page after this `seq`.
    After(u64),
}

/// What changed in the list.
#[derive(Clone, Debug, PartialEq)]
pub enum ListChange {
    /// The block at this index is new; later ones moved.
    Inserted { index: usize },
    /// `text` was appended to the block at this index.
    Appended { index: usize, text: String },
    /// The block at this index has another content or was closed.
    Changed { index: usize },
    /// The block was dropped; it was at this index.
    Removed { index: usize, block: Box<Block> },
    /// The first blocks were forgotten, because the list is full.
    Forgotten { count: usize },
}

/// The client's copy of the blocks of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockList {
    blocks: Vec<Block>,
    /// Blocks with at most this `seq` are final.
    settled: u64,
    /// The last applied change; `None` before the first page and after a loss.
    position: Option<u64>,
    /// Where the page before the first block ends, if there is one.
    before: Option<u64>,
    /// Changes behind a gap, by their number.
    kept: BTreeMap<u64, BlockChange>,
    /// Those that were kept when the open request was sent. Its answer has them, unless another
    /// daemon sent them.
    kept_before: BTreeSet<u64>,
    /// The pages of a renewal so far.
    renewal: Option<Renewal>,
    is_asking: bool,
    /// Another renewal was asked for during this one.
    renews_again: bool,
    /// The most blocks kept; the oldest final ones are forgotten.
    blocks_max: usize,
}

/// Pages that replace everything that is not final. Only the last one has blocks that may change, so
/// its position is that of all.
#[derive(Clone, Debug, Default, PartialEq)]
struct Renewal {
    blocks: Vec<Block>,
    after: Option<u64>,
}

impl BlockList {
    /// Creates an empty list that keeps about this many blocks.
    pub fn new(blocks_max: usize) -> Self {
        BlockList {
            blocks: Vec::new(),
            settled: 0,
            position: None,
            before: None,
            kept: BTreeMap::new(),
            kept_before: BTreeSet::new(),
            renewal: Some(Renewal::default()),
            is_asking: false,
            renews_again: false,
            blocks_max,
        }
    }

    /// The blocks in order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns true if nothing is known to be missing.
    pub fn is_current(&self) -> bool {
        self.renewal.is_none() && self.kept.is_empty()
    }

    /// Returns the request to send now, if one is needed and none is open.
    pub fn next_request(&mut self) -> Option<BlockRequest> {
        if self.is_asking {
            return None;
        }
        let renewal = self.renewal.as_ref()?;
        self.is_asking = true;
        self.kept_before = self.kept.keys().copied().collect();
        Some(match (renewal.after, self.position) {
            (Some(after), _) => BlockRequest::After(after),
            (None, _) if self.blocks.is_empty() && self.settled == 0 => BlockRequest::Latest,
            (None, _) => BlockRequest::After(self.settled),
        })
    }

    /// Returns the request for the page before the first block; its answer goes to
    /// [`BlockList::apply_older`].
    pub fn older_request(&self) -> Option<BlockRequest> {
        self.before.map(BlockRequest::Before)
    }

    /// Asks for everything that is not final again: after a reconnect, or if something may be
    /// missing without a later change that shows it.
    pub fn renew(&mut self) {
        // A request on its way may be answered from before this call.
        self.renews_again = self.is_asking;
        self.renewal.get_or_insert_default();
    }

    /// Notes that the connection is lost: the open request will not be answered, and the daemon may
    /// count anew.
    pub fn disconnect(&mut self) {
        self.is_asking = false;
        self.renews_again = false;
        self.kept.clear();
        self.position = None;
        self.renewal = Some(Renewal::default());
    }

    /// Notes that a request failed; [`BlockList::next_request`] returns it again.
    pub fn request_failed(&mut self) {
        self.is_asking = false;
    }

    /// Applies a change.
    pub fn apply_change(&mut self, change: BlockChange, out: &mut Vec<ListChange>) {
        if self.renewal.is_none() && self.position.is_some_and(|last| change.position <= last) {
            return;
        }
        if self.kept.len() >= KEPT_CHANGES_MAX {
            // The gap that this leaves is found after the page.
            self.kept.clear();
        }
        self.kept.insert(change.position, change);
        if self.renewal.is_none() {
            self.apply_kept(out);
        }
    }

    /// Applies the answer to [`BlockList::next_request`].
    pub fn apply_page(&mut self, page: BlockPage, out: &mut Vec<ListChange>) {
        self.is_asking = false;
        let Some(renewal) = &mut self.renewal else {
            return;
        };
        let is_first = renewal.after.is_none();
        renewal.blocks.extend(page.blocks);
        renewal.after = page.after;
        if is_first && self.blocks.is_empty() {
            self.before = page.before;
        }
        if page.after.is_some() {
            return;
        }
        let blocks = std::mem::take(&mut renewal.blocks);
        self.renewal = self.renews_again.then(Renewal::default);
        self.renews_again = false;
        for kept in std::mem::take(&mut self.kept_before) {
            self.kept.remove(&kept);
        }
        self.replace_tail(blocks, out);
        self.settled = page.settled;
        self.position = Some(page.position);
        self.apply_kept(out);
    }

    /// Applies the answer to [`BlockList::older_request`].
    pub fn apply_older(&mut self, page: BlockPage, out: &mut Vec<ListChange>) {
        self.before = page.before;
        let count = page.blocks.len();
        self.blocks.splice(0..0, page.blocks);
        out.extend((0..count).map(|index| ListChange::Inserted { index }));
    }

    /// Applies the kept changes that follow the last applied one.
    fn apply_kept(&mut self, out: &mut Vec<ListChange>) {
        let Some(last) = &mut self.position else {
            return;
        };
        self.kept = self.kept.split_off(&last.saturating_add(1));
        let mut due = Vec::new();
        while let Some(change) = self.kept.remove(&last.saturating_add(1)) {
            *last += 1;
            due.push(change);
        }
        for change in due {
            self.apply_next(change, out);
        }
        if !self.kept.is_empty() {
            self.renewal.get_or_insert_default();
        }
        self.forget_oldest(out);
    }

    /// Applies the change that follows the last one. A page may already contain it.
    fn apply_next(&mut self, change: BlockChange, out: &mut Vec<ListChange>) {
        let settled = change.settled;
        let stored = change.details.as_ref().and_then(|details| details.seq);
        let created_at = change.details.as_ref().and_then(|it| it.created_at);
        let step = change
            .details
            .as_ref()
            .and_then(|it| it.step.zip(it.attempt));
        let run = change.run_id;
        let is_applied = match self.index_of(&change.id) {
            Some(index) => self.change_known(index, change, out),
            None => self.insert_new(change, out),
        };
        if !is_applied {
            self.renewal.get_or_insert_default();
            return;
        }
        if let (Some(seq), Some(step)) = (stored, step) {
            let of_step = |block: &&mut Block| {
                let it = &block.details;
                block.run_id == run && it.step.zip(it.attempt) == Some(step)
            };
            let tail = self.blocks.iter_mut().rev();
            let is_near = |block: &&mut Block| block.details.seq.is_none_or(|it| it >= seq);
            for block in tail.take_while(is_near).filter(of_step) {
                block.details.seq = Some(seq);
                block.details.created_at = created_at;
            }
        }
        if let Some(settled) = settled {
            self.settled = self.settled.max(settled);
        }
    }

    /// Returns false if the change does not fit.
    fn change_known(
        &mut self,
        index: usize,
        change: BlockChange,
        out: &mut Vec<ListChange>,
    ) -> bool {
        let Some(block) = self.blocks.get_mut(index) else {
            return false;
        };
        if change.revision < block.revision {
            return true;
        }
        match change.op {
            BlockOp::Drop => {
                let block = self.blocks.remove(index);
                out.push(ListChange::Removed {
                    index,
                    block: Box::new(block),
                });
            }
            BlockOp::Open if change.revision == block.revision => {}
            BlockOp::Open => {
                *block = block_of(change);
                out.push(ListChange::Changed { index });
            }
            BlockOp::Delta if change.revision != block.revision => return false,
            BlockOp::Delta => match append(block, &change) {
                Some(text) if text.is_empty() => {}
                Some(text) => out.push(ListChange::Appended { index, text }),
                None => return false,
            },
            BlockOp::Close if block.status == BlockStatus::Closed => {}
            BlockOp::Close => {
                if change.revision > block.revision {
                    *block = block_of(change);
                } else {
                    match append(block, &change) {
                        Some(text) if text.is_empty() => {}
                        Some(text) => out.push(ListChange::Appended { index, text }),
                        None => return false,
                    }
                    block.details = change.details.unwrap_or_default();
                }
                block.status = BlockStatus::Closed;
                out.push(ListChange::Changed { index });
            }
        }
        true
    }

    /// Returns false if the change does not fit.
    fn insert_new(&mut self, change: BlockChange, out: &mut Vec<ListChange>) -> bool {
        match change.op {
            // It was dropped before, or it was never here.
            BlockOp::Drop => true,
            BlockOp::Delta | BlockOp::Close => false,
            BlockOp::Open => {
                let index = match &change.before {
                    None => Some(self.blocks.len()),
                    Some(next) => self.index_of(next),
                };
                let Some(index) = index else {
                    return false;
                };
                self.blocks.insert(index, block_of(change));
                out.push(ListChange::Inserted { index });
                true
            }
        }
    }

    /// Replaces everything that is not final by `blocks`.
    fn replace_tail(&mut self, blocks: Vec<Block>, out: &mut Vec<ListChange>) {
        let is_final = |block: &Block| block.details.seq.is_some_and(|seq| seq <= self.settled);
        let mut index = self
            .blocks
            .iter()
            .rposition(is_final)
            .map_or(0, |last| last + 1);
        for block in blocks {
            // What stands before the block's old place and is not in the page is gone.
            let known = self.index_of(&block.id).filter(|known| *known >= index);
            if let Some(known) = known {
                self.remove(index, known, out);
                self.replace(index, block, out);
            } else {
                self.blocks.insert(index, block);
                out.push(ListChange::Inserted { index });
            }
            index += 1;
        }
        self.remove(index, self.blocks.len(), out);
    }

    fn remove(&mut self, from: usize, to: usize, out: &mut Vec<ListChange>) {
        for block in self.blocks.drain(from..to) {
            out.push(ListChange::Removed {
                index: from,
                block: Box::new(block),
            });
        }
    }

    fn replace(&mut self, index: usize, new: Block, out: &mut Vec<ListChange>) {
        let Some(block) = self.blocks.get_mut(index) else {
            return;
        };
        let is_same = |block: &Block| {
            block.status == new.status
                && block.start == new.start
                && block.text == new.text
                && block.details == new.details
        };
        let appended = new
            .text
            .strip_prefix(&block.text)
            .filter(|text| !text.is_empty());
        let appended = appended
            .filter(|_| block.start == new.start)
            .map(str::to_owned);
        let is_changed = appended.is_none() && !is_same(block);
        let details_differ = new.status != block.status;
        *block = new;
        match appended {
            Some(text) => {
                out.push(ListChange::Appended { index, text });
                out.extend(details_differ.then_some(ListChange::Changed { index }));
            }
            None => out.extend(is_changed.then_some(ListChange::Changed { index })),
        }
    }

    /// Forgets the oldest final blocks beyond the bound.
    fn forget_oldest(&mut self, out: &mut Vec<ListChange>) {
        let over = self.blocks.len().saturating_sub(self.blocks_max);
        let settled = self.settled;
        let is_final = |block: &&Block| block.details.seq.is_some_and(|seq| seq <= settled);
        let finals = self.blocks.iter().take(over).take_while(is_final).count();
        if finals == 0 {
            return;
        }
        self.blocks.drain(..finals);
        out.push(ListChange::Forgotten { count: finals });
        self.before = self.blocks.first().and_then(|block| block.details.seq);
    }

    fn index_of(&self, id: &str) -> Option<usize> {
        self.blocks.iter().rposition(|block| block.id == id)
    }
}

/// The block that an `open` or a replacing `close` describes.
fn block_of(change: BlockChange) -> Block {
    Block {
        id: change.id,
        revision: change.revision,
        kind: change.kind,
        run_id: change.run_id,
        status: BlockStatus::Open,
        start: change.offset,
        text: change.text,
        details: change.details.unwrap_or_default(),
    }
}

/// Appends the part of a change that is new; `None` if something before it is missing.
fn append(block: &mut Block, change: &BlockChange) -> Option<String> {
    let known = (block.start + block.text.len() as u64).checked_sub(change.offset)?;
    let known = usize::try_from(known).ok()?;
    let text = change.text.get(known..).unwrap_or_default().to_owned();
    block.text.push_str(&text);
    Some(text)
}

#[cfg(test)]
#[path = "block_list_tests.rs"]
mod tests;
