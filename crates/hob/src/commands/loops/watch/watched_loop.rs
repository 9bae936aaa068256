//! The watcher's model of a loop, updated by events and readings. Pure.
//!
//! Invariants: the model is bounded; a reading never overwrites the state of a later event.

use crate::run_ui::lines;
use hob_client::BusEvent;
use hob_core::transcript::{AnswerOutput, AnswerStream, StepText, TextDelta};
use hob_wire::block::BlockKind;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    Cost, RunDelta, RunRef, RunStep, RunTool, RunToolPayload, RunView, ToolPhase,
};
use hob_wire::rooms::loops::{
    IterationRecord, Loop, LoopConfigured, LoopDeleted, LoopEnd, LoopError, LoopIteration,
    LoopMonitor, LoopPhase, LoopPrompt, LoopResponse, LoopState, LoopStateChanged, LoopStopped,
    MonitorOutput, WorkOutcome,
};
use hob_wire::{EventTopic, rooms};
use std::collections::VecDeque;

/// The most past iterations kept.
const PAST_MAX: usize = 60;
/// The most bytes of an answer kept. The beginning is dropped, since the view shows the end.
const ANSWER_BYTES_MAX: usize = 64 * 1_024;

/// A finished iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PastIteration {
    pub(super) iteration: u32,
    pub(super) ok: bool,
    pub(super) took_ms: Option<u64>,
    /// The answer or the error on one line.
    pub(super) summary: String,
}

/// The outcome of an iteration that ended while it was watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EndedIteration {
    pub(super) iteration: u32,
    pub(super) outcome: WorkOutcome,
    pub(super) message: String,
}

/// The loop as the watcher knows it.
#[derive(Clone, Debug)]
pub(super) struct WatchedLoop {
    pub(super) name: String,
    pub(super) model: Option<String>,
    pub(super) max_iterations: u32,
    pub(super) has_monitor: bool,
    pub(super) state: LoopState,
    pub(super) monitor: Option<MonitorOutput>,
    pub(super) prompt: String,
    /// The answer so far, including lines for tool calls.
    pub(super) answer: String,
    /// Finished iterations, newest first.
    pub(super) past: VecDeque<PastIteration>,
    /// The reason why the loop ended, with a sentence for people.
    pub(super) end: Option<(LoopEnd, String)>,
    pub(super) is_deleted: bool,
    /// The last iteration that ended since watching began.
    pub(super) last: Option<EndedIteration>,
    /// The message of the first watched iteration with a denied call.
    pub(super) denied: Option<String>,
    /// The first watched iteration.
    from: Option<u32>,
    /// The connection to the daemon is lost.
    pub(super) is_away: bool,
    /// The start of the current iteration, in milliseconds.
    pub(super) began_at: Option<u64>,
    /// Counts the loop's events, so that a reading older than an event is detected.
    pub(super) changes: u64,
    run: Option<RunId>,
    stream: AnswerStream,
    /// The offset of the current step's text in the answer.
    step_at: usize,
    step: u32,
}

/// The effect of an event on the watcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WatchEffect {
    /// The event is about this loop.
    pub(super) is_about_loop: bool,
    /// Something was missed, so the loop must be read again.
    pub(super) wants_reading: bool,
}

/// A loop as read from the daemon, with its iterations and its current run.
#[derive(Debug)]
pub(super) struct LoopReading {
    pub(super) one: Loop,
    pub(super) history: Vec<IterationRecord>,
    pub(super) run: Option<RunView>,
    /// [`WatchedLoop::changes`] when the reading was requested.
    pub(super) asked_at: u64,
}

impl WatchedLoop {
    pub(super) fn new(name: &str) -> WatchedLoop {
        WatchedLoop {
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
            stream: AnswerStream::default(),
            step_at: 0,
            step: 1,
        }
    }

    /// Applies a reading; returns true if it is outdated and must be repeated.
    pub(super) fn apply_reading(&mut self, reading: LoopReading) -> bool {
        for one in reading
            .history
            .iter()
            .rev()
            .filter(|it| it.ended_at.is_some())
        {
            self.record_past(PastIteration {
                iteration: one.iteration,
                ok: one.success == Some(true),
                took_ms: one.ended_at.map(|at| at.saturating_sub(one.started_at)),
                summary: crate::render::loops::words(one),
            });
            // Covers an outcome whose event was lost.
            if let Some(outcome) = one.outcome
                && self.from.is_some_and(|from| one.iteration >= from)
            {
                self.record_outcome(one.iteration, outcome, one.message.as_deref());
            }
        }
        if self.from.is_none() && reading.one.state.running {
            self.from = Some(reading.one.state.iteration);
        }
        // Finished iterations never change, so even an outdated reading may add them. The rest of
        // it may be older than an event that was already applied.
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
            self.join_run(&view);
        }
        false
    }

    /// Starts following a run that is already going.
    fn join_run(&mut self, view: &RunView) {
        if self.run != Some(view.run_id) {
            self.begin_run(Some(view.run_id));
            self.stream = AnswerStream::from_step(view.step);
            self.step = view.step;
        }
        self.model = view.model.clone().or(self.model.take());
        let text = StepText {
            step: view.step,
            attempt: view.attempt,
            text: &view.text,
        };
        let mut out = Vec::new();
        self.stream.apply_status(text, &mut out);
        self.apply_outputs(out);
    }

    fn begin_run(&mut self, run: Option<RunId>) {
        self.run = run;
        self.answer.clear();
        self.stream = AnswerStream::default();
        self.step = 1;
        self.step_at = 0;
    }

    /// Applies an event received at `now_ms`.
    pub(super) fn apply_event(&mut self, event: &BusEvent, now_ms: u64) -> WatchEffect {
        if event.topic.starts_with("run.") {
            return self.apply_run_event(event);
        }
        if !self.is_about(event) {
            return WatchEffect::default();
        }
        self.changes += 1;
        self.apply_loop_event(event, now_ms);
        WatchEffect {
            is_about_loop: true,
            wants_reading: event.topic == LoopConfigured::SPEC.topic,
        }
    }

    fn is_about(&self, event: &BusEvent) -> bool {
        #[derive(serde::Deserialize)]
        struct NamePayload {
            name: String,
        }
        let payload = event.payload.as_deref().unwrap_or(b"null");
        let named = serde_json::from_slice::<NamePayload>(payload);
        event.topic.starts_with("loop.") && named.is_ok_and(|it| it.name == self.name)
    }

    fn apply_loop_event(&mut self, event: &BusEvent, now_ms: u64) {
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
        } else if let Some(changed) = event.read::<LoopMonitor>() {
            self.monitor = Some(changed.output);
        } else if let Some(sent) = event.read::<LoopPrompt>() {
            self.state.phase = LoopPhase::Prompt;
            self.prompt = sent.prompt;
            if self.run != Some(sent.run_id) {
                self.begin_run(Some(sent.run_id));
            }
        } else if let Some(answered) = event.read::<LoopResponse>() {
            self.apply_response(answered.iteration, &answered.response, now_ms);
        } else if let Some(error) = event.read::<LoopError>() {
            self.apply_error(&error, now_ms);
        } else if let Some(changed) = event.read::<LoopConfigured>() {
            self.max_iterations = changed.config.max_iterations;
            self.has_monitor = changed.config.monitor.is_some();
        } else if let Some(changed) = event.read::<LoopStateChanged>() {
            if let Some(outcome) = changed.outcome {
                self.record_outcome(changed.iteration, outcome, changed.message.as_deref());
            }
            self.state.running = changed.running;
            self.state.phase = changed.phase;
            self.state.iteration = changed.iteration;
            self.state.next_at = changed.next_at;
            self.state.errors = changed.errors;
            self.state.cost = changed.cost;
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

    /// Records the outcome of an iteration; each iteration counts once.
    fn record_outcome(&mut self, iteration: u32, outcome: WorkOutcome, message: Option<&str>) {
        if self
            .last
            .as_ref()
            .is_some_and(|last| last.iteration >= iteration)
        {
            return;
        }
        // Only newer iterations get here: an event and a reading may report the same outcome.
        let message = message.unwrap_or_default().to_owned();
        if outcome == WorkOutcome::RanWithDenials {
            self.denied.get_or_insert_with(|| message.clone());
        }
        self.state.outcome = Some(outcome);
        self.last = Some(EndedIteration {
            iteration,
            outcome,
            message,
        });
    }

    fn apply_response(&mut self, iteration: u32, response: &str, now_ms: u64) {
        let summary = crate::render::work_terms::first_line(response);
        let mut out = Vec::new();
        self.stream.apply_run_end(response, &mut out);
        self.apply_outputs(out);
        self.record_past(PastIteration {
            iteration,
            ok: true,
            took_ms: self.began_at.map(|at| now_ms.saturating_sub(at)),
            summary,
        });
    }

    fn apply_error(&mut self, error: &rooms::loops::LoopErrorPayload, now_ms: u64) {
        self.state.last_error = Some(error.message.clone());
        if let Some(iteration) = error.iteration {
            self.record_past(PastIteration {
                iteration,
                ok: false,
                took_ms: self.began_at.map(|at| now_ms.saturating_sub(at)),
                summary: crate::render::text::one_line(&error.message),
            });
        }
    }

    /// Inserts a finished iteration in order, or replaces it if it is there.
    fn record_past(&mut self, past: PastIteration) {
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

    fn apply_run_event(&mut self, event: &BusEvent) -> WatchEffect {
        let payload = event.payload.as_deref().unwrap_or(b"null");
        let Ok(of) = serde_json::from_slice::<RunRef>(payload) else {
            return WatchEffect::default();
        };
        if self.state.session_key.as_deref() != Some(of.session_key.as_str()) {
            return WatchEffect::default();
        }
        // The run's first delta may arrive before the prompt event.
        if self.run.is_none() {
            self.begin_run(Some(of.run_id));
        }
        let mut out = Vec::new();
        let mut wants_reading = false;
        if let Some(payload) = event.read::<RunDelta>() {
            let delta = TextDelta {
                step: payload.step,
                attempt: payload.attempt,
                offset: payload.offset,
                kind: payload.kind,
                text: &payload.delta,
            };
            wants_reading = self.stream.apply_delta(delta, &mut out);
        } else if let Some(step) = event.read::<RunStep>() {
            self.model = Some(step.model.clone());
            let text = StepText {
                step: step.step,
                attempt: step.attempt,
                text: &step.text,
            };
            self.stream.apply_step_end(text, &mut out);
        } else if let Some(tool) = event.read::<RunTool>() {
            self.append_tool_line(&tool);
        }
        self.apply_outputs(out);
        WatchEffect {
            is_about_loop: true,
            wants_reading,
        }
    }

    fn append_tool_line(&mut self, tool: &RunToolPayload) {
        let line = match (tool.phase, &tool.denial, &tool.result) {
            (ToolPhase::Start, ..) => format!("→ {}", lines::describe_call(&tool.call)),
            (ToolPhase::End, Some(_), _) => {
                format!("✗ denied: {}", lines::describe_call(&tool.call))
            }
            (ToolPhase::End, None, Some(result)) if result.is_error => {
                format!("✗ {}: {}", tool.call.name, lines::describe_result(result))
            }
            _ => return,
        };
        self.start_new_line();
        self.append(&line);
        self.append("\n");
        self.step_at = self.answer.len();
    }

    fn start_new_line(&mut self) {
        if !self.answer.is_empty() && !self.answer.ends_with('\n') {
            self.append("\n");
        }
    }

    fn apply_outputs(&mut self, outputs: Vec<AnswerOutput>) {
        for output in outputs {
            match output {
                AnswerOutput::Show {
                    step,
                    kind: BlockKind::Text,
                    text,
                } => {
                    self.enter_step(step);
                    self.append(&text);
                }
                AnswerOutput::Replaced { step } => {
                    self.enter_step(step);
                    self.answer.truncate(self.step_at);
                }
                AnswerOutput::Show { .. } => {}
            }
        }
    }

    fn enter_step(&mut self, step: u32) {
        if step != self.step {
            self.start_new_line();
            self.step = step;
            self.step_at = self.answer.len();
        }
    }

    fn append(&mut self, text: &str) {
        self.answer.push_str(text);
        let over = self.answer.len().saturating_sub(ANSWER_BYTES_MAX);
        if over > 0 {
            // The cut moves forward to a character boundary.
            let cut = (over..=self.answer.len()).find(|at| self.answer.is_char_boundary(*at));
            self.answer.drain(..cut.unwrap_or(0));
            self.step_at = self.step_at.saturating_sub(over);
            while !self.answer.is_char_boundary(self.step_at) {
                self.step_at += 1;
            }
        }
    }

    /// The cost since the loop was started.
    pub(super) fn cost(&self) -> &Cost {
        &self.state.cost
    }
}

#[cfg(test)]
#[path = "watched_loop_tests.rs"]
mod tests;
