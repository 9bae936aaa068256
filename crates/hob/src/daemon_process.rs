//! The composition root of `hob daemon`: takes the home, opens the store, joins bus, rooms and
//! gateway, says where it listens, and stops politely.
//!
//! Invariants: nothing is written before the home's lock is held; the address is printed after
//! token, socket and state file exist, and stdout carries nothing else; after the first signal
//! the process ends within ten seconds, after the second at once.

mod rooms;

use crate::settings::catalog;
use anyhow::Context;
use hob_bus::{Bus, BusLimits, BusParts, Publisher, PublisherInbox, publisher};
use hob_client::start;
use hob_daemon::config::Config;
use hob_daemon::service::Services;
use hob_daemon::terminal::Terminals;
use hob_exec::peer::{ListenerAccess, OwnProcess, PeerGuard};
use hob_gateway::{Gateway, GatewayParts};
use hob_kit::figures::Figures;
use hob_kit::home::Home;
use hob_kit::lock::HomeLock;
use hob_kit::logging::{Log, LogOptions};
use hob_kit::mask::Mask;
use hob_kit::settings::Settings;
use hob_kit::tasks::Tasks;
use hob_kit::world::World;
use hob_kit::{failpoint, file, last_down};
use hob_store::{Store, StoreError, StoreOptions};
use hob_wire::rooms::daemon::StateFile;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The version this binary says it is.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How long requests under way may take to finish after the first signal.
const DRAIN_WAIT: Duration = Duration::from_secs(5);
/// How long tasks may take to end after that.
const TASKS_WAIT: Duration = Duration::from_millis(1_500);
/// How long services may take to stop meanwhile; those that do not are killed.
const SERVICES_WAIT: Duration = Duration::from_secs(2);
/// How long their keepers may take to end after that.
const KEEPERS_WAIT: Duration = Duration::from_millis(200);
/// How long the store may take to commit and close. The sum stays below ten seconds.
const STORE_WAIT: Duration = Duration::from_secs(2);
/// Threads of the runtime: a few serve thousands of connections, and each costs memory.
const WORKERS_MIN: usize = 2;
const WORKERS_MAX: usize = 4;
/// Threads for waiting on the disk outside the store (config file, token file).
const BLOCKING_THREADS_MAX: usize = 8;

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub struct DaemonOptions {
    /// `--listen`, which beats the setting.
    pub listen: Option<String>,
    /// `--bare`: the gateway alone, no service of ours.
    pub bare: bool,
    /// `--last-down`: the mark of the last `hob down` when this start began.
    pub last_down: Option<String>,
}

/// Runs the daemon in the foreground until it is told to stop. An error is a start that failed or
/// an end that was cut short, in one sentence.
pub fn run_daemon(world: World, options: DaemonOptions) -> anyhow::Result<()> {
    let started_at = world.clock.wall_ms();
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    world.home.ensure()?;
    let mut lock = HomeLock::take(&world.home)?;
    // Under the lock: a `hob down` from now on finds this daemon by it.
    if let Some(began_after) = &options.last_down {
        let is_stale = last_down::read(&world.home) != *began_after;
        anyhow::ensure!(!is_stale, start::OVERTAKEN);
    }
    raise_file_limit();
    // Before the first thread, which would make itself a pool.
    crate::spare_memory::limit_pools();
    let settings = read_settings(&world)?;
    let log = open_log(&world, &settings);
    let (publisher, inbox) = publisher();
    let store = open_store(&world, &mut lock, publisher, &settings)?;
    let runtime = build_runtime()?;
    let house = House {
        world,
        options,
        started_at,
        lock: &lock,
        log,
        settings,
        store,
    };
    let lived = runtime.block_on(house.live(inbox));
    // A thread stuck on a dead disk must not keep the process.
    runtime.shutdown_timeout(Duration::from_millis(100));
    // Last, so that the next daemon comes when this one is done.
    drop(lock);
    lived
}

/// Opens the home's store and remembers that the home has one. The lock shows that no daemon has
/// it open.
pub fn open_store(
    world: &World,
    lock: &mut HomeLock,
    publisher: Publisher,
    settings: &Settings,
) -> anyhow::Result<Store> {
    let options = StoreOptions {
        database: world.home.database(),
        clock: world.clock.clone(),
        dice: world.dice.clone(),
        publisher,
        had_life: lock.had_life(),
    };
    let store = Store::open_with(options, hob_store::retention(settings)).map_err(|error| {
        match error {
            // The store's own sentence promises that work goes on by itself; here nobody stays.
            StoreError::Full => anyhow::anyhow!(
                "The disk is full: hob cannot record its start. Free some space, then start it again."
            ),
            other => other.into(),
        }
    })?;
    for finding in store.status().findings {
        tracing::warn!("the store was mended at start: {finding}");
    }
    lock.mark_lived()
        .context("the lock file beside the database cannot be written")?;
    Ok(store)
}

/// The tasks of a daemon. Services outlive the rooms that use them, so that no run sees its model
/// go while it is at work.
struct Groups {
    rooms: Tasks,
    services: Tasks,
}

/// What is told when the daemon opens and stops.
struct Kept {
    services: Services,
    terminals: Terminals,
    /// Which listeners the running services may connect to.
    access: ListenerAccess,
}

/// Everything a daemon has before it serves.
struct House<'l> {
    world: World,
    options: DaemonOptions,
    started_at: u64,
    lock: &'l HomeLock,
    log: Log,
    settings: Settings,
    store: Store,
}

impl House<'_> {
    async fn live(self, inbox: PublisherInbox) -> anyhow::Result<()> {
        // Before anything is promised, so that no signal is missed.
        let mut signals = Signals::new()?;
        let groups = Groups {
            rooms: Tasks::new(),
            services: Tasks::new(),
        };
        let bus = self.bus(inbox, &groups.rooms);
        let (gateway, kept) = match self.open(&bus, &groups).await {
            Ok(open) => open,
            Err(failure) => {
                self.store.close().await;
                return Err(failure);
            }
        };
        let mut lived = self.announce(gateway.address());
        if lived.is_ok() {
            if let Some(kept) = &kept {
                kept.services.open();
            }
            let cause = signals.next().await;
            tracing::info!("stopping on {cause}");
        }
        tokio::select! {
            () = self.stop(&gateway, &bus, &groups, kept.as_ref()) => {}
            cause = signals.next() => {
                tracing::warn!("ending at once on a second signal, {cause}");
                lived = Err(anyhow::anyhow!(
                    "A second signal ended the daemon at once; requests under way were cut off."
                ));
            }
        }
        self.tidy();
        lived
    }

    fn bus(&self, inbox: PublisherInbox, tasks: &Tasks) -> Bus {
        Bus::new(BusParts {
            log: self.store.event_log(),
            inbox,
            clock: self.world.clock.clone(),
            dice: self.world.dice.clone(),
            tasks: tasks.clone(),
            limits: BusLimits::default(),
            version: VERSION.to_owned(),
        })
    }

    /// Serves the rooms and opens the gateway.
    async fn open(&self, bus: &Bus, groups: &Groups) -> anyhow::Result<(Gateway, Option<Kept>)> {
        let log = self.log.clone();
        let config = Config::new(hob_daemon::config::Parts {
            home: self.world.home.clone(),
            env: self.world.env.clone(),
            settings: self.settings.clone(),
            store: self.store.clone(),
            apply: Box::new(move |settings| log.apply(settings)),
        });
        let settings = config.watch();
        let announced = rooms::Announced::default();
        let mut kept = None;
        let mut access = ListenerAccess::default();
        let figures = Figures::default();
        if !self.options.bare {
            let served = self.serve_rooms(bus, groups, config, &announced)?;
            let terminals = served.terminals.clone();
            figures.add(move || terminals.figures());
            access = served.access.clone();
            kept = Some(served);
        }
        let gateway = Gateway::start(GatewayParts {
            bus: bus.clone(),
            store: self.store.clone(),
            settings,
            listen: self.options.listen.clone(),
            home: self.world.home.clone(),
            lock: self.lock,
            clock: self.world.clock.clone(),
            dice: self.world.dice.clone(),
            tasks: groups.rooms.clone(),
            mask: self.log.mask().clone(),
            figures,
            peers: PeerGuard::new(access, OwnProcess::Refused),
            bare: self.options.bare,
        })
        .await?;
        // Set once, here; a second value cannot come.
        let _ = announced.listeners.set(gateway.listeners());
        for note in gateway.notes() {
            tracing::warn!("{note}");
        }
        let _ = announced.notes.set(gateway.notes());
        Ok((gateway, kept))
    }

    /// Writes the state file, then tells the starter on stdout.
    fn announce(&self, address: SocketAddr) -> anyhow::Result<()> {
        let state = StateFile {
            host: address.ip().to_string(),
            port: address.port(),
            pid: std::process::id(),
            started_at: self.started_at,
            socket: self.world.home.socket().display().to_string(),
            protocol: hob_wire::PROTOCOL_VERSION,
            version: VERSION.to_owned(),
        };
        let text = serde_json::to_vec(&state)?;
        file::replace_unsynced(&self.world.home.state_file(), &text)
            .context("the state file run/daemon.json cannot be written")?;
        let pryx = match self.world.env.text("PRYX_LISTEN_ADDR") {
            Some(_) => format!("PRYX_CORE_LISTEN_ADDR={address}\n"),
            None => String::new(),
        };
        let lines = format!("HOB_LISTEN_ADDR={address}\n{pryx}");
        // Whoever started us may not listen; the state file says the same.
        let mut stdout = std::io::stdout().lock();
        let _ = stdout.write_all(lines.as_bytes());
        let _ = stdout.flush();
        let epoch = self.store.epoch();
        tracing::info!(version = VERSION, epoch, "listening on {address}");
        Ok(())
    }

    /// Refuses new work, lets what is under way finish, and closes the store.
    async fn stop(&self, gateway: &Gateway, bus: &Bus, groups: &Groups, kept: Option<&Kept>) {
        // First of all: what fails from now on may fail because of the stop.
        groups.rooms.begin_drain();
        gateway.stop_accepting();
        if let Some(kept) = kept {
            kept.services.leave();
            kept.terminals.leave();
        }
        if failpoint::broken(27) {
            std::future::pending::<()>().await;
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
            if let Some(kept) = kept {
                kept.services.close(SERVICES_WAIT).await;
            }
            groups.services.finish(KEEPERS_WAIT).await
        };
        tokio::join!(rooms, services);
        let closed = tokio::time::timeout(STORE_WAIT, self.store.close()).await;
        if closed.is_err() {
            tracing::warn!("the store did not close in time; the next start recovers it");
        }
        tracing::info!("stopped");
    }

    /// Removes what would tell a client that we are here, while the lock is still ours.
    fn tidy(&self) {
        let home: &Home = &self.world.home;
        for path in [home.state_file(), home.socket()] {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The signals that end a daemon.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Signals> {
        let listen = |kind| signal(kind).context("signals cannot be received");
        Ok(Signals {
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

/// Reads the config file, writing the commented default first where there is none.
fn read_settings(world: &World) -> anyhow::Result<Settings> {
    let catalog = catalog();
    let path = world.home.config_file();
    if !path.exists() {
        // Without it everything works the same; a person only finds less to read.
        let _ = std::fs::write(&path, catalog.default_text());
    }
    Ok(Settings::of_home(&catalog, &world.home, &world.env)?)
}

fn open_log(world: &World, settings: &Settings) -> Log {
    let options = LogOptions {
        file: world.home.log_file(),
        clock: world.clock.clone(),
        mask: Mask::new(),
        mirror: std::io::stderr().is_terminal(),
    };
    let log = Log::new(options, settings);
    log.install();
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!("{panic}");
        // Fault test 26: a panic that takes everything with it must be noticed.
        if failpoint::broken(26) {
            std::process::abort();
        }
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

/// Lets the process have as many connections as the system allows it; the usual soft limit is
/// there for programs that use `select`.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
