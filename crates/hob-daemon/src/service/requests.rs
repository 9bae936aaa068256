//! The methods of the room.

use super::ServiceContext;
use super::handle::{ServiceCommand, ServiceOwnerHandle, ServiceView};
use super::probe::check_address;
use super::settings;
use hob_core::service::dependency_order;
use hob_services::trust::{self, UntrustedServer};
use hob_services::{BrokenFile, CatalogService, FoundService};
use hob_wire::rooms::service::{
    BrokenService, ManagedService, ServiceListParams, ServiceListResult, ServiceLogs,
    ServiceLogsParams, ServiceReachResult, ServiceSelector, ServiceStartParams, ServiceState,
    ServiceStatus,
};
use hob_wire::{ErrorCode, WireError};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The default number of log lines.
const LOG_LINES: u32 = 100;
/// Characters of an unknown name that are shown in the error.
const NAME_CHARS_MAX: usize = 64;
/// Restarts that a waiting caller tolerates. The first failure may be a port that was taken.
const RESTARTS_WAITED: u32 = 1;

impl ServiceContext {
    pub(super) async fn list(
        self: &Arc<Self>,
        _: ServiceListParams,
    ) -> Result<ServiceListResult, WireError> {
        self.refresh().await;
        let found = self.find_all().await;
        let settings = self.settings();
        let registry = self.registry();
        let services = registry.handles.iter().map(|(name, handle)| {
            let service = handle.definition.get();
            let descriptor = &service.descriptor;
            let view = handle.view.borrow().clone();
            let missing = match found.get(name) {
                Some(FoundService::Missing { why }) => Some(why.clone()),
                _ => None,
            };
            let entry = service.shipped;
            ManagedService {
                about: descriptor.about.clone(),
                role: descriptor.role,
                installed: missing.is_none(),
                missing,
                installable: entry.is_some_and(|entry| entry.install.is_some()),
                autostart: settings::autostart(&settings, descriptor),
                adopted: view.adopted,
                aliases: descriptor.aliases.clone(),
                needs: descriptor.needs.clone(),
                file: service.file.as_ref().map(|it| it.display().to_string()),
                licence: descriptor.licence.clone(),
                installation: self.install_jobs.find_unfinished(name),
                status: view.status,
            }
        });
        Ok(ServiceListResult {
            services: services.collect(),
            problems: registry.catalog.problems().to_vec(),
            broken: registry.catalog.broken().iter().map(broken_view).collect(),
        })
    }

    pub(super) async fn status(
        self: &Arc<Self>,
        params: ServiceSelector,
    ) -> Result<ServiceStatus, WireError> {
        let (_, handle) = self.find_named(&params.name).await?;
        let status = handle.view.borrow().status.clone();
        Ok(status)
    }

    pub(super) async fn start(
        self: &Arc<Self>,
        params: ServiceStartParams,
    ) -> Result<ServiceStatus, WireError> {
        let (service, handle) = self.find_named(&params.name).await?;
        self.start_if_stopped(&service, &handle).await?;
        if params.wait {
            let over = |view: &ServiceView| view.status.state != ServiceState::Starting;
            self.wait_for_view(&handle, &self.stopping, over).await?;
        }
        let status = handle.view.borrow().status.clone();
        Ok(status)
    }

    /// Stops a service and those that need it, in parallel where they do not need each other.
    pub(super) async fn stop(
        self: &Arc<Self>,
        params: ServiceSelector,
    ) -> Result<ServiceStatus, WireError> {
        let (service, handle) = self.find_named(&params.name).await?;
        let order =
            dependency_order::stop_order(&service.descriptor.name, &self.registry().needs());
        self.stop_in_order(&order).await;
        let status = handle.view.borrow().status.clone();
        Ok(status)
    }

    pub(super) async fn restart(
        self: &Arc<Self>,
        params: ServiceStartParams,
    ) -> Result<ServiceStatus, WireError> {
        let (service, _) = self.find_named(&params.name).await?;
        let order =
            dependency_order::stop_order(&service.descriptor.name, &self.registry().needs());
        // Noted before the stop, after which all of them are at rest.
        let ran: Vec<String> = {
            let registry = self.registry();
            let runs = |name: &&String| {
                let handle = registry.handles.get(*name);
                handle.is_some_and(|handle| !handle.is_at_rest())
            };
            order.iter().filter(runs).cloned().collect()
        };
        self.stop_in_order(&order).await;
        let status = self.start(params).await?;
        // Services that were stopped because they need it are started again.
        for name in ran
            .iter()
            .rev()
            .filter(|name| **name != service.descriptor.name)
        {
            let found = self.registry().find(name);
            if let Some((service, handle)) = found {
                // Its own status says why it does not start.
                let _ = self.start_if_stopped(&service, &handle).await;
            }
        }
        Ok(status)
    }

    pub(super) async fn logs(
        self: &Arc<Self>,
        params: ServiceLogsParams,
    ) -> Result<ServiceLogs, WireError> {
        let (_, handle) = self.find_named(&params.name).await?;
        let count = params.lines.unwrap_or(LOG_LINES);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let lines = handle.log.lines(count, params.after.unwrap_or(0));
        Ok(ServiceLogs {
            lines,
            file: Some(handle.log.file().display().to_string()),
        })
    }

    pub(super) async fn reach(
        self: &Arc<Self>,
        params: ServiceSelector,
    ) -> Result<ServiceReachResult, WireError> {
        let name = params.name.as_str();
        // Every call of a local model passes here, so a running service is not searched for on disk.
        // A change of its file counts from its next start anyway.
        let running = self.registry().find(name);
        let running = running.filter(|(_, handle)| handle.state() == ServiceState::Running);
        let (service, _) = match running {
            Some(running) => running,
            None => self.find_named(name).await?,
        };
        let name = &service.descriptor.name;
        let view = self.start_and_wait(name).await.map_err(|(_, why)| {
            let message = format!("The service '{name}' cannot be used: {why}");
            WireError::new(ErrorCode::ServiceUnavailable, message)
        })?;
        let no_address = || {
            let message = format!("The service '{name}' has no port, so it cannot be called.");
            WireError::new(ErrorCode::Conflict, message)
        };
        let url = view.url.ok_or_else(no_address)?;
        // Checked right before something is sent: the listener may have changed since the last check.
        let trusted = trust::trusted_users(&self.settings(), name);
        let checked = check_address(&url, trusted, view.adopted).await;
        checked.map_err(|why| {
            let message = UntrustedServer::new(why, name).sentence;
            WireError::new(ErrorCode::ServiceUnavailable, message)
        })?;
        Ok(ServiceReachResult {
            name: name.clone(),
            url,
            password: view.password.map(|password| password.expose().to_owned()),
            server: view.server,
        })
    }

    /// Starts a service if needed and waits until it is ready. The error names it and says why not.
    pub(super) async fn start_and_wait(
        self: &Arc<Self>,
        name: &str,
    ) -> Result<ServiceView, (String, String)> {
        let refused = |why: String| (name.to_owned(), why);
        let found = self.registry().find(name);
        let Some((service, handle)) = found else {
            return Err(refused("there is no such service.".to_owned()));
        };
        if handle.state() == ServiceState::Running {
            // Restarts its idle time. A full inbox holds such a command already.
            let _ = handle.commands.try_send(ServiceCommand::Used);
        } else {
            let wanted = self.start_if_stopped(&service, &handle).await;
            wanted.map_err(|error| refused(error.message))?;
        }
        let over = |view: &ServiceView| match view.status.state {
            // A stop that is under way may be followed by the wanted start.
            ServiceState::Starting | ServiceState::Stopping => false,
            ServiceState::Backoff => view.status.restarts >= RESTARTS_WAITED,
            ServiceState::Running | ServiceState::Stopped | ServiceState::Failed => true,
        };
        let view = self.wait_for_view(&handle, &self.closing, over).await;
        let view = view.map_err(|error| refused(error.message))?;
        if view.status.state == ServiceState::Running {
            return Ok(view);
        }
        let why = view.status.detail;
        Err(refused(why.unwrap_or_else(|| "it was stopped.".to_owned())))
    }

    /// Starts a service if it is stopped or failed.
    pub(super) async fn start_if_stopped(
        self: &Arc<Self>,
        service: &CatalogService,
        handle: &ServiceOwnerHandle,
    ) -> Result<(), WireError> {
        if self.closing.is_cancelled() {
            return Err(stopping());
        }
        let name = &service.descriptor.name;
        let conflict = |message: String| WireError::new(ErrorCode::Conflict, message);
        let needs = self.registry().needs();
        let ordered = dependency_order::start_order(name, &needs);
        ordered.map_err(|disorder| conflict(disorder.sentence()))?;
        let mut found = None;
        if handle.is_at_rest() {
            // A broken file replaces the definition that ships with hob, so that one is not started.
            if let Some(broken) = self.registry().catalog.broken_file(name) {
                return Err(conflict(broken_message(broken)));
            }
            let now = self.find_service(service).await;
            if let FoundService::Missing { why } = now {
                return Err(conflict(why));
            }
            // Waiting for its needs may take long, and the search result may be outdated by then.
            found = service.descriptor.needs.is_empty().then_some(now);
        }
        handle
            .send(|done| ServiceCommand::Start { found, done })
            .await;
        Ok(())
    }

    /// Stops these services, each after those of them that need it.
    pub(super) async fn stop_in_order(&self, names: &[String]) {
        let (needs, handles) = {
            let registry = self.registry();
            (registry.needs(), registry.handles.clone())
        };
        let over = watch::Sender::new(BTreeSet::new());
        let stops = names.iter().filter_map(|name| {
            let handle = handles.get(name)?.clone();
            let place = |wanted: &String| names.iter().position(|it| it == wanted);
            let needs_it = |other: &&String| {
                let needed = needs.get(*other).is_some_and(|it| it.contains(name));
                // Only those earlier in the order, so that a circle of needs does not wait for itself.
                needed && place(other) < place(name)
            };
            let before: BTreeSet<String> = names.iter().filter(needs_it).cloned().collect();
            let (over, mut seen) = (over.clone(), over.subscribe());
            Some(async move {
                // Cannot fail: the sender lives as long as this future.
                let _ = seen.wait_for(|over| before.is_subset(over)).await;
                handle.send(|done| ServiceCommand::Stop { done }).await;
                wait_stopped(&handle).await;
                over.send_modify(|over| {
                    over.insert(name.clone());
                });
            })
        });
        futures_util::future::join_all(stops).await;
    }

    /// Waits until `over` accepts the view of a service, or the daemon stops.
    async fn wait_for_view(
        &self,
        handle: &ServiceOwnerHandle,
        end: &CancellationToken,
        over: impl FnMut(&ServiceView) -> bool,
    ) -> Result<ServiceView, WireError> {
        let mut view = handle.view.clone();
        tokio::select! {
            seen = view.wait_for(over) => match seen {
                Ok(seen) => Ok(seen.clone()),
                Err(_) => Err(stopping()),
            },
            () = end.cancelled() => Err(stopping()),
        }
    }

    pub(super) async fn find_named(
        self: &Arc<Self>,
        name: &str,
    ) -> Result<(Arc<CatalogService>, ServiceOwnerHandle), WireError> {
        self.refresh().await;
        let registry = self.registry();
        registry.find(name).ok_or_else(|| {
            if let Some(broken) = registry.catalog.broken_file(name) {
                return WireError::new(ErrorCode::Conflict, broken_message(broken));
            }
            let names: Vec<&str> = registry.handles.keys().map(String::as_str).collect();
            let known = if names.is_empty() {
                "There are no services".to_owned()
            } else {
                format!("The services are: {}", names.join(", "))
            };
            let shown: String = name.chars().take(NAME_CHARS_MAX).collect();
            let message = format!("No service is called '{shown}'. {known}.");
            WireError::new(ErrorCode::NotFound, message)
        })
    }
}

fn broken_view(broken: &BrokenFile) -> BrokenService {
    BrokenService {
        name: broken.name.clone(),
        file: broken.file.display().to_string(),
        problem: broken.problem.clone(),
    }
}

fn broken_message(broken: &BrokenFile) -> String {
    format!(
        "The file of the service '{}' is broken, so it cannot be started. {}",
        broken.name, broken.problem
    )
}

/// Waits until nothing of a service lives, or it is started again.
async fn wait_stopped(handle: &ServiceOwnerHandle) {
    let mut view = handle.view.clone();
    // An owner that has ended has stopped its service.
    let _ = view
        .wait_for(|view| view.status.state != ServiceState::Stopping)
        .await;
}

fn stopping() -> WireError {
    WireError::new(ErrorCode::ServiceUnavailable, "hob is stopping.")
}
