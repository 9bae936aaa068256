//! Admission of runs: parameters are checked, the text steers a run in progress or becomes a run of
//! its own, which is stored and queued.

use super::demo_limits;
use super::handlers::AgentHandlers;
use super::journal::SteeringText;
use super::live_runs::RunAction;
use super::settings;
use super::steering::may_join;
use hob_core::child_runs::CHILDREN_MAX;
use hob_core::turn::RunLimits;
use hob_models::ResolveError;
use hob_store::{NewRun, ParentLink, RunRow, StoreError};
use hob_tools::schema::Schema;
use hob_wire::id::SessionRef;
use hob_wire::limits::MESSAGE_BYTES_MAX;
use hob_wire::rooms::agent::{AgentRunParams, ContextPolicy, QueueMode};
use hob_wire::{ErrorCode, RunId, WireError};
use std::path::Path;

/// Most images of one task.
const IMAGES_MAX: usize = 32;
/// Bytes allowed for the JSON around a task and its images.
const CONTENT_MARGIN: usize = 64 * 1024;

impl AgentHandlers {
    /// Adds the text to the session's run in progress, if the caller wants that and there is one.
    pub(super) async fn try_steer(
        &self,
        params: &AgentRunParams,
    ) -> Result<Option<RunRow>, WireError> {
        if params.mode != Some(QueueMode::Steer) {
            return Ok(None);
        }
        let session = SessionRef::parse(&params.session_key);
        let store = &self.shared.deps.store;
        let session = match store.get_session(&session).await {
            Ok(session) => session,
            Err(StoreError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // A repeat: the store knows which run took the text, also after that run has ended.
        if let Some(key) = &params.idempotency_key
            && store
                .knows_run_key(&SessionRef::Id(session.id), key)
                .await?
        {
            return Ok(None);
        }
        let Some(live) = self.shared.live.find_by_session(session.id) else {
            return Ok(None);
        };
        let Some(run) = live.view().map(|view| view.run_id) else {
            return Ok(None);
        };
        if !self.may_join(params, &run).await? {
            return Ok(None);
        }
        let steering = SteeringText {
            text: params.task.clone(),
            images: params.images.clone(),
            key: params.idempotency_key.clone(),
        };
        match live.send_action(RunAction::Steer(steering)).await {
            Some(view) => Ok(Some(store.run(&view?.run_id).await?)),
            // The run just ended: the text becomes a run of its own.
            None => Ok(None),
        }
    }

    /// True if the text may be added to this run; false if the run cannot be read.
    async fn may_join(&self, sender: &AgentRunParams, run: &RunId) -> Result<bool, WireError> {
        let stored = self.shared.deps.store.run_params(run).await?;
        let stored = serde_json::from_value(stored);
        Ok(stored.is_ok_and(|run: AgentRunParams| may_join(sender, &run)))
    }

    pub(super) async fn accept_run(&self, params: AgentRunParams) -> Result<RunRow, WireError> {
        let limits = settings::limits(&self.shared.settings())
            .with_budget(&params.budget.unwrap_or_default());
        let of_channel = || params.channel.as_ref().map(|_| "channel".to_owned());
        let kind = params.kind.clone().or_else(of_channel);
        let id = self.shared.new_run_id();
        self.accept_run_as(id, kind, limits, params).await
    }

    /// Stores and queues a run with a given id, session kind and limits.
    pub(super) async fn accept_run_as(
        &self,
        id: RunId,
        kind: Option<String>,
        limits: RunLimits,
        params: AgentRunParams,
    ) -> Result<RunRow, WireError> {
        let settings = self.shared.settings();
        let json = serde_json::to_value(&params)
            .map_err(|error| WireError::new(ErrorCode::InvalidParams, error.to_string()))?;
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
            parent_link: params.parent.map(|parent| ParentLink {
                parent,
                label: params.label,
                children_max: CHILDREN_MAX,
            }),
        };
        let accepted = self.shared.deps.store.accept_run(new).await?;
        // A repeated request found its run, which is queued or ended already.
        if !accepted.duplicate {
            self.queue.wake(&accepted.run).await;
        }
        Ok(accepted.run)
    }

    pub(super) fn check_params(&self, params: &AgentRunParams) -> Result<(), WireError> {
        let wrong = |message: String| Err(WireError::new(ErrorCode::InvalidParams, message));
        if params.task.trim().is_empty() && params.images.is_empty() {
            return wrong("A run needs a task.".to_owned());
        }
        let pictures: usize = params.images.iter().map(|image| image.data.len()).sum();
        let bytes = params.task.len() + pictures + CONTENT_MARGIN;
        if params.images.len() > IMAGES_MAX || bytes > MESSAGE_BYTES_MAX {
            return wrong(format!(
                "A task and its images may take at most {MESSAGE_BYTES_MAX} bytes and {IMAGES_MAX} images."
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
        let models = self.shared.models();
        let found = models.resolve_for(params.model.as_deref(), !params.images.is_empty());
        let candidates = found.map_err(|error| no_model_error(&error))?;
        match candidates.first() {
            Some(first) => demo_limits::check(first, params),
            None => Ok(()),
        }
    }
}

/// The wire error for a missing or unknown model.
pub(crate) fn no_model_error(error: &ResolveError) -> WireError {
    let code = match error {
        ResolveError::NothingConfigured => ErrorCode::Conflict,
        ResolveError::UnknownName { .. } | ResolveError::UnknownProvider { .. } => {
            ErrorCode::InvalidParams
        }
    };
    let refusal = WireError::new(code, error.to_string());
    match error {
        // The reason code lets user interfaces explain how to get a first model.
        ResolveError::NothingConfigured => {
            refusal.with_details(serde_json::json!({ "reason": "no-model" }))
        }
        ResolveError::UnknownName { .. } | ResolveError::UnknownProvider { .. } => {
            refusal.with_details(serde_json::json!({ "reason": "unknown-model" }))
        }
    }
}
