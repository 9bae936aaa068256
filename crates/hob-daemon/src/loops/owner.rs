//! The owner task of one running loop, around the pure machine. It takes commands, carries out the
//! machine's effects, and stores every end before it goes on.
//!
//! Invariants: at most one piece of work in the foreground and one monitor beside it; the loop's
//! end is stored before a stop is answered; when the daemon stops, the task is dropped and the next
//! daemon continues the loop from the store.

use super::formatting::{end_message, monitor_command};
use super::iteration::{IterationRequest, run_iteration};
use super::monitor::run_monitor;
use super::{LoopContext, recording};
use crate::run_outcome::{RunOutcome, add_costs};
use crate::scheduled_command::ScheduledCommand;
use hob_core::loop_machine::{IterationEnd, LoopEffect, LoopEvent, LoopMachine, LoopPolicy};
use hob_store::FinishedIteration;
use hob_wire::RunId;
use hob_wire::rooms::agent::{Cost, RunEndCause};
use hob_wire::rooms::loops::{LoopConfig, LoopEnd, LoopPhase, MonitorOutput};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch as channel};
use tokio_util::sync::CancellationToken;

/// Commands that may wait for an owner.
const COMMANDS_MAX: usize = 16;

/// A command to the owner of a loop.
#[derive(Debug)]
pub(super) enum LoopCommand {
    /// Stops the loop. `done` is answered when nothing of it works any more.
    Stop { done: oneshot::Sender<()> },
    /// Replaces the loop's settings.
    Changed(Box<LoopConfig>),
}

/// The live part of a loop's state, which is not stored.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveLoopState {
    pub(super) phase: LoopPhase,
    pub(super) iteration: u32,
    pub(super) next_at: Option<u64>,
    pub(super) run_id: Option<RunId>,
    pub(super) monitor: Option<MonitorOutput>,
    /// True once an iteration of this start is stored.
    pub(super) has_begun: bool,
}

/// The handle to a loop's owner task. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct LoopHandle {
    pub(super) commands: mpsc::Sender<LoopCommand>,
    pub(super) live: channel::Receiver<LiveLoopState>,
}

impl LoopHandle {
    pub(super) fn is_same(&self, other: &LoopHandle) -> bool {
        self.commands.same_channel(&other.commands)
    }
}

/// The state that an owner starts with.
pub(super) struct LoopInit {
    pub(super) machine: LoopMachine,
    pub(super) effects: Vec<LoopEffect>,
    pub(super) cost: Cost,
    pub(super) monitor: Option<MonitorOutput>,
    pub(super) config: LoopConfig,
    /// The stored iteration that has not ended.
    pub(super) open_iteration: Option<u32>,
}

/// Spawns the owner task of a loop.
pub(super) fn spawn_owner(context: &Arc<LoopContext>, name: &str, init: LoopInit) -> LoopHandle {
    let (commands, inbox) = mpsc::channel(COMMANDS_MAX);
    let (live_sender, live) = channel::channel(LiveLoopState::default());
    let handle = LoopHandle { commands, live };
    let owner = LoopOwner {
        context: Arc::clone(context),
        name: name.to_owned(),
        machine: init.machine,
        config: init.config,
        cost: init.cost,
        monitor: init.monitor,
        open_iteration: init.open_iteration,
        run_receiver: None,
        last_error: None,
        answer: None,
        foreground: None,
        side_monitor: None,
        stop: CancellationToken::new(),
        stop_replies: Vec::new(),
        live: live_sender,
    };
    // Registered before the task runs, because the task removes itself at its end.
    context.registry.add(name, handle.clone());
    let (room, own_handle) = (Arc::clone(context), handle.clone());
    let name = name.to_owned();
    let work = async move {
        owner.run(inbox, init.effects).await;
        room.registry.remove(&name, &own_handle);
    };
    context.deps.tasks.spawn_until_stop("loop", work);
    handle
}

type LoopWork<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

/// The result of the foreground work.
enum WorkResult {
    Opened(Result<(), hob_store::StoreError>),
    Watched(Option<(ScheduledCommand, MonitorOutput)>),
    Asked(RunOutcome),
}

struct LoopOwner {
    context: Arc<LoopContext>,
    name: String,
    machine: LoopMachine,
    config: LoopConfig,
    /// The cost of all iterations since the start.
    cost: Cost,
    /// The last output of the monitor.
    monitor: Option<MonitorOutput>,
    /// The stored iteration that has not ended.
    open_iteration: Option<u32>,
    /// Receives the run id of the current iteration.
    run_receiver: Option<oneshot::Receiver<RunId>>,
    last_error: Option<String>,
    /// The result of the iteration that has just ended, not stored yet.
    answer: Option<RunOutcome>,
    foreground: LoopWork<WorkResult>,
    side_monitor: LoopWork<(ScheduledCommand, MonitorOutput)>,
    /// Cancels all work of the loop.
    stop: CancellationToken,
    /// The callers who wait for the loop's end.
    stop_replies: Vec<oneshot::Sender<()>>,
    live: channel::Sender<LiveLoopState>,
}

impl LoopOwner {
    async fn run(mut self, mut inbox: mpsc::Receiver<LoopCommand>, mut effects: Vec<LoopEffect>) {
        loop {
            let is_over = self.apply_effects(std::mem::take(&mut effects)).await;
            self.publish(None);
            if is_over {
                self.answer_stops(&mut inbox).await;
                return;
            }
            let event = self.next_event(&mut inbox).await;
            if let Some(event) = event {
                self.machine.step(event, self.now_ms(), &mut effects);
            }
        }
    }

    /// Waits for the next event.
    async fn next_event(&mut self, inbox: &mut mpsc::Receiver<LoopCommand>) -> Option<LoopEvent> {
        let clock = &self.context.deps.clock;
        let due = self.machine.due_ms();
        let left = due.map(|due| due.saturating_sub(clock.monotonic_ms()));
        tokio::select! {
            command = inbox.recv() => Some(self.handle_command(command?)),
            done = wait_work(&mut self.foreground) => {
                self.foreground = None;
                Some(self.handle_result(done))
            }
            (command, output) = wait_work(&mut self.side_monitor) => {
                self.side_monitor = None;
                self.keep_output(&command, output);
                Some(LoopEvent::BackgroundMonitorEnded)
            }
            run = wait_run_id(&mut self.run_receiver) => {
                self.run_receiver = None;
                if let Ok(run) = run {
                    self.publish(Some(run));
                }
                None
            }
            () = sleep_ms(left) => Some(LoopEvent::Tick),
        }
    }

    fn handle_command(&mut self, command: LoopCommand) -> LoopEvent {
        match command {
            LoopCommand::Stop { done } => {
                self.stop_replies.push(done);
                LoopEvent::Stop
            }
            LoopCommand::Changed(config) => {
                self.config = *config;
                LoopEvent::PolicyChanged(LoopPolicy::from_config(&self.config))
            }
        }
    }

    fn handle_result(&mut self, done: WorkResult) -> LoopEvent {
        match done {
            WorkResult::Opened(Ok(())) => {
                self.open_iteration = Some(self.machine.iteration());
                LoopEvent::IterationRecorded
            }
            WorkResult::Opened(Err(error)) => {
                tracing::warn!(name = self.name, "an iteration could not begin: {error}");
                self.last_error = Some(error.to_string());
                LoopEvent::IterationNotRecorded
            }
            WorkResult::Watched(watched) => {
                if let Some((command, output)) = watched {
                    self.keep_output(&command, output);
                }
                LoopEvent::MonitorEnded
            }
            WorkResult::Asked(answer) => {
                let event = LoopEvent::IterationEnded {
                    end: match answer.cause {
                        _ if answer.success => IterationEnd::Answered,
                        Some(RunEndCause::Budget) => IterationEnd::Unaffordable,
                        _ => IterationEnd::Failed,
                    },
                    micro_dollars: answer.cost.micro_dollars.unwrap_or(0),
                };
                self.cost = add_costs(self.cost, answer.cost);
                self.answer = Some(answer);
                event
            }
        }
    }

    /// Keeps a monitor's output, unless the loop has another monitor by now.
    fn keep_output(&mut self, command: &ScheduledCommand, output: MonitorOutput) {
        if monitor_command(&self.config).as_ref() == Some(command) {
            self.monitor = Some(output);
        }
    }

    /// Carries out the machine's effects. Returns true when the loop has ended.
    async fn apply_effects(&mut self, effects: Vec<LoopEffect>) -> bool {
        if effects.contains(&LoopEffect::Interrupt) {
            // Before the wait below, or the monitor would run until its timeout.
            self.stop.cancel();
        }
        let end = effects.iter().find_map(|effect| match effect {
            LoopEffect::End(end) => Some(*end),
            _ => None,
        });
        if end.is_some() {
            // Its output is not needed any more, but a stop is answered only when its process is gone.
            if let Some(side_monitor) = self.side_monitor.take() {
                side_monitor.await;
            }
        }
        // A stop before the model was asked leaves a stored iteration without an answer.
        if self.answer.is_some() || (end.is_some() && self.open_iteration.is_some()) {
            self.record_end(end).await;
        } else if let Some(end) = end {
            let message = self.end_message(end);
            recording::record_loop_end(&self.context, &self.name, end, &message).await;
        }
        // Only after the end is stored, because the next iteration shows what this one remembered.
        for effect in effects {
            self.start_work(effect);
        }
        end.is_some()
    }

    fn start_work(&mut self, effect: LoopEffect) {
        let context = Arc::clone(&self.context);
        let name = self.name.clone();
        match effect {
            LoopEffect::RecordIteration { iteration } => {
                self.foreground = Some(Box::pin(async move {
                    let begun = context.deps.store.begin_iteration(&name, iteration);
                    WorkResult::Opened(begun.await)
                }));
            }
            LoopEffect::RunMonitor => {
                let stop = self.stop.clone();
                // The monitor may have been removed since the machine decided to run it.
                let command = monitor_command(&self.config);
                self.foreground = Some(Box::pin(async move {
                    match command {
                        Some(command) => WorkResult::Watched(Some(
                            run_monitor(context, name, command, stop).await,
                        )),
                        None => WorkResult::Watched(None),
                    }
                }));
            }
            LoopEffect::RunBackgroundMonitor => {
                let stop = self.stop.clone();
                if let Some(command) = monitor_command(&self.config) {
                    self.side_monitor = Some(Box::pin(run_monitor(context, name, command, stop)));
                }
            }
            LoopEffect::AskModel => {
                let (run_sender, run) = oneshot::channel();
                self.run_receiver = Some(run);
                let request = IterationRequest {
                    name,
                    iteration: self.machine.iteration(),
                    config: self.config.clone(),
                    // The output of a monitor that was removed since is not shown.
                    monitor: self
                        .monitor
                        .clone()
                        .filter(|_| self.config.monitor.is_some()),
                    money_left: self.machine.money_left(),
                    run_sender: Some(run_sender),
                    stop: self.stop.clone(),
                };
                self.foreground = Some(Box::pin(async move {
                    WorkResult::Asked(run_iteration(context, request).await)
                }));
            }
            LoopEffect::Interrupt | LoopEffect::End(_) => {}
        }
    }

    /// Stores the iteration's result, and the loop's end if it ended with it.
    async fn record_end(&mut self, end: Option<LoopEnd>) {
        let Some(number) = self.open_iteration.take() else {
            return;
        };
        self.run_receiver = None;
        let answer = self.answer.take().unwrap_or_else(|| RunOutcome {
            cause: Some(RunEndCause::Aborted),
            ..RunOutcome::failed("It was stopped.".to_owned())
        });
        // An iteration that a stop interrupts is no failure, and nobody is notified of it.
        let is_stopped = end == Some(LoopEnd::Stopped);
        if !answer.success && !is_stopped {
            self.last_error.clone_from(&answer.message);
        }
        let ended = FinishedIteration {
            name: self.name.clone(),
            number,
            success: answer.success,
            outcome: answer.outcome(),
            cause: answer.cause,
            message: answer.note().map(str::to_owned),
            denied_calls: answer.calls.denied,
            failed_calls: answer.calls.failed,
            is_reported: !is_stopped,
            errors: self.machine.errors(),
            cost: self.cost,
            next_at: self.next_at(),
            end: end.map(|end| (end, self.end_message(end))),
        };
        let notify = self.config.notify.clone().filter(|_| !is_stopped);
        recording::record_iteration_end(&self.context, ended, &answer, notify).await;
    }

    /// Answers everybody who waits for the loop's end.
    async fn answer_stops(mut self, inbox: &mut mpsc::Receiver<LoopCommand>) {
        // Closed first, so that no stop can be queued between the last `recv` and the end.
        inbox.close();
        while let Some(command) = inbox.recv().await {
            if let LoopCommand::Stop { done } = command {
                self.stop_replies.push(done);
            }
        }
        for done in self.stop_replies {
            // The caller may be gone.
            let _ = done.send(());
        }
    }

    fn publish(&self, run: Option<RunId>) {
        let phase = self.machine.phase();
        self.live.send_if_modified(|live| {
            let run_id = match phase {
                LoopPhase::Prompt => run.or(live
                    .run_id
                    .filter(|_| live.iteration == self.machine.iteration())),
                _ => live.run_id,
            };
            *live = LiveLoopState {
                phase,
                iteration: self.machine.iteration(),
                next_at: self.next_at(),
                run_id,
                monitor: self.monitor.clone(),
                has_begun: live.has_begun || self.open_iteration.is_some(),
            };
            true
        });
    }

    fn end_message(&self, end: LoopEnd) -> String {
        end_message(end, &self.config, self.last_error.as_deref())
    }

    fn now_ms(&self) -> u64 {
        self.context.deps.clock.monotonic_ms()
    }

    /// Returns the wall-clock time of the next iteration.
    fn next_at(&self) -> Option<u64> {
        let next_ms = self.machine.next_ms()?;
        let left = next_ms.saturating_sub(self.now_ms());
        Some(self.context.deps.clock.wall_ms().saturating_add(left))
    }
}

/// Waits for the work's result; for ever when there is none.
async fn wait_work<T>(work: &mut LoopWork<T>) -> T {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}

async fn wait_run_id(
    run: &mut Option<oneshot::Receiver<RunId>>,
) -> Result<RunId, oneshot::error::RecvError> {
    match run {
        Some(run) => run.await,
        None => std::future::pending().await,
    }
}

async fn sleep_ms(left_ms: Option<u64>) {
    match left_ms {
        Some(left_ms) => tokio::time::sleep(Duration::from_millis(left_ms)).await,
        None => std::future::pending().await,
    }
}
