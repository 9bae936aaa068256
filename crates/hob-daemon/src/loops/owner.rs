//! One loop that runs: a task around the pure machine. It hears commands, carries out what the
//! machine wants, and puts every end on record before it goes on.
//!
//! Invariants: at most one piece of work in front and one monitor beside it; the loop's end is on
//! record before anybody who stopped it is answered; when the daemon stops, the task is dropped and
//! the next daemon takes the loop up from the record.

use super::asking::{Question, ask};
use super::watching::watch;
use super::words::{monitor, sentence};
use super::{Shared, recording};
use crate::answer::{Answer, sum};
use crate::errand::Errand;
use hob_core::rounds::{AskedEnd, Effect, Event, Machine, Policy};
use hob_kit::failpoint;
use hob_store::Ended;
use hob_wire::RunId;
use hob_wire::rooms::agent::{Cause, Cost};
use hob_wire::rooms::loops::{LoopConfig, LoopEnd, LoopPhase, MonitorOutput};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch as channel};
use tokio_util::sync::CancellationToken;

/// Commands that wait for an owner.
const COMMANDS_MAX: usize = 16;

/// What an owner is told.
#[derive(Debug)]
pub(super) enum Command {
    /// Stop, and tell when nothing of it works any more.
    Stop { done: oneshot::Sender<()> },
    /// The settings are these from now on.
    Changed(Box<LoopConfig>),
}

/// What a loop is doing this moment, beside what is on record.
#[derive(Clone, Debug, Default)]
pub(super) struct Live {
    pub(super) phase: LoopPhase,
    pub(super) iteration: u32,
    pub(super) next_at: Option<u64>,
    pub(super) run_id: Option<RunId>,
    pub(super) monitor: Option<MonitorOutput>,
    /// Whether an iteration of this start is on record.
    pub(super) begun: bool,
}

/// How others reach an owner; cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) live: channel::Receiver<Live>,
}

impl Handle {
    pub(super) fn is_same(&self, other: &Handle) -> bool {
        self.commands.same_channel(&other.commands)
    }
}

/// What the machine begins with.
pub(super) struct Begin {
    pub(super) machine: Machine,
    pub(super) effects: Vec<Effect>,
    pub(super) cost: Cost,
    pub(super) monitor: Option<MonitorOutput>,
    pub(super) config: LoopConfig,
    /// An iteration that was on record already.
    pub(super) open: Option<u32>,
}

/// Gives a loop an owner.
pub(super) fn begin(shared: &Arc<Shared>, name: &str, begin: Begin) -> Handle {
    let (commands, inbox) = mpsc::channel(COMMANDS_MAX);
    let (told, live) = channel::channel(Live::default());
    let handle = Handle { commands, live };
    let owner = Owner {
        shared: Arc::clone(shared),
        name: name.to_owned(),
        machine: begin.machine,
        config: begin.config,
        cost: begin.cost,
        monitor: begin.monitor,
        open: begin.open,
        run: None,
        last_error: None,
        answer: None,
        front: None,
        beside: None,
        stop: CancellationToken::new(),
        stopped: Vec::new(),
        live: told,
    };
    shared.roll.add(name, handle.clone());
    let (roll, mine) = (Arc::clone(shared), handle.clone());
    let name = name.to_owned();
    let work = async move {
        owner.run(inbox, begin.effects).await;
        roll.roll.remove(&name, &mine);
    };
    shared.parts.tasks.spawn_until_stop("loop", work);
    handle
}

type Work<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

/// What came of the work in front.
enum Done {
    Opened(Result<(), hob_store::StoreError>),
    Watched(Option<(Errand, MonitorOutput)>),
    Asked(Answer),
}

struct Owner {
    shared: Arc<Shared>,
    name: String,
    machine: Machine,
    config: LoopConfig,
    /// What this start has cost.
    cost: Cost,
    /// What the monitor last printed.
    monitor: Option<MonitorOutput>,
    /// The iteration that is on record and has not ended.
    open: Option<u32>,
    /// Tells the run of the iteration under way.
    run: Option<oneshot::Receiver<RunId>>,
    last_error: Option<String>,
    /// How the iteration went that has just ended.
    answer: Option<Answer>,
    front: Work<Done>,
    beside: Work<(Errand, MonitorOutput)>,
    /// Ends all work under way, with the loop.
    stop: CancellationToken,
    /// Who waits for the loop's end.
    stopped: Vec<oneshot::Sender<()>>,
    live: channel::Sender<Live>,
}

impl Owner {
    async fn run(mut self, mut inbox: mpsc::Receiver<Command>, mut effects: Vec<Effect>) {
        loop {
            let is_over = self.carry_out(std::mem::take(&mut effects)).await;
            self.show(None);
            if is_over {
                self.leave(&mut inbox).await;
                return;
            }
            let event = self.next(&mut inbox).await;
            if let Some(event) = event {
                self.machine.step(event, self.now_ms(), &mut effects);
            }
        }
    }

    /// Waits for whatever happens next.
    async fn next(&mut self, inbox: &mut mpsc::Receiver<Command>) -> Option<Event> {
        let clock = &self.shared.parts.clock;
        let due = self.machine.due_ms();
        let left = due.map(|due| due.saturating_sub(clock.monotonic_ms()));
        tokio::select! {
            command = inbox.recv() => Some(self.heard(command?)),
            done = working(&mut self.front) => {
                self.front = None;
                Some(self.done(done))
            }
            (errand, output) = working(&mut self.beside) => {
                self.beside = None;
                self.keep(&errand, output);
                Some(Event::WatchedBeside)
            }
            run = telling(&mut self.run) => {
                self.run = None;
                if let Ok(run) = run {
                    self.show(Some(run));
                }
                None
            }
            () = sleeping(left) => Some(Event::Tick),
        }
    }

    fn heard(&mut self, command: Command) -> Event {
        match command {
            Command::Stop { done } => {
                self.stopped.push(done);
                Event::Stop
            }
            Command::Changed(config) => {
                self.config = *config;
                Event::Changed(Policy::of(&self.config))
            }
        }
    }

    fn done(&mut self, done: Done) -> Event {
        match done {
            Done::Opened(Ok(())) => {
                self.open = Some(self.machine.iteration());
                Event::Opened
            }
            Done::Opened(Err(error)) => {
                tracing::warn!(name = self.name, "an iteration could not begin: {error}");
                self.last_error = Some(error.to_string());
                Event::NotOpened
            }
            Done::Watched(watched) => {
                if let Some((errand, output)) = watched {
                    self.keep(&errand, output);
                }
                Event::Watched
            }
            Done::Asked(answer) => {
                let event = Event::Asked {
                    end: match answer.cause {
                        _ if answer.success => AskedEnd::Answered,
                        Some(Cause::Budget) => AskedEnd::Unaffordable,
                        _ => AskedEnd::Failed,
                    },
                    micro_dollars: answer.cost.micro_dollars.unwrap_or(0),
                };
                self.cost = sum(self.cost, answer.cost);
                self.answer = Some(answer);
                event
            }
        }
    }

    /// Keeps what a monitor printed, unless it is another one by now.
    fn keep(&mut self, errand: &Errand, output: MonitorOutput) {
        if monitor(&self.config).as_ref() == Some(errand) {
            self.monitor = Some(output);
        }
    }

    /// Does what the machine wants; true when the loop is over.
    async fn carry_out(&mut self, effects: Vec<Effect>) -> bool {
        if effects.contains(&Effect::Interrupt) {
            // Fault test 111: a stop that dawdles must be noticed.
            if failpoint::broken(111) {
                tokio::time::sleep(Duration::from_secs(3)).await;
            }
            self.stop.cancel();
        }
        let end = effects.iter().find_map(|effect| match effect {
            Effect::End(end) => Some(*end),
            _ => None,
        });
        if end.is_some() {
            // A monitor that ran beside has nobody to tell, and must be gone all the same.
            if let Some(beside) = self.beside.take() {
                beside.await;
            }
        }
        if self.answer.is_some() || (end.is_some() && self.open.is_some()) {
            self.record_end(end).await;
        } else if let Some(end) = end {
            let message = self.sentence(end);
            recording::end_loop(&self.shared, &self.name, end, &message).await;
        }
        for effect in effects {
            self.begin_work(effect);
        }
        end.is_some()
    }

    fn begin_work(&mut self, effect: Effect) {
        let shared = Arc::clone(&self.shared);
        let name = self.name.clone();
        match effect {
            Effect::Open { iteration } => {
                self.front = Some(Box::pin(async move {
                    let begun = shared.parts.store.begin_iteration(&name, iteration);
                    Done::Opened(begun.await)
                }));
            }
            Effect::Watch => {
                let stop = self.stop.clone();
                // One that was taken away a moment ago is not run.
                let errand = monitor(&self.config);
                self.front = Some(Box::pin(async move {
                    match errand {
                        Some(errand) => {
                            Done::Watched(Some(watch(shared, name, errand, stop).await))
                        }
                        None => Done::Watched(None),
                    }
                }));
            }
            Effect::WatchBeside => {
                let stop = self.stop.clone();
                if let Some(errand) = monitor(&self.config) {
                    self.beside = Some(Box::pin(watch(shared, name, errand, stop)));
                }
            }
            Effect::Ask => {
                let (begun, run) = oneshot::channel();
                self.run = Some(run);
                let question = Question {
                    name,
                    iteration: self.machine.iteration(),
                    config: self.config.clone(),
                    monitor: self
                        .monitor
                        .clone()
                        .filter(|_| self.config.monitor.is_some()),
                    money_left: self.machine.money_left(),
                    begun: Some(begun),
                    stop: self.stop.clone(),
                };
                self.front = Some(Box::pin(
                    async move { Done::Asked(ask(shared, question).await) },
                ));
            }
            Effect::Interrupt | Effect::End(_) => {}
        }
    }

    /// Puts on record how the iteration went, and the loop's end if it ended with it.
    async fn record_end(&mut self, end: Option<LoopEnd>) {
        let Some(number) = self.open.take() else {
            return;
        };
        self.run = None;
        let answer = self.answer.take().unwrap_or_else(|| Answer {
            cause: Some(Cause::Aborted),
            ..Answer::failed("It was stopped.".to_owned())
        });
        let is_stopped = end == Some(LoopEnd::Stopped);
        if !answer.success && !is_stopped {
            self.last_error.clone_from(&answer.message);
        }
        let ended = Ended {
            name: self.name.clone(),
            number,
            success: answer.success,
            outcome: answer.outcome(),
            cause: answer.cause,
            message: answer.note().map(str::to_owned),
            denied_calls: answer.calls.denied,
            failed_calls: answer.calls.failed,
            told: !is_stopped,
            errors: self.machine.errors(),
            cost: self.cost,
            next_at: self.next_at(),
            end: end.map(|end| (end, self.sentence(end))),
        };
        let notify = self.config.notify.clone().filter(|_| !is_stopped);
        recording::end_iteration(&self.shared, ended, &answer, notify).await;
    }

    /// Answers everybody who waits for the end.
    async fn leave(mut self, inbox: &mut mpsc::Receiver<Command>) {
        inbox.close();
        while let Some(command) = inbox.recv().await {
            if let Command::Stop { done } = command {
                self.stopped.push(done);
            }
        }
        for done in self.stopped {
            // Whoever asked may have gone.
            let _ = done.send(());
        }
    }

    fn show(&self, run: Option<RunId>) {
        let phase = self.machine.phase();
        self.live.send_if_modified(|live| {
            let run_id = match phase {
                LoopPhase::Prompt => run.or(live
                    .run_id
                    .filter(|_| live.iteration == self.machine.iteration())),
                _ => live.run_id,
            };
            *live = Live {
                phase,
                iteration: self.machine.iteration(),
                next_at: self.next_at(),
                run_id,
                monitor: self.monitor.clone(),
                begun: live.begun || self.open.is_some(),
            };
            true
        });
    }

    fn sentence(&self, end: LoopEnd) -> String {
        sentence(end, &self.config, self.last_error.as_deref())
    }

    fn now_ms(&self) -> u64 {
        self.shared.parts.clock.monotonic_ms()
    }

    /// The time of the next iteration, on people's clock.
    fn next_at(&self) -> Option<u64> {
        let next_ms = self.machine.next_ms()?;
        let left = next_ms.saturating_sub(self.now_ms());
        Some(self.shared.parts.clock.wall_ms().saturating_add(left))
    }
}

/// The end of some work, if there is any.
async fn working<T>(work: &mut Work<T>) -> T {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}

async fn telling(
    run: &mut Option<oneshot::Receiver<RunId>>,
) -> Result<RunId, oneshot::error::RecvError> {
    match run {
        Some(run) => run.await,
        None => std::future::pending().await,
    }
}

async fn sleeping(left_ms: Option<u64>) {
    match left_ms {
        Some(left_ms) => tokio::time::sleep(Duration::from_millis(left_ms)).await,
        None => std::future::pending().await,
    }
}
