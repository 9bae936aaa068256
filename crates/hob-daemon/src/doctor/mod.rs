//! The checks of `daemon.doctor` and `hob doctor`. Each examines one thing and returns findings.
//!
//! - [`home`], [`disk`], [`tmux`], [`sandbox`]: this machine; `hob doctor` uses them without a daemon
//! - [`store`], `services`, `work`: what the rooms of the running daemon report
//!
//! Invariant: a check changes nothing and leaves nothing running.

pub mod disk;
pub mod home;
pub mod sandbox;
mod services;
pub mod store;
pub mod tmux;
mod work;

pub use store::AFTER_LOSS;

use crate::RoomContext;
use hob_bus::Caller;
use hob_exec::Spawner;
use hob_kit::settings::Settings;
use hob_wire::rooms::cron::{self, CronJob, CronListParams};
use hob_wire::rooms::daemon::{DaemonDoctorResult, DoctorFinding, FindingLevel};
use hob_wire::rooms::loops::{self, Loop, LoopListParams};
use hob_wire::rooms::service::{self, ServiceListParams};

/// Pages of jobs that are looked at; more than a home has.
const JOB_PAGES_MAX: usize = 100;

/// The setting that names tmux.
const TMUX: &str = "terminal.tmux";

/// What a check of the running daemon needs.
pub(crate) struct DaemonChecks<'a> {
    pub(crate) context: &'a RoomContext,
    /// Probes the sandbox. Without one, the sandbox is not examined.
    pub(crate) spawner: Option<&'a Spawner>,
    pub(crate) version: &'a str,
    /// The notes about the listeners.
    pub(crate) notes: &'a [String],
}

impl DaemonChecks<'_> {
    /// Examines everything that the daemon can know.
    pub(crate) async fn examine(&self) -> DaemonDoctorResult {
        let context = self.context;
        let mut findings = self.examine_files().await;
        let message = format!("version {} runs (pid {})", self.version, std::process::id());
        findings.push(DoctorFinding::well("daemon", message));
        findings.extend(self.notes.iter().map(|note| listener_note(note)));
        findings.extend(store::examine(&context.store.status()));
        let caller = context.bus.caller("daemon");
        // A room that does not answer has no findings: the daemon itself is then the problem.
        if let Ok(listed) = caller.call::<service::List>(&ServiceListParams {}).await {
            findings.extend(services::examine(&listed));
        }
        let (loops, jobs) = (list_loops(&caller).await, list_jobs(&caller).await);
        findings.extend(work::examine(&context.home, &loops, &jobs));
        if let Some(spawner) = self.spawner {
            findings.push(sandbox::examine(spawner.sandbox_support().await));
        }
        let settings = context.settings.borrow().clone();
        let tmux = settings.entry(TMUX).map(|_| settings.text(TMUX));
        findings.push(tmux::examine(&context.env, tmux).await);
        DaemonDoctorResult {
            findings,
            scheduled_work: work::is_scheduled(&loops, &jobs),
        }
    }

    /// Examines home, disk and config file, on a thread that may wait for the disk.
    async fn examine_files(&self) -> Vec<DoctorFinding> {
        let (home, env) = (self.context.home.clone(), self.context.env.clone());
        let settings = self.context.settings.borrow().clone();
        let examined = tokio::task::spawn_blocking(move || {
            let mut findings = home::examine(&home);
            findings.extend(disk::examine(home.root()));
            let loaded = Settings::load_home(settings.catalog(), &home, &env);
            let problem = loaded.err().map(|problems| problems.to_string());
            findings.push(config(&home.config_file(), problem));
            findings
        });
        examined.await.unwrap_or_default()
    }
}

/// The finding about the config file, with the problem of reading it.
pub fn config(file: &std::path::Path, problem: Option<String>) -> DoctorFinding {
    match problem {
        None if file.exists() => {
            DoctorFinding::well("config", format!("{} is sound", file.display()))
        }
        None => DoctorFinding::well("config", "no file; every setting has its default"),
        Some(problem) => DoctorFinding::bad(
            FindingLevel::Broken,
            "config",
            problem,
            format!(
                "Correct {}; hob config show lists the keys.",
                file.display()
            ),
        ),
    }
}

/// The finding from a note of the running daemon about its listeners.
fn listener_note(note: &str) -> DoctorFinding {
    // The first sentence is the problem, the rest the remedy.
    let (message, fix) = note.split_once(". ").unwrap_or((note, "hob restart"));
    DoctorFinding::bad(FindingLevel::Warning, "port", message, fix)
}

async fn list_loops(caller: &Caller) -> Vec<Loop> {
    let listed = caller.call::<loops::List>(&LoopListParams::default()).await;
    listed.map(|found| found.loops).unwrap_or_default()
}

async fn list_jobs(caller: &Caller) -> Vec<CronJob> {
    let mut jobs: Vec<CronJob> = Vec::new();
    for _ in 0..JOB_PAGES_MAX {
        let params = CronListParams {
            after: jobs.last().map(|job| job.terms.name.clone()),
            limit: None,
        };
        let Ok(page) = caller.call::<cron::List>(&params).await else {
            break;
        };
        jobs.extend(page.jobs);
        if !page.more {
            break;
        }
    }
    jobs
}
