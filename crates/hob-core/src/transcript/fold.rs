//! The fold of one session: inputs in, changes of blocks out. It holds the blocks that are not final
//! yet; those before them are read from stored messages, with a fold of their own.
//!
//! Invariants: its blocks stand behind all blocks with a `seq` of at most [`TranscriptFold::settled`],
//! and none of those changes; changes are numbered without gaps; the same stored messages give the
//! same blocks, whether they were streamed before or not.

use super::block_group::BlockGroup;
use super::changes::Changes;
use super::input::{MessageOrigin, StepRef, StoredMessage, TranscriptInput};
use hob_wire::block::{Block, BlockChange, BlockContent, QuestionKind};
use hob_wire::content::{ContentPart, Message, MessageContent, Role, ToolResult};
use hob_wire::id::RunId;
use hob_wire::work::{RunEndCause, ToolCallState};
use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};

/// The code of a notice that is a note of a run.
const NOTE: &str = "note";
/// The code of a notice in place of a damaged message.
const DAMAGED: &str = "damaged";

/// The blocks of one session that are not final.
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptFold {
    /// Stored groups by `seq`, then the others.
    groups: VecDeque<BlockGroup>,
    /// Runs in progress.
    runs: BTreeSet<RunId>,
    settled: u64,
    position: u64,
    /// `settled` grew without a change that could carry it.
    owes_settled: bool,
}

impl TranscriptFold {
    /// Creates a fold behind the messages up to `settled`, whose first change gets the number after
    /// `position`.
    pub fn new(settled: u64, position: u64) -> Self {
        TranscriptFold {
            groups: VecDeque::new(),
            runs: BTreeSet::new(),
            settled,
            position,
            owes_settled: false,
        }
    }

    /// Returns the blocks of stored messages, given with the ends of their runs. A result whose call
    /// is not among them is left out: it belongs to an earlier page.
    pub fn read_stored(inputs: impl IntoIterator<Item = TranscriptInput>) -> Vec<Block> {
        let mut fold = TranscriptFold::new(0, 0);
        for input in inputs {
            let mut changes = Changes::default();
            fold.handle(input, &mut changes);
        }
        fold.blocks().cloned().collect()
    }

    /// Applies an input.
    pub fn apply(&mut self, input: TranscriptInput, out: &mut Vec<BlockChange>) {
        let mut changes = Changes::default();
        self.handle(input, &mut changes);
        let settled = self.next_settled();
        self.owes_settled |= settled > self.settled;
        self.settled = settled;
        let is_empty = changes.is_empty();
        let backward = self
            .groups
            .iter()
            .rev()
            .flat_map(|group| group.blocks().rev());
        let mut placed = changes.place(backward);
        for change in &mut placed {
            self.position += 1;
            change.position = self.position;
        }
        if let Some(last) = placed.last_mut().filter(|_| self.owes_settled) {
            last.settled = Some(settled);
        }
        self.owes_settled &= is_empty;
        out.append(&mut placed);
        while self
            .groups
            .front()
            .is_some_and(|group| group.seq.is_some_and(|seq| seq <= settled))
        {
            self.groups.pop_front();
        }
    }

    /// The blocks that are not final, in order.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.groups.iter().flat_map(BlockGroup::blocks)
    }

    /// Blocks with at most this `seq` are final.
    pub fn settled(&self) -> u64 {
        self.settled
    }

    /// The number of the last change.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns true if no run is in progress and all blocks are final.
    pub fn is_idle(&self) -> bool {
        self.runs.is_empty() && self.groups.is_empty()
    }

    fn handle(&mut self, input: TranscriptInput, changes: &mut Changes) {
        match input {
            TranscriptInput::Message(stored) => self.store(&stored, changes),
            TranscriptInput::RunBegun { run } => {
                self.runs.insert(run);
            }
            TranscriptInput::Attempt(at) => {
                self.streamed_step(at, changes);
            }
            TranscriptInput::Text { at, offset, text } => {
                if let Some(group) = self.streamed_step(at, changes) {
                    group.push_text(offset, &text, changes);
                }
            }
            TranscriptInput::Thinking { at, offset, text } => {
                if let Some(group) = self.streamed_step(at, changes) {
                    group.push_thinking(offset, &text, changes);
                }
            }
            TranscriptInput::CallText {
                at,
                index,
                name,
                text,
            } => {
                if let Some(group) = self.streamed_step(at, changes) {
                    group.push_call(index, &name, &text, changes);
                }
            }
            TranscriptInput::CallBegun { call_id, .. } => {
                self.set_state(&call_id, ToolCallState::Begun, changes);
            }
            TranscriptInput::CallOutput { call_id, text, .. } => {
                if let Some(group) = self.group_of_call(&call_id) {
                    group.push_output(&call_id, &text, changes);
                }
            }
            TranscriptInput::Asked {
                run,
                asks,
                id,
                call_id,
                sentence,
            } => {
                let content = BlockContent::Question { asks, id, call_id };
                self.ask(run, content, &sentence, changes);
            }
            TranscriptInput::Answered { run, id } => {
                let id = question_id(run, &id);
                let mut groups = self.groups.iter_mut().rev();
                groups.find_map(|group| group.drop_question(&id, changes).then_some(()));
            }
            TranscriptInput::RunEnded {
                run,
                cause,
                message,
                notes,
            } => {
                self.end_run(run, changes);
                let reason = message.map(|message| (cause_code(cause), message));
                self.add_notices(run, reason, &notes, changes);
            }
        }
    }

    fn store(&mut self, stored: &StoredMessage, changes: &mut Changes) {
        let message = &stored.message;
        let run = stored.origin.as_ref().map(|origin| origin.step.run);
        if stored.damaged {
            let mut group = BlockGroup::of_message(message.seq, Some(message.at), run);
            let id = format!("m{}/t1", message.seq);
            group.push_notice(id, &plain_text(message), DAMAGED, changes);
            return self.insert_stored(group);
        }
        match message.role {
            Role::System | Role::User => {
                let mut group = BlockGroup::of_message(message.seq, Some(message.at), run);
                group.store_text(message, changes);
                self.insert_stored(group);
            }
            Role::Assistant => self.store_answer(message, stored.origin.as_ref(), changes),
            Role::Tool => {
                let outcome = stored.origin.as_ref();
                for result in results(message) {
                    self.store_result(message, outcome, result, changes);
                }
            }
        }
    }

    fn store_answer(
        &mut self,
        message: &Message,
        origin: Option<&MessageOrigin>,
        changes: &mut Changes,
    ) {
        let run = origin.map(|origin| origin.step.run);
        let is_stored = |group: &BlockGroup, at: StepRef| {
            group.seq.is_some() && group.step.is_some_and(|it| is_same_step(it, at))
        };
        let mut group = match origin {
            Some(origin)
                if !self
                    .groups
                    .iter()
                    .any(|group| is_stored(group, origin.step)) =>
            {
                self.drop_attempts(origin.step, changes);
                let of_it = |group: &BlockGroup| group.step == Some(origin.step);
                let known = self.groups.iter().position(of_it);
                let known = known.and_then(|index| self.groups.remove(index));
                known.unwrap_or_else(|| BlockGroup::of_step(origin.step))
            }
            _ => BlockGroup::of_message(message.seq, Some(message.at), run),
        };
        group.store_answer(message, changes);
        self.insert_stored(group);
    }

    fn store_result(
        &mut self,
        message: &Message,
        origin: Option<&MessageOrigin>,
        result: &ToolResult,
        changes: &mut Changes,
    ) {
        if let Some(group) = self.group_of_call(&result.id) {
            let outcome = origin.and_then(|origin| origin.outcome.as_ref());
            return group.store_result(message.seq, result, outcome, changes);
        }
        // The call of a run's result is in an earlier group; a result without a run has no other
        // place than its own.
        if origin.is_none() {
            let mut group = BlockGroup::of_message(message.seq, Some(message.at), None);
            group.store_lone_result(result, changes);
            self.insert_stored(group);
        }
    }

    /// The group of a step that is streamed, created if it is new. `None` if its run is over, the
    /// step is stored, or the attempt is an old one.
    fn streamed_step(&mut self, at: StepRef, changes: &mut Changes) -> Option<&mut BlockGroup> {
        let is_newer = |group: &BlockGroup| {
            let it = group.step.filter(|it| it.run == at.run);
            it.is_some_and(|it| match it.step.cmp(&at.step) {
                Ordering::Less => false,
                Ordering::Equal => group.seq.is_some() || it.attempt > at.attempt,
                Ordering::Greater => true,
            })
        };
        if !self.runs.contains(&at.run) || self.groups.iter().any(is_newer) {
            return None;
        }
        self.drop_attempts(at, changes);
        let known = self.groups.iter().position(|group| group.step == Some(at));
        let index = known.unwrap_or_else(|| {
            self.groups.push_back(BlockGroup::of_step(at));
            self.groups.len() - 1
        });
        self.groups.get_mut(index)
    }

    /// Drops the blocks of other attempts of a step.
    fn drop_attempts(&mut self, at: StepRef, changes: &mut Changes) {
        self.groups.retain(|group| {
            let is_other = group
                .step
                .is_some_and(|it| is_same_step(it, at) && it != at);
            if is_other {
                group.drop_all(changes);
            }
            !is_other
        });
    }

    /// Inserts a stored group before those that are not stored.
    fn insert_stored(&mut self, group: BlockGroup) {
        let is_before = |other: &BlockGroup| other.seq.is_some_and(|seq| Some(seq) < group.seq);
        let index = self
            .groups
            .iter()
            .rposition(is_before)
            .map_or(0, |last| last + 1);
        self.groups.insert(index, group);
    }

    fn group_of_call(&mut self, call: &str) -> Option<&mut BlockGroup> {
        self.groups
            .iter_mut()
            .rev()
            .find(|group| group.has_call(call))
    }

    fn set_state(&mut self, call: &str, state: ToolCallState, changes: &mut Changes) {
        let group = self.group_of_call(call);
        if let Some(call) = group.and_then(|group| group.call_mut(call)) {
            call.set_state(state, changes);
        }
    }

    fn ask(&mut self, run: RunId, content: BlockContent, sentence: &str, changes: &mut Changes) {
        let BlockContent::Question { asks, id, call_id } = &content else {
            return;
        };
        let block_id = question_id(run, id);
        let is_asked = self.blocks().any(|block| block.id == block_id);
        if is_asked || !self.runs.contains(&run) {
            return;
        }
        if let (QuestionKind::Doubt, Some(call)) = (asks, call_id) {
            self.set_state(call, ToolCallState::InDoubt, changes);
        }
        let call = call_id.clone().unwrap_or_default();
        let index = self.groups.iter().rposition(|group| group.has_call(&call));
        let index = index.unwrap_or_else(|| self.last_group_of(run, None));
        if let Some(group) = self.groups.get_mut(index) {
            group.push_question(block_id, content, sentence, changes);
        }
    }

    /// Drops what the run did not store, and closes what it left open.
    fn end_run(&mut self, run: RunId, changes: &mut Changes) {
        self.runs.remove(&run);
        self.groups.retain(|group| {
            let drops = group.run == Some(run) && group.seq.is_none();
            if drops {
                group.drop_all(changes);
            }
            !drops
        });
        for group in self
            .groups
            .iter_mut()
            .filter(|group| group.run == Some(run))
        {
            group.end_run(changes);
        }
    }

    /// Adds the notes of a run and the reason of its end: a code and a sentence.
    fn add_notices(
        &mut self,
        run: RunId,
        reason: Option<(String, String)>,
        notes: &[String],
        changes: &mut Changes,
    ) {
        if notes.is_empty() && reason.is_none() {
            return;
        }
        let stored = self.groups.iter().filter_map(|group| group.seq).max();
        let index = self.last_group_of(run, stored.max(Some(self.settled)));
        let Some(group) = self.groups.get_mut(index) else {
            return;
        };
        for (index, note) in notes.iter().enumerate() {
            group.push_notice(format!("{run}/n{}", index + 1), note, NOTE, changes);
        }
        if let Some((code, sentence)) = reason {
            group.push_notice(format!("{run}/end"), &sentence, &code, changes);
        }
    }

    /// The index of the run's last group. A run without one gets an empty group, with this `seq`.
    fn last_group_of(&mut self, run: RunId, seq: Option<u64>) -> usize {
        let of_it = |group: &BlockGroup| group.run == Some(run);
        if let Some(index) = self.groups.iter().rposition(of_it) {
            return index;
        }
        let is_before = |group: &BlockGroup| seq.is_none() || group.seq.is_some();
        let index = self
            .groups
            .iter()
            .rposition(is_before)
            .map_or(0, |last| last + 1);
        self.groups.insert(index, BlockGroup::of_run(run, seq));
        index
    }

    /// Returns what `settled` is now: all groups up to it are complete, and none of them is the last
    /// one of a run in progress, which may get notices.
    fn next_settled(&self) -> u64 {
        let mut settled = self.settled;
        for (index, group) in self.groups.iter().enumerate() {
            let is_later = |later: &BlockGroup| later.run == group.run && later.seq.is_some();
            let is_live = group.run.is_some_and(|run| self.runs.contains(&run));
            let is_last = !self.groups.iter().skip(index + 1).any(is_later);
            if !group.is_complete() || is_live && is_last {
                let before = group.seq.map(|seq| seq.saturating_sub(1));
                return settled.min(before.unwrap_or(settled)).max(self.settled);
            }
            settled = settled.max(group.last_seq);
        }
        settled
    }
}

fn is_same_step(one: StepRef, other: StepRef) -> bool {
    one.run == other.run && one.step == other.step
}

fn question_id(run: RunId, id: &str) -> String {
    format!("{run}/q{id}")
}

fn results(message: &Message) -> impl Iterator<Item = &ToolResult> {
    let parts: &[ContentPart] = match &message.content {
        MessageContent::Text(_) => &[],
        MessageContent::Parts(parts) => parts,
    };
    parts.iter().filter_map(|part| match part {
        ContentPart::ToolResult(result) => Some(result),
        _ => None,
    })
}

fn plain_text(message: &Message) -> String {
    match &message.content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Parts(_) => String::new(),
    }
}

/// The name of a cause on the wire.
fn cause_code(cause: RunEndCause) -> String {
    let name = serde_json::to_value(cause).ok();
    let name = name.as_ref().and_then(serde_json::Value::as_str);
    name.unwrap_or_default().to_owned()
}
