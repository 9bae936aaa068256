//! `service.install` and `service.uninstall`: what a recipe brings, at a person's word.
//!
//! Invariants: nothing begins without a yes and its record; one installation of a service is under
//! way at a time, and who asks again joins it; before it is told as done, what it brought can be
//! started; when the daemon stops, it leaves verified files to go on from.

use super::Shared;
use hob_core::permission::recorded;
use hob_services::install::{InstallError, Installation, Site};
use hob_services::{Entry, Found, Shelved};
use hob_store::{Judgement, NewEntry};
use hob_wire::rooms::service::{
    InstallParams, InstallPlan, InstallProgress, InstallState, Installing, ServiceInstallProgress,
    Uninstalled,
};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Between two events of one installation.
const PACE: Duration = Duration::from_millis(100);

/// Installations under way, and how the last one of each service ended.
#[derive(Debug, Default)]
pub(super) struct Installations {
    // A std mutex: held to look up or change the table, never over an await.
    jobs: Mutex<BTreeMap<String, Job>>,
    /// Held while one begins or is undone, so that neither meets the other half-way.
    changing: tokio::sync::Mutex<()>,
}

#[derive(Clone, Debug)]
struct Job {
    plan: InstallPlan,
    progress: watch::Receiver<InstallProgress>,
    stop: CancellationToken,
}

impl Job {
    fn now(&self) -> InstallProgress {
        self.progress.borrow().clone()
    }

    fn runs(&self) -> bool {
        self.now().state == InstallState::Running
    }
}

impl Installations {
    /// An installation under way, or how the last one failed.
    pub(super) fn told(&self, name: &str) -> Option<InstallProgress> {
        let progress = self.job(name)?.now();
        (progress.state != InstallState::Done).then_some(progress)
    }

    fn job(&self, name: &str) -> Option<Job> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.get(name).cloned()
    }

    fn put(&self, name: &str, job: Option<Job>) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        match job {
            Some(job) => jobs.insert(name.to_owned(), job),
            None => jobs.remove(name),
        };
    }
}

impl Shared {
    /// The plan, and with a yes its beginning.
    pub(super) async fn install(
        self: &Arc<Self>,
        by: &str,
        params: &InstallParams,
    ) -> Result<Installing, WireError> {
        let (shelved, _) = self.named(&params.name).await?;
        let name = &shelved.descriptor.name;
        let entry = installable(&shelved)?;
        let _changing = self.installations.changing.lock().await;
        let under_way = self.installations.job(name).filter(Job::runs);
        if let Some(job) = under_way {
            return Ok(Installing {
                name: name.clone(),
                progress: Some(job.now()),
                plan: job.plan,
            });
        }
        let found = self.look_for(&shelved).await;
        let (plan, installation) = self.plan(name, entry, &found).await;
        let mut answer = Installing {
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
        self.record(by, "service.install", &matter).await?;
        answer.progress = Some(self.begin(installation, &answer.plan));
        Ok(answer)
    }

    /// Removes what installing brought, an installation under way included.
    pub(super) async fn uninstall(
        self: &Arc<Self>,
        by: &str,
        name: &str,
    ) -> Result<Uninstalled, WireError> {
        let (shelved, handle) = self.named(name).await?;
        let name = &shelved.descriptor.name;
        installable(&shelved)?;
        let _changing = self.installations.changing.lock().await;
        let site = Site::new(self.parts.home.service(name));
        let job = self.installations.job(name).filter(Job::runs);
        if job.is_none() && site.look().is_none() {
            let what = match self.look_for(&shelved).await {
                Found::Running { what, .. } | Found::Command { what, .. } => Some(what),
                Found::Missing { .. } => None,
            };
            if let Some(what) = what {
                let message =
                    format!("'{name}' is {what}, which hob did not install and does not remove.");
                return Err(conflict(message));
            }
        }
        let matter = json!({ "service": name });
        self.record(by, "service.uninstall", &matter).await?;
        if let Some(mut job) = job {
            job.stop.cancel();
            let ended = |progress: &InstallProgress| progress.state != InstallState::Running;
            // A job that is gone has ended too.
            let _ = job.progress.wait_for(ended).await;
        }
        let adopted = handle.view.borrow().adopted;
        if !adopted {
            self.stop(name).await?;
        }
        let removed = tokio::task::spawn_blocking(move || site.remove()).await;
        let removed = removed.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        let freed_bytes = removed.map_err(|error| {
            let message = format!("Not all of '{name}' could be removed: {error}.");
            WireError::new(ErrorCode::Internal, message)
        })?;
        self.installations.put(name, None);
        self.look_again().await;
        Ok(Uninstalled {
            name: name.clone(),
            freed_bytes,
        })
    }

    /// What installing would do; without an installation the plan has an obstacle.
    async fn plan(
        &self,
        name: &str,
        entry: Entry,
        found: &Found,
    ) -> (InstallPlan, Option<Installation>) {
        let parts = &self.parts;
        let settings = self.settings();
        let place = self.place(&settings);
        let folder = parts.home.service(name);
        let site = Site::new(folder.clone());
        // Something else that serves is as good; a newer recipe than was installed is not there.
        let usable = !matches!(found, Found::Missing { .. }) && site.look().is_none();
        let recipe = match entry.install {
            Some(install) => install(&place).await,
            None => Err(String::new()),
        };
        match recipe {
            Ok(recipe) => {
                let (spawner, env) = (parts.spawner.clone(), parts.env.clone());
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

    fn begin(self: &Arc<Self>, installation: Installation, plan: &InstallPlan) -> InstallProgress {
        let (tell, told) = watch::channel(installation.beginning());
        let job = Job {
            plan: plan.clone(),
            progress: told.clone(),
            stop: self.closing.child_token(),
        };
        let beginning = job.now();
        let stop = job.stop.clone();
        self.installations.put(&installation.name, Some(job));
        let shared = Arc::clone(self);
        self.parts.tasks.spawn("install", async move {
            let work = async {
                let done = installation.run(&tell, &stop).await;
                shared.finish(&tell, done).await;
            };
            tokio::join!(work, shared.tell(told));
        });
        beginning
    }

    async fn finish(
        self: &Arc<Self>,
        tell: &watch::Sender<InstallProgress>,
        done: Result<(), InstallError>,
    ) {
        let mut last = tell.borrow().clone();
        match done {
            Ok(()) => {
                (last.step, last.bytes_done) = (last.steps, last.bytes_total);
                last.state = InstallState::Done;
                // Who hears that it is done may use it at once.
                self.look_again().await;
            }
            Err(error) => {
                let service = &last.name;
                tracing::warn!(service, "not installed: {error}");
                last.state = InstallState::Failed;
                last.message = Some(error.to_string());
            }
        }
        tell.send_replace(last);
    }

    /// Tells how far an installation is, not too often, and always how it ended.
    async fn tell(&self, mut told: watch::Receiver<InstallProgress>) {
        loop {
            let progress = told.borrow_and_update().clone();
            self.emitter.emit::<ServiceInstallProgress>(None, &progress);
            if progress.state != InstallState::Running {
                return;
            }
            tokio::time::sleep(PACE).await;
            if told.changed().await.is_err() {
                return;
            }
        }
    }

    /// Records what a person does; without its record it is not done.
    async fn record(&self, by: &str, act: &str, matter: &Value) -> Result<(), WireError> {
        let mask = &self.parts.mask;
        let entry = NewEntry {
            act: "own-act",
            by: by.to_owned(),
            session_key: None,
            run_id: None,
            tool: Some(act.to_owned()),
            matter: recorded(matter, &|text| mask.apply(text).into_owned()),
        };
        let judgement = Judgement {
            entries: vec![entry],
            ..Judgement::default()
        };
        self.parts.store.judge(judgement).await?;
        Ok(())
    }
}

/// How hob installs it; an error if it does not.
fn installable(shelved: &Shelved) -> Result<Entry, WireError> {
    let name = &shelved.descriptor.name;
    if let Some(file) = &shelved.file {
        return Err(conflict(format!(
            "'{name}' is described in {}; hob neither installs nor removes it.",
            file.display()
        )));
    }
    let entry = shelved.entry.filter(|entry| entry.install.is_some());
    entry.ok_or_else(|| conflict(format!("There is nothing to install for '{name}'.")))
}

fn conflict(message: String) -> WireError {
    WireError::new(ErrorCode::Conflict, message)
}
