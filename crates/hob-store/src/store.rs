//! The handle every room holds.

use crate::blobs::Blobs;
use crate::checksums::damage::WithDamage;
use crate::error::StoreError;
use crate::events;
use crate::migrations::SCHEMA;
use crate::opened_files::OpenedFiles;
use crate::opening::{self, OpenParts};
use crate::retention::LIMITS;
use crate::rules;
use crate::sessions::read::{self, ListCursor};
use crate::sessions::write::{self, Draft, Plan};
use crate::shared::{Shared, SharedParts};
use crate::structure_check::check_beside;
use crate::tokens::{self, TokenRow};
use crate::verify::{self, Progress};
use crate::writer::{Writer, WriterParts};
use hob_bus::{BoxFuture, EventLog, LogBounds, LoggedEvent, NewEvent, Publisher};
use hob_core::retention::Limits;
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_wire::id::SessionRef;
use hob_wire::limits::{PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX};
use hob_wire::rooms::daemon::{StoreStatus, Verified};
use hob_wire::rooms::session;
use hob_wire::rooms::token::TokenInfo;
use hob_wire::{DamagedRow, Role, WireError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// What a store needs from outside.
#[derive(Debug)]
pub struct StoreOptions {
    /// `hob.db`.
    pub database: PathBuf,
    pub clock: Clock,
    pub dice: Dice,
    /// Where committed events go.
    pub publisher: Publisher,
    /// Whether this home had a database before: a missing or empty one is then refused.
    pub had_life: bool,
}

/// The store; cheap to clone.
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    database: PathBuf,
    epoch: u64,
    /// Tells the background check to stop.
    stop: Arc<AtomicBool>,
    /// A std mutex, because it is held for a line without await.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Rows of the log looked at in one read.
const LOG_ROWS_A_READ: usize = 1_024;

impl Store {
    /// Opens the database, creating it in a new home. Blocks; call it before the runtime or on a
    /// blocking thread.
    pub fn open(options: StoreOptions) -> Result<Store, StoreError> {
        Store::open_with(options, LIMITS)
    }

    /// Opens it, keeping only as much of the event log as `limits` say.
    pub fn open_with(options: StoreOptions, limits: Limits) -> Result<Store, StoreError> {
        let database = options.database;
        let opened = opening::open(&OpenParts {
            path: &database,
            clock: &options.clock,
            dice: &options.dice,
            had_life: options.had_life,
        })?;
        let epoch = opened.disk.epoch();
        let health = Arc::clone(&opened.health);
        let shared = Arc::new(Shared::new(SharedParts {
            health: opened.health,
            readers: opened.readers,
            blobs: Blobs::new(&database, epoch),
            files: OpenedFiles::remember(&database),
            bounds: opened.bounds,
            log_history: opened.log_history,
        }));
        let writer = Writer::new(WriterParts {
            shared: Arc::clone(&shared),
            disk: opened.disk,
            clock: options.clock,
            dice: options.dice,
            publisher: options.publisher,
            limits,
            silent_commits: opened.silent_commits,
        });
        let stop = Arc::new(AtomicBool::new(false));
        let (path, stopped, unclean) = (database.clone(), Arc::clone(&stop), opened.to_check);
        let threads = vec![
            start("hob-store-writer", move || writer.run())?,
            start("hob-store-check", move || {
                check_beside(&path, &health, &stopped, unclean);
            })?,
        ];
        Ok(Store(Arc::new(Inner {
            shared,
            database,
            epoch,
            stop,
            threads: Mutex::new(threads),
        })))
    }

    /// The SQLite this program was built with.
    pub fn sqlite_version() -> &'static str {
        rusqlite::version()
    }

    /// Checks everything that is stored, for `hob verify` and `hob doctor`; blocks. The caller
    /// holds the home's lock: what a daemon writes meanwhile would look like damage.
    pub fn verify(database: &Path, progress: Progress<'_>) -> Result<Verified, StoreError> {
        verify::verify(database, progress)
    }

    /// Checks everything that is stored while the store is in use; blocks.
    pub fn verify_beside(&self, progress: Progress<'_>) -> Result<Verified, StoreError> {
        let verified = verify::verify_open(&self.0.database, &self.0.stop, progress)?;
        for row in &verified.damaged {
            self.0.shared.health.found_damaged(row);
        }
        Ok(verified)
    }

    /// Commits what is queued, brings the database file up to date and ends the writer. The bus
    /// must still take events, or be gone.
    pub async fn close(&self) {
        self.0.end();
        let threads = std::mem::take(
            &mut *self
                .0
                .threads
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        let joined = tokio::task::spawn_blocking(move || {
            for thread in threads {
                // A thread that panicked has said so; there is nothing left to wait for.
                let _ = thread.join();
            }
        });
        let _ = joined.await;
    }

    /// Which start of this home's daemon this is.
    pub fn epoch(&self) -> u64 {
        self.0.epoch
    }

    pub fn status(&self) -> StoreStatus {
        let shared = &self.0.shared;
        // Nothing may have been written since a file went away: ask now, not at the next commit.
        if let Err(error) = shared.files.check() {
            shared.health.note(&error);
        }
        let report = shared.health.report();
        StoreStatus {
            state: report.state,
            message: report.message,
            findings: report.findings,
            losses: report.losses,
            damaged: shared.health.damaged(),
            schema: SCHEMA,
            sqlite: Store::sqlite_version().to_owned(),
            bytes: std::fs::metadata(&self.0.database).map_or(0, |file| file.len()),
        }
    }

    pub async fn session_count(&self) -> Result<u64, StoreError> {
        self.0.shared.readers.read(read::count).await
    }

    /// Creates a session, or answers the one that has this key already, unchanged.
    pub async fn create_session(
        &self,
        params: session::CreateParams,
    ) -> Result<session::Created, StoreError> {
        if params.session_key.is_some() && params.id.is_some() {
            let message = "Give `sessionKey` or `id`, not both.";
            return Err(StoreError::Invalid(message.to_owned()));
        }
        let name = params.session_key.as_deref().map(rules::session_ref);
        let parent = params.parent.as_deref().map(rules::session_ref);
        let kind = params
            .kind
            .unwrap_or_else(|| rules::KIND_DEFAULT.to_owned());
        rules::kind(&kind)?;
        params.label.as_deref().map_or(Ok(()), rules::label)?;
        let metadata = to_json(&params.metadata.unwrap_or_default())?;
        rules::metadata(&metadata)?;
        let plan = Plan {
            name: name.transpose()?,
            id: params.id,
            kind,
            label: params.label,
            parent: parent.transpose()?,
            metadata,
        };
        let bytes = plan.metadata.len();
        self.write(bytes, move |batch| write::create(batch, &plan))
            .await
    }

    pub async fn get_session(&self, session: &SessionRef) -> Result<session::Session, StoreError> {
        let session = session.clone();
        self.0
            .shared
            .readers
            .read(move |sql| read::get(sql, &session))
            .await
    }

    /// Sessions, the most recently used first.
    pub async fn list_sessions(
        &self,
        params: session::ListParams,
    ) -> Result<session::Sessions, StoreError> {
        params.kind.as_deref().map_or(Ok(()), rules::kind)?;
        let rows = rules::page_rows(params.limit, PAGE_ROWS_DEFAULT)?;
        let before = ListCursor::parse(params.before.as_deref())?;
        self.0
            .shared
            .readers
            .read(move |sql| read::list(sql, params.kind.as_deref(), rows, before))
            .await
    }

    /// Messages of a session, a page back from `before`.
    pub async fn history(
        &self,
        params: session::HistoryParams,
    ) -> Result<session::Messages, StoreError> {
        let session = rules::session_ref(&params.session_key)?;
        let rows = rules::page_rows(params.limit, PAGE_ROWS_DEFAULT)?;
        self.messages(move |sql| read::history(sql, &session, rows, params.before))
            .await
    }

    /// Messages of a session, a page forward from `after`.
    pub async fn export(
        &self,
        params: session::ExportParams,
    ) -> Result<session::Messages, StoreError> {
        let session = rules::session_ref(&params.session_key)?;
        let rows = rules::page_rows(params.limit, PAGE_ROWS_MAX)?;
        self.messages(move |sql| read::export(sql, &session, rows, params.after))
            .await
    }

    async fn messages(
        &self,
        read: impl FnOnce(&rusqlite::Connection) -> Result<session::Messages, crate::error::Trouble>
        + Send
        + 'static,
    ) -> Result<session::Messages, StoreError> {
        let page = self.read(read).await?;
        for row in &page.damaged {
            self.0.shared.health.found_damaged(row);
        }
        Ok(page)
    }

    /// Adds a message; the answer means that it is on disk.
    pub async fn send_message(
        &self,
        params: session::SendParams,
    ) -> Result<session::Sent, StoreError> {
        let session = rules::session_ref(&params.session_key)?;
        let key = params.idempotency_key.as_deref();
        key.map_or(Ok(()), rules::idempotency_key)?;
        let content = to_json(&params.content)?;
        rules::content(&content)?;
        let draft = Draft {
            role: params.role.unwrap_or(Role::User),
            content,
            idempotency_key: params.idempotency_key,
        };
        let bytes = draft.content.len();
        self.write(bytes, move |batch| write::send(batch, &session, &draft))
            .await
    }

    /// Names a session for people, or takes its name away.
    pub async fn label_session(
        &self,
        params: session::LabelParams,
    ) -> Result<session::Session, StoreError> {
        let session = rules::session_ref(&params.session_key)?;
        params.label.as_deref().map_or(Ok(()), rules::label)?;
        self.write(0, move |batch| {
            write::label(batch, &session, params.label.as_deref())
        })
        .await
    }

    pub async fn annotate_session(
        &self,
        params: session::AnnotateParams,
    ) -> Result<session::Session, StoreError> {
        let session = rules::session_ref(&params.session_key)?;
        let bytes = to_json(&params.metadata)?.len();
        self.write(bytes, move |batch| {
            write::annotate(batch, &session, &params.metadata)
        })
        .await
    }

    pub async fn delete_session(
        &self,
        session: &SessionRef,
    ) -> Result<session::Deleted, StoreError> {
        let session = session.clone();
        self.write(0, move |batch| write::delete(batch, &session))
            .await
    }

    /// Keeps a new token; its name must be free among the live ones.
    pub async fn insert_token(&self, token: TokenRow) -> Result<(), StoreError> {
        rules::token_name(&token.info.name)?;
        self.write(0, move |batch| tokens::insert(batch, &token))
            .await
    }

    /// Every token, revoked ones too, oldest first; damaged ones apart.
    pub async fn list_tokens(&self) -> Result<WithDamage<Vec<TokenRow>>, StoreError> {
        self.read_with_damage(tokens::list).await
    }

    /// The folders that a model may read for the live token with this id.
    pub async fn token_workspaces(&self, id: &str) -> Result<Vec<String>, StoreError> {
        let id = id.to_owned();
        let read = move |sql: &_| tokens::workspaces(sql, &id);
        self.0.shared.readers.read(read).await
    }

    /// Ends the token with this id, or the live one with this name.
    pub async fn revoke_token(&self, id_or_name: &str, at: u64) -> Result<TokenInfo, StoreError> {
        let named = id_or_name.to_owned();
        let revoked = self.write(0, move |batch| tokens::revoke(batch, &named, at));
        let info = revoked.await?;
        self.forget_damaged("tokens", id_or_name);
        Ok(info)
    }

    /// The log as the bus needs it.
    pub fn event_log(&self) -> Arc<dyn EventLog> {
        Arc::new(Log(self.clone()))
    }

    /// Makes an event durable and publishes it; answers its `seq`.
    pub async fn append_event(&self, event: NewEvent) -> Result<u64, StoreError> {
        let bytes = event.payload.as_ref().map_or(0, bytes::Bytes::len);
        self.write(bytes, move |batch| {
            Ok(batch.log(event.clone(), events::Place::Alone)?)
        })
        .await
    }

    pub(crate) async fn write<T, F>(&self, bytes: usize, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut crate::batch::Batch<'_>) -> Result<T, crate::error::Trouble> + Send + 'static,
    {
        if let Some(refusal) = self.0.shared.health.refusal() {
            return Err(refusal);
        }
        let done = self.0.shared.lanes.submit(bytes, work).await;
        if let Err(StoreError::DamagedRow(row)) = &done {
            self.0.shared.health.found_damaged(row);
        }
        done
    }

    /// Reads in one snapshot.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&rusqlite::Connection) -> Result<T, crate::error::Trouble> + Send + 'static,
    {
        self.0.shared.readers.read(work).await
    }

    /// Reads like [`Store::read`]; what is damaged on the way becomes known to the status.
    pub(crate) async fn read_with_damage<T, F>(&self, work: F) -> Result<WithDamage<T>, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&rusqlite::Connection) -> Result<WithDamage<T>, crate::error::Trouble>
            + Send
            + 'static,
    {
        let read = self.read(work).await?;
        for row in &read.damaged {
            self.0.shared.health.found_damaged(row);
        }
        Ok(read)
    }

    /// The damaged rows of a table that were met since the start.
    pub fn damaged_rows(&self, table: &str) -> Vec<DamagedRow> {
        let mut rows = self.0.shared.health.damaged();
        rows.retain(|row| row.table == table);
        rows
    }

    /// A damaged row is gone and needs no word any more.
    pub(crate) fn forget_damaged(&self, table: &str, id: &str) {
        let is_gone = |row: &DamagedRow| row.table == table && row.id.as_deref() == Some(id);
        self.0.shared.health.forget_damaged(is_gone);
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0.shared
    }

    async fn log_page(&self, after: u64, limit: usize) -> Result<Vec<LoggedEvent>, StoreError> {
        let mut events = Vec::new();
        let mut reached = after;
        // Goes on over events that are left out, so that an empty page means the end of the log.
        loop {
            let rows = LOG_ROWS_A_READ.min(limit.max(1));
            let page = self
                .read(move |sql| Ok(events::page(sql, reached, rows)?))
                .await?;
            for row in &page.damaged {
                self.0.shared.health.found_damaged(row);
            }
            reached = page.reached;
            events.extend(page.events);
            if page.is_last || !events.is_empty() {
                return Ok(events);
            }
        }
    }
}

impl Inner {
    fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.shared.lanes.close();
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in &*threads {
            // The check waits for something to look at.
            thread.thread().unpark();
        }
    }
}

impl Drop for Inner {
    /// The last handle is gone: the writer finishes what is queued by itself.
    fn drop(&mut self) {
        self.end();
    }
}

#[derive(Debug)]
struct Log(Store);

impl EventLog for Log {
    fn bounds(&self) -> LogBounds {
        self.0.0.shared.bounds()
    }

    fn id(&self) -> Arc<str> {
        self.0.0.shared.log_history.id()
    }

    fn shared_until(&self, id: &str) -> Option<u64> {
        self.0.0.shared.log_history.shared_until(id)
    }

    fn page(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<LoggedEvent>, WireError>> {
        Box::pin(async move { Ok(self.0.log_page(after, limit).await?) })
    }

    fn append(&self, event: NewEvent) -> BoxFuture<'_, Result<u64, WireError>> {
        Box::pin(async move { Ok(self.0.append_event(event).await?) })
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StoreError> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|error| StoreError::Io(format!("a thread could not be started: {error}")))
}

pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Invalid(format!("This cannot be written as JSON: {error}.")))
}
