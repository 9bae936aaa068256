//! `service.*`: the managed local services.
//!
//! - `registry`: all services and their owners; `owner`: the owner task of one service, around the
//!   pure machine of `hob_core::service`; `handle`: the way to reach it; `policy`: the machine's
//!   policy
//! - `launch`: one start; `probe`: health checks; `log_buffer`: the output
//! - `requests`: the methods of the room; `served_models`: the models that services offer
//! - `install`: installs and uninstalls the services that ship with hob
//! - `metrics`: samples of processor time and memory
//! - `messages`: sentences; `settings`: config keys
//!
//! Invariants: only its owner changes a service; a stop is answered when nothing of the service
//! lives; when the daemon stops, a service stops before those that it needs, and no service
//! outlives the daemon.

mod handle;
mod install;
mod launch;
mod log_buffer;
mod messages;
mod metrics;
mod owner;
mod policy;
mod probe;
mod registry;
mod requests;
mod served_models;
mod settings;

use crate::RoomContext;
use crate::service_resolver::ServiceUseCounts;
use handle::{ServiceCommand, ServiceView};
use hob_bus::{EventEmitter, Room};
use hob_core::service::dependency_order;
use hob_exec::Spawner;
use hob_kit::settings::Settings;
use hob_models::ServedModel;
use hob_services::DiscoveryContext;
pub use hob_services::llm::KEYS as LLM_KEYS;
pub use hob_services::opencode::KEYS as OPENCODE_KEYS;
use hob_wire::WireError;
use hob_wire::rooms::service::{
    EVENTS, Install, List, Logs, Metrics, Reach, Restart, Start, Status, Stop, Uninstall,
};
use install::InstallJobs;
use metrics::SampleHistory;
use registry::ServiceRegistry;
use served_models::FoundCache;
pub use settings::KEYS;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// Requests handled at once. A request that waits for a service holds one.
const CONCURRENCY: usize = 512;
/// Time for killed services to end.
const KILL_WAIT: Duration = Duration::from_millis(500);

/// The state that the files of this room share.
struct ServiceContext {
    /// Its tasks outlive those of the rooms that use services.
    deps: RoomContext,
    /// Starts the services.
    spawner: Spawner,
    /// A service in use is not idle, however long ago it was last used.
    uses: ServiceUseCounts,
    /// The opt-in listeners that a service file may name.
    listeners: Vec<&'static str>,
    emitter: EventEmitter,
    // A std mutex: held to look up or change the table, never over an await.
    registry: Mutex<ServiceRegistry>,
    // Held while files are read: of two readers at once, the one with older files could win.
    refreshing: tokio::sync::Mutex<()>,
    found_cache: tokio::sync::Mutex<FoundCache>,
    install_jobs: InstallJobs,
    samples: SampleHistory,
    served: watch::Sender<Arc<Vec<ServedModel>>>,
    /// Notified when a service or its files have changed.
    changed: Notify,
    /// Cancelled when the daemon is about to stop: requests wait no more. Runs still may, because they
    /// can end well until the services stop.
    stopping: CancellationToken,
    /// Cancelled when the services stop: nothing starts any more.
    closing: CancellationToken,
}

impl ServiceContext {
    fn settings(&self) -> Arc<Settings> {
        self.deps.settings()
    }

    /// Returns everything that finding a service needs.
    fn place<'a>(&'a self, settings: &'a Settings) -> DiscoveryContext<'a> {
        let deps = &self.deps;
        DiscoveryContext {
            home: &deps.home,
            settings,
            env: &deps.env,
            http: &deps.http,
            spawner: &self.spawner,
        }
    }

    fn registry(&self) -> MutexGuard<'_, ServiceRegistry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The service room. Cheap to clone.
#[derive(Clone)]
pub struct ServiceRoom(Arc<ServiceContext>);

impl fmt::Debug for ServiceRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceRoom").finish_non_exhaustive()
    }
}

/// Serves the room `services`. Nothing starts before [`ServiceRoom::open`]. The tasks of `context` and
/// `spawner` must outlive those of the rooms that use services.
pub fn serve(
    context: &RoomContext,
    spawner: Spawner,
    uses: ServiceUseCounts,
    listeners: Vec<&'static str>,
) -> Result<ServiceRoom, WireError> {
    let services = Arc::new(ServiceContext {
        deps: context.clone(),
        spawner,
        uses,
        listeners,
        emitter: context.bus.emitter("services"),
        registry: Mutex::default(),
        refreshing: tokio::sync::Mutex::default(),
        found_cache: tokio::sync::Mutex::default(),
        install_jobs: InstallJobs::default(),
        samples: SampleHistory::default(),
        served: watch::Sender::new(Arc::default()),
        changed: Notify::new(),
        stopping: CancellationToken::new(),
        closing: CancellationToken::new(),
    });
    let room = Room::new("services")
        .concurrency(CONCURRENCY)
        .events(EVENTS)
        .state(Arc::clone(&services))
        .method(List, ServiceContext::list)
        .method(Status, ServiceContext::status)
        .method(Start, ServiceContext::start)
        .method(Stop, ServiceContext::stop)
        .method(Restart, ServiceContext::restart)
        .method(Logs, ServiceContext::logs)
        .method(Metrics, ServiceContext::metrics)
        .method(Reach, ServiceContext::reach)
        .method(Install, ServiceContext::install)
        .method(Uninstall, ServiceContext::uninstall);
    context.bus.serve(room)?;
    Ok(ServiceRoom(services))
}

impl ServiceRoom {
    /// Returns the models that services offer, kept up to date.
    pub fn served(&self) -> watch::Receiver<Arc<Vec<ServedModel>>> {
        self.0.served.subscribe()
    }

    /// Loads the services and starts those with `autostart`. Called once the daemon listens, because
    /// services may be its clients.
    pub fn open(&self) {
        let context = Arc::clone(&self.0);
        let tasks = self.0.deps.tasks.clone();
        tasks.spawn_until_stop("services", async move {
            context.refresh().await;
            autostart(&context).await;
            context.keep_served_models().await;
        });
        let context = Arc::clone(&self.0);
        tasks.spawn_until_stop("service metrics", async move {
            context.keep_samples().await;
        });
    }

    /// Ends the requests that wait for a service to start.
    pub fn release_waiters(&self) {
        self.0.stopping.cancel();
    }

    /// Stops every service, each before those that it needs. Kills what is left after `within`.
    /// Nothing starts afterwards.
    pub async fn stop_all(&self, within: Duration) {
        let context = &self.0;
        // No start is accepted from here on, so the list of services below is complete.
        context.closing.cancel();
        let names = dependency_order::stop_order_all(&context.registry().needs());
        let stopped = tokio::time::timeout(within, context.stop_in_order(&names)).await;
        if stopped.is_ok() {
            return;
        }
        tracing::warn!("some services did not stop in time and are killed");
        // All at once: the ordered stop may be waiting for a service that hangs.
        let handles: Vec<_> = context.registry().handles.values().cloned().collect();
        for handle in &handles {
            // A full inbox may drop these, but then it holds a stop already.
            let (done, _) = tokio::sync::oneshot::channel();
            let _ = handle.commands.try_send(ServiceCommand::Stop { done });
            let _ = handle.commands.try_send(ServiceCommand::Kill);
        }
        let all_gone = async {
            for handle in handles {
                let mut view = handle.view;
                let _ = view.wait_for(ServiceView::is_at_rest).await;
            }
        };
        if tokio::time::timeout(KILL_WAIT, all_gone).await.is_err() {
            tracing::warn!("some killed services have not ended yet");
        }
    }
}

/// Starts the services whose descriptor or setting says `autostart`.
async fn autostart(context: &Arc<ServiceContext>) {
    let settings = context.settings();
    let wanted: Vec<_> = {
        let registry = context.registry();
        let all = registry.handles.values();
        let all = all.map(|handle| (handle.definition.get(), handle.clone()));
        all.filter(|(service, _)| settings::autostart(&settings, &service.descriptor))
            .collect()
    };
    let starts = wanted.iter().map(|(service, handle)| async {
        if let Err(error) = context.start_if_stopped(service, handle).await {
            let service = &service.descriptor.name;
            tracing::warn!(service, "not started with the daemon: {}", error.message);
        }
    });
    futures_util::future::join_all(starts).await;
}
