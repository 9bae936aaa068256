//! `service.*`: the local services of the house, kept alive.
//!
//! - `roll`: which services there are; `keeper`: the owner task of each, around the pure machine of
//!   `hob_core::service`; `handle`: how it is reached; `promise`: what the machine is told
//! - `launch`: one start; `probe`: asking for health; `logbook`: what it prints
//! - `requests`: what is asked of the room; `served`: which models that makes available
//! - `install`: bringing what ships onto this machine, and taking it away
//! - `words`: what is said of it; `settings`: what a person may choose
//!
//! Invariants: a service is changed by its keeper alone; a stop answers when nothing of it lives;
//! when the daemon stops, those that need others stop before them, and nothing outlives it.

mod handle;
mod install;
mod keeper;
mod launch;
mod logbook;
mod probe;
mod promise;
mod requests;
mod roll;
mod served;
mod settings;
mod words;

use handle::{Command, View};
use hob_bus::{Bus, Emitter, Room};
use hob_core::service::order;
use hob_exec::Spawner;
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::home::Home;
use hob_kit::mask::Mask;
use hob_kit::settings::Settings;
use hob_kit::tasks::Tasks;
use hob_kit::world::Env;
use hob_models::Served;
use hob_net::Http;
use hob_services::Place;
pub use hob_services::llm::KEYS as LLM_KEYS;
pub use hob_services::opencode::KEYS as OPENCODE_KEYS;
use hob_store::Store;
use hob_wire::rooms::service::{
    Install, List, Logs, Reach, Restart, ServiceInstallProgress, ServiceLog, ServiceStatusChanged,
    Start, Status, Stop, Uninstall,
};
use install::Installations;
use roll::Roll;
use served::Finds;
pub use settings::KEYS;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// Requests handled at once: each that waits for a service holds one.
const CONCURRENCY: usize = 512;
/// How long the end of killed services is waited for.
const KILL_WAIT: Duration = Duration::from_millis(500);

/// Whether a service is in the middle of something.
pub type Busy = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// What the room is made of.
#[derive(Clone)]
pub struct Parts {
    pub bus: Bus,
    /// Where changes of a service's state are logged.
    pub store: Store,
    pub clock: Clock,
    pub dice: Dice,
    pub env: Env,
    pub home: Home,
    pub settings: watch::Receiver<Arc<Settings>>,
    pub http: Http,
    /// What no log may show.
    pub mask: Mask,
    /// Starts the services; its tasks are those below.
    pub spawner: Spawner,
    /// A group of the services' own, which outlives the rooms that use them.
    pub tasks: Tasks,
    /// A busy service is not idle, however long ago it was reached.
    pub busy: Busy,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// What the room's files share.
struct Shared {
    parts: Parts,
    emitter: Emitter,
    // A std mutex: held to look up or change the table, never over an await.
    roll: Mutex<Roll>,
    finds: tokio::sync::Mutex<Finds>,
    installations: Installations,
    served: watch::Sender<Arc<Vec<Served>>>,
    /// A service, or what there is to start, has changed.
    changed: Notify,
    /// The daemon is about to stop: nobody waits for a service any more but runs, which may still
    /// end well.
    leaving: CancellationToken,
    /// The services stop: nothing starts any more.
    closing: CancellationToken,
}

impl Shared {
    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.parts.settings.borrow())
    }

    /// Where services are looked for.
    fn place<'a>(&'a self, settings: &'a Settings) -> Place<'a> {
        let parts = &self.parts;
        Place {
            home: &parts.home,
            settings,
            env: &parts.env,
            http: &parts.http,
            spawner: &parts.spawner,
        }
    }

    fn roll(&self) -> MutexGuard<'_, Roll> {
        self.roll.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The services of the house; cheap to clone.
#[derive(Clone)]
pub struct Services(Arc<Shared>);

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services").finish_non_exhaustive()
    }
}

impl Services {
    pub fn new(parts: Parts) -> Services {
        let shared = Arc::new(Shared {
            emitter: parts.bus.emitter("services"),
            roll: Mutex::default(),
            finds: tokio::sync::Mutex::default(),
            installations: Installations::default(),
            served: watch::Sender::new(Arc::default()),
            changed: Notify::new(),
            leaving: CancellationToken::new(),
            closing: CancellationToken::new(),
            parts,
        });
        Services(shared)
    }

    /// The models that services make available, kept true.
    pub fn served(&self) -> watch::Receiver<Arc<Vec<Served>>> {
        self.0.served.subscribe()
    }

    /// Begins to look around, and starts what is to run from the beginning. Called once the house
    /// can be reached, because services may be its clients.
    pub fn open(&self) {
        let shared = Arc::clone(&self.0);
        let tasks = self.0.parts.tasks.clone();
        tasks.spawn_until_stop("services", async move {
            shared.refresh().await;
            autostart(&shared).await;
            shared.serve_models().await;
        });
    }

    /// Lets those go who only wait to see a service start.
    pub fn leave(&self) {
        self.0.leaving.cancel();
    }

    /// Stops every service, those that need others before them; what is not gone `within` that
    /// time is killed. Nothing starts afterwards.
    pub async fn close(&self, within: Duration) {
        let shared = &self.0;
        shared.closing.cancel();
        let names = order::stopping_all(&shared.roll().needs());
        let stopped = tokio::time::timeout(within, shared.stop_these(&names)).await;
        if stopped.is_ok() {
            return;
        }
        tracing::warn!("some services did not stop in time and are killed");
        let handles: Vec<_> = shared.roll().handles.values().cloned().collect();
        for handle in &handles {
            // Whatever waits in its inbox is a stop already.
            let (done, _) = tokio::sync::oneshot::channel();
            let _ = handle.commands.try_send(Command::Stop { done });
            let _ = handle.commands.try_send(Command::Kill);
        }
        let all_gone = async {
            for handle in handles {
                let mut view = handle.view;
                let _ = view.wait_for(View::rests).await;
            }
        };
        if tokio::time::timeout(KILL_WAIT, all_gone).await.is_err() {
            tracing::warn!("some killed services have not ended yet");
        }
    }
}

/// Starts what a descriptor or a setting says is to run from the beginning.
async fn autostart(shared: &Arc<Shared>) {
    let settings = shared.settings();
    let wanted: Vec<_> = {
        let roll = shared.roll();
        let all = roll.handles.values();
        let all = all.map(|handle| (handle.slot.get(), handle.clone()));
        all.filter(|(shelved, _)| settings::autostart(&settings, &shelved.descriptor))
            .collect()
    };
    let starts = wanted.iter().map(|(shelved, handle)| async {
        if let Err(error) = shared.want(shelved, handle).await {
            let service = &shelved.descriptor.name;
            tracing::warn!(service, "not started with the daemon: {}", error.message);
        }
    });
    futures_util::future::join_all(starts).await;
}

/// The service `services`.
pub fn room(services: &Services) -> Room {
    let of = || Arc::clone(&services.0);
    let (lists, statuses, starts) = (of(), of(), of());
    let (stops, restarts, logs, reaches) = (of(), of(), of(), of());
    let (installs, uninstalls) = (of(), of());
    Room::new("services")
        .concurrency(CONCURRENCY)
        .event::<ServiceStatusChanged>()
        .event::<ServiceLog>()
        .event::<ServiceInstallProgress>()
        .method::<List, _, _>(move |_, _| {
            let shared = Arc::clone(&lists);
            async move { Ok(shared.list().await) }
        })
        .method::<Status, _, _>(move |_, params| {
            let shared = Arc::clone(&statuses);
            async move { shared.status(&params.name).await }
        })
        .method::<Start, _, _>(move |_, params| {
            let shared = Arc::clone(&starts);
            async move { shared.start(&params).await }
        })
        .method::<Stop, _, _>(move |_, params| {
            let shared = Arc::clone(&stops);
            async move { shared.stop(&params.name).await }
        })
        .method::<Restart, _, _>(move |_, params| {
            let shared = Arc::clone(&restarts);
            async move { shared.restart(&params).await }
        })
        .method::<Logs, _, _>(move |_, params| {
            let shared = Arc::clone(&logs);
            async move { shared.logs(&params).await }
        })
        .method::<Reach, _, _>(move |_, params| {
            let shared = Arc::clone(&reaches);
            async move { shared.reach(&params.name).await }
        })
        .method::<Install, _, _>(move |call, params| {
            let shared = Arc::clone(&installs);
            async move { shared.install(&call.caller, &params).await }
        })
        .method::<Uninstall, _, _>(move |call, params| {
            let shared = Arc::clone(&uninstalls);
            async move { shared.uninstall(&call.caller, &params.name).await }
        })
}
