//! What callers ask of the room: run, abort, status, list, stats, resolve, allow.

use super::authority;
use super::family::{end_children, end_run};
use super::journal::Words;
use super::live::{Command, Told};
use super::queue::Queue;
use super::settings;
use super::shared::{Shared, refused};
use super::steering::may_join;
use super::views;
use crate::reserved::{self, Named};
use hob_bus::Call;
use hob_core::family::CHILDREN_MAX;
use hob_core::turn::Limits;
use hob_kit::failpoint;
use hob_models::BookError;
use hob_store::{Birth, NewRun, RunRow, StoreError};
use hob_tools::schema::Schema;
use hob_wire::id::SessionRef;
use hob_wire::limits::{MESSAGE_BYTES_MAX, PAGE_ROWS_MAX};
use hob_wire::rooms::agent::{
    Aborted, AgentStats, AllowParams, ContextPolicy, ListParams, QueueMode, ResolveParams,
    RunParams, RunReply, RunSelector, RunState, RunView, Runs, StatsParams, WaitParams,
};
use hob_wire::{ErrorCode, RunId, WireError};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Requests that wait for the end of a run, all together.
const WAITERS_MAX: usize = 4_096;
/// Pictures of one task.
const IMAGES_MAX: usize = 32;
/// What the JSON around a task's words and pictures takes at the most.
const CONTENT_MARGIN: usize = 64 * 1024;
/// The longest wait for the end of a run, below the silence that a caller takes for a failure.
const WAIT_MS_MAX: u64 = 240_000;
/// When to ask again about a run that is just being taken up.
pub(super) const RETRY_AFTER_MS: u64 = 500;

/// The room's handlers; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    pub(crate) shared: Arc<Shared>,
    pub(crate) queue: Queue,
    waiters: Arc<Semaphore>,
}

impl Requests {
    pub(crate) fn new(shared: &Arc<Shared>, queue: Queue) -> Self {
        Requests {
            shared: Arc::clone(shared),
            queue,
            waiters: Arc::new(Semaphore::new(WAITERS_MAX)),
        }
    }

    pub(crate) async fn run(self, call: Call, params: RunParams) -> Result<RunReply, WireError> {
        let wait = params.wait;
        let row = if let Some(parent) = params.parent {
            self.bear(&call, parent, params).await?
        } else {
            let named = Named {
                session: Some(&params.session_key),
                kind: params.kind.as_deref(),
                parent: None,
            };
            reserved::check(&call, &self.shared.parts.store, named).await?;
            let params = authority::narrow_run(&self.shared, &call, params).await?;
            self.check(&params)?;
            match self.steered(&params).await? {
                Some(row) => row,
                None => self.accept(params).await?,
            }
        };
        if !wait {
            return Ok(views::accepted(&row));
        }
        self.wait_while_asked(&call, row).await
    }

    pub(crate) async fn abort(self, selector: RunSelector) -> Result<Aborted, WireError> {
        if let Some(chat) = selector.run_id.and_then(|id| self.open_chat(id)) {
            chat.cancel();
            return Ok(Aborted { runs: Vec::new() });
        }
        let rows = match selector.run_id {
            Some(run) => vec![self.shared.parts.store.run(&run).await?],
            None => self.unfinished_of(&selector).await?,
        };
        let mut runs = Vec::new();
        // The newest first: the one at work last, so that no waiting one begins in between.
        for row in rows {
            let ended = end_run(&self.shared, &self.queue, row.id);
            let below = end_children(&self.shared, &self.queue, row.id);
            let (ended, below) = tokio::join!(ended, below);
            runs.extend(ended?);
            runs.extend(below);
        }
        Ok(Aborted { runs })
    }

    pub(crate) async fn status(self, selector: RunSelector) -> Result<RunView, WireError> {
        let store = &self.shared.parts.store;
        let row = match (selector.run_id, &selector.session_key) {
            (Some(run), _) => store.run(&run).await?,
            (None, Some(session)) => {
                let latest = store.latest_run(&SessionRef::parse(session)).await?;
                latest.ok_or_else(|| {
                    let message = format!("The session '{session}' has no run.");
                    refused(ErrorCode::NotFound, message)
                })?
            }
            (None, None) => return Err(nothing_selected()),
        };
        self.view(&row).await
    }

    pub(crate) async fn wait_for(
        self,
        call: Call,
        params: WaitParams,
    ) -> Result<RunView, WireError> {
        let row = self.shared.parts.store.run(&params.run_id).await?;
        let limit = params.wait_ms.unwrap_or(WAIT_MS_MAX).min(WAIT_MS_MAX);
        let wait = tokio::time::timeout(
            Duration::from_millis(limit),
            self.wait_while_asked(&call, row),
        );
        if let Ok(Err(refusal)) = wait.await {
            return Err(refusal);
        }
        let row = self.shared.parts.store.run(&params.run_id).await?;
        self.view(&row).await
    }

    pub(crate) async fn list(self, params: ListParams) -> Result<Runs, WireError> {
        let page = self.shared.parts.store.list_runs(params).await?;
        let view = |row: &RunRow| {
            let live = self.shared.live.find(&row.id).and_then(|live| live.view());
            let mut view = live.unwrap_or_else(|| RunView {
                running: false,
                ..views::view(row, Vec::new())
            });
            // A list is short; `agent.status` shows a run's calls.
            view.calls.clear();
            view
        };
        Ok(Runs {
            runs: page.runs.iter().map(view).collect(),
            next: page.next,
            damaged: page.damaged,
        })
    }

    pub(crate) async fn stats(self, _: StatsParams) -> Result<AgentStats, WireError> {
        let stats = self.shared.parts.store.run_stats().await?;
        Ok(AgentStats {
            runs: stats.runs,
            active: stats.active,
            waiting: stats.waiting,
            queued: stats.queued,
            cost: stats.cost,
        })
    }

    pub(crate) async fn resolve(self, params: ResolveParams) -> Result<RunView, WireError> {
        let command = Command::Resolve {
            call: params.call_id,
            answer: params.answer,
            result: params.result,
        };
        self.tell(params.run_id, command).await
    }

    pub(crate) async fn allow(self, params: AllowParams) -> Result<RunView, WireError> {
        let command = Command::Allow {
            micro_dollars: params.micro_dollars,
        };
        self.tell(params.run_id, command).await
    }

    async fn tell(&self, run: RunId, command: Command) -> Result<RunView, WireError> {
        if let Some(live) = self.shared.live.find(&run)
            && let Some(answer) = live.tell(command).await
        {
            return answer;
        }
        let row = self.shared.parts.store.run(&run).await?;
        if row.summary.state == RunState::Done {
            let message = "The run has ended; there is nothing to answer.";
            return Err(refused(ErrorCode::Conflict, message));
        }
        let message = "The run is being taken up again. Try again in a moment.";
        Err(refused(ErrorCode::ServiceUnavailable, message).retry_after(RETRY_AFTER_MS))
    }

    /// Hands the words to the run of that session, if it has one under way and that is wanted.
    async fn steered(&self, params: &RunParams) -> Result<Option<RunRow>, WireError> {
        if params.mode != Some(QueueMode::Steer) {
            return Ok(None);
        }
        let session = SessionRef::parse(&params.session_key);
        let store = &self.shared.parts.store;
        let session = match store.get_session(&session).await {
            Ok(session) => session,
            Err(StoreError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // Said before: the store knows which run has them, also after that run has ended.
        if let Some(key) = &params.idempotency_key
            && store
                .knows_run_key(&SessionRef::Id(session.id), key)
                .await?
        {
            return Ok(None);
        }
        let Some(live) = self.shared.live.of_session(session.id) else {
            return Ok(None);
        };
        let Some(run) = live.view().map(|view| view.run_id) else {
            return Ok(None);
        };
        if !self.may_join(params, &run).await? {
            return Ok(None);
        }
        let words = Words {
            text: params.task.clone(),
            images: params.images.clone(),
            key: params.idempotency_key.clone(),
        };
        match live.tell(Command::Steer(words)).await {
            Some(view) => Ok(Some(store.run(&view?.run_id).await?)),
            // It ended a moment ago: the words become a run of their own.
            None => Ok(None),
        }
    }

    /// Whether words may be said inside this run; one that cannot be read is not joined.
    async fn may_join(&self, words: &RunParams, run: &RunId) -> Result<bool, WireError> {
        if failpoint::broken(98) {
            return Ok(true);
        }
        let kept = self.shared.parts.store.run_params(run).await?;
        let kept = serde_json::from_value(kept);
        Ok(kept.is_ok_and(|run: RunParams| may_join(words, &run)))
    }

    async fn accept(&self, params: RunParams) -> Result<RunRow, WireError> {
        let mut limits = settings::limits(&self.shared.settings());
        if !failpoint::broken(19) {
            limits = limits.with(&params.budget.unwrap_or_default());
        }
        let of_channel = || params.channel.as_ref().map(|_| "channel".to_owned());
        let kind = params.kind.clone().or_else(of_channel);
        let id = self.shared.new_run_id();
        self.accept_as(id, kind, limits, params).await
    }

    /// Accepts a run with an id, a kind of session and bounds that are settled.
    pub(super) async fn accept_as(
        &self,
        id: RunId,
        kind: Option<String>,
        limits: Limits,
        params: RunParams,
    ) -> Result<RunRow, WireError> {
        let settings = self.shared.settings();
        let json = serde_json::to_value(&params)
            .map_err(|error| refused(ErrorCode::InvalidParams, error.to_string()))?;
        let new = NewRun {
            id,
            session: params.session_key,
            kind,
            fork: params.context == Some(ContextPolicy::Fork),
            task: params.task,
            params: json,
            limits,
            mode: params.mode.unwrap_or_default(),
            queue_max: u32::try_from(settings.u64("agent.queue_max")).unwrap_or(u32::MAX),
            idempotency_key: params.idempotency_key,
            birth: params.parent.map(|parent| Birth {
                parent,
                label: params.label,
                children_max: CHILDREN_MAX,
            }),
        };
        let accepted = self.shared.parts.store.accept_run(new).await?;
        if !accepted.duplicate {
            self.queue.look(&accepted.run).await;
        }
        Ok(accepted.run)
    }

    /// As [`Requests::wait`], but no longer than somebody wants to know.
    async fn wait_while_asked(&self, call: &Call, row: RunRow) -> Result<RunReply, WireError> {
        tokio::select! {
            reply = self.wait(row) => reply,
            () = call.abandoned.cancelled() => {
                Err(refused(ErrorCode::Cancelled, "Nobody waits for the run any more."))
            }
        }
    }

    /// Answers at the end of the run.
    async fn wait(&self, row: RunRow) -> Result<RunReply, WireError> {
        let _waiting = self.waiters.try_acquire().map_err(|_| {
            let message = format!(
                "{WAITERS_MAX} requests wait for runs already. The run {} goes on; ask for its status.",
                row.id
            );
            refused(ErrorCode::Overloaded, message).retry_after(RETRY_AFTER_MS)
        })?;
        let run = row.id;
        let mut waiter = self.shared.live.wait_for(run);
        // Looked at after its place was taken, so that an end in between is not missed.
        let row = self.shared.parts.store.run(&run).await?;
        if row.summary.state == RunState::Done {
            drop(waiter);
            self.shared.live.put_down(&run);
            return Ok(views::ended(&views::view(&row, Vec::new())));
        }
        let told = tokio::select! {
            told = waiter.told() => told,
            () = self.gets_no_turn(run) => Some(Told::Left),
        };
        match told {
            Some(Told::Ended(view)) => Ok(views::ended(&view)),
            Some(Told::Stuck(reason)) => {
                let message = format!("Run {run} cannot go on now: {reason}");
                Err(refused(ErrorCode::Internal, message))
            }
            Some(Told::Left) | None => {
                let message =
                    format!("hob is closing. Run {run} is kept and goes on when it is back.");
                Err(refused(ErrorCode::ServiceUnavailable, message).retry_after(RETRY_AFTER_MS))
            }
        }
    }

    /// Ends when hob stops and nobody drives the run: it gets no turn any more.
    async fn gets_no_turn(&self, run: RunId) {
        let tasks = &self.shared.parts.tasks;
        tasks.drain_token().cancelled().await;
        let live = self.shared.live.find(&run);
        if live.is_some_and(|live| live.view().is_some()) {
            // Its driver says how far it comes, as long as there is time.
            tasks.stopping().await;
        }
    }

    async fn view(&self, row: &RunRow) -> Result<RunView, WireError> {
        if row.summary.state != RunState::Done
            && let Some(view) = self.shared.live.find(&row.id).and_then(|live| live.view())
        {
            return Ok(view);
        }
        Ok(views::from_store(&self.shared.parts.store, row).await?)
    }

    /// The runs of a session that have not ended, the newest first.
    async fn unfinished_of(&self, selector: &RunSelector) -> Result<Vec<RunRow>, WireError> {
        let Some(session_key) = selector.session_key.clone() else {
            return Err(nothing_selected());
        };
        let mut params = ListParams {
            session_key: Some(session_key),
            limit: Some(PAGE_ROWS_MAX),
            ..ListParams::default()
        };
        let mut rows = Vec::new();
        loop {
            let page = self.shared.parts.store.list_runs(params.clone()).await?;
            let live = |row: &RunRow| row.summary.state != RunState::Done;
            // They end in the order they came, so behind one that has ended all others have.
            let all_live = page.runs.iter().all(live);
            rows.extend(page.runs.into_iter().filter(live));
            match page.next.filter(|_| all_live) {
                Some(next) => params.before = Some(next),
                None => return Ok(rows),
            }
        }
    }

    fn open_chat(&self, id: RunId) -> Option<tokio_util::sync::CancellationToken> {
        let chats = self.shared.chats.lock();
        let chats = chats.unwrap_or_else(PoisonError::into_inner);
        chats.get(&id).cloned()
    }

    pub(super) fn check(&self, params: &RunParams) -> Result<(), WireError> {
        let wrong = |message: String| Err(refused(ErrorCode::InvalidParams, message));
        if params.task.trim().is_empty() && params.images.is_empty() {
            return wrong("A run needs a task.".to_owned());
        }
        let pictures: usize = params.images.iter().map(|image| image.data.len()).sum();
        let bytes = params.task.len() + pictures + CONTENT_MARGIN;
        if params.images.len() > IMAGES_MAX || bytes > MESSAGE_BYTES_MAX {
            return wrong(format!(
                "A task and its pictures may take {MESSAGE_BYTES_MAX} bytes, with {IMAGES_MAX} pictures at the most."
            ));
        }
        let folder = params.workspace.as_deref();
        if folder.is_some_and(|folder| !Path::new(folder).is_absolute()) {
            return wrong("`workspace` must be an absolute path.".to_owned());
        }
        if let Some(schema) = &params.schema
            && let Err(unfit) = Schema::new(schema)
        {
            return wrong(format!("The schema cannot be used. {unfit}"));
        }
        let book = self.shared.book();
        let found = book.resolve_for(params.model.as_deref(), !params.images.is_empty());
        found.map(drop).map_err(|error| no_model(&error))
    }
}

/// Why no model can be asked, in the wire's words.
pub(crate) fn no_model(error: &BookError) -> WireError {
    let code = match error {
        BookError::NothingConfigured => ErrorCode::Conflict,
        BookError::UnknownName { .. } | BookError::UnknownProvider { .. } => {
            ErrorCode::InvalidParams
        }
    };
    let refusal = refused(code, error.to_string());
    match error {
        // What a face can say better: how to get a first model.
        BookError::NothingConfigured => {
            refusal.with_details(serde_json::json!({ "reason": "no-model" }))
        }
        BookError::UnknownName { .. } | BookError::UnknownProvider { .. } => {
            refusal.with_details(serde_json::json!({ "reason": "unknown-model" }))
        }
    }
}

fn nothing_selected() -> WireError {
    let message = "Name a run (`runId`) or a session (`sessionKey`).";
    refused(ErrorCode::InvalidParams, message)
}
