//! Everything a run knows beside its conversation: the turn machine and what its inputs carried.
//! Pure. Invariant: feeding the same entries gives the same story, live or after a restart.

use super::journal::{Entry, PurseName, With, Words};
use hob_core::turn::{self, Effect, Event, Found, Limits, Phase, Turn};
use hob_store::Ceilings;
use hob_wire::rooms::agent::{CallState, CallView};
use hob_wire::work::Cause;
use hob_wire::{ToolCall, ToolResult};
use std::collections::{BTreeMap, BTreeSet};

/// A run so far.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub(crate) turn: Turn,
    /// Every call of the run, in order.
    pub(crate) calls: Vec<CallView>,
    /// When each call began.
    pub(crate) began: BTreeMap<String, u64>,
    /// What a person's yes to a call is bound to.
    pub(crate) approved: BTreeMap<String, String>,
    /// What is known of calls in doubt.
    pub(crate) known: BTreeMap<String, String>,
    /// Words that wait for the next step.
    steered: Vec<Words>,
    /// Words that enter the conversation with the next write.
    pub(crate) due: Vec<Words>,
    /// Keys of all words that were ever added.
    steer_keys: Vec<String>,
    /// What was allowed on top of each ceiling.
    session_extra: u64,
    day_extra: u64,
    total_extra: u64,
    /// What runs below it were counted for: tokens, and millionths of a dollar.
    pub(crate) charged: (u64, u64),
    /// Whose ceiling stopped it last.
    pub(crate) stopped_by: Option<PurseName>,
    /// Restarts so far.
    pub(crate) resumed: u32,
    /// What the present model call may cost; nothing when no price is known.
    pub(crate) reserved: Option<u64>,
    /// The present model call was left to the next start: nothing is reserved, nothing was sent.
    pub(crate) unasked: bool,
    /// The model of the present or the last call.
    pub(crate) model: Option<String>,
    /// The model that answered last.
    pub(crate) answered_last: Option<String>,
    /// Every model that gave an answer.
    pub(crate) answered_by: BTreeSet<String>,
}

impl Story {
    pub(crate) fn new(limits: Limits) -> Self {
        Story {
            turn: Turn::new(limits),
            calls: Vec::new(),
            began: BTreeMap::new(),
            approved: BTreeMap::new(),
            known: BTreeMap::new(),
            steered: Vec::new(),
            due: Vec::new(),
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

    /// Takes the next entry of the journal and says what to do.
    pub(crate) fn take(&mut self, entry: &Entry, out: &mut Vec<Effect>) {
        let from = out.len();
        self.turn.step(entry.event.clone(), out);
        self.note(entry);
        for effect in &out[from..] {
            if let Effect::CallModel { attempt, .. } = effect {
                self.reserved = entry.with.reserved;
                self.unasked = entry.with.unasked;
                if *attempt == 1 {
                    self.due = std::mem::take(&mut self.steered);
                }
            }
        }
        self.update_states();
    }

    /// A call of this run.
    pub(crate) fn call(&self, id: &str) -> Option<&CallView> {
        self.calls.iter().find(|view| view.call.id == id)
    }

    /// The machine's own word for a call of the present step.
    pub(crate) fn state_of(&self, id: &str) -> Option<turn::CallState> {
        let mut calls = self.turn.calls().iter();
        let call = calls.find(|call| call.spec.id == id)?;
        Some(call.state)
    }

    /// Calls that have no result.
    pub(crate) fn open_calls(&self) -> impl Iterator<Item = &CallView> {
        self.calls.iter().filter(|view| view.result.is_none())
    }

    /// Words that were added and that no step has seen yet.
    pub(crate) fn unseen_words(&self) -> &[Words] {
        &self.steered
    }

    /// Whether these words were added before.
    pub(crate) fn knows_words(&self, key: Option<&str>) -> bool {
        key.is_some_and(|key| self.steer_keys.iter().any(|known| known == key))
    }

    /// Why it ended, if it has.
    pub(crate) fn cause(&self) -> Option<Cause> {
        match self.turn.phase() {
            Phase::Finished { cause } => Some(*cause),
            _ => None,
        }
    }

    /// These ceilings with what a person allowed on top of them.
    pub(crate) fn ceilings(&self, set: Ceilings) -> Ceilings {
        let raised = |ceiling: Option<u64>, by: u64| ceiling.map(|limit| limit.saturating_add(by));
        Ceilings {
            session: raised(set.session, self.session_extra),
            day: raised(set.day, self.day_extra),
            total: raised(set.total, self.total_extra),
        }
    }

    fn note(&mut self, entry: &Entry) {
        let with = &entry.with;
        if let Some(model) = with.asks.as_ref().or(with.model.as_ref()) {
            self.model = Some(model.clone());
        }
        match &entry.event {
            Event::ModelDone { answer, .. } => {
                self.answered_by.extend(with.model.clone());
                self.answered_last.clone_from(&with.model);
                let step = self.turn.place().0;
                let calls = answer.calls.iter().map(|spec| CallView {
                    step,
                    call: ToolCall {
                        id: spec.id.clone(),
                        name: spec.tool.clone(),
                        args: serde_json::from_str(&spec.args).unwrap_or_default(),
                    },
                    state: CallState::Asked,
                    denial: None,
                    result: None,
                });
                self.calls.extend(calls);
            }
            Event::Decided { call, allowed, .. } => match (allowed, &with.approved) {
                (true, Some(digest)) => {
                    self.approved.insert(call.clone(), digest.clone());
                }
                (true, None) => {}
                (false, _) => self.settle(call, CallState::Denied, with),
            },
            Event::Begun { call, at } => {
                self.began.insert(call.clone(), *at);
            }
            Event::Unanswered { call, .. } if self.is_open(call) => self.note_known(call, with),
            Event::ToolDone { call, .. } | Event::Unanswered { call, .. } => {
                self.settle(call, done(with), with);
            }
            Event::Probed { call, found, .. } => match found {
                Found::Happened { .. } => self.settle(call, CallState::Done, with),
                Found::Unknown => self.note_known(call, with),
                Found::DidNot => {}
            },
            Event::Resolved { call, .. } if with.result.is_some() => {
                self.settle(call, CallState::Done, with);
            }
            Event::Steered { .. } => {
                if let Some(words) = &with.words {
                    self.steer_keys.extend(words.key.clone());
                    self.steered.push(words.clone());
                }
            }
            Event::Charged {
                tokens,
                micro_dollars,
                ..
            } => {
                self.charged.0 = self.charged.0.saturating_add(*tokens);
                self.charged.1 = self.charged.1.saturating_add(*micro_dollars);
            }
            Event::OutOfMoney { .. } | Event::Unaffordable { .. } => self.stopped_by = with.purse,
            Event::MoneyAllowed { .. } => self.allow(with),
            Event::Restarted { .. } => self.resumed += 1,
            _ => {}
        }
    }

    /// Whether the machine still waits for a call.
    fn is_open(&self, id: &str) -> bool {
        let settled = [turn::CallState::Done, turn::CallState::Denied];
        self.state_of(id)
            .is_some_and(|state| !settled.contains(&state))
    }

    fn settle(&mut self, id: &str, state: CallState, with: &With) {
        let view = self.calls.iter_mut().find(|view| view.call.id == id);
        if let Some(view) = view {
            view.state = state;
            view.denial.clone_from(&with.denial);
            view.result.clone_from(&with.result);
        }
    }

    fn note_known(&mut self, id: &str, with: &With) {
        if let Some(known) = &with.known {
            self.known.insert(id.to_owned(), known.clone());
        }
    }

    fn allow(&mut self, with: &With) {
        let extra = with.allowance.unwrap_or(0);
        let purse = match with.purse {
            Some(PurseName::Session) => &mut self.session_extra,
            Some(PurseName::Day) => &mut self.day_extra,
            Some(PurseName::Total) => &mut self.total_extra,
            None => return,
        };
        *purse = purse.saturating_add(extra);
    }

    /// Brings the views of calls without a result in line with the machine.
    fn update_states(&mut self) {
        let finished = self.cause().is_some();
        for view in self.calls.iter_mut().filter(|view| view.result.is_none()) {
            let at_work = self
                .turn
                .calls()
                .iter()
                .find(|call| call.spec.id == view.call.id);
            view.state = match at_work.map(|call| call.state) {
                Some(turn::CallState::Asked | turn::CallState::Allowed) => CallState::Asked,
                Some(turn::CallState::Begun | turn::CallState::Probing) => CallState::Begun,
                Some(turn::CallState::InDoubt) => CallState::InDoubt,
                Some(turn::CallState::Done) => CallState::Done,
                Some(turn::CallState::Denied) => CallState::Denied,
                None if finished && view.state != CallState::InDoubt => CallState::Cancelled,
                None => view.state,
            };
        }
    }
}

/// A result as words.
pub(crate) fn told(id: &str, text: impl Into<String>, is_error: bool) -> ToolResult {
    ToolResult {
        id: id.to_owned(),
        content: vec![hob_wire::Part::Text { text: text.into() }],
        is_error,
    }
}

fn done(with: &With) -> CallState {
    if with.stopped {
        CallState::Cancelled
    } else {
        CallState::Done
    }
}
