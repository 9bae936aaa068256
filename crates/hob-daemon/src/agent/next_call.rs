//! Preparing the next model call of a run: which model is asked, and as much of the past as it can
//! be shown. The model is chosen before the past is read, because its window says how much is read.
//!
//! Pictures decide about the model and are found by reading, so the past is read for the model that
//! would be asked without them; only if another one is asked and there is more, it is read again.

use super::conversation::{self, Spoken};
use super::driver::{Driver, Tries};
use super::history::{History, Past};
use super::order::{self, Order, Request};
use super::prompt::{self, Sources};
use super::story::Story;
use hob_core::failover::Failover;
use hob_models::{Book, BookError, Candidate};
use hob_store::{NewMessage, StoreError};

/// The models for a conversation, and what the first of them can be shown of it.
struct Looked {
    candidates: Vec<Candidate>,
    /// The model that the past was read for.
    read_for: Candidate,
    past: Past,
}

impl Driver {
    /// Prepares the model call that follows; the inner error is a sentence for the person.
    pub(super) async fn order(
        &mut self,
        story: &Story,
        coming: &[NewMessage],
    ) -> Result<Result<Order, String>, StoreError> {
        let coming = coming.iter().map(|message| {
            let content = message.content.clone();
            Spoken::new(message.role, content, true)
        });
        let coming: Vec<Spoken> = coming.collect();
        if story.turn.place().1 == 1 {
            self.tries = Tries::default();
        }
        let room_cap = self.tries.room_cap;
        let shared = std::sync::Arc::clone(&self.shared);
        let history = History {
            store: &shared.parts.store,
            row: &self.row,
            policy: self.params.context.unwrap_or_default(),
            coming: &coming,
        };
        let book = shared.book();
        let wanted = Wanted {
            model: self.params.model.as_deref(),
            answered_last: story.answered_last.as_deref(),
        };
        let looked = match wanted.look(&book, &history, room_cap).await? {
            Ok(looked) => looked,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let policy = shared.retry_policy();
        let failover = &mut self.tries.failover;
        let failover =
            failover.get_or_insert_with(|| Failover::new(policy, looked.candidates.len()));
        let chosen = looked.candidates.get(failover.candidate());
        let candidate = chosen.unwrap_or(&looked.candidates[0]).clone();
        let past = looked.past_for(&candidate, &history, room_cap).await?;
        self.order_for(story, candidate, past).await
    }

    /// The call itself. Takes the driver alone because its futures cannot be shared.
    async fn order_for(
        &mut self,
        story: &Story,
        candidate: Candidate,
        past: Past,
    ) -> Result<Result<Order, String>, StoreError> {
        let mut tools = Vec::new();
        if order::takes_tools(&candidate) {
            tools = match self.hands.offered().await {
                Ok(tools) => tools,
                Err(error) => return Ok(Err(format!("The tools cannot be listed: {error}"))),
            };
        }
        let sources = Sources {
            home: self.shared.parts.home.clone(),
            mask: self.shared.parts.mask.clone(),
            workspace: self.params.workspace.clone(),
            caller: self.params.system.clone(),
        };
        let system = prompt::layers(sources, Some(&past.session)).await;
        self.log_refused(&system.refused);
        let only_it = |model: &String| *model == candidate.id();
        let request = Request {
            system: system.layers,
            callers_system: self.params.system.iter().cloned().collect(),
            spoken: past.spoken,
            unread: past.unread,
            tools,
            schema: self.params.schema.clone(),
            keep_thoughts: story.answered_by.iter().all(only_it),
            assume_window: true,
            room_cap: self.tries.room_cap,
            ..Request::default()
        };
        let mut order = Order::new(candidate, request);
        order.notes.extend(system.refused);
        Ok(Ok(order))
    }

    /// Logs which prompt files were refused, once a run: the run's notes have them from then on.
    fn log_refused(&self, refused: &[String]) {
        let is_new = |reason: &&String| !self.summary.notes.contains(reason);
        for reason in refused.iter().filter(is_new) {
            tracing::warn!(run = %self.row.id, "{reason}");
        }
    }
}

/// What a run says about the model it wants.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    model: Option<&'a str>,
    answered_last: Option<&'a str>,
}

impl Wanted<'_> {
    /// Reads the past for the model that is asked without pictures, and then looks for pictures.
    async fn look(
        &self,
        book: &Book,
        history: &History<'_>,
        room_cap: Option<u64>,
    ) -> Result<Result<Looked, BookError>, StoreError> {
        let plain = self.candidates(book, false);
        // There may be a model for pictures and no other.
        let seeing = || self.candidates(book, true);
        let first = match plain.clone().or_else(|_| seeing()) {
            Ok(candidates) => candidates.into_iter().next(),
            Err(error) => return Ok(Err(error)),
        };
        let Some(read_for) = first else {
            return Ok(Err(BookError::NothingConfigured));
        };
        let tokens_max = order::history_tokens_max(&read_for, room_cap);
        let past = history.read(&read_for, tokens_max).await?;
        let candidates = if conversation::has_images(&past.spoken) {
            seeing()
        } else {
            plain
        };
        Ok(match candidates {
            Ok(candidates) if candidates.is_empty() => Err(BookError::NothingConfigured),
            Ok(candidates) => Ok(Looked {
                candidates,
                read_for,
                past,
            }),
            Err(error) => Err(error),
        })
    }

    fn candidates(&self, book: &Book, pictures: bool) -> Result<Vec<Candidate>, BookError> {
        let found = book.resolve_for(self.model, pictures)?;
        Ok(order::from_last(found, self.answered_last))
    }
}

impl Looked {
    /// The past as far as this candidate can be shown it.
    async fn past_for(
        self,
        candidate: &Candidate,
        history: &History<'_>,
        room_cap: Option<u64>,
    ) -> Result<Past, StoreError> {
        let is_whole = self.past.unread.messages == 0;
        if is_whole || candidate.id() == self.read_for.id() {
            return Ok(self.past);
        }
        let tokens_max = order::history_tokens_max(candidate, room_cap);
        history.read(candidate, tokens_max).await
    }
}
