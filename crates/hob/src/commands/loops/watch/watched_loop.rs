//! What a watcher knows of a loop: events and readings go in, a picture stands. Pure.
//!
//! Invariants: what is kept is bounded; an older reading never overwrites what an event said since.

use crate::mind::heard::piece;
use crate::mind::lines;
use hob_client::Event;
use hob_core::follow::{Follow, Kind, Output, Text};
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    Cost, RunDelta, RunOf, RunStep, RunTool, RunToolPayload, RunView, ToolPhase,
};
use hob_wire::rooms::loops::{
    Iteration, Loop, LoopConfigured, LoopDeleted, LoopEnd, LoopError, LoopIteration, LoopMonitor,
    LoopPhase, LoopPrompt, LoopResponse, LoopState, LoopStateChanged, LoopStopped, MonitorOutput,
    WorkOutcome,
};
use hob_wire::{Topic, rooms};
use std::collections::VecDeque;

/// Iterations that are over and still shown.
const PAST_MAX: usize = 60;
/// Bytes of an answer that are kept; what is shown is its end.
const ANSWER_BYTES_MAX: usize = 64 * 1_024;

/// An iteration that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Past {
    pub(super) iteration: u32,
    pub(super) ok: bool,
    pub(super) took_ms: Option<u64>,
    /// What it said, or why it failed, on one line.
    pub(super) words: String,
}

/// How an iteration went that ended while it was watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) iteration: u32,
    pub(super) outcome: WorkOutcome,
    pub(super) message: String,
}

/// The loop as it is known.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) name: String,
    pub(super) model: Option<String>,
    pub(super) max_iterations: u32,
    pub(super) has_monitor: bool,
    pub(super) state: LoopState,
    pub(super) monitor: Option<MonitorOutput>,
    pub(super) prompt: String,
    /// The answer so far, calls among its words.
    pub(super) answer: String,
    /// The newest first.
    pub(super) past: VecDeque<Past>,
    /// Why it ended, in a sentence, once it has.
    pub(super) end: Option<(LoopEnd, String)>,
    pub(super) is_deleted: bool,
    /// How the last iteration went that ended since watching began, and what is to be known of it.
    pub(super) last: Option<Ended>,
    /// The first of them to which something was denied, in a sentence.
    pub(super) denied: Option<String>,
    /// The first iteration that is watched.
    from: Option<u32>,
    /// The daemon is being looked for.
    pub(super) is_away: bool,
    /// When the present iteration began.
    pub(super) began_at: Option<u64>,
    /// Rises with each event of the loop, so that a reading knows what it is older than.
    pub(super) changes: u64,
    run: Option<RunId>,
    follow: Follow,
    /// Where the text of the present step begins in the answer.
    step_at: usize,
    step: u32,
}

/// What an event asks of the watcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    /// The event is about this loop.
    pub(super) is_ours: bool,
    /// Something is missing that a reading would show.
    pub(super) wants_reading: bool,
}

/// A loop as it was read, with what its iterations were.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) one: Loop,
    pub(super) history: Vec<Iteration>,
    pub(super) run: Option<RunView>,
    /// [`Seen::changes`] when it was asked for.
    pub(super) asked_at: u64,
}

impl Seen {
    pub(super) fn new(name: &str) -> Seen {
        Seen {
            name: name.to_owned(),
            model: None,
            max_iterations: 0,
            has_monitor: false,
            state: LoopState::default(),
            monitor: None,
            prompt: String::new(),
            answer: String::new(),
            past: VecDeque::new(),
            end: None,
            is_deleted: false,
            last: None,
            denied: None,
            from: None,
            is_away: false,
            began_at: None,
            changes: 0,
            run: None,
            follow: Follow::default(),
            step_at: 0,
            step: 1,
        }
    }

    /// Takes a reading; returns whether it was too old to be believed and another is wanted.
    pub(super) fn read(&mut self, reading: Reading) -> bool {
        for one in reading
            .history
            .iter()
            .rev()
            .filter(|it| it.ended_at.is_some())
        {
            self.over(Past {
                iteration: one.iteration,
                ok: one.success == Some(true),
                took_ms: one.ended_at.map(|at| at.saturating_sub(one.started_at)),
                words: crate::render::loops::words(one),
            });
            // An event that was lost on the way is made up for.
            if let Some(outcome) = one.outcome
                && self.from.is_some_and(|from| one.iteration >= from)
            {
                self.ended(one.iteration, outcome, one.message.as_deref());
            }
        }
        if self.from.is_none() && reading.one.state.running {
            self.from = Some(reading.one.state.iteration);
        }
        if reading.asked_at != self.changes {
            return true;
        }
        let config = &reading.one.config;
        self.model.clone_from(&config.model);
        self.max_iterations = config.max_iterations;
        self.has_monitor = config.monitor.is_some();
        self.monitor = reading.one.state.monitor.clone().or(self.monitor.take());
        let is_at_work = reading.one.state.phase == LoopPhase::Prompt;
        let present = reading.history.iter();
        let mut present = present.filter(|it| it.iteration == reading.one.state.iteration);
        if let Some(present) = present.next() {
            self.prompt.clone_from(&present.prompt);
            self.began_at = Some(present.started_at);
            if let Some(answer) = present.response.as_ref().filter(|_| !is_at_work) {
                self.answer.clone_from(answer);
            }
        }
        self.state = reading.one.state;
        if let Some(view) = reading.run.filter(|_| is_at_work) {
            self.join(&view);
        }
        false
    }

    /// Takes up a run on its way.
    fn join(&mut self, view: &RunView) {
        if self.run != Some(view.run_id) {
            self.begin_run(Some(view.run_id));
            self.follow = Follow::from_step(view.step);
            self.step = view.step;
        }
        self.model = view.model.clone().or(self.model.take());
        let text = Text {
            step: view.step,
            attempt: view.attempt,
            text: &view.text,
        };
        let mut out = Vec::new();
        self.follow.status(text, &mut out);
        self.show(out);
    }

    fn begin_run(&mut self, run: Option<RunId>) {
        self.run = run;
        self.answer.clear();
        self.follow = Follow::default();
        self.step = 1;
        self.step_at = 0;
    }

    /// Takes an event that happened now.
    pub(super) fn event(&mut self, event: &Event, now_ms: u64) -> Effect {
        if event.topic.starts_with("run.") {
            return self.run_event(event);
        }
        if !self.is_named(event) {
            return Effect::default();
        }
        self.changes += 1;
        self.loop_event(event, now_ms);
        Effect {
            is_ours: true,
            wants_reading: event.topic == LoopConfigured::SPEC.topic,
        }
    }

    fn is_named(&self, event: &Event) -> bool {
        #[derive(serde::Deserialize)]
        struct Named {
            name: String,
        }
        let payload = event.payload.as_deref().unwrap_or(b"null");
        let named = serde_json::from_slice::<Named>(payload);
        event.topic.starts_with("loop.") && named.is_ok_and(|it| it.name == self.name)
    }

    fn loop_event(&mut self, event: &Event, now_ms: u64) {
        if let Some(began) = event.read::<LoopIteration>() {
            self.from.get_or_insert(began.iteration);
            let more = began.iteration.saturating_sub(self.state.iteration);
            self.state.since_start = self.state.since_start.saturating_add(more);
            self.state.running = true;
            self.state.phase = LoopPhase::Monitor;
            self.state.iteration = began.iteration;
            self.state.next_at = None;
            self.state.stopped = None;
            self.state.session_key = Some(began.session_key);
            self.end = None;
            self.prompt.clear();
            self.began_at = Some(now_ms);
            self.begin_run(None);
        } else if let Some(told) = event.read::<LoopMonitor>() {
            self.monitor = Some(told.output);
        } else if let Some(sent) = event.read::<LoopPrompt>() {
            self.state.phase = LoopPhase::Prompt;
            self.prompt = sent.prompt;
            if self.run != Some(sent.run_id) {
                self.begin_run(Some(sent.run_id));
            }
        } else if let Some(answered) = event.read::<LoopResponse>() {
            self.answered(answered.iteration, &answered.response, now_ms);
        } else if let Some(error) = event.read::<LoopError>() {
            self.failed(&error, now_ms);
        } else if let Some(told) = event.read::<LoopConfigured>() {
            self.max_iterations = told.config.max_iterations;
            self.has_monitor = told.config.monitor.is_some();
        } else if let Some(told) = event.read::<LoopStateChanged>() {
            if let Some(outcome) = told.outcome {
                self.ended(told.iteration, outcome, told.message.as_deref());
            }
            self.state.running = told.running;
            self.state.phase = told.phase;
            self.state.iteration = told.iteration;
            self.state.next_at = told.next_at;
            self.state.errors = told.errors;
            self.state.cost = told.cost;
        } else if let Some(stopped) = event.read::<LoopStopped>() {
            self.state.running = false;
            self.state.phase = LoopPhase::Idle;
            self.state.next_at = None;
            self.state.since_start = 0;
            self.state.stopped = Some(stopped.end);
            self.end = Some((stopped.end, stopped.message));
        } else if event.read::<LoopDeleted>().is_some() {
            self.is_deleted = true;
        }
    }

    /// Takes the outcome of an iteration.
    fn ended(&mut self, iteration: u32, outcome: WorkOutcome, message: Option<&str>) {
        if self
            .last
            .as_ref()
            .is_some_and(|last| last.iteration >= iteration)
        {
            return;
        }
        let message = message.unwrap_or_default().to_owned();
        if outcome == WorkOutcome::RanWithDenials {
            self.denied.get_or_insert_with(|| message.clone());
        }
        self.state.outcome = Some(outcome);
        self.last = Some(Ended {
            iteration,
            outcome,
            message,
        });
    }

    fn answered(&mut self, iteration: u32, response: &str, now_ms: u64) {
        let words = crate::render::terms::first_line(response);
        // The words of earlier steps and the calls stay above, where they came.
        if !self.answer.ends_with(response) {
            self.answer.truncate(self.step_at);
            self.append(response);
        }
        self.over(Past {
            iteration,
            ok: true,
            took_ms: self.began_at.map(|at| now_ms.saturating_sub(at)),
            words,
        });
    }

    fn failed(&mut self, error: &rooms::loops::LoopErrorPayload, now_ms: u64) {
        self.state.last_error = Some(error.message.clone());
        if let Some(iteration) = error.iteration {
            self.over(Past {
                iteration,
                ok: false,
                took_ms: self.began_at.map(|at| now_ms.saturating_sub(at)),
                words: crate::render::words::one_line(&error.message),
            });
        }
    }

    /// Puts an iteration that is over where it belongs; one that is there is renewed.
    fn over(&mut self, past: Past) {
        let at = self
            .past
            .iter()
            .position(|it| it.iteration <= past.iteration);
        match at {
            Some(at) if self.past[at].iteration == past.iteration => self.past[at] = past,
            Some(at) => self.past.insert(at, past),
            None => self.past.push_back(past),
        }
        self.past.truncate(PAST_MAX);
    }

    fn run_event(&mut self, event: &Event) -> Effect {
        let payload = event.payload.as_deref().unwrap_or(b"null");
        let Ok(of) = serde_json::from_slice::<RunOf>(payload) else {
            return Effect::default();
        };
        if self.state.session_key.as_deref() != Some(of.session_key.as_str()) {
            return Effect::default();
        }
        // The first words may come before the prompt is told.
        if self.run.is_none() {
            self.begin_run(Some(of.run_id));
        }
        let mut out = Vec::new();
        if let Some(delta) = event.read::<RunDelta>() {
            self.follow.piece(piece(&delta), &mut out);
        } else if let Some(step) = event.read::<RunStep>() {
            self.model = Some(step.model.clone());
            let text = Text {
                step: step.step,
                attempt: step.attempt,
                text: &step.text,
            };
            self.follow.step_ended(text, &mut out);
        } else if let Some(tool) = event.read::<RunTool>() {
            self.tool(&tool);
        }
        Effect {
            is_ours: true,
            wants_reading: self.show(out),
        }
    }

    fn tool(&mut self, tool: &RunToolPayload) {
        let line = match (tool.phase, &tool.denial, &tool.result) {
            (ToolPhase::Start, ..) => format!("→ {}", lines::call_words(&tool.call)),
            (ToolPhase::End, Some(_), _) => {
                format!("✗ denied: {}", lines::call_words(&tool.call))
            }
            (ToolPhase::End, None, Some(result)) if result.is_error => {
                format!("✗ {}: {}", tool.call.name, lines::result_words(result))
            }
            _ => return,
        };
        self.own_line();
        self.append(&line);
        self.append("\n");
        self.step_at = self.answer.len();
    }

    fn own_line(&mut self) {
        if !self.answer.is_empty() && !self.answer.ends_with('\n') {
            self.append("\n");
        }
    }

    /// Puts what the follower says into the answer; returns whether it asks for a reading.
    fn show(&mut self, outputs: Vec<Output>) -> bool {
        let mut asks = false;
        for output in outputs {
            match output {
                Output::Show {
                    step,
                    kind: Kind::Text,
                    text,
                } => {
                    self.enter(step);
                    self.append(&text);
                }
                Output::Restart { step, .. } => {
                    self.enter(step);
                    self.answer.truncate(self.step_at);
                }
                Output::Show { .. } | Output::Missing { .. } => {}
                Output::AskStatus => asks = true,
            }
        }
        asks
    }

    fn enter(&mut self, step: u32) {
        if step != self.step {
            self.own_line();
            self.step = step;
            self.step_at = self.answer.len();
        }
    }

    fn append(&mut self, text: &str) {
        self.answer.push_str(text);
        let over = self.answer.len().saturating_sub(ANSWER_BYTES_MAX);
        if over > 0 {
            let cut = (over..=self.answer.len()).find(|at| self.answer.is_char_boundary(*at));
            self.answer.drain(..cut.unwrap_or(0));
            self.step_at = self.step_at.saturating_sub(over);
            while !self.answer.is_char_boundary(self.step_at) {
                self.step_at += 1;
            }
        }
    }

    /// What this start has cost.
    pub(super) fn cost(&self) -> &Cost {
        &self.state.cost
    }
}

#[cfg(test)]
#[path = "seen_tests.rs"]
mod tests;
