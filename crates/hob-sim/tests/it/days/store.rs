//! What survives a crash: cursors, slots and the runs the agent has accepted. Each call is one
//! transaction, as in the real store.

use super::world::Sabotage;
use hob_core::schedule::{DueDecision, SlotDecision};
use std::collections::BTreeMap;

/// Where a slot stands on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Due,
    Running,
    Ran,
    Failed,
    Stopped,
    Skipped,
    Missed,
}

impl State {
    pub(super) fn is_live(self) -> bool {
        matches!(self, State::Due | State::Running)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) job: usize,
    pub(super) due_ms: u64,
    pub(super) stands_for: u64,
    pub(super) state: State,
    pub(super) attempt: u32,
}

/// A stretch of due times that was decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decided {
    pub(super) after_ms: u64,
    pub(super) to_ms: u64,
    pub(super) counted: u64,
    /// There were more than were counted.
    pub(super) rough: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Store {
    pub(super) cursors: Vec<u64>,
    pub(super) slots: Vec<Slot>,
    by_key: BTreeMap<(usize, u64), usize>,
    /// What was decided of each job, in order.
    pub(super) decided: Vec<Vec<Decided>>,
    /// Where the cursor of each job was moved to because its times had run already.
    pub(super) shifts: Vec<Vec<u64>>,
    /// Runs of the agent by key, and how often each had its effect.
    pub(super) runs: BTreeMap<String, u32>,
    /// Effects of each due time that had any.
    pub(super) effects: BTreeMap<(usize, u64), u32>,
}

impl Store {
    pub(super) fn new(cursors: Vec<u64>) -> Store {
        Store {
            decided: vec![Vec::new(); cursors.len()],
            shifts: vec![Vec::new(); cursors.len()],
            cursors,
            slots: Vec::new(),
            by_key: BTreeMap::new(),
            runs: BTreeMap::new(),
            effects: BTreeMap::new(),
        }
    }

    /// Writes a decision; answers the slots that are new and to be run, and whether all of its
    /// times were there already.
    pub(super) fn open(
        &mut self,
        job: usize,
        decision: &DueDecision,
        sabotage: Sabotage,
    ) -> (Vec<usize>, bool) {
        let mut new = Vec::new();
        let mut counted = 0;
        let before = self.slots.len();
        for planned in &decision.slots {
            counted += 1 + planned.stands_for;
            let key = (job, planned.due_ms);
            if self.by_key.contains_key(&key) && sabotage != Sabotage::KeysForgotten {
                continue;
            }
            let state = match planned.decision {
                SlotDecision::Run => State::Due,
                SlotDecision::Skipped(_) => State::Skipped,
                SlotDecision::Missed(_) => State::Missed,
            };
            let index = self.slots.len();
            self.slots.push(Slot {
                job,
                due_ms: planned.due_ms,
                stands_for: planned.stands_for,
                state,
                attempt: 0,
            });
            self.by_key.insert(key, index);
            if state == State::Due {
                new.push(index);
            }
        }
        if !decision.slots.is_empty() {
            self.decided[job].push(Decided {
                after_ms: self.cursors[job],
                to_ms: decision.cursor_ms,
                counted,
                rough: decision.is_estimate,
            });
        }
        self.cursors[job] = decision.cursor_ms;
        let is_relived = !decision.slots.is_empty() && self.slots.len() == before;
        (new, is_relived)
    }

    /// Moves the cursor of a job whose times have run already.
    pub(super) fn shift(&mut self, job: usize, cursor_ms: u64) {
        self.cursors[job] = cursor_ms;
        self.shifts[job].push(cursor_ms);
    }

    pub(super) fn begin(&mut self, slot: usize) {
        let slot = &mut self.slots[slot];
        slot.state = State::Running;
        slot.attempt += 1;
    }

    pub(super) fn end(&mut self, slot: usize, state: State) {
        let slot = &mut self.slots[slot];
        if slot.state.is_live() {
            slot.state = state;
        }
    }

    /// The agent takes a run, or finds the one it has.
    pub(super) fn accept(&mut self, key: &str) {
        self.runs.entry(key.to_owned()).or_default();
    }

    /// A run of the agent does its work: once, however often it is asked for.
    pub(super) fn run(&mut self, key: &str, slot: usize) {
        let done = self.runs.entry(key.to_owned()).or_default();
        if *done == 0 {
            *done = 1;
            self.act(slot);
        }
    }

    /// The world changes.
    pub(super) fn act(&mut self, slot: usize) {
        let slot = &self.slots[slot];
        *self.effects.entry((slot.job, slot.due_ms)).or_default() += 1;
    }
}
