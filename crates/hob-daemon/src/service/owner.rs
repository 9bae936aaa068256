//! The owner task of one service: feeds events to the pure machine and carries out its effects.
//!
//! Invariants: one task changes a service; waiters see its states in order; a child that the owner
//! drops is told to end.

use super::ServiceContext;
use super::handle::{DefinitionCell, ServiceCommand, ServiceOwnerHandle, ServiceView};
use super::launch::{self, LaunchOutcome, RunningService};
use super::log_buffer::ServiceLogBuffer;
use super::messages;
use super::policy::{policy, wire_state};
use hob_bus::NewEvent;
use hob_core::service::{ServiceEffect, ServiceEvent, ServiceMachine, ServiceMachineState};
use hob_exec::{Child, ChildExit, ExecError};
use hob_services::{CatalogService, FoundService, trust};
use hob_wire::EventTopic;
use hob_wire::rooms::service::{LastExit, ServiceStatus, ServiceStatusChanged};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Commands that may wait for an owner.
const COMMANDS_MAX: usize = 64;
/// Lines of output that explain an exit.
const LAST_LINES: usize = 8;
/// Time for the last lines to arrive after an exit.
const LAST_OUTPUT_WAIT: Duration = Duration::from_millis(500);

type ServiceWork<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

/// The owner task of one service.
pub(super) struct ServiceOwner {
    context: Arc<ServiceContext>,
    definition: DefinitionCell,
    /// The definition that the current start uses.
    service: Arc<CatalogService>,
    machine: ServiceMachine,
    commands: mpsc::Receiver<ServiceCommand>,
    view: watch::Sender<ServiceView>,
    log: Arc<ServiceLogBuffer>,
    running: Option<RunningService>,
    launch: ServiceWork<LaunchOutcome>,
    /// Cancels the start in progress.
    launch_cancel: CancellationToken,
    probe: ServiceWork<bool>,
    /// Resolves when all output of the child is in the log.
    output_done: Option<oneshot::Receiver<()>>,
    /// The findings that came with [`ServiceCommand::Start`].
    found: Option<FoundService>,
    /// The number of the last log line before this start.
    log_start: u64,
    last_exit: Option<LastExit>,
    detail: Option<String>,
}

impl ServiceOwner {
    /// Spawns the owner task of a service.
    pub(super) fn spawn(
        context: &Arc<ServiceContext>,
        service: Arc<CatalogService>,
    ) -> ServiceOwnerHandle {
        let (commands, inbox) = mpsc::channel(COMMANDS_MAX);
        let name = &service.descriptor.name;
        let deps = &context.deps;
        let log = Arc::new(ServiceLogBuffer::new(name, deps, context.emitter.clone()));
        let (view, seen) = watch::channel(ServiceView::stopped(name));
        let slot = DefinitionCell::new(Arc::clone(&service));
        let policy = policy(context, &service.descriptor);
        let owner = ServiceOwner {
            context: Arc::clone(context),
            definition: slot.clone(),
            service,
            machine: ServiceMachine::new(policy),
            commands: inbox,
            view,
            log: Arc::clone(&log),
            running: None,
            launch: None,
            launch_cancel: CancellationToken::new(),
            probe: None,
            output_done: None,
            found: None,
            log_start: 0,
            last_exit: None,
            detail: None,
        };
        let handle = ServiceOwnerHandle {
            commands,
            view: seen,
            log,
            definition: slot,
        };
        deps.tasks.spawn("service", owner.run());
        handle
    }

    async fn run(mut self) {
        let tasks = self.context.deps.tasks.clone();
        loop {
            let pause = self.wait_until_due();
            tokio::select! {
                // Biased: a stop of the daemon and commands come before anything that a service does.
                biased;
                () = tasks.stopping() => return,
                command = self.commands.recv() => match command {
                    Some(command) => self.handle_command(command).await,
                    None => return,
                },
                launched = next_result(&mut self.launch) => self.handle_launched(launched).await,
                exit = child_exit(self.running.as_ref()) => self.handle_exit(exit).await,
                healthy = next_result(&mut self.probe) => {
                    self.handle_event(ServiceEvent::Probed { healthy }).await;
                }
                () = pause => self.tick().await,
            }
        }
    }

    async fn handle_command(&mut self, command: ServiceCommand) {
        let done = match command {
            ServiceCommand::Start { found, done } => {
                // While the services stop, a start is answered and ignored.
                if !self.context.closing.is_cancelled() {
                    self.found = found;
                    self.handle_event(ServiceEvent::Wanted).await;
                }
                done
            }
            ServiceCommand::Stop { done } => {
                // The next start searches again, because this finding may be old by then.
                self.found = None;
                // A stop that is under way has its own reason, such as failed health checks.
                if self.machine.state() != ServiceMachineState::Stopping {
                    self.detail = None;
                }
                self.handle_event(ServiceEvent::Unwanted).await;
                done
            }
            ServiceCommand::Kill => {
                if let Some(child) = self.running.as_ref().and_then(|live| live.child.as_ref()) {
                    child.kill();
                }
                return;
            }
            ServiceCommand::Used => {
                let at_ms = self.now_ms();
                return self.handle_event(ServiceEvent::Used { at_ms }).await;
            }
        };
        // The caller may be gone.
        let _ = done.send(());
    }

    async fn handle_launched(&mut self, launched: LaunchOutcome) {
        let event = match launched {
            LaunchOutcome::Started(live) => {
                if let Some(child) = live.child.clone() {
                    self.follow_output(child);
                }
                self.running = Some(*live);
                self.detail = None;
                ServiceEvent::Started
            }
            LaunchOutcome::Adopted(live) => {
                let what = live.what.as_deref().unwrap_or("It");
                self.detail = Some(format!(
                    "{what} was already running; hob uses it and never stops it."
                ));
                self.running = Some(*live);
                ServiceEvent::Adopted
            }
            LaunchOutcome::Absent(why) => {
                self.detail = Some(why);
                ServiceEvent::Absent
            }
            LaunchOutcome::Refused(why) => {
                self.detail = Some(why);
                ServiceEvent::Refused
            }
            LaunchOutcome::Failed(why) => {
                self.detail = Some(why);
                ServiceEvent::Ended { success: false }
            }
            LaunchOutcome::CalledOff => ServiceEvent::Ended { success: false },
        };
        self.handle_event(event).await;
    }

    /// Copies the child's output to the log, in a task of its own.
    fn follow_output(&mut self, child: Arc<Child>) {
        let (over, output_done) = oneshot::channel();
        self.output_done = Some(output_done);
        let log = Arc::clone(&self.log);
        self.context.deps.tasks.spawn("service log", async move {
            log.follow(child).await;
            // An owner that has ended does not wait.
            let _ = over.send(());
        });
    }

    async fn handle_exit(&mut self, exit: Result<Arc<ChildExit>, ExecError>) {
        self.running = None;
        self.probe = None;
        if let Some(output_done) = self.output_done.take() {
            // The last lines often say why it ended, and may still be on their way.
            let _ = tokio::time::timeout(LAST_OUTPUT_WAIT, output_done).await;
        }
        let (text, success) = match &exit {
            Ok(exit) => {
                self.last_exit = Some(messages::last_exit(exit));
                (
                    format!("It {}.", messages::describe_exit(exit)),
                    exit.is_success(),
                )
            }
            Err(error) => (error.to_string(), false),
        };
        // The reason for a stop says more than the exit that the stop caused.
        if self.machine.state() != ServiceMachineState::Stopping {
            self.detail = Some(format!("{text}{}", self.last_output()));
        }
        self.handle_event(ServiceEvent::Ended { success }).await;
    }

    async fn tick(&mut self) {
        let descriptor = &self.service.descriptor;
        let name = &descriptor.name;
        let now_ms = self.now_ms();
        // Read at every tick, because a setting may have changed.
        self.machine.set_policy(policy(&self.context, descriptor));
        if self.machine.state() == ServiceMachineState::Running && self.context.uses.is_busy(name) {
            self.handle_event(ServiceEvent::Used { at_ms: now_ms })
                .await;
        }
        let before = self.machine.state();
        let after = self.step(ServiceEvent::Tick, now_ms);
        if (before, after) == (ServiceMachineState::Starting, ServiceMachineState::Stopping) {
            let ready = messages::format_duration(self.service.descriptor.ready);
            self.detail = Some(format!(
                "It was not ready within {ready}.{}",
                self.last_output()
            ));
        }
        if (before, after) == (ServiceMachineState::Running, ServiceMachineState::Stopping) {
            let text = "It was idle and was stopped; it starts again when it is needed.";
            self.detail = Some(text.to_owned());
        }
        self.publish().await;
    }

    async fn handle_event(&mut self, event: ServiceEvent) {
        let before = self.machine.state();
        let was_adopted = self.machine.is_adopted();
        let after = self.step(event, self.now_ms());
        if matches!(event, ServiceEvent::Probed { .. }) && before == ServiceMachineState::Running {
            if after == ServiceMachineState::Stopping {
                let checks = self.service.descriptor.liveness.failures;
                self.detail = Some(format!(
                    "It did not respond: {checks} health checks in a row failed.{}",
                    self.last_output()
                ));
            } else if was_adopted && !self.machine.is_adopted() {
                self.running = None;
                self.detail = Some("The running server that hob used is gone.".to_owned());
            }
        }
        if after == ServiceMachineState::Stopped && was_adopted {
            self.running = None;
        }
        self.publish().await;
    }

    /// Steps the machine and carries out its effects.
    fn step(&mut self, event: ServiceEvent, now_ms: u64) -> ServiceMachineState {
        let mut effects = Vec::new();
        self.machine.step(event, now_ms, &mut effects);
        for effect in effects {
            match effect {
                ServiceEffect::Start => self.start_launch(),
                ServiceEffect::Kill => self.stop_child(now_ms),
                ServiceEffect::Probe => self.start_probe(),
            }
        }
        self.machine.state()
    }

    fn start_launch(&mut self) {
        self.service = self.definition.get();
        self.machine
            .set_policy(policy(&self.context, &self.service.descriptor));
        // The log goes on over restarts; only lines after this number explain this start's exit.
        self.log_start = self.log.last_number();
        self.launch_cancel = CancellationToken::new();
        self.running = None;
        let needs = &self.service.descriptor.needs;
        // During restarts the reason for the last end stays visible instead.
        if self.machine.restarts() == 0 {
            self.detail = (!needs.is_empty()).then(|| format!("Waits for {}.", needs.join(", ")));
        }
        let (context, service) = (Arc::clone(&self.context), Arc::clone(&self.service));
        let (found, off) = (self.found.take(), self.launch_cancel.clone());
        self.launch = Some(Box::pin(launch::launch(context, service, found, off)));
    }

    fn stop_child(&mut self, now_ms: u64) {
        self.probe = None;
        if self.launch.is_some() {
            self.launch_cancel.cancel();
            return;
        }
        match self.running.as_ref().and_then(|live| live.child.as_ref()) {
            Some(child) => child.request_cancel(),
            None => {
                // Nothing runs, so no exit will come: the machine gets its end now.
                self.step(ServiceEvent::Ended { success: false }, now_ms);
            }
        }
    }

    fn start_probe(&mut self) {
        let http = self.context.deps.http.clone();
        let health_check = self
            .running
            .as_ref()
            .and_then(|live| live.health_check.clone());
        let descriptor = &self.service.descriptor;
        let timeout = descriptor.liveness.timeout;
        let trusted = trust::trusted_users(&self.context.settings(), &descriptor.name);
        self.probe = Some(Box::pin(async move {
            match health_check {
                Some(health_check) => health_check.is_healthy(&http, trusted, timeout).await,
                None => true,
            }
        }));
    }

    /// Publishes the view, and logs a change of state.
    async fn publish(&mut self) {
        let next = self.current_view();
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
        self.context.changed.notify_one();
        let Ok(payload) = serde_json::to_vec(&status) else {
            return;
        };
        let event = NewEvent {
            source: ServiceStatusChanged::SPEC.service.into(),
            topic: ServiceStatusChanged::SPEC.topic.into(),
            session: None,
            payload: Some(payload.into()),
        };
        if let Err(error) = self.context.deps.store.append_event(event).await {
            tracing::warn!(
                service = status.name,
                "a change of a service's state was not stored: {error}"
            );
        }
    }

    fn current_view(&self) -> ServiceView {
        let state = self.machine.state();
        let live = self.running.as_ref();
        let child = live.and_then(|live| live.child.as_ref());
        let name = self.service.descriptor.name.clone();
        let detail = match state {
            ServiceMachineState::Failed => {
                let text = self.detail.as_deref().unwrap_or("It cannot be started.");
                let gave_up = match self.machine.restarts() {
                    0 => String::new(),
                    count => format!(" hob gave up after {count} restarts."),
                };
                Some(format!("{text}{gave_up}{}", messages::fix_hint(&name)))
            }
            ServiceMachineState::Backoff => {
                let text = self.detail.as_deref().unwrap_or("It ended.");
                let due_ms = self.machine.due_ms().unwrap_or(0);
                let wait_ms = due_ms.saturating_sub(self.now_ms());
                let wait = messages::format_duration(Duration::from_millis(wait_ms));
                Some(format!("{text} It is started again in {wait}."))
            }
            _ => self.detail.clone(),
        };
        let adopted = self.machine.is_adopted();
        ServiceView {
            adopted,
            server: live.and_then(|live| live.what.clone()).filter(|_| adopted),
            url: live.and_then(|live| live.url.clone()),
            password: live.and_then(|live| live.password.clone()),
            status: ServiceStatus {
                name,
                state: wire_state(state),
                pid: child.and_then(|child| u32::try_from(child.pid()).ok()),
                port: live.and_then(|live| live.port),
                detail,
                last_exit: self.last_exit.clone(),
                restarts: self.machine.restarts(),
            },
        }
    }

    fn last_output(&self) -> String {
        messages::last_output(&self.log.lines(LAST_LINES, self.log_start))
    }

    fn now_ms(&self) -> u64 {
        self.context.deps.clock.monotonic_ms()
    }

    /// Waits until the machine's next deadline; for ever without one.
    fn wait_until_due(&self) -> impl Future<Output = ()> + use<> {
        let now_ms = self.now_ms();
        let due = self.machine.due_ms();
        let due = due.map(|due_ms| Duration::from_millis(due_ms.saturating_sub(now_ms)));
        async move {
            match due {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        }
    }
}

/// Waits for the work's result; for ever without work.
async fn next_result<T>(work: &mut ServiceWork<T>) -> T {
    match work {
        Some(running) => {
            // Only this wait is dropped when another branch of the select wins; the work goes on.
            let result = running.as_mut().await;
            *work = None;
            result
        }
        None => std::future::pending().await,
    }
}

/// Waits for the exit of our child; for ever without one.
async fn child_exit(running: Option<&RunningService>) -> Result<Arc<ChildExit>, ExecError> {
    match running.and_then(|running| running.child.clone()) {
        Some(child) => child.wait().await,
        None => std::future::pending().await,
    }
}
