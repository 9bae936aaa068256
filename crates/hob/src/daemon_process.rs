//! The composition root of `hob daemon`: locks the home, opens the store, connects bus, rooms and
//! gateway, announces its address, and stops gracefully.
//!
//! Invariants: nothing is written before the home's lock is held; the address is printed after
//! token, socket and state file exist, and stdout carries nothing else; after the first signal
//! the process ends within ten seconds, after the second at once.

mod launched;
mod readiness;
mod rooms;

use crate::settings::catalog;
use anyhow::Context;
use hob_bus::{Bus, BusLimits, BusParts, Publisher, PublisherInbox, publisher};
use hob_client::launcher;
use hob_daemon::service::ServiceRoom;
use hob_daemon::terminal::TerminalRoom;
use hob_exec::peer::{ListenerAccess, OwnProcess, PeerGuard};
use hob_gateway::{Gateway, GatewayParts};
use hob_kit::home::Home;
use hob_kit::home_lock::HomeLock;
use hob_kit::host_environment::HostEnvironment;
use hob_kit::logging::{DaemonLog, LogOptions};
use hob_kit::mask::SecretMask;
use hob_kit::metrics::MetricRegistry;
use hob_kit::settings::Settings;
use hob_kit::tasks::TaskGroup;
use hob_kit::{atomic_file, last_down};
use hob_store::{Store, StoreError, StoreOptions};
use hob_wire::rooms::daemon::StateFile;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// The version of this binary.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The wait for running requests after the first signal.
const DRAIN_WAIT: Duration = Duration::from_secs(5);
/// The wait for tasks after that.
const TASKS_WAIT: Duration = Duration::from_millis(1_500);
/// The wait for services meanwhile. Services that do not stop are killed.
const SERVICES_WAIT: Duration = Duration::from_secs(2);
/// The wait for the services' supervisor tasks after that.
const SUPERVISORS_WAIT: Duration = Duration::from_millis(200);
/// The wait for the store to commit and close. The sum of all waits stays below ten seconds.
const STORE_WAIT: Duration = Duration::from_secs(2);
/// Runtime threads: a few serve thousands of connections, and each costs memory.
const WORKERS_MIN: usize = 2;
const WORKERS_MAX: usize = 4;
/// Threads for disk access outside the store (config file, token file).
const BLOCKING_THREADS_MAX: usize = 8;

pub use launched::is_launched;

/// The options of the command line.
#[derive(Clone, Debug, Default)]
pub struct DaemonOptions {
    /// `--listen`, which overrides the setting.
    pub listen: Option<String>,
    /// `--bare`: the gateway alone, without rooms.
    pub bare: bool,
    /// `--last-down`: the mark of the last `hob down` when this start began.
    pub last_down: Option<String>,
}

/// Runs the daemon in the foreground until a signal stops it. An error describes a failed start or
/// an interrupted stop, in one sentence.
pub fn run_daemon(host: HostEnvironment, options: DaemonOptions) -> anyhow::Result<()> {
    let started_at = host.clock.wall_ms();
    // Every file the daemon creates is private to its user.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    host.home.ensure()?;
    let mut lock = HomeLock::acquire(&host.home)?;
    // Checked under the lock: from here on `hob down` finds this daemon by the lock.
    if let Some(began_after) = &options.last_down {
        let is_stale = last_down::read(&host.home) != *began_after;
        anyhow::ensure!(!is_stale, launcher::OVERTAKEN);
    }
    raise_file_limit();
    // Before the first thread starts and creates an arena.
    crate::memory_trim::limit_arenas();
    launched::check_variables(&host.env)?;
    let settings = read_settings(&host)?;
    let log = open_log(&host, &settings);
    let (publisher, inbox) = publisher();
    let store = open_store(&host, &mut lock, publisher, &settings)?;
    let runtime = build_runtime()?;
    let daemon = DaemonProcess {
        host,
        options,
        started_at,
        lock: &lock,
        log,
        settings,
        store,
    };
    let outcome = runtime.block_on(daemon.run(inbox));
    // A thread blocked on a dead disk must not keep the process alive.
    runtime.shutdown_timeout(Duration::from_millis(100));
    // Last: the next daemon may start only when this one is done.
    drop(lock);
    outcome
}

/// Opens the home's store and records that the home has one. The lock proves that no daemon has it
/// open.
pub fn open_store(
    host: &HostEnvironment,
    lock: &mut HomeLock,
    publisher: Publisher,
    settings: &Settings,
) -> anyhow::Result<Store> {
    let options = StoreOptions {
        database: host.home.database(),
        clock: host.clock.clone(),
        randomness: host.randomness.clone(),
        publisher,
        had_database: lock.had_database(),
    };
    let store = Store::open_with(options, hob_store::retention(settings)).map_err(|error| {
        match error {
            // The store's own message promises that work resumes by itself; here the process ends.
            StoreError::Full => anyhow::anyhow!(
                "The disk is full: hob cannot record its start. Free some space, then start it again."
            ),
            other => other.into(),
        }
    })?;
    for finding in store.status().findings {
        tracing::warn!("the store was repaired at start: {finding}");
    }
    lock.mark_has_database()
        .context("the lock file beside the database cannot be written")?;
    Ok(store)
}

/// The task groups of a daemon. Services stop after the rooms that use them, so that no run loses
/// its model.
struct DaemonTasks {
    rooms: TaskGroup,
    services: TaskGroup,
}

/// The rooms that take part in the daemon's start and stop.
struct ServedRooms {
    services: ServiceRoom,
    terminals: TerminalRoom,
    /// The listeners that running services may connect to.
    access: ListenerAccess,
}

/// The state of a daemon before it serves.
struct DaemonProcess<'l> {
    host: HostEnvironment,
    options: DaemonOptions,
    started_at: u64,
    lock: &'l HomeLock,
    log: DaemonLog,
    settings: Settings,
    store: Store,
}

impl DaemonProcess<'_> {
    async fn run(self, inbox: PublisherInbox) -> anyhow::Result<()> {
        // Before the address is announced, so that no signal is missed.
        let mut signals = StopSignals::new()?;
        let groups = DaemonTasks {
            rooms: TaskGroup::new(),
            services: TaskGroup::new(),
        };
        let bus = self.bus(inbox, &groups.rooms);
        let (gateway, served_rooms) = match self.open(&bus, &groups).await {
            Ok(open) => open,
            Err(failure) => {
                self.store.close().await;
                return Err(failure);
            }
        };
        let mut outcome = self.announce(&gateway);
        if outcome.is_ok() {
            if let Some(served_rooms) = &served_rooms {
                served_rooms.services.open();
            }
            readiness::announce_ready(&self.host.env);
            let cause = signals.next().await;
            tracing::info!("stopping on {cause}");
            readiness::announce_stopping(&self.host.env);
        }
        tokio::select! {
            () = self.stop(&gateway, &bus, &groups, served_rooms.as_ref()) => {}
            cause = signals.next() => {
                tracing::warn!("ending at once on a second signal, {cause}");
                outcome = Err(anyhow::anyhow!(
                    "A second signal ended the daemon at once; requests under way were cut off."
                ));
            }
        }
        self.remove_runtime_files(&gateway);
        outcome
    }

    fn bus(&self, inbox: PublisherInbox, tasks: &TaskGroup) -> Bus {
        Bus::new(BusParts {
            log: self.store.event_log(),
            inbox,
            clock: self.host.clock.clone(),
            randomness: self.host.randomness.clone(),
            tasks: tasks.clone(),
            limits: BusLimits::default(),
            version: VERSION.to_owned(),
        })
    }

    /// Serves the rooms and opens the gateway.
    async fn open(
        &self,
        bus: &Bus,
        groups: &DaemonTasks,
    ) -> anyhow::Result<(Gateway, Option<ServedRooms>)> {
        let (effective, settings) = watch::channel(Arc::new(self.settings.clone()));
        let announced = rooms::GatewayAnnouncement::default();
        let mut served_rooms = None;
        let mut access = ListenerAccess::default();
        let figures = MetricRegistry::default();
        if self.options.bare {
            bus.relay_undeclared_events();
        } else {
            let context = self.room_context(bus, &groups.rooms, settings.clone())?;
            let served = self.serve_rooms(&context, groups, effective, &announced)?;
            let terminals = served.terminals.clone();
            figures.register(move || terminals.figures());
            access = served.access.clone();
            served_rooms = Some(served);
        }
        let gateway = Gateway::start(GatewayParts {
            bus: bus.clone(),
            store: self.store.clone(),
            settings,
            listen: self.options.listen.clone(),
            home: self.host.home.clone(),
            lock: self.lock,
            clock: self.host.clock.clone(),
            randomness: self.host.randomness.clone(),
            tasks: groups.rooms.clone(),
            mask: self.log.mask().clone(),
            figures,
            peers: PeerGuard::new(access, OwnProcess::Refused),
            dialects: hob_dialects::all(),
            bare: self.options.bare,
        })
        .await?;
        // Set only here, so it cannot fail.
        let _ = announced.listeners.set(gateway.listeners());
        for note in gateway.notes() {
            tracing::warn!("{note}");
        }
        let _ = announced.notes.set(gateway.notes());
        Ok((gateway, served_rooms))
    }

    /// Writes the state file, then prints the address for the starting process.
    fn announce(&self, gateway: &Gateway) -> anyhow::Result<()> {
        let address = gateway.address();
        let state = StateFile {
            host: address.ip().to_string(),
            port: address.port(),
            pid: std::process::id(),
            started_at: self.started_at,
            socket: self.host.home.socket().display().to_string(),
            protocol: hob_wire::PROTOCOL_VERSION,
            version: VERSION.to_owned(),
        };
        let text = serde_json::to_vec(&state)?;
        atomic_file::replace_unsynced(&self.host.home.state_file(), &text)
            .context("the state file run/daemon.json cannot be written")?;
        let mut lines = format!("HOB_LISTEN_ADDR={address}\n");
        lines.push_str(&launched::announce(&self.host.env, gateway));
        // The starting process may have closed the pipe; the state file has the same address.
        let mut stdout = std::io::stdout().lock();
        let _ = stdout.write_all(lines.as_bytes());
        let _ = stdout.flush();
        let epoch = self.store.epoch();
        tracing::info!(version = VERSION, epoch, "listening on {address}");
        Ok(())
    }

    /// Refuses new work, lets running requests finish, and closes the store.
    async fn stop(
        &self,
        gateway: &Gateway,
        bus: &Bus,
        groups: &DaemonTasks,
        served_rooms: Option<&ServedRooms>,
    ) {
        // First: failures from here on may be caused by the stop itself.
        groups.rooms.begin_drain();
        gateway.stop_accepting();
        if let Some(served_rooms) = served_rooms {
            served_rooms.services.release_waiters();
            served_rooms.terminals.release_waiters();
        }
        if !bus.drain(DRAIN_WAIT).await {
            tracing::warn!("some requests did not finish in time and were cut off");
        }
        let rooms = async {
            if !groups.rooms.finish(TASKS_WAIT).await {
                let tasks = groups.rooms.running();
                tracing::warn!(tasks, "some tasks did not end in time");
            }
        };
        let services = async {
            if let Some(served_rooms) = served_rooms {
                served_rooms.services.stop_all(SERVICES_WAIT).await;
            }
            groups.services.finish(SUPERVISORS_WAIT).await
        };
        tokio::join!(rooms, services);
        let closed = tokio::time::timeout(STORE_WAIT, self.store.close()).await;
        if closed.is_err() {
            tracing::warn!("the store did not close in time; the next start recovers it");
        }
        tracing::info!("stopped");
    }

    /// Removes the state file and the socket while this process still holds the lock.
    fn remove_runtime_files(&self, gateway: &Gateway) {
        let home: &Home = &self.host.home;
        for path in [home.state_file(), home.socket()] {
            let _ = std::fs::remove_file(path);
        }
        launched::remove_port_files(&self.host.env, gateway);
    }
}

/// The signals that end a daemon.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl StopSignals {
    fn new() -> anyhow::Result<StopSignals> {
        let listen = |kind| signal(kind).context("signals cannot be received");
        Ok(StopSignals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.hang_up.recv() => "SIGHUP",
        }
    }
}

/// Reads the config file. Writes the commented default first if there is none.
fn read_settings(host: &HostEnvironment) -> anyhow::Result<Settings> {
    let catalog = catalog();
    let path = host.home.config_file();
    if !path.exists() {
        // The file only documents the defaults, so a failed write does not matter.
        let _ = std::fs::write(&path, catalog.default_text());
    }
    Ok(Settings::load_home(&catalog, &host.home, &host.env)?)
}

fn open_log(host: &HostEnvironment, settings: &Settings) -> DaemonLog {
    let options = LogOptions {
        file: host.home.log_file(),
        clock: host.clock.clone(),
        mask: SecretMask::new(),
        mirror: std::io::stderr().is_terminal(),
    };
    let log = DaemonLog::new(options, settings);
    log.install();
    // Panics go to the log: nobody reads the stderr of a detached daemon.
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!("{panic}");
    }));
    log
}

fn build_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let cores = std::thread::available_parallelism().map_or(WORKERS_MIN, usize::from);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.clamp(WORKERS_MIN, WORKERS_MAX))
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .thread_keep_alive(Duration::from_secs(1))
        .thread_name("hob")
        .enable_all()
        .build()
        .context("the runtime cannot be started")
}

/// Raises the limit of open files to the hard limit. The low soft limit exists for programs that
/// use `select`.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
