//! What is asked of the room.

use super::Shared;
use super::handle::{Command, Handle, View};
use super::probe::may_be_sent;
use super::settings;
use hob_core::service::order;
use hob_services::trust::{self, Distrust};
use hob_services::{BrokenFile, Found, Shelved};
use hob_wire::rooms::service::{
    BrokenService, LogsParams, Reached, Service, ServiceLogs, ServiceState, ServiceStatus,
    Services, StartParams,
};
use hob_wire::{ErrorCode, WireError};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Lines of a log, unless somebody asks for more.
const LOG_LINES: u32 = 100;
/// Names in a refusal.
const NAME_CHARS_MAX: usize = 64;
/// Whoever needs a service waits through one restart, which may be a port that was taken.
const RESTARTS_BORNE: u32 = 1;

impl Shared {
    pub(super) async fn list(self: &Arc<Self>) -> Services {
        self.refresh().await;
        let finds = self.finds().await;
        let settings = self.settings();
        let roll = self.roll();
        let services = roll.handles.iter().map(|(name, handle)| {
            let shelved = handle.slot.get();
            let descriptor = &shelved.descriptor;
            let view = handle.view.borrow().clone();
            let missing = match finds.get(name) {
                Some(Found::Missing { why }) => Some(why.clone()),
                _ => None,
            };
            let entry = shelved.entry;
            Service {
                about: descriptor.about.clone(),
                role: descriptor.role,
                installed: missing.is_none(),
                missing,
                installable: entry.is_some_and(|entry| entry.install.is_some()),
                autostart: settings::autostart(&settings, descriptor),
                adopted: view.adopted,
                aliases: descriptor.aliases.clone(),
                needs: descriptor.needs.clone(),
                file: shelved.file.as_ref().map(|it| it.display().to_string()),
                licence: descriptor.licence.clone(),
                installation: self.installations.told(name),
                status: view.status,
            }
        });
        Services {
            services: services.collect(),
            problems: roll.shelf.problems().to_vec(),
            broken: roll.shelf.broken().iter().map(told_broken).collect(),
        }
    }

    pub(super) async fn status(self: &Arc<Self>, name: &str) -> Result<ServiceStatus, WireError> {
        let (_, handle) = self.named(name).await?;
        let status = handle.view.borrow().status.clone();
        Ok(status)
    }

    pub(super) async fn start(
        self: &Arc<Self>,
        params: &StartParams,
    ) -> Result<ServiceStatus, WireError> {
        let (shelved, handle) = self.named(&params.name).await?;
        self.want(&shelved, &handle).await?;
        if params.wait {
            let over = |view: &View| view.status.state != ServiceState::Starting;
            self.until(&handle, &self.leaving, over).await?;
        }
        let status = handle.view.borrow().status.clone();
        Ok(status)
    }

    /// Stops a service and those that need it, all at once where they do not need each other.
    pub(super) async fn stop(self: &Arc<Self>, name: &str) -> Result<ServiceStatus, WireError> {
        let (shelved, handle) = self.named(name).await?;
        let order = order::stopping(&shelved.descriptor.name, &self.roll().needs());
        self.stop_these(&order).await;
        let status = handle.view.borrow().status.clone();
        Ok(status)
    }

    pub(super) async fn restart(
        self: &Arc<Self>,
        params: &StartParams,
    ) -> Result<ServiceStatus, WireError> {
        let (shelved, _) = self.named(&params.name).await?;
        let order = order::stopping(&shelved.descriptor.name, &self.roll().needs());
        let ran: Vec<String> = {
            let roll = self.roll();
            let runs = |name: &&String| {
                let handle = roll.handles.get(*name);
                handle.is_some_and(|handle| !handle.rests())
            };
            order.iter().filter(runs).cloned().collect()
        };
        self.stop_these(&order).await;
        let status = self.start(params).await?;
        // Those that were stopped because they need it come back with it.
        for name in ran
            .iter()
            .rev()
            .filter(|name| **name != shelved.descriptor.name)
        {
            let found = self.roll().find(name);
            if let Some((shelved, handle)) = found {
                // It says itself why it does not start.
                let _ = self.want(&shelved, &handle).await;
            }
        }
        Ok(status)
    }

    pub(super) async fn logs(
        self: &Arc<Self>,
        params: &LogsParams,
    ) -> Result<ServiceLogs, WireError> {
        let (_, handle) = self.named(&params.name).await?;
        let count = params.lines.unwrap_or(LOG_LINES);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let lines = handle.log.lines(count, params.after.unwrap_or(0));
        Ok(ServiceLogs {
            lines,
            file: Some(handle.log.file().display().to_string()),
        })
    }

    pub(super) async fn reach(self: &Arc<Self>, name: &str) -> Result<Reached, WireError> {
        // Every call of a local model comes by here: one that runs is not looked for on the disk,
        // and what its file says now counts from its next start anyway.
        let running = self.roll().find(name);
        let running = running.filter(|(_, handle)| handle.state() == ServiceState::Running);
        let (shelved, _) = match running {
            Some(running) => running,
            None => self.named(name).await?,
        };
        let name = &shelved.descriptor.name;
        let view = self.ready(name).await.map_err(|(_, why)| {
            let message = format!("The service '{name}' cannot be used: {why}");
            WireError::new(ErrorCode::ServiceUnavailable, message)
        })?;
        let no_address = || {
            let message = format!("The service '{name}' has no port, so there is nothing to ask.");
            WireError::new(ErrorCode::Conflict, message)
        };
        let url = view.url.ok_or_else(no_address)?;
        // Right before something goes there: who listens may have changed since the last look.
        let trusted = trust::trusted_users(&self.settings(), name);
        let checked = may_be_sent(&url, trusted, view.adopted).await;
        checked.map_err(|why| {
            let message = Distrust::of(why, name).sentence;
            WireError::new(ErrorCode::ServiceUnavailable, message)
        })?;
        Ok(Reached {
            name: name.clone(),
            url,
            password: view.password.map(|password| password.expose().to_owned()),
            server: view.server,
        })
    }

    /// Starts what does not run and waits until it is ready. The error is who is not, and why.
    pub(super) async fn ready(self: &Arc<Self>, name: &str) -> Result<View, (String, String)> {
        let refused = |why: String| (name.to_owned(), why);
        let found = self.roll().find(name);
        let Some((shelved, handle)) = found else {
            return Err(refused("there is no service of that name.".to_owned()));
        };
        if handle.state() == ServiceState::Running {
            // It is in use from now on; a full inbox means that it was told already.
            let _ = handle.commands.try_send(Command::Used);
        } else {
            let wanted = self.want(&shelved, &handle).await;
            wanted.map_err(|error| refused(error.message))?;
        }
        let over = |view: &View| match view.status.state {
            ServiceState::Starting | ServiceState::Stopping => false,
            ServiceState::Backoff => view.status.restarts >= RESTARTS_BORNE,
            ServiceState::Running | ServiceState::Stopped | ServiceState::Failed => true,
        };
        let view = self.until(&handle, &self.closing, over).await;
        let view = view.map_err(|error| refused(error.message))?;
        if view.status.state == ServiceState::Running {
            return Ok(view);
        }
        let why = view.status.detail;
        Err(refused(why.unwrap_or_else(|| "it was stopped.".to_owned())))
    }

    /// Has a service started if it rests.
    pub(super) async fn want(
        self: &Arc<Self>,
        shelved: &Shelved,
        handle: &Handle,
    ) -> Result<(), WireError> {
        if self.closing.is_cancelled() {
            return Err(stopping());
        }
        let name = &shelved.descriptor.name;
        let conflict = |message: String| WireError::new(ErrorCode::Conflict, message);
        let needs = self.roll().needs();
        let ordered = order::starting(name, &needs);
        ordered.map_err(|disorder| conflict(disorder.sentence()))?;
        let mut found = None;
        if handle.rests() {
            // A file that is broken now says nothing of how to start it, whatever ships instead.
            if let Some(broken) = self.roll().shelf.broken_file(name) {
                return Err(conflict(unstartable(broken)));
            }
            let now = self.look_for(shelved).await;
            if let Found::Missing { why } = now {
                return Err(conflict(why));
            }
            // What it needs may take long, and what was found may change meanwhile.
            found = shelved.descriptor.needs.is_empty().then_some(now);
        }
        handle.tell(|done| Command::Start { found, done }).await;
        Ok(())
    }

    /// Stops these; each after those of them that need it.
    pub(super) async fn stop_these(&self, names: &[String]) {
        let (needs, handles) = {
            let roll = self.roll();
            (roll.needs(), roll.handles.clone())
        };
        let over = watch::Sender::new(BTreeSet::new());
        let stops = names.iter().filter_map(|name| {
            let handle = handles.get(name)?.clone();
            let place = |wanted: &String| names.iter().position(|it| it == wanted);
            let needs_it = |other: &&String| {
                let needed = needs.get(*other).is_some_and(|it| it.contains(name));
                // Earlier in the order, so that a circle ends too.
                needed && place(other) < place(name)
            };
            let before: BTreeSet<String> = names.iter().filter(needs_it).cloned().collect();
            let (over, mut seen) = (over.clone(), over.subscribe());
            Some(async move {
                // The sender lives as long as this does.
                let _ = seen.wait_for(|over| before.is_subset(over)).await;
                handle.tell(|done| Command::Stop { done }).await;
                gone(&handle).await;
                over.send_modify(|over| {
                    over.insert(name.clone());
                });
            })
        });
        futures_util::future::join_all(stops).await;
    }

    /// Waits for a view of a service.
    async fn until(
        &self,
        handle: &Handle,
        end: &CancellationToken,
        over: impl FnMut(&View) -> bool,
    ) -> Result<View, WireError> {
        let mut view = handle.view.clone();
        tokio::select! {
            seen = view.wait_for(over) => match seen {
                Ok(seen) => Ok(seen.clone()),
                Err(_) => Err(stopping()),
            },
            () = end.cancelled() => Err(stopping()),
        }
    }

    pub(super) async fn named(
        self: &Arc<Self>,
        name: &str,
    ) -> Result<(Arc<Shelved>, Handle), WireError> {
        self.refresh().await;
        let roll = self.roll();
        roll.find(name).ok_or_else(|| {
            if let Some(broken) = roll.shelf.broken_file(name) {
                return WireError::new(ErrorCode::Conflict, unstartable(broken));
            }
            let names: Vec<&str> = roll.handles.keys().map(String::as_str).collect();
            let known = if names.is_empty() {
                "There are none".to_owned()
            } else {
                format!("There are: {}", names.join(", "))
            };
            let shown: String = name.chars().take(NAME_CHARS_MAX).collect();
            let message = format!("No service is called '{shown}'. {known}.");
            WireError::new(ErrorCode::NotFound, message)
        })
    }
}

fn told_broken(broken: &BrokenFile) -> BrokenService {
    BrokenService {
        name: broken.name.clone(),
        file: broken.file.display().to_string(),
        problem: broken.problem.clone(),
    }
}

fn unstartable(broken: &BrokenFile) -> String {
    format!(
        "The file of the service '{}' is broken, so it cannot be started. {}",
        broken.name, broken.problem
    )
}

/// Waits until nothing of a service lives, or somebody wants it again.
async fn gone(handle: &Handle) {
    let mut view = handle.view.clone();
    // A keeper that is gone has stopped its service.
    let _ = view
        .wait_for(|view| view.status.state != ServiceState::Stopping)
        .await;
}

fn stopping() -> WireError {
    WireError::new(ErrorCode::ServiceUnavailable, "hob is stopping.")
}
