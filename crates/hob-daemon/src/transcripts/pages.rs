//! The answers to `session.blocks`: final blocks from stored messages, the others from the fold.
//!
//! The fold is looked at before messages are read: what is final then is stored, and stays what it
//! is. Invariant: a page costs the same at any length of the session.

use super::{TranscriptView, Transcripts};
use hob_core::transcript::{TranscriptFold, TranscriptInput};
use hob_store::{StoreError, TranscriptPage, TranscriptPlace};
use hob_wire::block::{Block, BlockContent, BlockStatus};
use hob_wire::limits::{PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX};
use hob_wire::rooms::session::{SessionBlocks, SessionBlocksParams};
use hob_wire::work::ToolCallState;
use hob_wire::{ErrorCode, RunId, WireError};
use std::collections::BTreeSet;

/// Groups read to find a block of a run's end, which stands with one of the last messages.
const END_GROUPS: usize = 16;

pub(super) async fn read(
    transcripts: &Transcripts,
    params: SessionBlocksParams,
) -> Result<SessionBlocks, WireError> {
    let limit = check(&params)?;
    let view = transcripts.view(&params.session_key).await?;
    let pages = BlockPages {
        transcripts,
        session: &params.session_key,
        limit,
    };
    let page = if !params.ids.is_empty() {
        pages.by_ids(view, &params.ids).await?
    } else if let Some(after) = params.after {
        pages.after(view, after).await?
    } else {
        pages.before(view, params.before).await?
    };
    Ok(page)
}

/// Checks the params; returns the number of blocks asked for.
fn check(params: &SessionBlocksParams) -> Result<usize, WireError> {
    let refused = |message: &str| Err(WireError::new(ErrorCode::InvalidParams, message));
    let limit = params.limit.unwrap_or(PAGE_ROWS_DEFAULT);
    if !(1..=PAGE_ROWS_MAX).contains(&limit) {
        return refused(&format!("`limit` is between 1 and {PAGE_ROWS_MAX}."));
    }
    if params.before.is_some() && params.after.is_some() {
        return refused("Give `before` or `after`, not both.");
    }
    let has_place = params.before.is_some() || params.after.is_some() || params.limit.is_some();
    if !params.ids.is_empty() && has_place {
        return refused("`ids` selects single blocks; it goes without the other fields.");
    }
    if params.ids.len() > PAGE_ROWS_MAX as usize {
        return refused(&format!("`ids` has at most {PAGE_ROWS_MAX} entries."));
    }
    Ok(limit as usize)
}

struct BlockPages<'a> {
    transcripts: &'a Transcripts,
    session: &'a str,
    limit: usize,
}

impl BlockPages<'_> {
    /// The last blocks before a message, or of the whole transcript.
    async fn before(
        &self,
        view: TranscriptView,
        before: Option<u64>,
    ) -> Result<SessionBlocks, StoreError> {
        let is_wanted = |block: &Block| match (before, block.details.seq) {
            (None, _) => true,
            (Some(before), Some(seq)) => seq < before,
            (Some(_), None) => false,
        };
        let mut live = view.blocks;
        live.retain(is_wanted);
        let end = before
            .unwrap_or(u64::MAX)
            .min(view.settled.saturating_add(1));
        let wanted = self.limit.saturating_sub(live.len());
        let mut page = SessionBlocks {
            settled: view.settled,
            position: view.position,
            // The page that follows begins with the message `before`.
            after: before.map(|before| before.saturating_sub(1)),
            before: Some(end).filter(|end| *end > 1),
            ..SessionBlocks::default()
        };
        if wanted > 0 && end > 1 {
            let place = TranscriptPlace::Before(end);
            let stored = self.stored(place, wanted).await?;
            page.before = stored.before;
            page.blocks = blocks_of(stored);
            drop_oldest(&mut page, wanted);
        }
        page.blocks.append(&mut live);
        Ok(page)
    }

    /// The first blocks after a message, up to the end if they are few.
    async fn after(&self, view: TranscriptView, after: u64) -> Result<SessionBlocks, StoreError> {
        let mut page = SessionBlocks {
            settled: view.settled,
            position: view.position,
            before: Some(after.saturating_add(1)).filter(|_| after > 0),
            ..SessionBlocks::default()
        };
        if after < view.settled {
            let place = TranscriptPlace::After(after, view.settled);
            let stored = self.stored(place, self.limit).await?;
            page.after = stored.after;
            page.blocks = blocks_of(stored);
            drop_newest(&mut page, self.limit);
        }
        if page.after.is_none() {
            let is_behind = |block: &Block| block.details.seq.is_none_or(|seq| seq > after);
            page.blocks
                .extend(view.blocks.into_iter().filter(is_behind));
        }
        Ok(page)
    }

    /// Single blocks, as far as they exist.
    async fn by_ids(
        &self,
        view: TranscriptView,
        ids: &[String],
    ) -> Result<SessionBlocks, StoreError> {
        let mut wanted: BTreeSet<String> = ids.iter().cloned().collect();
        let mut blocks = take_wanted(view.blocks, &mut wanted);
        let places: BTreeSet<BlockPlace> =
            wanted.iter().filter_map(|id| BlockPlace::of(id)).collect();
        let mut stored = Vec::new();
        for place in places {
            let Some((end, groups)) = self.find(place).await? else {
                continue;
            };
            let page = self.stored(TranscriptPlace::Before(end), groups).await?;
            stored.append(&mut take_wanted(blocks_of(page), &mut wanted));
        }
        stored.sort_by_key(|block| block.details.seq);
        stored.append(&mut blocks);
        Ok(SessionBlocks {
            blocks: stored,
            settled: view.settled,
            position: view.position,
            ..SessionBlocks::default()
        })
    }

    /// The end of the page that has the blocks of a place, and its number of groups.
    async fn find(&self, place: BlockPlace) -> Result<Option<(u64, usize)>, StoreError> {
        let store = &self.transcripts.0.store;
        let (seq, groups) = match place {
            BlockPlace::Message(seq) => (Some(seq), 1),
            BlockPlace::Step(run, step) => (
                store.message_of_run(self.session, run, Some(step)).await?,
                1,
            ),
            BlockPlace::RunEnd(run) => {
                let last = store.message_of_run(self.session, run, None);
                (last.await?, END_GROUPS)
            }
        };
        Ok(seq.map(|seq| (seq.saturating_add(1), groups)))
    }

    async fn stored(
        &self,
        place: TranscriptPlace,
        groups: usize,
    ) -> Result<TranscriptPage, StoreError> {
        let store = &self.transcripts.0.store;
        store.transcript(self.session, place, groups).await
    }
}

/// Where a block stands, as its id says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BlockPlace {
    Message(u64),
    Step(RunId, u32),
    RunEnd(RunId),
}

impl BlockPlace {
    fn of(id: &str) -> Option<BlockPlace> {
        let (first, rest) = id.split_once('/')?;
        if let Some(seq) = first.strip_prefix('m').and_then(|seq| seq.parse().ok()) {
            return Some(BlockPlace::Message(seq));
        }
        let run: RunId = first.parse().ok()?;
        Some(match rest.split_once('/') {
            Some((step, _)) => BlockPlace::Step(run, step.parse().ok()?),
            None => BlockPlace::RunEnd(run),
        })
    }
}

/// The blocks of a page of stored messages.
fn blocks_of(page: TranscriptPage) -> Vec<Block> {
    let mut ended = page.runs.into_iter().peekable();
    let mut inputs = Vec::with_capacity(page.messages.len());
    for stored in page.messages {
        let seq = stored.message.seq;
        inputs.push(TranscriptInput::Message(stored));
        while let Some(run) = ended.next_if(|run| run.last_message <= seq) {
            inputs.push(TranscriptInput::RunEnded {
                run: run.run,
                cause: run.cause,
                message: run.message,
                notes: run.notes,
            });
        }
    }
    let mut blocks = TranscriptFold::read_stored(inputs);
    for block in &mut blocks {
        close_cut_off(block);
    }
    blocks
}

/// Closes a final call that has no result, as in a fork that begins in the middle of a step.
fn close_cut_off(block: &mut Block) {
    if block.status == BlockStatus::Closed {
        return;
    }
    if let Some(BlockContent::Call { state, .. }) = &mut block.details.content {
        *state = ToolCallState::Cancelled;
        block.status = BlockStatus::Closed;
    }
}

/// The wanted blocks, each once.
fn take_wanted(mut blocks: Vec<Block>, wanted: &mut BTreeSet<String>) -> Vec<Block> {
    blocks.retain(|block| wanted.remove(&block.id));
    blocks
}

/// Drops the oldest messages that a page does not need for this many blocks.
fn drop_oldest(page: &mut SessionBlocks, wanted: usize) {
    let Some(from) = page.blocks.len().checked_sub(wanted) else {
        return;
    };
    // The message of the first block that is needed stays whole.
    let Some(seq) = page.blocks.get(from).and_then(|block| block.details.seq) else {
        return;
    };
    let is_older = |block: &Block| block.details.seq.is_some_and(|other| other < seq);
    let dropped = page
        .blocks
        .iter()
        .take_while(|block| is_older(block))
        .count();
    if dropped > 0 {
        page.blocks.drain(..dropped);
        page.before = Some(seq);
    }
}

/// Drops the newest messages that a page does not need for this many blocks.
fn drop_newest(page: &mut SessionBlocks, wanted: usize) {
    let needed = page.blocks.get(wanted.saturating_sub(1));
    let Some(seq) = needed.and_then(|block| block.details.seq) else {
        return;
    };
    let is_newer = |block: &Block| block.details.seq.is_some_and(|other| other > seq);
    if let Some(first) = page.blocks.iter().position(is_newer) {
        page.after = page.blocks[first].details.seq.map(|next| next - 1);
        page.blocks.truncate(first);
    }
}

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
