//! Prepares the next model call of a run: chooses the model and reads as much of the past as its
//! window allows. The model is chosen first, because its window limits the read.
//!
//! Images influence the choice and are found only by reading. So the past is read for the model
//! that would be chosen without them, and read again only if another model is chosen and there is
//! more to read.

use super::conversation::{self, ContextMessage};
use super::driver::{RunDriver, StepAttempts};
use super::history::{HistoryReader, SessionPast};
use super::model_call::{self, ModelCall, PromptInput};
use super::replayed_run::ReplayedRun;
use super::system_prompt::{self, PromptSources};
use hob_core::failover::ModelFailover;
use hob_models::{ModelCandidate, ModelCatalog, ResolveError};
use hob_store::{NewMessage, StoreError};
use hob_wire::rooms::agent::SamplingParams;

/// Candidate models for a conversation, and the past read for the first of them.
struct ModelChoice {
    candidates: Vec<ModelCandidate>,
    /// The model whose window limited the read.
    read_for: ModelCandidate,
    past: SessionPast,
}

impl RunDriver {
    /// Prepares the next model call. The inner error is a sentence for the person.
    pub(super) async fn build_model_call(
        &mut self,
        replayed: &ReplayedRun,
        pending: &[NewMessage],
    ) -> Result<Result<ModelCall, String>, StoreError> {
        let pending = pending.iter().map(|message| {
            let content = message.content.clone();
            ContextMessage::new(message.role, content, true)
        });
        let pending: Vec<ContextMessage> = pending.collect();
        if replayed.turn.step_and_attempt().1 == 1 {
            // Failover and cut limits last for one step.
            self.attempts = StepAttempts::default();
        }
        let room_cap = self.attempts.room_cap;
        let shared = std::sync::Arc::clone(&self.shared);
        let history = HistoryReader {
            store: &shared.deps.store,
            row: &self.row,
            policy: self.params.context.unwrap_or_default(),
            pending: &pending,
        };
        let models = shared.models();
        let preference = ModelPreference {
            model: self.params.model.as_deref(),
            answered_last: replayed.answered_last.as_deref(),
        };
        let choice = match preference.choose(&models, &history, room_cap).await? {
            Ok(choice) => choice,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let policy = shared.retry_policy();
        let failover = &mut self.attempts.failover;
        let failover =
            failover.get_or_insert_with(|| ModelFailover::new(policy, choice.candidates.len()));
        let chosen = choice.candidates.get(failover.candidate());
        let candidate = chosen.unwrap_or(&choice.candidates[0]).clone();
        let past = choice.past_for(&candidate, &history, room_cap).await?;
        self.build_call_for(replayed, candidate, past).await
    }

    /// Builds the call. `&mut self`, because the driver's futures are not `Sync`.
    async fn build_call_for(
        &mut self,
        replayed: &ReplayedRun,
        candidate: ModelCandidate,
        past: SessionPast,
    ) -> Result<Result<ModelCall, String>, StoreError> {
        let mut tools = Vec::new();
        if model_call::takes_tools(&candidate) {
            tools = match self.tool_client.offered_tools().await {
                Ok(tools) => tools,
                Err(error) => return Ok(Err(format!("The tools cannot be listed: {error}"))),
            };
        }
        let sources = PromptSources {
            home: self.shared.deps.home.clone(),
            mask: self.shared.deps.mask.clone(),
            workspace: self.params.workspace.clone(),
            caller: self.params.system.clone(),
        };
        let system = system_prompt::build_layers(sources, Some(&past.session)).await;
        self.log_refused_files(&system.refused);
        let only_it = |model: &String| *model == candidate.id();
        let request = PromptInput {
            system: system.layers,
            callers_system: self.params.system.iter().cloned().collect(),
            messages: past.messages,
            unread: past.unread,
            tools,
            schema: self.params.schema.clone(),
            options: SamplingParams {
                thinking: self.params.thinking,
                ..SamplingParams::default()
            },
            keep_thoughts: replayed.answered_by.iter().all(only_it),
            assume_window: true,
            room_cap: self.attempts.room_cap,
            ..PromptInput::default()
        };
        let mut model_call = ModelCall::new(candidate, request);
        model_call.notes.extend(system.refused);
        Ok(Ok(model_call))
    }

    /// Logs refused prompt files once per run; the run's notes list them from then on.
    fn log_refused_files(&self, refused: &[String]) {
        let is_new = |reason: &&String| !self.summary.notes.contains(reason);
        for reason in refused.iter().filter(is_new) {
            tracing::warn!(run = %self.row.id, "{reason}");
        }
    }
}

/// The model that a run prefers.
#[derive(Clone, Copy)]
struct ModelPreference<'a> {
    model: Option<&'a str>,
    answered_last: Option<&'a str>,
}

impl ModelPreference<'_> {
    /// Reads the past for the model that would be used without images, then looks for images.
    async fn choose(
        &self,
        models: &ModelCatalog,
        history: &HistoryReader<'_>,
        room_cap: Option<u64>,
    ) -> Result<Result<ModelChoice, ResolveError>, StoreError> {
        let plain = self.candidates(models, false);
        // There may be a model for images and no other.
        let seeing = || self.candidates(models, true);
        let first = match plain.clone().or_else(|_| seeing()) {
            Ok(candidates) => candidates.into_iter().next(),
            Err(error) => return Ok(Err(error)),
        };
        let Some(read_for) = first else {
            return Ok(Err(ResolveError::NothingConfigured));
        };
        let tokens_max = model_call::history_tokens_max(&read_for, room_cap);
        let past = history.read(&read_for, tokens_max).await?;
        let candidates = if conversation::has_images(&past.messages) {
            seeing()
        } else {
            plain
        };
        Ok(match candidates {
            Ok(candidates) if candidates.is_empty() => Err(ResolveError::NothingConfigured),
            Ok(candidates) => Ok(ModelChoice {
                candidates,
                read_for,
                past,
            }),
            Err(error) => Err(error),
        })
    }

    fn candidates(
        &self,
        models: &ModelCatalog,
        pictures: bool,
    ) -> Result<Vec<ModelCandidate>, ResolveError> {
        let found = models.resolve_for(self.model, pictures)?;
        Ok(model_call::with_last_first(found, self.answered_last))
    }
}

impl ModelChoice {
    /// The past for this candidate, read again if its window differs.
    async fn past_for(
        self,
        candidate: &ModelCandidate,
        history: &HistoryReader<'_>,
        room_cap: Option<u64>,
    ) -> Result<SessionPast, StoreError> {
        let is_whole = self.past.unread.messages == 0;
        if is_whole || candidate.id() == self.read_for.id() {
            return Ok(self.past);
        }
        let tokens_max = model_call::history_tokens_max(candidate, room_cap);
        history.read(candidate, tokens_max).await
    }
}
