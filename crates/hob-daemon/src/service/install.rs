//! `service.install` and `service.uninstall`.
//!
//! Invariants: nothing begins without a yes and an audit entry; a service has one installation at a
//! time, and a second request joins it; when it is reported as done, the service can be started;
//! when the daemon stops, verified files stay, and the next attempt continues from them.

use super::ServiceContext;
use hob_bus::RequestContext;
use hob_core::permission::to_audit_value;
use hob_services::install::{InstallError, InstallSite, Installation};
use hob_services::{CatalogService, FoundService, ShippedService};
use hob_store::{AuditedDecision, NewAuditEntry};
use hob_wire::rooms::service::{
    InstallPlan, InstallProgress, InstallState, ServiceInstallParams, ServiceInstallProgress,
    ServiceInstallResult, ServiceSelector, ServiceUninstallResult,
};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The least time between two progress events.
const EMIT_INTERVAL: Duration = Duration::from_millis(100);

/// Running installations, and the last result of each service.
#[derive(Debug, Default)]
pub(super) struct InstallJobs {
    // A std mutex: held to look up or change the table, never over an await.
    jobs: Mutex<BTreeMap<String, InstallJob>>,
    /// Held while an installation begins or is removed, so that the two do not overlap.
    changing: tokio::sync::Mutex<()>,
}

#[derive(Clone, Debug)]
struct InstallJob {
    plan: InstallPlan,
    progress: watch::Receiver<InstallProgress>,
    stop: CancellationToken,
}

impl InstallJob {
    fn snapshot(&self) -> InstallProgress {
        self.progress.borrow().clone()
    }

    fn is_running(&self) -> bool {
        self.snapshot().state == InstallState::Running
    }
}

impl InstallJobs {
    /// Returns the progress of a running or failed installation.
    pub(super) fn find_unfinished(&self, name: &str) -> Option<InstallProgress> {
        let progress = self.find(name)?.snapshot();
        (progress.state != InstallState::Done).then_some(progress)
    }

    fn find(&self, name: &str) -> Option<InstallJob> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.get(name).cloned()
    }

    fn set(&self, name: &str, job: Option<InstallJob>) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        match job {
            Some(job) => jobs.insert(name.to_owned(), job),
            None => jobs.remove(name),
        };
    }
}

impl ServiceContext {
    /// Returns the plan, and starts the installation if the caller said yes.
    pub(super) async fn install(
        self: &Arc<Self>,
        call: RequestContext,
        params: ServiceInstallParams,
    ) -> Result<ServiceInstallResult, WireError> {
        let (service, _) = self.find_named(&params.name).await?;
        let name = &service.descriptor.name;
        let entry = install_entry(&service)?;
        let _guard = self.install_jobs.changing.lock().await;
        let under_way = self.install_jobs.find(name).filter(InstallJob::is_running);
        if let Some(job) = under_way {
            return Ok(ServiceInstallResult {
                name: name.clone(),
                progress: Some(job.snapshot()),
                plan: job.plan,
            });
        }
        let found = self.find_service(&service).await;
        let (plan, installation) = self.install_plan(name, entry, &found).await;
        let mut answer = ServiceInstallResult {
            name: name.clone(),
            plan,
            progress: None,
        };
        if !params.yes || answer.plan.ready {
            return Ok(answer);
        }
        let installation = match (installation, &answer.plan.obstacle) {
            (Some(installation), None) => installation,
            (_, obstacle) => return Err(conflict(obstacle.clone().unwrap_or_default())),
        };
        if self.closing.is_cancelled() {
            let message = "hob is stopping.";
            return Err(WireError::new(ErrorCode::ServiceUnavailable, message));
        }
        let fetches = installation.recipe.fetches();
        let packages: Vec<_> = fetches
            .map(|fetch| format!("{} {}", fetch.name, fetch.version))
            .collect();
        let matter = json!({ "service": name, "packages": packages });
        self.record(&call.caller, "service.install", &matter)
            .await?;
        answer.progress = Some(self.start_install(installation, &answer.plan));
        Ok(answer)
    }

    /// Removes what was installed. Stops a running installation first.
    pub(super) async fn uninstall(
        self: &Arc<Self>,
        call: RequestContext,
        params: ServiceSelector,
    ) -> Result<ServiceUninstallResult, WireError> {
        let (service, handle) = self.find_named(&params.name).await?;
        let name = &service.descriptor.name;
        install_entry(&service)?;
        let _guard = self.install_jobs.changing.lock().await;
        let site = InstallSite::new(self.deps.home.service(name));
        let job = self.install_jobs.find(name).filter(InstallJob::is_running);
        if job.is_none() && site.read_record().is_none() {
            let what = match self.find_service(&service).await {
                FoundService::Running { what, .. } | FoundService::Command { what, .. } => {
                    Some(what)
                }
                FoundService::Missing { .. } => None,
            };
            if let Some(what) = what {
                let message =
                    format!("'{name}' is {what}; hob did not install it and does not remove it.");
                return Err(conflict(message));
            }
        }
        let matter = json!({ "service": name });
        let by = &call.caller;
        self.record(by, "service.uninstall", &matter).await?;
        if let Some(mut job) = job {
            job.stop.cancel();
            let ended = |progress: &InstallProgress| progress.state != InstallState::Running;
            // Fails only if the job's task is gone, and then it has ended too.
            let _ = job.progress.wait_for(ended).await;
        }
        // A server that hob did not start is left running.
        let adopted = handle.view.borrow().adopted;
        if !adopted {
            self.stop(ServiceSelector { name: name.clone() }).await?;
        }
        let removed = tokio::task::spawn_blocking(move || site.remove()).await;
        let removed = removed.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        let freed_bytes = removed.map_err(|error| {
            let message = format!("Not all of '{name}' could be removed: {error}.");
            WireError::new(ErrorCode::Internal, message)
        })?;
        self.install_jobs.set(name, None);
        self.refresh_found().await;
        Ok(ServiceUninstallResult {
            name: name.clone(),
            freed_bytes,
        })
    }

    /// Returns what an installation would do. Without an installation, the plan names the obstacle.
    async fn install_plan(
        &self,
        name: &str,
        entry: ShippedService,
        found: &FoundService,
    ) -> (InstallPlan, Option<Installation>) {
        let deps = &self.deps;
        let settings = self.settings();
        let place = self.place(&settings);
        let folder = deps.home.service(name);
        let site = InstallSite::new(folder.clone());
        // A server from elsewhere is as good as an installed one. What hob installed itself is checked
        // against the recipe instead, which may be newer.
        let usable = !matches!(found, FoundService::Missing { .. }) && site.read_record().is_none();
        let recipe = match entry.install {
            Some(install) => install(&place).await,
            None => Err(String::new()),
        };
        match recipe {
            Ok(recipe) => {
                let (spawner, env) = (self.spawner.clone(), deps.env.clone());
                let installation = Installation::new(name, recipe, folder, spawner, env);
                let mut plan = installation.plan();
                plan.ready |= usable;
                (plan, Some(installation))
            }
            Err(obstacle) => {
                let plan = InstallPlan {
                    ready: usable,
                    folder: site.installed().display().to_string(),
                    obstacle: (!usable).then_some(obstacle),
                    ..InstallPlan::default()
                };
                (plan, None)
            }
        }
    }

    fn start_install(
        self: &Arc<Self>,
        installation: Installation,
        plan: &InstallPlan,
    ) -> InstallProgress {
        let (sender, receiver) = watch::channel(installation.initial_progress());
        let job = InstallJob {
            plan: plan.clone(),
            progress: receiver.clone(),
            // A child token: the daemon's stop cancels the installation, but not the other way round.
            stop: self.closing.child_token(),
        };
        let initial = job.snapshot();
        let stop = job.stop.clone();
        // Entered before the task starts, so that a second request joins this installation.
        self.install_jobs.set(&installation.name, Some(job));
        let context = Arc::clone(self);
        // Not dropped at a stop: the installation itself sees `stop` and keeps only verified files.
        self.deps.tasks.spawn("install", async move {
            let work = async {
                let done = installation.run(&sender, &stop).await;
                context.publish_end(&sender, done).await;
            };
            tokio::join!(work, context.emit_progress(receiver));
        });
        initial
    }

    async fn publish_end(
        self: &Arc<Self>,
        sender: &watch::Sender<InstallProgress>,
        done: Result<(), InstallError>,
    ) {
        let mut last = sender.borrow().clone();
        match done {
            Ok(()) => {
                (last.step, last.bytes_done) = (last.steps, last.bytes_total);
                last.state = InstallState::Done;
                // Before `done` is published, because a client may use the service at once.
                self.refresh_found().await;
            }
            Err(error) => {
                let service = &last.name;
                tracing::warn!(service, "not installed: {error}");
                last.state = InstallState::Failed;
                last.message = Some(error.to_string());
            }
        }
        sender.send_replace(last);
    }

    /// Emits the progress of an installation: paced, and always its end.
    async fn emit_progress(&self, mut receiver: watch::Receiver<InstallProgress>) {
        loop {
            let progress = receiver.borrow_and_update().clone();
            self.emitter.emit::<ServiceInstallProgress>(None, &progress);
            if progress.state != InstallState::Running {
                return;
            }
            tokio::time::sleep(EMIT_INTERVAL).await;
            if receiver.changed().await.is_err() {
                return;
            }
        }
    }

    /// Audits an act of the user. If that fails, the act does not happen.
    async fn record(&self, by: &str, act: &str, matter: &Value) -> Result<(), WireError> {
        let mask = &self.deps.mask;
        let entry = NewAuditEntry {
            act: "own-act",
            by: by.to_owned(),
            session_key: None,
            run_id: None,
            tool: Some(act.to_owned()),
            matter: to_audit_value(matter, &|text| mask.apply(text).into_owned()),
        };
        let judgement = AuditedDecision {
            entries: vec![entry],
            ..AuditedDecision::default()
        };
        self.deps.store.record_decision(judgement).await?;
        Ok(())
    }
}

/// Returns the entry of a service that hob can install.
fn install_entry(service: &CatalogService) -> Result<ShippedService, WireError> {
    let name = &service.descriptor.name;
    if let Some(file) = &service.file {
        return Err(conflict(format!(
            "'{name}' is defined in {}; hob neither installs nor removes it.",
            file.display()
        )));
    }
    let entry = service.shipped.filter(|entry| entry.install.is_some());
    entry.ok_or_else(|| conflict(format!("There is nothing to install for '{name}'.")))
}

fn conflict(message: String) -> WireError {
    WireError::new(ErrorCode::Conflict, message)
}
