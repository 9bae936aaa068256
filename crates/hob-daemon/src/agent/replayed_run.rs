//! The state of a run besides its conversation: the turn machine and the data of its inputs. Pure.
//! Invariant: the same entries give the same state, live or after a restart.

use super::journal::{BudgetName, EntryData, JournalEntry, SteeringText};
use hob_core::turn::{self, ProbeResult, RunLimits, TurnEffect, TurnEvent, TurnMachine, TurnPhase};
use hob_store::SpendingCeilings;
use hob_wire::rooms::agent::{CallView, ToolCallState};
use hob_wire::work::RunEndCause;
use hob_wire::{ToolCall, ToolResult};
use std::collections::{BTreeMap, BTreeSet};

/// The state of a run, replayed from its journal.
#[derive(Clone, Debug)]
pub(crate) struct ReplayedRun {
    pub(crate) turn: TurnMachine,
    /// Every call of the run, in order.
    pub(crate) calls: Vec<CallView>,
    /// Start time of each begun call.
    pub(crate) began: BTreeMap<String, u64>,
    /// Digest that the approval of a call is bound to.
    pub(crate) approved: BTreeMap<String, String>,
    /// Known facts about calls in doubt.
    pub(crate) known: BTreeMap<String, String>,
    /// Steering texts that wait for the next step.
    steered: Vec<SteeringText>,
    /// Steering texts that enter the conversation with the next write.
    pub(crate) due_steering: Vec<SteeringText>,
    /// Idempotency keys of all steering texts.
    steer_keys: Vec<String>,
    /// Amounts allowed on top of each ceiling.
    session_extra: u64,
    day_extra: u64,
    total_extra: u64,
    /// Cost of descendants charged so far: tokens and micro-dollars.
    pub(crate) charged: (u64, u64),
    /// The budget that stopped it last.
    pub(crate) stopped_by: Option<BudgetName>,
    /// Restarts so far.
    pub(crate) resumed: u32,
    /// Highest cost of the current model call; `None` if the price is unknown.
    pub(crate) reserved: Option<u64>,
    /// True if the current model call was deferred to the next start: nothing is reserved, nothing
    /// was sent.
    pub(crate) unasked: bool,
    /// The model of the current or last call.
    pub(crate) model: Option<String>,
    /// The model that answered last.
    pub(crate) answered_last: Option<String>,
    /// Every model that answered.
    pub(crate) answered_by: BTreeSet<String>,
}

impl ReplayedRun {
    pub(crate) fn new(limits: RunLimits) -> Self {
        ReplayedRun {
            turn: TurnMachine::new(limits),
            calls: Vec::new(),
            began: BTreeMap::new(),
            approved: BTreeMap::new(),
            known: BTreeMap::new(),
            steered: Vec::new(),
            due_steering: Vec::new(),
            steer_keys: Vec::new(),
            session_extra: 0,
            day_extra: 0,
            total_extra: 0,
            charged: (0, 0),
            stopped_by: None,
            resumed: 0,
            reserved: None,
            unasked: false,
            model: None,
            answered_last: None,
            answered_by: BTreeSet::new(),
        }
    }

    /// Applies the next journal entry and appends its effects.
    pub(crate) fn apply(&mut self, entry: &JournalEntry, out: &mut Vec<TurnEffect>) {
        let from = out.len();
        self.turn.step(entry.event.clone(), out);
        self.record(entry);
        for effect in &out[from..] {
            if let TurnEffect::CallModel { attempt, .. } = effect {
                self.reserved = entry.data.reserved;
                self.unasked = entry.data.unasked;
                if *attempt == 1 {
                    // Steering text enters with the first attempt only: a retry must send the same
                    // prompt.
                    self.due_steering = std::mem::take(&mut self.steered);
                }
            }
        }
        self.update_states();
    }

    /// A call of this run.
    pub(crate) fn call(&self, id: &str) -> Option<&CallView> {
        self.calls.iter().find(|view| view.call.id == id)
    }

    /// The machine's state of a call of the current step.
    pub(crate) fn state_of(&self, id: &str) -> Option<turn::TurnCallState> {
        let mut calls = self.turn.calls().iter();
        let call = calls.find(|call| call.spec.id == id)?;
        Some(call.state)
    }

    /// Calls without a result.
    pub(crate) fn open_calls(&self) -> impl Iterator<Item = &CallView> {
        self.calls.iter().filter(|view| view.result.is_none())
    }

    /// Steering texts that no step has seen yet.
    pub(crate) fn unseen_steering(&self) -> &[SteeringText] {
        &self.steered
    }

    /// True if a steering text with this key was taken before.
    pub(crate) fn knows_steering_key(&self, key: Option<&str>) -> bool {
        key.is_some_and(|key| self.steer_keys.iter().any(|known| known == key))
    }

    /// The cause of the end, if the run has ended.
    pub(crate) fn cause(&self) -> Option<RunEndCause> {
        match self.turn.phase() {
            TurnPhase::Finished { cause } => Some(*cause),
            _ => None,
        }
    }

    /// The ceilings with the amounts that a person allowed on top.
    pub(crate) fn ceilings(&self, set: SpendingCeilings) -> SpendingCeilings {
        let raised = |ceiling: Option<u64>, by: u64| ceiling.map(|limit| limit.saturating_add(by));
        SpendingCeilings {
            session: raised(set.session, self.session_extra),
            day: raised(set.day, self.day_extra),
            total: raised(set.total, self.total_extra),
        }
    }

    fn record(&mut self, entry: &JournalEntry) {
        let data = &entry.data;
        if let Some(model) = data.asks.as_ref().or(data.model.as_ref()) {
            self.model = Some(model.clone());
        }
        match &entry.event {
            TurnEvent::ModelDone { answer, .. } => {
                self.answered_by.extend(data.model.clone());
                self.answered_last.clone_from(&data.model);
                let step = self.turn.step_and_attempt().0;
                let calls = answer.calls.iter().map(|spec| CallView {
                    step,
                    call: ToolCall {
                        id: spec.id.clone(),
                        name: spec.tool.clone(),
                        args: serde_json::from_str(&spec.args).unwrap_or_default(),
                    },
                    state: ToolCallState::Asked,
                    denial: None,
                    result: None,
                });
                self.calls.extend(calls);
            }
            TurnEvent::Decided { call, allowed, .. } => match (allowed, &data.approved) {
                (true, Some(digest)) => {
                    self.approved.insert(call.clone(), digest.clone());
                }
                (true, None) => {}
                (false, _) => self.settle_call(call, ToolCallState::Denied, data),
            },
            TurnEvent::Begun { call, at } => {
                self.began.insert(call.clone(), *at);
            }
            TurnEvent::Unanswered { call, .. } if self.is_open(call) => self.note_known(call, data),
            TurnEvent::ToolDone { call, .. } | TurnEvent::Unanswered { call, .. } => {
                self.settle_call(call, done_state(data), data);
            }
            TurnEvent::Probed { call, found, .. } => match found {
                ProbeResult::Happened { .. } => self.settle_call(call, ToolCallState::Done, data),
                ProbeResult::Unknown => self.note_known(call, data),
                ProbeResult::DidNot => {}
            },
            TurnEvent::Resolved { call, .. } if data.result.is_some() => {
                self.settle_call(call, ToolCallState::Done, data);
            }
            TurnEvent::Steered { .. } => {
                if let Some(steering) = &data.steering {
                    self.steer_keys.extend(steering.key.clone());
                    self.steered.push(steering.clone());
                }
            }
            TurnEvent::Charged {
                tokens,
                micro_dollars,
                ..
            } => {
                self.charged.0 = self.charged.0.saturating_add(*tokens);
                self.charged.1 = self.charged.1.saturating_add(*micro_dollars);
            }
            TurnEvent::OutOfMoney { .. } | TurnEvent::Unaffordable { .. } => {
                self.stopped_by = data.budget;
            }
            TurnEvent::MoneyAllowed { .. } => self.raise_ceiling(data),
            TurnEvent::Restarted { .. } => self.resumed += 1,
            _ => {}
        }
    }

    /// True if the machine still waits for a call.
    fn is_open(&self, id: &str) -> bool {
        let settled = [turn::TurnCallState::Done, turn::TurnCallState::Denied];
        self.state_of(id)
            .is_some_and(|state| !settled.contains(&state))
    }

    fn settle_call(&mut self, id: &str, state: ToolCallState, data: &EntryData) {
        let view = self.calls.iter_mut().find(|view| view.call.id == id);
        if let Some(view) = view {
            view.state = state;
            view.denial.clone_from(&data.denial);
            view.result.clone_from(&data.result);
        }
    }

    fn note_known(&mut self, id: &str, data: &EntryData) {
        if let Some(known) = &data.known {
            self.known.insert(id.to_owned(), known.clone());
        }
    }

    fn raise_ceiling(&mut self, data: &EntryData) {
        let extra = data.allowance.unwrap_or(0);
        let budget = match data.budget {
            Some(BudgetName::Session) => &mut self.session_extra,
            Some(BudgetName::Day) => &mut self.day_extra,
            Some(BudgetName::Total) => &mut self.total_extra,
            None => return,
        };
        *budget = budget.saturating_add(extra);
    }

    /// Updates the views of calls without a result from the machine.
    fn update_states(&mut self) {
        let finished = self.cause().is_some();
        for view in self.calls.iter_mut().filter(|view| view.result.is_none()) {
            let at_work = self
                .turn
                .calls()
                .iter()
                .find(|call| call.spec.id == view.call.id);
            view.state = match at_work.map(|call| call.state) {
                Some(turn::TurnCallState::Asked | turn::TurnCallState::Allowed) => {
                    ToolCallState::Asked
                }
                Some(turn::TurnCallState::Begun | turn::TurnCallState::Probing) => {
                    ToolCallState::Begun
                }
                Some(turn::TurnCallState::InDoubt) => ToolCallState::InDoubt,
                Some(turn::TurnCallState::Done) => ToolCallState::Done,
                Some(turn::TurnCallState::Denied) => ToolCallState::Denied,
                None if finished && view.state != ToolCallState::InDoubt => {
                    ToolCallState::Cancelled
                }
                None => view.state,
            };
        }
    }
}

/// A tool result with one text.
pub(crate) fn text_result(id: &str, text: impl Into<String>, is_error: bool) -> ToolResult {
    ToolResult {
        id: id.to_owned(),
        content: vec![hob_wire::ContentPart::Text { text: text.into() }],
        is_error,
    }
}

fn done_state(data: &EntryData) -> ToolCallState {
    if data.stopped {
        ToolCallState::Cancelled
    } else {
        ToolCallState::Done
    }
}
