//! Runs a recipe.
//!
//! Invariants: only verified files are used; at every end either the old or the new installation is
//! there, completely; a failure leaves nothing else behind, and a stop leaves only verified files
//! to continue with.

use super::archive::{make_folder, unpack};
use super::error::InstallError;
use super::fetch::{PackageFetcher, command};
use super::recipe::{InstallRecipe, PackageClient, PackageFetch, RecipeStep};
use super::site::{InstallSite, free_bytes, verify};
use hob_exec::Spawner;
use hob_kit::host_environment::EnvVars;
use hob_wire::rooms::service::{InstallPlan, InstallProgress, InstallState, InstallStep};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Free space that must remain after an installation.
const ROOM_SPARE_BYTES: u64 = 64 * 1024 * 1024;

/// One installation: its recipe and its folder.
#[derive(Clone, Debug)]
pub struct Installation {
    pub name: String,
    pub recipe: InstallRecipe,
    pub site: InstallSite,
    pub spawner: Spawner,
    /// The environment with the package client's configuration.
    pub env: EnvVars,
    /// Returns the free space of the disk of a folder.
    pub free_bytes: fn(&Path) -> io::Result<u64>,
}

impl Installation {
    pub fn new(
        name: &str,
        recipe: InstallRecipe,
        folder: PathBuf,
        spawner: Spawner,
        env: EnvVars,
    ) -> Self {
        Installation {
            name: name.to_owned(),
            recipe,
            site: InstallSite::new(folder),
            spawner,
            env,
            free_bytes,
        }
    }

    /// Describes what [`Installation::run`] would do now.
    pub fn plan(&self) -> InstallPlan {
        let ready = self.site.is_made_by(&self.recipe);
        let fetched = self.site.fetched(&self.recipe);
        let steps = self.recipe.steps.iter();
        let steps = steps
            .map(|step| describe_step(step, ready, &fetched))
            .collect();
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

    /// The progress before the first step.
    pub fn initial_progress(&self) -> InstallProgress {
        self.progress(0, 0)
    }

    /// Runs the recipe and reports progress. Cancelling `stop` ends it soon.
    pub async fn run(
        &self,
        progress_sender: &watch::Sender<InstallProgress>,
        stop: &CancellationToken,
    ) -> Result<(), InstallError> {
        if self.site.is_made_by(&self.recipe) {
            return Ok(());
        }
        let done = self.follow_recipe(progress_sender, stop).await;
        match done {
            // A stop keeps the verified downloads for the next attempt.
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

    async fn follow_recipe(
        &self,
        progress_sender: &watch::Sender<InstallProgress>,
        stop: &CancellationToken,
    ) -> Result<(), InstallError> {
        // Before anything is written, so that a full disk is reported at once.
        self.check_room()?;
        let (site, recipe) = (self.site.clone(), self.recipe.clone());
        blocking(move || site.begin(&recipe)).await?;
        let mut fetched_bytes = 0;
        for (index, step) in self.recipe.steps.iter().enumerate() {
            if stop.is_cancelled() {
                return Err(InstallError::Stopped);
            }
            progress_sender.send_replace(self.progress(index, fetched_bytes));
            if let RecipeStep::Fetch(fetch) = step {
                let report_bytes = |bytes| {
                    progress_sender.send_replace(self.progress(index, fetched_bytes + bytes));
                };
                self.fetch(fetch, report_bytes, stop).await?;
                fetched_bytes += fetch.bytes;
                progress_sender.send_replace(self.progress(index, fetched_bytes));
            } else {
                let (work, stop) = (step.clone(), stop.clone());
                let (fetched, made) = (
                    self.site.fetched(&self.recipe),
                    self.site.made(&self.recipe),
                );
                blocking(move || run_step(&work, &fetched, &made, &stop)).await?;
            }
        }
        let (site, recipe) = (self.site.clone(), self.recipe.clone());
        blocking(move || site.finish(&recipe)).await
    }

    /// Downloads a file unless an earlier attempt has.
    async fn fetch(
        &self,
        fetch: &PackageFetch,
        report_bytes: impl Fn(u64),
        stop: &CancellationToken,
    ) -> Result<(), InstallError> {
        // The file of an earlier attempt may be damaged, so it is verified again.
        let kept = self.site.fetched(&self.recipe).join(&fetch.file);
        match self.verified(kept.clone(), fetch, stop).await {
            Err(InstallError::Stopped) => return Err(InstallError::Stopped),
            Ok(()) => return Ok(()),
            Err(_) => {}
        }
        // Files of an earlier client would count as progress, so the folder is emptied.
        let tmp = self.site.tmp(&self.recipe);
        let emptied = tmp.clone();
        blocking(move || {
            fs::remove_dir_all(&emptied)
                .and_then(|()| make_folder(&emptied))
                .map_err(|error| InstallError::at(&emptied, &error))
        })
        .await?;
        let client = PackageFetcher {
            spawner: &self.spawner,
            env: &self.env,
            folder: &tmp,
            stop,
        };
        client.fetch(fetch, report_bytes).await?;
        let fetched_file = tmp.join(&fetch.file);
        self.verified(fetched_file.clone(), fetch, stop).await?;
        // Synced before the rename: the name must never stand for a file with missing bytes.
        blocking(move || {
            File::open(&fetched_file)
                .and_then(|file| file.sync_all())
                .and_then(|()| fs::rename(&fetched_file, &kept))
                .map_err(|error| InstallError::at(&kept, &error))
        })
        .await
    }

    async fn verified(
        &self,
        path: PathBuf,
        fetch: &PackageFetch,
        stop: &CancellationToken,
    ) -> Result<(), InstallError> {
        let (bytes, sha256, stop) = (fetch.bytes, fetch.sha256.clone(), stop.clone());
        blocking(move || verify(&path, bytes, &sha256, &stop)).await
    }

    /// Returns an error if the disk lacks room for the remaining steps.
    fn check_room(&self) -> Result<(), InstallError> {
        let folder = self.site.folder();
        // Twice the download, because a package client may also keep a copy in its cache.
        let needed = self.missing_bytes().saturating_mul(2) + self.recipe.disk_bytes;
        let needed_bytes = needed + ROOM_SPARE_BYTES;
        match (self.free_bytes)(folder) {
            Ok(free_bytes) if free_bytes < needed_bytes => Err(InstallError::NoRoom {
                folder: folder.display().to_string(),
                needed_bytes,
                free_bytes,
            }),
            // If the free space is unknown, the installation is tried.
            _ => Ok(()),
        }
    }

    fn missing_bytes(&self) -> u64 {
        let fetched = self.site.fetched(&self.recipe);
        let missing = self
            .recipe
            .fetches()
            .filter(|fetch| !is_fetched(&fetched, fetch));
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
            about: steps.get(index).map(step_title).unwrap_or_default(),
            bytes_done,
            bytes_total: self.recipe.fetches().map(|fetch| fetch.bytes).sum(),
            message: None,
        }
    }
}

/// Runs a step that needs no process.
fn run_step(
    work: &RecipeStep,
    fetched: &Path,
    made: &Path,
    stop: &CancellationToken,
) -> Result<(), InstallError> {
    match work {
        RecipeStep::Fetch(_) => Ok(()),
        RecipeStep::Unpack {
            file,
            archive,
            into,
            bytes_max,
        } => {
            let folder = made.join(into);
            make_folder(&folder).map_err(|error| InstallError::at(&folder, &error))?;
            unpack(&fetched.join(file), *archive, &folder, *bytes_max, stop)
        }
        RecipeStep::Check {
            file,
            bytes,
            sha256,
        } => verify(&made.join(file), *bytes, sha256, stop),
        RecipeStep::Write { file, content } => {
            let path = made.join(file);
            hob_kit::atomic_file::replace(&path, content.as_bytes())
                .map_err(|error| InstallError::at(&path, &error))
        }
    }
}

/// Describes a step for the user.
fn describe_step(step: &RecipeStep, ready: bool, fetched: &Path) -> InstallStep {
    let mut shown = InstallStep {
        about: step_title(step),
        command: None,
        bytes: None,
        sha256: None,
        done: ready,
    };
    match step {
        RecipeStep::Fetch(fetch) => {
            let words = command(fetch, Path::new("FOLDER"));
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            shown.command = Some(words.join(" "));
            shown.bytes = Some(fetch.bytes);
            shown.sha256 = Some(fetch.sha256.clone());
            shown.done |= is_fetched(fetched, fetch);
        }
        RecipeStep::Check { bytes, sha256, .. } => {
            shown.bytes = Some(*bytes);
            shown.sha256 = Some(sha256.clone());
        }
        RecipeStep::Unpack { .. } | RecipeStep::Write { .. } => {}
    }
    shown
}

fn step_title(step: &RecipeStep) -> String {
    match step {
        RecipeStep::Fetch(fetch) => {
            let client = match fetch.client {
                PackageClient::Pip { .. } => "pip",
                PackageClient::Npm { .. } => "npm",
            };
            format!("Fetch {} {} with {client}", fetch.name, fetch.version)
        }
        RecipeStep::Unpack { file, .. } => format!("Unpack {file}"),
        RecipeStep::Check { file, .. } => format!("Check {file}"),
        RecipeStep::Write { file, .. } => format!("Write {file}"),
    }
}

/// Returns true if an earlier attempt downloaded the file. Only verified files are stored there.
fn is_fetched(fetched: &Path, fetch: &PackageFetch) -> bool {
    let there = fs::symlink_metadata(fetched.join(&fetch.file));
    there.is_ok_and(|there| there.is_file() && there.len() == fetch.bytes)
}

/// Runs work on a thread that may block.
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
