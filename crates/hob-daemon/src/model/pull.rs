//! `model.pull` and `model.abort`: downloads as jobs of the daemon.
//!
//! Invariants: nothing begins without a yes and an audit entry; a model has one download at a time,
//! and a second request joins it; a download goes on when its caller leaves; when the daemon stops,
//! what was fetched stays, and the next pull continues there.

use super::ModelContext;
use super::fetched_models::{download_of, record, wire_error};
use super::pull_plan::{PreparedPull, PullWork};
use hob_bus::RequestContext;
use hob_services::models::{DiskAccess, FileTransfer, ModelFolder, OllamaPull, PullError};
use hob_wire::rooms::model_files::{
    DownloadState, ModelDownload, ModelFileSelector, ModelPullParams, ModelPullPlan,
    ModelPullResult, PullProgress,
};
use hob_wire::{ErrorCode, WireError};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The least time between two progress events.
const EMIT_INTERVAL: Duration = Duration::from_millis(100);
/// Downloads at the same time.
const PULLS_MAX: usize = 4;
/// Downloads that are remembered after their end.
const ENDED_MAX: usize = 64;

/// Running downloads, and the last result of each model.
#[derive(Debug, Default)]
pub(super) struct PullJobs {
    // A std mutex: held to look up or change the table, never over an await.
    jobs: Mutex<BTreeMap<String, PullJob>>,
    /// Held while a download begins or a model is deleted, so that the two do not overlap.
    pub(super) changing: tokio::sync::Mutex<()>,
}

#[derive(Clone, Debug)]
pub(super) struct PullJob {
    plan: ModelPullPlan,
    progress: watch::Receiver<ModelDownload>,
    stop: CancellationToken,
}

impl PullJob {
    pub(super) fn snapshot(&self) -> ModelDownload {
        self.progress.borrow().clone()
    }

    fn is_active(&self) -> bool {
        self.progress.borrow().state.is_active()
    }

    /// Stops the download and waits for its end.
    pub(super) async fn stop(mut self) -> ModelDownload {
        self.stop.cancel();
        let ended = |progress: &ModelDownload| !progress.state.is_active();
        // Fails only if the job's task is gone, and then it has ended too.
        let _ = self.progress.wait_for(ended).await;
        self.snapshot()
    }
}

impl PullJobs {
    /// All downloads since the daemon started, running or ended.
    pub(super) fn all(&self) -> Vec<ModelDownload> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.values().map(PullJob::snapshot).collect()
    }

    pub(super) fn find_active(&self, name: &str) -> Option<PullJob> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.get(name).filter(|job| job.is_active()).cloned()
    }

    pub(super) fn forget(&self, name: &str) -> bool {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.remove(name).is_some()
    }

    /// Enters a download; an error if there are too many.
    fn insert(&self, name: &str, job: PullJob) -> Result<(), WireError> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if jobs.values().filter(|job| job.is_active()).count() >= PULLS_MAX {
            let message = format!("{PULLS_MAX} downloads are under way; wait for one of them.");
            return Err(WireError::new(ErrorCode::Conflict, message));
        }
        if jobs.len() >= ENDED_MAX {
            jobs.retain(|_, job| job.is_active());
        }
        jobs.insert(name.to_owned(), job);
        Ok(())
    }
}

/// Returns the plan, and starts the download if the caller said yes.
pub(super) async fn pull(
    context: &Arc<ModelContext>,
    call: RequestContext,
    params: ModelPullParams,
) -> Result<ModelPullResult, WireError> {
    let _guard = context.pulls.changing.lock().await;
    let prepared = context.prepare_pull(&params.source).await?;
    let mut answer = ModelPullResult {
        id: prepared.name.clone(),
        plan: prepared.plan.clone(),
        progress: None,
    };
    if let Some(job) = context.pulls.find_active(&prepared.name) {
        answer.plan = job.plan.clone();
        answer.progress = Some(job.snapshot());
        return Ok(answer);
    }
    if !params.yes {
        return Ok(answer);
    }
    if let Some(obstacle) = &answer.plan.obstacle {
        return Err(WireError::new(ErrorCode::Conflict, obstacle.clone()));
    }
    let token = context.deps.tasks.drain_token();
    if token.is_cancelled() {
        let message = "hob is stopping.";
        return Err(WireError::new(ErrorCode::ServiceUnavailable, message));
    }
    let matter = json!({
        "source": prepared.source, "model": prepared.name, "sha256": prepared.plan.sha256,
    });
    record(context, &call.caller, "model.pull", &matter).await?;
    answer.progress = Some(start(context, prepared, token.child_token())?);
    Ok(answer)
}

/// Stops a download; what was fetched is kept.
pub(super) async fn abort(
    context: &ModelContext,
    params: ModelFileSelector,
) -> Result<ModelDownload, WireError> {
    let name = &params.name;
    let job = context.pulls.find_active(name).ok_or_else(|| {
        let shown: String = name.chars().take(64).collect();
        let message = format!("No download of '{shown}' is under way.");
        WireError::new(ErrorCode::NotFound, message)
    })?;
    Ok(job.stop().await)
}

fn start(
    context: &Arc<ModelContext>,
    prepared: PreparedPull,
    stop: CancellationToken,
) -> Result<ModelDownload, WireError> {
    let plan = prepared.plan.clone();
    let initial = ModelDownload {
        name: prepared.name.clone(),
        source: prepared.source.clone(),
        file: plan.file.clone(),
        state: DownloadState::Fetching,
        bytes_done: plan.bytes_done,
        bytes_total: plan.bytes.unwrap_or(0),
        bytes_per_second: None,
        seconds_left: None,
        licence: plan.licence.clone(),
        path: None,
        local: false,
        message: None,
    };
    let (sender, receiver) = watch::channel(initial.clone());
    let sender = Arc::new(sender);
    let job = PullJob {
        plan,
        progress: receiver.clone(),
        stop: stop.clone(),
    };
    // Entered before the task starts, so that a second request joins this download.
    context.pulls.insert(&prepared.name, job)?;
    let context = Arc::clone(context);
    let tasks = context.deps.tasks.clone();
    // Not dropped at a stop: the download itself sees `stop` and notes how far it came.
    tasks.spawn("model pull", async move {
        let work = async {
            let done = carry_out(&context, prepared, &sender, &stop).await;
            publish_end(&context, &sender, done);
        };
        tokio::join!(work, emit_progress(&context, receiver));
    });
    Ok(initial)
}

/// Fetches the model and makes it `local`. The result is the sentence about what could not be done
/// although the model is here.
async fn carry_out(
    context: &ModelContext,
    prepared: PreparedPull,
    progress: &Arc<watch::Sender<ModelDownload>>,
    stop: &CancellationToken,
) -> Result<Option<String>, PullError> {
    let chosen = match prepared.work {
        PullWork::Nothing { place, record } => context.use_file(&place.file(&record)).await,
        PullWork::File {
            client,
            place,
            record,
        } => {
            let mut transfer = FileTransfer {
                client,
                place,
                record: *record,
                clock: context.deps.clock.clone(),
                disk: DiskAccess::default(),
                retry_pause: FileTransfer::RETRY_PAUSE,
                progress: Arc::clone(progress),
            };
            transfer.run(stop).await?;
            let file = transfer.place.file(&transfer.record);
            context.use_file(&file).await
        }
        PullWork::Ollama { url, model } => {
            let pull = OllamaPull {
                http: &context.deps.http,
                url: &url,
                name: &model,
                clock: &context.deps.clock,
                progress,
            };
            pull.run(stop).await?;
            context.use_ollama(&model).await
        }
    };
    Ok(chosen.err().map(|error| {
        let name = &prepared.name;
        format!(
            "{name} is here, but could not be made `local`: {}",
            error.message
        )
    }))
}

fn publish_end(
    context: &ModelContext,
    sender: &watch::Sender<ModelDownload>,
    done: Result<Option<String>, PullError>,
) {
    let mut last = sender.borrow().clone();
    (last.bytes_per_second, last.seconds_left) = (None, None);
    match done {
        Ok(message) => {
            last.state = DownloadState::Complete;
            last.bytes_total = last.bytes_total.max(last.bytes_done);
            last.bytes_done = last.bytes_total;
            last.local = message.is_none();
            last.message = message;
        }
        Err(error) => {
            let model = &last.name;
            last.state = if error == PullError::Stopped {
                DownloadState::Partial
            } else {
                tracing::warn!(model, "not fetched: {error}");
                DownloadState::Failed
            };
            last.message = Some(error.to_string());
        }
    }
    // The disk says how much is really kept, which after a failure is less than was shown.
    let stored = ModelFolder::new(&context.deps.home).place(&last.name);
    let stored = stored.ok().and_then(|place| {
        let record = place.read().ok()??;
        Some((place, record))
    });
    if let Some((place, record)) = stored {
        let kept = download_of(context, &place, &record);
        last.bytes_done = kept.bytes_done;
        last.path = kept.path;
    }
    sender.send_replace(last);
}

/// Emits the progress of a download: paced, and always its end.
async fn emit_progress(context: &ModelContext, mut receiver: watch::Receiver<ModelDownload>) {
    loop {
        let progress = receiver.borrow_and_update().clone();
        context.emitter.emit::<PullProgress>(None, &progress);
        if !progress.state.is_active() {
            return;
        }
        tokio::time::sleep(EMIT_INTERVAL).await;
        if receiver.changed().await.is_err() {
            return;
        }
    }
}

/// The error of a request that names no model here.
pub(super) fn not_here(name: &str) -> WireError {
    let shown: String = name.chars().take(64).collect();
    wire_error(&PullError::NotFound(format!(
        "No fetched model is called '{shown}'. See `hob model downloads`."
    )))
}
