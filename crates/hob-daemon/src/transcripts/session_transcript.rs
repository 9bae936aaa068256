//! One transcript in memory: its fold, and the inputs that wait for it.
//!
//! Invariants: messages reach the fold in the order of their numbers, whoever reports them first;
//! changes leave in the order of their positions; streamed pieces that nobody looks at are only
//! joined, and folded when somebody does.

use hob_bus::SessionTag;
use hob_core::transcript::{StepRef, StoredMessage, TranscriptFold, TranscriptInput};
use hob_wire::block::BlockChange;
use hob_wire::{Role, RunId, SessionId};
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Inputs that wait for a message that another task is about to report. Beyond it the message counts
/// as lost: what is stored is read again, and followers ask again.
const HELD_MAX: usize = 256;

pub(super) struct SessionTranscript {
    pub(super) tag: SessionTag,
    pub(super) session: SessionId,
    pub(super) session_key: String,
    /// True while a task tells followers that they missed changes.
    pub(super) is_retrying: AtomicBool,
    // A std mutex: held while inputs are folded and their events handed to the bus, which never
    // waits. Events leave under the lock, so that they are in order.
    state: Mutex<TranscriptState>,
}

#[derive(Default)]
struct TranscriptState {
    /// Missing before the first message, and while what is stored is read.
    fold: Option<TranscriptFold>,
    is_loading: bool,
    /// True if a message was never reported: the fold must begin anew with what is stored.
    is_lost: bool,
    /// Positions that no change has, so that followers ask again.
    skipped: u64,
    /// The number of the next message for the fold.
    next_seq: u64,
    /// Inputs that the fold cannot take yet.
    held: VecDeque<TranscriptInput>,
    /// Streamed pieces that nobody has looked at.
    deferred: Vec<TranscriptInput>,
    current_run: Option<RunId>,
    feeds: usize,
}

impl SessionTranscript {
    pub(super) fn new(tag: SessionTag, session: SessionId, session_key: &str) -> Self {
        SessionTranscript {
            tag,
            session,
            session_key: session_key.to_owned(),
            is_retrying: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// Applies inputs; `emit` gets the changes if the session is followed. Returns false if one of
    /// them could not be emitted, or if the fold must begin anew.
    pub(super) fn apply(
        &self,
        inputs: impl IntoIterator<Item = TranscriptInput>,
        followed: bool,
        position: impl FnOnce() -> u64,
        emit: impl FnMut(BlockChange) -> bool,
    ) -> bool {
        let mut state = self.lock();
        let mut changes = Vec::new();
        let mut position = Some(position);
        for input in inputs {
            state.note_run(&input);
            if state.fold.is_none()
                && !state.is_loading
                && !state.is_lost
                && let TranscriptInput::Message(first) = &input
                && let Some(position) = position.take()
            {
                // Everything before the first message is final: no run was in progress.
                let seq = first.message.seq;
                let fold = TranscriptFold::new(seq.saturating_sub(1), position());
                state.begin(fold, seq, &mut changes);
            }
            state.take(input, followed, &mut changes);
        }
        state.emit(changes, followed, emit) && !state.is_lost
    }

    /// Folds what was deferred, then shows the fold, if it has begun.
    pub(super) fn look(
        &self,
        followed: bool,
        emit: impl FnMut(BlockChange) -> bool,
        show: impl FnOnce(&TranscriptFold, u64),
    ) -> bool {
        let mut state = self.lock();
        let mut changes = Vec::new();
        state.fold_deferred(&mut changes);
        if let Some(fold) = &state.fold {
            show(fold, state.position());
        }
        state.emit(changes, followed, emit)
    }

    /// Returns true if the caller must read what is stored and then call `start` or `end_load`.
    pub(super) fn begin_load(&self) -> bool {
        let mut state = self.lock();
        let begins = state.fold.is_none() && !state.is_loading;
        state.is_loading |= begins;
        state.is_lost &= !begins;
        begins
    }

    pub(super) fn end_load(&self) {
        self.lock().is_loading = false;
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lock().is_lost
    }

    /// Begins the fold, which has what is stored; messages from `next_seq` on follow.
    pub(super) fn start(
        &self,
        fold: TranscriptFold,
        next_seq: u64,
        followed: bool,
        emit: impl FnMut(BlockChange) -> bool,
    ) -> bool {
        let mut state = self.lock();
        state.is_loading = false;
        if state.fold.is_some() {
            return true;
        }
        let mut changes = Vec::new();
        state.begin(fold, next_seq, &mut changes);
        state.emit(changes, followed, emit)
    }

    pub(super) fn position(&self) -> u64 {
        self.lock().position()
    }

    /// Takes a position without a change, so that a follower sees that it missed one.
    pub(super) fn skip_position(&self) -> u64 {
        let mut state = self.lock();
        state.skipped += 1;
        state.position()
    }

    /// The run in progress.
    pub(super) fn current_run(&self) -> Option<RunId> {
        self.lock().current_run
    }

    pub(super) fn add_feed(&self) {
        self.lock().feeds += 1;
    }

    pub(super) fn remove_feed(&self) {
        let mut state = self.lock();
        state.feeds = state.feeds.saturating_sub(1);
    }

    /// Returns true if no run uses it and nothing of it is only in memory.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.lock();
        state.feeds == 0 && !state.is_loading
    }

    fn lock(&self) -> MutexGuard<'_, TranscriptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TranscriptState {
    fn begin(&mut self, fold: TranscriptFold, next_seq: u64, out: &mut Vec<BlockChange>) {
        self.fold = Some(fold);
        self.next_seq = next_seq;
        self.drain_held(out);
    }

    /// The position of the last change.
    fn position(&self) -> u64 {
        let position = self.fold.as_ref().map_or(0, TranscriptFold::position);
        position + self.skipped
    }

    /// Emits changes, if the session is followed. Returns false if one was not taken.
    fn emit(
        &self,
        changes: Vec<BlockChange>,
        followed: bool,
        mut emit: impl FnMut(BlockChange) -> bool,
    ) -> bool {
        let mut is_told = true;
        for mut change in changes.into_iter().filter(|_| followed) {
            change.position += self.skipped;
            is_told &= emit(change);
        }
        is_told
    }

    fn note_run(&mut self, input: &TranscriptInput) {
        match input {
            TranscriptInput::RunBegun { run } => self.current_run = Some(*run),
            TranscriptInput::RunEnded { .. } => self.current_run = None,
            _ => {}
        }
    }

    fn take(&mut self, input: TranscriptInput, followed: bool, out: &mut Vec<BlockChange>) {
        if followed {
            self.fold_deferred(out);
        } else if is_streamed(&input) {
            return join(&mut self.deferred, input);
        } else if makes_streamed_needless(&input) {
            // The stored answer has the text, or it is dropped.
            self.deferred.clear();
        }
        if is_streamed(&input) {
            join_back(&mut self.held, input);
        } else {
            self.held.push_back(input);
        }
        self.drain_held(out);
    }

    fn fold_deferred(&mut self, out: &mut Vec<BlockChange>) {
        if self.fold.is_none() || self.deferred.is_empty() {
            return;
        }
        let deferred = std::mem::take(&mut self.deferred);
        self.held.extend(deferred);
        self.drain_held(out);
    }

    /// Gives the fold what it can take: messages in the order of their numbers, everything else
    /// behind the messages that were reported before it.
    fn drain_held(&mut self, out: &mut Vec<BlockChange>) {
        let Some(fold) = &mut self.fold else {
            return;
        };
        loop {
            let next_seq = self.next_seq;
            let is_due = |input: &TranscriptInput| match input {
                TranscriptInput::Message(stored) => stored.message.seq <= next_seq,
                _ => false,
            };
            let due = match self.held.front() {
                None => return,
                Some(TranscriptInput::Message(_)) => self.held.iter().position(is_due),
                Some(_) => Some(0),
            };
            let Some(input) = due.and_then(|index| self.held.remove(index)) else {
                if self.held.len() <= HELD_MAX {
                    return;
                }
                self.fold = None;
                self.is_lost = true;
                self.held.clear();
                return;
            };
            if let Some(seq) = seq_of(&input) {
                if seq < self.next_seq {
                    continue;
                }
                self.next_seq = seq + 1;
            }
            fold.apply(input, out);
        }
    }
}

fn seq_of(input: &TranscriptInput) -> Option<u64> {
    match input {
        TranscriptInput::Message(stored) => Some(stored.message.seq),
        _ => None,
    }
}

/// True for a piece of an answer that is not stored yet.
fn is_streamed(input: &TranscriptInput) -> bool {
    matches!(
        input,
        TranscriptInput::Text { .. }
            | TranscriptInput::Thinking { .. }
            | TranscriptInput::CallText { .. }
    )
}

/// True for an input after which the pieces streamed before it are not needed.
fn makes_streamed_needless(input: &TranscriptInput) -> bool {
    let is_answer =
        |stored: &StoredMessage| stored.message.role == Role::Assistant && stored.origin.is_some();
    match input {
        TranscriptInput::Attempt(_) | TranscriptInput::RunEnded { .. } => true,
        TranscriptInput::Message(stored) => is_answer(stored),
        _ => false,
    }
}

fn join(inputs: &mut Vec<TranscriptInput>, next: TranscriptInput) {
    match inputs.last_mut() {
        Some(last) => {
            if let Some(next) = join_pieces(last, next) {
                inputs.push(next);
            }
        }
        None => inputs.push(next),
    }
}

fn join_back(inputs: &mut VecDeque<TranscriptInput>, next: TranscriptInput) {
    match inputs.back_mut() {
        Some(last) => {
            if let Some(next) = join_pieces(last, next) {
                inputs.push_back(next);
            }
        }
        None => inputs.push_back(next),
    }
}

/// Appends a piece to the one before it. Returns it if it does not continue that one.
fn join_pieces(last: &mut TranscriptInput, next: TranscriptInput) -> Option<TranscriptInput> {
    use TranscriptInput::{CallText, Text, Thinking};
    let is_next =
        |one: &StepRef, other: &StepRef, end: u64, offset: u64| one == other && end == offset;
    let joined = match (last, &next) {
        (
            Text { at, offset, text },
            Text {
                at: next_at,
                offset: next_offset,
                text: more,
            },
        )
        | (
            Thinking { at, offset, text },
            Thinking {
                at: next_at,
                offset: next_offset,
                text: more,
            },
        ) if is_next(at, next_at, *offset + text.len() as u64, *next_offset) => Some((text, more)),
        (
            CallText {
                at, index, text, ..
            },
            CallText {
                at: next_at,
                index: next_index,
                text: more,
                ..
            },
        ) if at == next_at && index == next_index => Some((text, more)),
        _ => None,
    };
    match joined {
        Some((text, more)) => {
            text.push_str(more);
            None
        }
        None => Some(next),
    }
}

#[cfg(test)]
#[path = "session_transcript_tests.rs"]
mod tests;
