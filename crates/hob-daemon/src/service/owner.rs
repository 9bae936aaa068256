//! The owner of one service: feeds the pure machine with what happens and does what it says.
//!
//! Invariants: one task changes a service; whoever waits sees each state in order; a child that its
//! keeper lets go of is told to end.

use super::Shared;
use super::handle::{Command, Handle, Slot, View};
use super::launch::{self, Launched, Live};
use super::logbook::LogBook;
use super::promise::{policy, shown};
use super::words;
use hob_bus::NewEvent;
use hob_core::service::{Effect, Event, Machine, State};
use hob_exec::{Child, ExecError, Exit};
use hob_kit::failpoint;
use hob_services::{Found, Shelved, trust};
use hob_wire::Topic;
use hob_wire::rooms::service::{LastExit, ServiceStatus, ServiceStatusChanged};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Orders that wait for the keeper.
const COMMANDS_MAX: usize = 64;
/// Lines that may be of this life, when it is told how it ended.
const LAST_LINES: usize = 8;
/// How long they are waited for.
const LAST_LINES_WAIT: Duration = Duration::from_millis(500);

type Work<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

pub(super) struct Keeper {
    shared: Arc<Shared>,
    slot: Slot,
    /// As it was at the start under way.
    shelved: Arc<Shelved>,
    machine: Machine,
    commands: mpsc::Receiver<Command>,
    view: watch::Sender<View>,
    log: Arc<LogBook>,
    live: Option<Live>,
    launch: Work<Launched>,
    /// Calls the start under way off.
    off: CancellationToken,
    probe: Work<bool>,
    /// Ends when all that the child printed is in the log.
    followed: Option<oneshot::Receiver<()>>,
    /// What [`Command::Start`] brought.
    found: Option<Found>,
    /// The line before this life's first.
    life_began: u64,
    last_exit: Option<LastExit>,
    detail: Option<String>,
}

impl Keeper {
    /// Begins to keep a service.
    pub(super) fn begin(shared: &Arc<Shared>, shelved: Arc<Shelved>) -> Handle {
        let (commands, inbox) = mpsc::channel(COMMANDS_MAX);
        let name = &shelved.descriptor.name;
        let parts = &shared.parts;
        let log = Arc::new(LogBook::new(name, parts, shared.emitter.clone()));
        let (view, seen) = watch::channel(View::stopped(name));
        let slot = Slot::new(Arc::clone(&shelved));
        let policy = policy(shared, &shelved.descriptor);
        let keeper = Keeper {
            shared: Arc::clone(shared),
            slot: slot.clone(),
            shelved,
            machine: Machine::new(policy),
            commands: inbox,
            view,
            log: Arc::clone(&log),
            live: None,
            launch: None,
            off: CancellationToken::new(),
            probe: None,
            followed: None,
            found: None,
            life_began: 0,
            last_exit: None,
            detail: None,
        };
        let handle = Handle {
            commands,
            view: seen,
            log,
            slot,
        };
        parts.tasks.spawn("service", keeper.keep());
        handle
    }

    async fn keep(mut self) {
        let tasks = self.shared.parts.tasks.clone();
        loop {
            let pause = self.pause();
            tokio::select! {
                biased;
                () = tasks.stopping() => return,
                command = self.commands.recv() => match command {
                    Some(command) => self.command(command).await,
                    None => return,
                },
                launched = finished(&mut self.launch) => self.launched(launched).await,
                exit = ended(self.live.as_ref()) => self.ended(exit).await,
                healthy = finished(&mut self.probe) => {
                    self.feed(Event::Probed { healthy }).await;
                }
                () = pause => self.tick().await,
            }
        }
    }

    async fn command(&mut self, command: Command) {
        let done = match command {
            Command::Start { found, done } => {
                if !self.shared.closing.is_cancelled() {
                    self.found = found;
                    self.feed(Event::Wanted).await;
                }
                done
            }
            Command::Stop { done } => {
                self.found = None;
                if self.machine.state() != State::Stopping {
                    self.detail = None;
                }
                self.feed(Event::Unwanted).await;
                done
            }
            Command::Kill => {
                if let Some(child) = self.live.as_ref().and_then(|live| live.child.as_ref()) {
                    child.kill();
                }
                return;
            }
            Command::Used => {
                let at_ms = self.now_ms();
                return self.feed(Event::Used { at_ms }).await;
            }
        };
        // Whoever asked may have gone.
        let _ = done.send(());
    }

    async fn launched(&mut self, launched: Launched) {
        let event = match launched {
            Launched::Started(live) => {
                if let Some(child) = live.child.clone() {
                    self.follow(child);
                }
                self.live = Some(*live);
                self.detail = None;
                Event::Started
            }
            Launched::Adopted(live) => {
                let what = live.what.as_deref().unwrap_or("It");
                self.detail = Some(format!(
                    "{what} was running already; hob uses it and never stops it."
                ));
                self.live = Some(*live);
                Event::Adopted
            }
            Launched::Absent(why) => {
                self.detail = Some(why);
                Event::Absent
            }
            Launched::Refused(why) => {
                self.detail = Some(why);
                Event::Refused
            }
            Launched::Failed(why) => {
                self.detail = Some(why);
                Event::Ended { success: false }
            }
            Launched::CalledOff => Event::Ended { success: false },
        };
        self.feed(event).await;
    }

    /// Takes down what a child prints.
    fn follow(&mut self, child: Arc<Child>) {
        let (over, followed) = oneshot::channel();
        self.followed = Some(followed);
        let log = Arc::clone(&self.log);
        self.shared.parts.tasks.spawn("service log", async move {
            log.follow(child).await;
            // A keeper that is gone does not wait.
            let _ = over.send(());
        });
    }

    async fn ended(&mut self, exit: Result<Arc<Exit>, ExecError>) {
        self.live = None;
        self.probe = None;
        if let Some(followed) = self.followed.take() {
            // Its last lines say why it ended; they are on their way.
            let _ = tokio::time::timeout(LAST_LINES_WAIT, followed).await;
        }
        let (said, success) = match &exit {
            Ok(exit) => {
                self.last_exit = Some(words::last_exit(exit));
                (format!("It {}.", words::ending(exit)), exit.is_success())
            }
            Err(error) => (error.to_string(), false),
        };
        if self.machine.state() != State::Stopping {
            self.detail = Some(format!("{said}{}", self.printed()));
        }
        self.feed(Event::Ended { success }).await;
    }

    async fn tick(&mut self) {
        let descriptor = &self.shelved.descriptor;
        let name = &descriptor.name;
        let now_ms = self.now_ms();
        // A setting may have changed.
        self.machine.set_policy(policy(&self.shared, descriptor));
        if self.machine.state() == State::Running && (self.shared.parts.busy)(name) {
            self.feed(Event::Used { at_ms: now_ms }).await;
        }
        let before = self.machine.state();
        let due_ms = self.machine.due_ms().unwrap_or(now_ms);
        let now_ms = if failpoint::broken(21) {
            now_ms.max(due_ms)
        } else {
            now_ms
        };
        let after = self.apply(Event::Tick, now_ms);
        if (before, after) == (State::Starting, State::Stopping) {
            let ready = words::shown(self.shelved.descriptor.ready);
            self.detail = Some(format!(
                "It was not ready within {ready}.{}",
                self.printed()
            ));
        }
        if (before, after) == (State::Running, State::Stopping) {
            let said = "It was not used for a while; it starts again when it is needed.";
            self.detail = Some(said.to_owned());
        }
        self.publish().await;
    }

    async fn feed(&mut self, event: Event) {
        let before = self.machine.state();
        let was_adopted = self.machine.is_adopted();
        let after = self.apply(event, self.now_ms());
        if matches!(event, Event::Probed { .. }) && before == State::Running {
            if after == State::Stopping {
                let checks = self.shelved.descriptor.liveness.failures;
                self.detail = Some(format!(
                    "It hung: {checks} health checks in a row failed.{}",
                    self.printed()
                ));
            } else if was_adopted && !self.machine.is_adopted() {
                self.live = None;
                self.detail = Some("What hob used, and had not started, is gone.".to_owned());
            }
        }
        if after == State::Stopped && was_adopted {
            self.live = None;
        }
        self.publish().await;
    }

    /// Steps the machine and does what it says.
    fn apply(&mut self, event: Event, now_ms: u64) -> State {
        let mut effects = Vec::new();
        self.machine.step(event, now_ms, &mut effects);
        for effect in effects {
            match effect {
                Effect::Start => self.start(),
                Effect::Kill => self.kill(now_ms),
                Effect::Probe => self.look(),
            }
        }
        self.machine.state()
    }

    fn start(&mut self) {
        self.shelved = self.slot.get();
        self.machine
            .set_policy(policy(&self.shared, &self.shelved.descriptor));
        self.life_began = self.log.last_number();
        self.off = CancellationToken::new();
        self.live = None;
        let needs = &self.shelved.descriptor.needs;
        if self.machine.restarts() == 0 {
            self.detail = (!needs.is_empty()).then(|| format!("Waits for {}.", needs.join(", ")));
        }
        let (shared, shelved) = (Arc::clone(&self.shared), Arc::clone(&self.shelved));
        let (found, off) = (self.found.take(), self.off.clone());
        self.launch = Some(Box::pin(launch::launch(shared, shelved, found, off)));
    }

    fn kill(&mut self, now_ms: u64) {
        self.probe = None;
        if self.launch.is_some() {
            self.off.cancel();
            return;
        }
        if failpoint::broken(23) {
            // Nobody lets go of it, so nothing ends it.
            std::mem::forget(self.live.take());
        }
        match self.live.as_ref().and_then(|live| live.child.as_ref()) {
            Some(child) => child.tell_to_end(),
            None => {
                // Nothing of it runs, so there is nothing to wait for.
                self.apply(Event::Ended { success: false }, now_ms);
            }
        }
    }

    fn look(&mut self) {
        let http = self.shared.parts.http.clone();
        let checkup = self.live.as_ref().and_then(|live| live.checkup.clone());
        let descriptor = &self.shelved.descriptor;
        let timeout = descriptor.liveness.timeout;
        let trusted = trust::trusted_users(&self.shared.settings(), &descriptor.name);
        let running = self.machine.state() == State::Running;
        self.probe = Some(Box::pin(async move {
            match checkup {
                Some(checkup) => {
                    let healthy = checkup.ask(&http, trusted, timeout).await;
                    healthy || (running && failpoint::broken(22))
                }
                None => true,
            }
        }));
    }

    /// Lets everybody see what changed.
    async fn publish(&mut self) {
        let next = self.seen();
        let before = self.view.borrow().status.clone();
        let (state, status) = (next.status.state, next.status.clone());
        self.view.send_replace(next);
        if before.state == state {
            return;
        }
        tracing::info!(
            service = status.name,
            state = state.name(),
            pid = status.pid,
            detail = status.detail,
            "a service changed"
        );
        self.shared.changed.notify_one();
        let Ok(payload) = serde_json::to_vec(&status) else {
            return;
        };
        let event = NewEvent {
            source: ServiceStatusChanged::SPEC.service.into(),
            topic: ServiceStatusChanged::SPEC.topic.into(),
            session: None,
            payload: Some(payload.into()),
        };
        if let Err(error) = self.shared.parts.store.append_event(event).await {
            tracing::warn!(
                service = status.name,
                "service.status was not logged: {error}"
            );
        }
    }

    fn seen(&self) -> View {
        let state = self.machine.state();
        let live = self.live.as_ref();
        let child = live.and_then(|live| live.child.as_ref());
        let name = self.shelved.descriptor.name.clone();
        let detail = match state {
            State::Failed => {
                let said = self.detail.as_deref().unwrap_or("It cannot be started.");
                let gave_up = match self.machine.restarts() {
                    0 => String::new(),
                    count => format!(" hob gave up after {count} restarts."),
                };
                Some(format!("{said}{gave_up}{}", words::way_out(&name)))
            }
            State::Backoff => {
                let said = self.detail.as_deref().unwrap_or("It ended.");
                let due_ms = self.machine.due_ms().unwrap_or(0);
                let wait_ms = due_ms.saturating_sub(self.now_ms());
                let wait = words::shown(Duration::from_millis(wait_ms));
                Some(format!("{said} It is started again in {wait}."))
            }
            _ => self.detail.clone(),
        };
        let adopted = self.machine.is_adopted();
        View {
            adopted,
            server: live.and_then(|live| live.what.clone()).filter(|_| adopted),
            url: live.and_then(|live| live.url.clone()),
            password: live.and_then(|live| live.password.clone()),
            status: ServiceStatus {
                name,
                state: shown(state),
                pid: child.and_then(|child| u32::try_from(child.pid()).ok()),
                port: live.and_then(|live| live.port),
                detail,
                last_exit: self.last_exit.clone(),
                restarts: self.machine.restarts(),
            },
        }
    }

    fn printed(&self) -> String {
        words::printed(&self.log.lines(LAST_LINES, self.life_began))
    }

    fn now_ms(&self) -> u64 {
        self.shared.parts.clock.monotonic_ms()
    }

    /// Until the machine is due.
    fn pause(&self) -> impl Future<Output = ()> + use<> {
        let now_ms = self.now_ms();
        let due = self.machine.due_ms();
        let due = due.map(|due_ms| Duration::from_millis(due_ms.saturating_sub(now_ms)));
        let due = due.map(|wait| {
            if failpoint::broken(21) {
                Duration::ZERO
            } else {
                wait
            }
        });
        async move {
            match due {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        }
    }
}

/// Ends when the work does; never without work.
async fn finished<T>(work: &mut Work<T>) -> T {
    match work {
        Some(running) => {
            let result = running.as_mut().await;
            *work = None;
            result
        }
        None => std::future::pending().await,
    }
}

/// Ends with our child; never without one.
async fn ended(live: Option<&Live>) -> Result<Arc<Exit>, ExecError> {
    match live.and_then(|live| live.child.clone()) {
        Some(child) => child.wait().await,
        None => std::future::pending().await,
    }
}
