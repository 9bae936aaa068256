//! Following a recipe.
//!
//! Invariants: what counts is only ever what was verified; however it ends, what was installed
//! before is still there or what is new is, whole; a failure leaves nothing else behind, a stop
//! leaves only verified files to go on from.

use super::archive::{make_folder, unpack};
use super::error::InstallError;
use super::fetch::{Client, command};
use super::recipe::{Fetch, Fetcher, Recipe, Step};
use super::site::{Site, free_bytes, verify};
use hob_exec::Spawner;
use hob_kit::world::Env;
use hob_wire::rooms::service::{InstallPlan, InstallProgress, InstallState, InstallStep};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Kept free beside what an installation needs.
const ROOM_SPARE_BYTES: u64 = 64 * 1024 * 1024;

/// One installation: what is to be done, and where.
#[derive(Clone, Debug)]
pub struct Installation {
    pub name: String,
    pub recipe: Recipe,
    pub site: Site,
    pub spawner: Spawner,
    /// Where a package client's own configuration comes from.
    pub env: Env,
    /// Tells the free room of the disk a folder lies on.
    pub free_bytes: fn(&Path) -> io::Result<u64>,
}

impl Installation {
    pub fn new(name: &str, recipe: Recipe, folder: PathBuf, spawner: Spawner, env: Env) -> Self {
        Installation {
            name: name.to_owned(),
            recipe,
            site: Site::new(folder),
            spawner,
            env,
            free_bytes,
        }
    }

    /// What it would do now.
    pub fn plan(&self) -> InstallPlan {
        let ready = self.site.is_made_by(&self.recipe);
        let fetched = self.site.fetched(&self.recipe);
        let steps = self.recipe.steps.iter();
        let steps = steps.map(|step| shown(step, ready, &fetched)).collect();
        let download_bytes = if ready { 0 } else { self.missing_bytes() };
        let obstacle = if ready { None } else { self.check_room().err() };
        InstallPlan {
            ready,
            steps,
            download_bytes,
            disk_bytes: self.recipe.disk_bytes,
            folder: self.site.installed().display().to_string(),
            licences: self.recipe.licences.clone(),
            obstacle: obstacle.map(|error| error.to_string()),
        }
    }

    /// How it looks before it begins.
    pub fn beginning(&self) -> InstallProgress {
        self.progress(0, 0)
    }

    /// Does it, telling how far it is. Cancelling `stop` ends it soon.
    pub async fn run(
        &self,
        tell: &watch::Sender<InstallProgress>,
        stop: &CancellationToken,
    ) -> Result<(), InstallError> {
        if self.site.is_made_by(&self.recipe) {
            return Ok(());
        }
        let done = self.follow(tell, stop).await;
        match done {
            Ok(()) | Err(InstallError::Stopped) => {}
            Err(_) => {
                let (site, recipe) = (self.site.clone(), self.recipe.clone());
                let _ = blocking(move || {
                    site.discard(&recipe);
                    Ok(())
                })
                .await;
            }
        }
        done
    }

    async fn follow(
        &self,
        tell: &watch::Sender<InstallProgress>,
        stop: &CancellationToken,
    ) -> Result<(), InstallError> {
        self.check_room()?;
        let (site, recipe) = (self.site.clone(), self.recipe.clone());
        blocking(move || site.begin(&recipe)).await?;
        let mut fetched_bytes = 0;
        for (index, step) in self.recipe.steps.iter().enumerate() {
            if stop.is_cancelled() {
                return Err(InstallError::Stopped);
            }
            tell.send_replace(self.progress(index, fetched_bytes));
            if let Step::Fetch(fetch) = step {
                let grow = |bytes| {
                    tell.send_replace(self.progress(index, fetched_bytes + bytes));
                };
                self.fetch(fetch, grow, stop).await?;
                fetched_bytes += fetch.bytes;
                tell.send_replace(self.progress(index, fetched_bytes));
            } else {
                let (work, stop) = (step.clone(), stop.clone());
                let (fetched, made) = (
                    self.site.fetched(&self.recipe),
                    self.site.made(&self.recipe),
                );
                blocking(move || take(&work, &fetched, &made, &stop)).await?;
            }
        }
        let (site, recipe) = (self.site.clone(), self.recipe.clone());
        blocking(move || site.finish(&recipe)).await
    }

    /// Fetches a file unless an earlier attempt has.
    async fn fetch(
        &self,
        fetch: &Fetch,
        grow: impl Fn(u64),
        stop: &CancellationToken,
    ) -> Result<(), InstallError> {
        let kept = self.site.fetched(&self.recipe).join(&fetch.file);
        match self.verified(kept.clone(), fetch, stop).await {
            Err(InstallError::Stopped) => return Err(InstallError::Stopped),
            Ok(()) => return Ok(()),
            Err(_) => {}
        }
        let tmp = self.site.tmp(&self.recipe);
        let emptied = tmp.clone();
        blocking(move || {
            fs::remove_dir_all(&emptied)
                .and_then(|()| make_folder(&emptied))
                .map_err(|error| InstallError::at(&emptied, &error))
        })
        .await?;
        let client = Client {
            spawner: &self.spawner,
            env: &self.env,
            folder: &tmp,
            stop,
        };
        client.fetch(fetch, grow).await?;
        let come = tmp.join(&fetch.file);
        self.verified(come.clone(), fetch, stop).await?;
        blocking(move || {
            File::open(&come)
                .and_then(|file| file.sync_all())
                .and_then(|()| fs::rename(&come, &kept))
                .map_err(|error| InstallError::at(&kept, &error))
        })
        .await
    }

    async fn verified(
        &self,
        path: PathBuf,
        fetch: &Fetch,
        stop: &CancellationToken,
    ) -> Result<(), InstallError> {
        let (bytes, sha256, stop) = (fetch.bytes, fetch.sha256.clone(), stop.clone());
        blocking(move || verify(&path, bytes, &sha256, &stop)).await
    }

    /// Whether the disk has room for all that is still to come.
    fn check_room(&self) -> Result<(), InstallError> {
        let folder = self.site.folder();
        // A package client may keep a copy of what it fetches in its cache.
        let needed = self.missing_bytes().saturating_mul(2) + self.recipe.disk_bytes;
        let needed_bytes = needed + ROOM_SPARE_BYTES;
        match (self.free_bytes)(folder) {
            Ok(free_bytes) if free_bytes < needed_bytes => Err(InstallError::NoRoom {
                folder: folder.display().to_string(),
                needed_bytes,
                free_bytes,
            }),
            // A disk that does not say is tried.
            _ => Ok(()),
        }
    }

    fn missing_bytes(&self) -> u64 {
        let fetched = self.site.fetched(&self.recipe);
        let missing = self.recipe.fetches().filter(|fetch| !has(&fetched, fetch));
        missing.map(|fetch| fetch.bytes).sum()
    }

    fn progress(&self, index: usize, bytes_done: u64) -> InstallProgress {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let steps = &self.recipe.steps;
        InstallProgress {
            name: self.name.clone(),
            state: InstallState::Running,
            step: count(index + 1),
            steps: count(steps.len()),
            about: steps.get(index).map(about).unwrap_or_default(),
            bytes_done,
            bytes_total: self.recipe.fetches().map(|fetch| fetch.bytes).sum(),
            message: None,
        }
    }
}

/// Does a step that needs no process.
fn take(
    work: &Step,
    fetched: &Path,
    made: &Path,
    stop: &CancellationToken,
) -> Result<(), InstallError> {
    match work {
        Step::Fetch(_) => Ok(()),
        Step::Unpack {
            file,
            archive,
            into,
            bytes_max,
        } => {
            let folder = made.join(into);
            make_folder(&folder).map_err(|error| InstallError::at(&folder, &error))?;
            unpack(&fetched.join(file), *archive, &folder, *bytes_max, stop)
        }
        Step::Check {
            file,
            bytes,
            sha256,
        } => verify(&made.join(file), *bytes, sha256, stop),
        Step::Write { file, content } => {
            let path = made.join(file);
            hob_kit::file::replace(&path, content.as_bytes())
                .map_err(|error| InstallError::at(&path, &error))
        }
    }
}

/// A step as a person is shown it.
fn shown(step: &Step, ready: bool, fetched: &Path) -> InstallStep {
    let mut shown = InstallStep {
        about: about(step),
        command: None,
        bytes: None,
        sha256: None,
        done: ready,
    };
    match step {
        Step::Fetch(fetch) => {
            let words = command(fetch, Path::new("FOLDER"));
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            shown.command = Some(words.join(" "));
            shown.bytes = Some(fetch.bytes);
            shown.sha256 = Some(fetch.sha256.clone());
            shown.done |= has(fetched, fetch);
        }
        Step::Check { bytes, sha256, .. } => {
            shown.bytes = Some(*bytes);
            shown.sha256 = Some(sha256.clone());
        }
        Step::Unpack { .. } | Step::Write { .. } => {}
    }
    shown
}

fn about(step: &Step) -> String {
    match step {
        Step::Fetch(fetch) => {
            let client = match fetch.by {
                Fetcher::Pip { .. } => "pip",
                Fetcher::Npm { .. } => "npm",
            };
            format!("Fetch {} {} with {client}", fetch.name, fetch.version)
        }
        Step::Unpack { file, .. } => format!("Unpack {file}"),
        Step::Check { file, .. } => format!("Check {file}"),
        Step::Write { file, .. } => format!("Write {file}"),
    }
}

/// Whether an earlier attempt fetched it; only verified files come to lie there.
fn has(fetched: &Path, fetch: &Fetch) -> bool {
    let there = fs::symlink_metadata(fetched.join(&fetch.file));
    there.is_ok_and(|there| there.is_file() && there.len() == fetch.bytes)
}

/// Works on a thread that may wait for a disk.
async fn blocking<T, F>(work: F) -> Result<T, InstallError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, InstallError> + Send + 'static,
{
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(InstallError::Disk {
            path: "the installation".to_owned(),
            why: error.to_string(),
        })
    })
}
