//! The rows of a run's timeline, folded from its journal. Pure.
//!
//! The turn machine says what each entry caused, so the rows follow the same rules as the run.
//! Invariants: rows are numbered in the order of their beginning; a row that was added keeps its
//! number; no row is open after the end of the run; a row holds at most [`TEXT_CHARS_MAX`]
//! characters of each text, so that a timeline is small beside its journal.

use super::journal::{EntryData, JournalEntry};
use hob_core::turn::{CallSpec, ProbeResult, RunLimits, TurnEffect, TurnEvent, TurnMachine};
use hob_wire::ContentPart;
use hob_wire::ToolResult;
use hob_wire::rooms::timeline::{
    TimelineApproval, TimelineKind, TimelineRow, TimelineState, ToolCallState,
};
use hob_wire::work::{DoubtAnswer, RunEndCause};

/// Characters of a text in a row.
const TEXT_CHARS_MAX: usize = 200;

/// The rows of a run so far.
#[derive(Debug)]
pub(super) struct TimelineRows {
    turn: TurnMachine,
    pub(super) rows: Vec<TimelineRow>,
}

impl TimelineRows {
    pub(super) fn new(limits: RunLimits, queued_at: u64) -> Self {
        let mut rows = TimelineRows {
            turn: TurnMachine::new(limits),
            rows: Vec::new(),
        };
        rows.open(TimelineKind::Queue, queued_at);
        rows
    }

    /// Adds what an entry tells.
    pub(super) fn apply(&mut self, entry: &JournalEntry) {
        let mut effects = Vec::new();
        self.turn.step(entry.event.clone(), &mut effects);
        self.apply_event(&entry.event, &entry.data);
        for effect in &effects {
            self.apply_effect(effect, entry);
        }
    }

    /// Adds a note that has no time of its own.
    pub(super) fn add_note(&mut self, note: &str, at: u64) {
        let text = one_line(note);
        self.point(TimelineKind::Note, at).text = Some(text);
    }

    /// Adds the end of a run whose journal does not have it.
    pub(super) fn end(&mut self, cause: RunEndCause, at: u64) {
        if self.rows.iter().any(|row| row.kind == TimelineKind::End) {
            return;
        }
        self.close_all(at);
        let row = self.point(TimelineKind::End, at);
        row.cause = Some(cause);
        if cause != RunEndCause::Answered {
            row.state = TimelineState::Failed;
        }
    }

    fn apply_event(&mut self, event: &TurnEvent, data: &EntryData) {
        let at = event.at();
        match event {
            TurnEvent::Begin { .. } => {
                self.close_last(TimelineKind::Queue, at, TimelineState::Done);
            }
            TurnEvent::ModelDone { answer, .. } => {
                self.end_model(at, TimelineState::Done, data);
                for spec in &answer.calls {
                    self.add_call(spec, at);
                }
            }
            TurnEvent::Lost { .. } => self.end_model(at, TimelineState::Lost, data),
            TurnEvent::ModelFailed { .. } => self.end_model(at, TimelineState::Failed, data),
            TurnEvent::OutOfMoney { .. } | TurnEvent::Unaffordable { .. } => {
                self.end_model(at, TimelineState::Unsent, data);
            }
            TurnEvent::MoneyAllowed { .. } => {
                self.close_last(TimelineKind::Budget, at, TimelineState::Done);
            }
            TurnEvent::Charged { micro_dollars, .. } => {
                self.point(TimelineKind::Children, at).micro_dollars = Some(*micro_dollars);
            }
            TurnEvent::Steered { .. } => {
                let text = data.steering.as_ref().map(|it| one_line(&it.text));
                self.point(TimelineKind::Steer, at).text = text;
            }
            TurnEvent::Left { .. } => {
                self.open(TimelineKind::Restart, at);
            }
            TurnEvent::Restarted { .. } => self.restarted(at, data),
            TurnEvent::Decided { call, allowed, .. } => self.decided(call, *allowed, at, data),
            TurnEvent::Begun { call, .. } => self.begun(call, at),
            TurnEvent::ToolDone { call, failed, .. }
            | TurnEvent::Probed {
                call,
                found: ProbeResult::Happened { failed },
                ..
            } => self.call_done(call, *failed, at, data),
            TurnEvent::Resolved { call, answer, .. } => self.resolved(call, *answer, at, data),
            TurnEvent::Unanswered { .. }
            | TurnEvent::Probed { .. }
            | TurnEvent::Retried { .. }
            | TurnEvent::Cancelled { .. }
            | TurnEvent::Tick { .. } => {}
        }
    }

    fn apply_effect(&mut self, effect: &TurnEffect, entry: &JournalEntry) {
        let at = entry.event.at();
        match effect {
            TurnEffect::CallModel { step, attempt } => {
                // What was asked before and has no answer is void.
                self.end_model(at, TimelineState::Lost, &EntryData::default());
                let is_unsent = entry.data.unasked;
                let row = self.open(TimelineKind::Model, at);
                (row.step, row.attempt) = (Some(*step), Some(*attempt));
                row.model.clone_from(&entry.data.asks);
                if is_unsent {
                    (row.ended_at, row.state) = (Some(at), TimelineState::Unsent);
                }
            }
            TurnEffect::Ask { call } => {
                if let Some(row) = self.call(call) {
                    row.approval = Some(TimelineApproval {
                        asked_at: at,
                        decided_at: None,
                        allowed: None,
                        person: false,
                        by: None,
                    });
                }
            }
            TurnEffect::Run { call, .. } => {
                if let Some(row) = self.call(call) {
                    row.attempt = Some(row.attempt.unwrap_or(0) + 1);
                    row.begun_at = row.begun_at.or(Some(at));
                }
            }
            TurnEffect::Doubt { call } => {
                let (id, tool) = (
                    call.clone(),
                    self.call(call).and_then(|row| row.tool.clone()),
                );
                if let Some(row) = self.call(call) {
                    row.call_state = Some(ToolCallState::InDoubt);
                }
                let known = entry.data.known.as_deref().map(one_line);
                let row = self.open(TimelineKind::Doubt, at);
                (row.call_id, row.tool, row.text) = (Some(id), tool, known);
            }
            TurnEffect::AskForMoney => {
                if self.last_open(TimelineKind::Budget).is_none() {
                    self.open(TimelineKind::Budget, at);
                }
            }
            TurnEffect::Finish { cause } => self.end(*cause, at),
            TurnEffect::Probe { .. } | TurnEffect::StopAll => {}
        }
    }

    fn add_call(&mut self, spec: &CallSpec, at: u64) {
        let step = self.last_step();
        let row = self.open(TimelineKind::Call, at);
        row.step = step;
        row.call_id = Some(spec.id.clone());
        row.tool = Some(spec.tool.clone());
        row.call_state = Some(ToolCallState::Asked);
        row.text = Some(one_line(&spec.args));
    }

    fn decided(&mut self, call: &str, allowed: bool, at: u64, data: &EntryData) {
        let Some(row) = self.call(call) else {
            return;
        };
        if let Some(approval) = &mut row.approval {
            (approval.decided_at, approval.allowed) = (Some(at), Some(allowed));
        }
        if !allowed {
            row.denial.clone_from(&data.denial);
            end_row(row, at, TimelineState::Denied, Some(ToolCallState::Denied));
        }
    }

    fn begun(&mut self, call: &str, at: u64) {
        if let Some(row) = self.call(call) {
            row.begun_at = Some(at);
            row.call_state = Some(ToolCallState::Begun);
        }
    }

    fn call_done(&mut self, call: &str, failed: bool, at: u64, data: &EntryData) {
        let Some(row) = self.call(call) else {
            return;
        };
        row.result = data.result.as_ref().and_then(result_line);
        let (state, call_state) = match (data.stopped, failed) {
            (true, _) => (TimelineState::Cancelled, ToolCallState::Cancelled),
            (false, true) => (TimelineState::Failed, ToolCallState::Done),
            (false, false) => (TimelineState::Done, ToolCallState::Done),
        };
        end_row(row, at, state, Some(call_state));
    }

    fn resolved(&mut self, call: &str, answer: DoubtAnswer, at: u64, data: &EntryData) {
        let is_its = |row: &&mut TimelineRow| {
            row.kind == TimelineKind::Doubt && row.call_id.as_deref() == Some(call)
        };
        if let Some(row) = self.rows.iter_mut().rev().find(is_its) {
            let word = match answer {
                DoubtAnswer::Happened => "It happened.",
                DoubtAnswer::DidNot => "It did not happen.",
                DoubtAnswer::GiveUp => "The run was given up.",
            };
            row.result = Some(word.to_owned());
            end_row(row, at, TimelineState::Done, None);
        }
        match answer {
            DoubtAnswer::Happened => self.call_done(call, false, at, data),
            DoubtAnswer::DidNot => {
                if let Some(row) = self.call(call) {
                    row.call_state = Some(ToolCallState::Asked);
                }
            }
            DoubtAnswer::GiveUp => {}
        }
    }

    /// The daemon runs again. What it was doing is void, and was so since it went.
    fn restarted(&mut self, at: u64, data: &EntryData) {
        if self.last_open(TimelineKind::Queue).is_some() {
            return;
        }
        self.end_model(at, TimelineState::Lost, data);
        if self.last_open(TimelineKind::Restart).is_some() {
            return self.close_last(TimelineKind::Restart, at, TimelineState::Done);
        }
        // Nobody was there to note when the last daemon went.
        self.point(TimelineKind::Restart, at);
    }

    fn end_model(&mut self, at: u64, state: TimelineState, data: &EntryData) {
        if let Some(row) = self.last_open(TimelineKind::Model) {
            if let Some(model) = &data.model {
                row.model = Some(model.clone());
            }
            end_row(row, at, state, None);
        }
    }

    fn close_all(&mut self, at: u64) {
        for row in self.rows.iter_mut().filter(|row| is_open(row)) {
            let in_doubt = row.call_state == Some(ToolCallState::InDoubt);
            let call_state = row.call_state.filter(|_| in_doubt);
            let call_state = call_state.or(row.call_state.map(|_| ToolCallState::Cancelled));
            end_row(row, at, TimelineState::Cancelled, call_state);
        }
    }

    fn close_last(&mut self, kind: TimelineKind, at: u64, state: TimelineState) {
        if let Some(row) = self.last_open(kind) {
            end_row(row, at, state, None);
        }
    }

    fn last_step(&self) -> Option<u32> {
        let is_model = |row: &&TimelineRow| row.kind == TimelineKind::Model;
        self.rows
            .iter()
            .rev()
            .find(is_model)
            .and_then(|row| row.step)
    }

    /// The latest tool call with this id, which no other open call has.
    fn call(&mut self, id: &str) -> Option<&mut TimelineRow> {
        let mut rows = self.rows.iter_mut().rev();
        rows.find(|row| row.kind == TimelineKind::Call && row.call_id.as_deref() == Some(id))
            .filter(|row| is_open(row))
    }

    fn last_open(&mut self, kind: TimelineKind) -> Option<&mut TimelineRow> {
        let mut rows = self.rows.iter_mut().rev();
        rows.find(|row| row.kind == kind).filter(|row| is_open(row))
    }

    /// Adds a row without a duration.
    fn point(&mut self, kind: TimelineKind, at: u64) -> &mut TimelineRow {
        let row = self.open(kind, at);
        end_row(row, at, TimelineState::Done, None);
        row
    }

    fn open(&mut self, kind: TimelineKind, at: u64) -> &mut TimelineRow {
        let place = self.rows.len();
        self.rows.push(empty_row(place as u64 + 1, kind, at));
        &mut self.rows[place]
    }
}

fn is_open(row: &TimelineRow) -> bool {
    row.state == TimelineState::Open
}

fn end_row(
    row: &mut TimelineRow,
    at: u64,
    state: TimelineState,
    call_state: Option<ToolCallState>,
) {
    (row.ended_at, row.state) = (Some(at), state);
    row.call_state = call_state.or(row.call_state);
}

fn empty_row(number: u64, kind: TimelineKind, at: u64) -> TimelineRow {
    TimelineRow {
        number,
        kind,
        at,
        ended_at: None,
        state: TimelineState::Open,
        step: None,
        attempt: None,
        model: None,
        usage: None,
        micro_dollars: None,
        call_id: None,
        tool: None,
        call_state: None,
        approval: None,
        begun_at: None,
        denial: None,
        cause: None,
        text: None,
        result: None,
    }
}

fn result_line(result: &ToolResult) -> Option<String> {
    result.content.iter().find_map(|part| match part {
        ContentPart::Text { text } if !text.trim().is_empty() => Some(one_line(text)),
        _ => None,
    })
}

/// The beginning of a text on one line.
fn one_line(text: &str) -> String {
    // Only the beginning is looked at: results may be large.
    let head: String = text.chars().take(TEXT_CHARS_MAX * 4).collect();
    let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
#[path = "timeline_rows_tests.rs"]
mod tests;
