//! The store's methods about sessions and messages.

use super::fork::{self, ForkPlan, ForkStep};
use super::read::{self, SessionFilter, SessionListCursor};
use super::transcript::{self, TranscriptPage, TranscriptPlace, TranscriptTail};
use super::write::{self, MessageDraft, NewSession};
use crate::error::{QueryError, StoreError};
use crate::store::{Store, to_json};
use crate::validate;
use hob_wire::id::SessionRef;
use hob_wire::limits::{PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX};
use hob_wire::rooms::session;
use hob_wire::{Role, RunId};
use rusqlite::Connection;
use std::sync::Arc;

/// Labels that a listing can be limited to.
const FILTER_LABELS_MAX: usize = 100;

impl Store {
    pub async fn session_count(&self) -> Result<u64, StoreError> {
        self.read(read::count).await
    }

    /// Creates a session, or returns the existing one with this key, unchanged.
    pub async fn create_session(
        &self,
        params: session::SessionCreateParams,
    ) -> Result<session::SessionCreateResult, StoreError> {
        // With both it would be unclear which one finds an existing session.
        if params.session_key.is_some() && params.id.is_some() {
            let message = "Give `sessionKey` or `id`, not both.";
            return Err(StoreError::Invalid(message.to_owned()));
        }
        let name = params.session_key.as_deref().map(validate::session_ref);
        let parent = params.parent.as_deref().map(validate::session_ref);
        let kind = params
            .kind
            .unwrap_or_else(|| validate::KIND_DEFAULT.to_owned());
        validate::kind(&kind)?;
        params.label.as_deref().map_or(Ok(()), validate::label)?;
        let metadata = to_json(&params.metadata.unwrap_or_default())?;
        validate::metadata(&metadata)?;
        let plan = NewSession {
            name: name.transpose()?,
            id: params.id,
            kind,
            label: params.label,
            parent: parent.transpose()?,
            metadata,
        };
        // The queue bounds bytes as well as commands, so a write states its size.
        let bytes = plan.metadata.len();
        self.write(bytes, move |batch| write::create(batch, &plan))
            .await
    }

    /// Creates a session with a copy of messages of another one. `kind` replaces the kind of the
    /// source.
    pub async fn fork_session(
        &self,
        params: session::SessionForkParams,
        kind: Option<&str>,
    ) -> Result<session::SessionForkResult, StoreError> {
        let name = params.new_key.as_deref().map(validate::session_ref);
        kind.map_or(Ok(()), validate::kind)?;
        params.label.as_deref().map_or(Ok(()), validate::label)?;
        let plan = Arc::new(ForkPlan {
            source: validate::session_ref(&params.session_key)?,
            at: params.at,
            name: name.transpose()?,
            kind: kind.map(str::to_owned),
            label: params.label,
        });
        let mut copy = None;
        loop {
            let of_step = Arc::clone(&plan);
            let step = self.write(fork::STEP_BYTES, move |batch| {
                fork::step(batch, &of_step, copy)
            });
            match step.await {
                Ok(ForkStep::Done(done)) => return Ok(*done),
                Ok(ForkStep::Copying(next)) => copy = Some(next),
                Err(error) => {
                    if let Some(copy) = copy {
                        // The first error is reported. If this fails too, the next start does it.
                        let _ = self.write(0, move |batch| fork::release(batch, copy)).await;
                    }
                    return Err(error);
                }
            }
        }
    }

    pub async fn get_session(&self, session: &SessionRef) -> Result<session::Session, StoreError> {
        let session = session.clone();
        self.read(move |sql| read::get(sql, &session)).await
    }

    /// Returns sessions, the most recently used first.
    pub async fn list_sessions(
        &self,
        params: session::SessionListParams,
    ) -> Result<session::SessionListResult, StoreError> {
        params.kind.as_deref().map_or(Ok(()), validate::kind)?;
        let labels = params.labels;
        if labels.len() > FILTER_LABELS_MAX {
            let message = format!("`labels` has at most {FILTER_LABELS_MAX} entries.");
            return Err(StoreError::Invalid(message));
        }
        labels.iter().try_for_each(|label| validate::label(label))?;
        let filter = SessionFilter {
            kind: params.kind,
            labels: (!labels.is_empty()).then(|| to_json(&labels)).transpose()?,
        };
        let rows = validate::page_rows(params.limit, PAGE_ROWS_DEFAULT)?;
        let before = SessionListCursor::parse(params.before.as_deref())?;
        self.read(move |sql| read::list(sql, &filter, rows, before))
            .await
    }

    /// Returns a page of messages before `before`.
    pub async fn history(
        &self,
        params: session::SessionHistoryParams,
    ) -> Result<session::SessionMessages, StoreError> {
        let session = validate::session_ref(&params.session_key)?;
        let rows = validate::page_rows(params.limit, PAGE_ROWS_DEFAULT)?;
        self.messages(move |sql| read::history(sql, &session, rows, params.before))
            .await
    }

    /// Returns a page of messages after `after`.
    pub async fn export(
        &self,
        params: session::SessionExportParams,
    ) -> Result<session::SessionMessages, StoreError> {
        let session = validate::session_ref(&params.session_key)?;
        let rows = validate::page_rows(params.limit, PAGE_ROWS_MAX)?;
        self.messages(move |sql| read::export(sql, &session, rows, params.after))
            .await
    }

    /// Returns a page of a transcript, with at least one group of messages if there is any.
    pub async fn transcript(
        &self,
        session: &str,
        place: TranscriptPlace,
        groups_max: usize,
    ) -> Result<TranscriptPage, StoreError> {
        let session = validate::session_ref(session)?;
        let page = self
            .read(move |sql| transcript::page(sql, &session, place, groups_max.max(1)))
            .await?;
        for row in &page.damaged {
            self.shared().health.add_damaged_row(row);
        }
        Ok(page)
    }

    /// Returns where the messages of a session that are not final begin.
    pub async fn transcript_tail(&self, session: &str) -> Result<TranscriptTail, StoreError> {
        let session = validate::session_ref(session)?;
        self.read(move |sql| transcript::tail(sql, &session)).await
    }

    /// Returns the number of the message with the answer of a run's step, or without a step, of the
    /// run's last message.
    pub async fn message_of_run(
        &self,
        session: &str,
        run: RunId,
        step: Option<u32>,
    ) -> Result<Option<u64>, StoreError> {
        let session = validate::session_ref(session)?;
        self.read(move |sql| match step {
            Some(step) => transcript::answer_of(sql, &session, run, step),
            None => transcript::last_of(sql, &session, run),
        })
        .await
    }

    async fn messages(
        &self,
        read: impl FnOnce(&Connection) -> Result<session::SessionMessages, QueryError> + Send + 'static,
    ) -> Result<session::SessionMessages, StoreError> {
        let page = self.read(read).await?;
        for row in &page.damaged {
            self.shared().health.add_damaged_row(row);
        }
        Ok(page)
    }

    /// Adds a message. The answer means that it is on disk.
    pub async fn send_message(
        &self,
        params: session::SessionSendParams,
    ) -> Result<session::SessionSendResult, StoreError> {
        let session = validate::session_ref(&params.session_key)?;
        let key = params.idempotency_key.as_deref();
        key.map_or(Ok(()), validate::idempotency_key)?;
        let content = to_json(&params.content)?;
        validate::content(&content)?;
        let draft = MessageDraft {
            role: params.role.unwrap_or(Role::User),
            content,
            idempotency_key: params.idempotency_key,
            origin: None,
        };
        let bytes = draft.content.len();
        self.write(bytes, move |batch| write::send(batch, &session, &draft))
            .await
    }

    /// Sets or removes a session's label.
    pub async fn label_session(
        &self,
        params: session::SessionLabelParams,
    ) -> Result<session::Session, StoreError> {
        let session = validate::session_ref(&params.session_key)?;
        params.label.as_deref().map_or(Ok(()), validate::label)?;
        self.write(0, move |batch| {
            write::label(batch, &session, params.label.as_deref())
        })
        .await
    }

    pub async fn annotate_session(
        &self,
        params: session::SessionAnnotateParams,
    ) -> Result<session::Session, StoreError> {
        let session = validate::session_ref(&params.session_key)?;
        let bytes = to_json(&params.metadata)?.len();
        self.write(bytes, move |batch| {
            write::annotate(batch, &session, &params.metadata)
        })
        .await
    }

    pub async fn delete_session(
        &self,
        session: &SessionRef,
    ) -> Result<session::SessionDeleteResult, StoreError> {
        let session = session.clone();
        self.write(0, move |batch| write::delete(batch, &session))
            .await
    }
}
