//! A home for one test: a folder, a store on it, and the events it publishes.

use hob_bus::{LoggedEvent, publisher};
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use hob_kit::tasks::TaskGroup;
use hob_store::{Store, StoreError, StoreOptions};
use hob_wire::rooms::session::{
    SessionCreateParams, SessionCreateResult, SessionExportParams, SessionSendParams,
};
use hob_wire::{Message, MessageContent, Role};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longer than any wait of these tests takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Home {
    folder: tempfile::TempDir,
    pub(crate) clock: Clock,
}

impl Home {
    pub(crate) fn new() -> Self {
        Home {
            folder: tempfile::tempdir().unwrap(),
            clock: Clock::system(),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.file("hob.db")
    }

    /// Opens the store of a home that may be new.
    pub(crate) fn open(&self) -> Open {
        self.try_open(false).unwrap()
    }

    pub(crate) fn try_open(&self, had_database: bool) -> Result<Open, StoreError> {
        let (to_bus, mut inbox) = publisher();
        let store = Store::open(StoreOptions {
            database: self.database(),
            clock: self.clock.clone(),
            randomness: Randomness::system(),
            publisher: to_bus,
            had_database,
        })?;
        let published = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&published);
        TaskGroup::new().spawn("published", async move {
            while let Some(batch) = inbox.next().await {
                seen.lock().unwrap().extend(batch);
            }
        });
        Ok(Open { store, published })
    }

    /// The files as a killed daemon would leave them now, in a home of their own.
    pub(crate) fn remains(&self) -> Home {
        let copy = Home::new();
        copy_files(self.folder(), copy.folder());
        copy
    }

    /// How many files lie under `blobs/`.
    pub(crate) fn blobs(&self) -> usize {
        std::fs::read_dir(self.file("blobs")).map_or(0, Iterator::count)
    }
}

fn copy_files(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        let target = to.join(&name);
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_files(&entry.path(), &target);
        } else if !name.to_string_lossy().ends_with("-shm") {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// An open store and what it published.
pub(crate) struct Open {
    store: Store,
    published: Arc<Mutex<Vec<LoggedEvent>>>,
}

impl Deref for Open {
    type Target = Store;
    fn deref(&self) -> &Store {
        &self.store
    }
}

impl Open {
    pub(crate) fn published(&self) -> Vec<LoggedEvent> {
        self.published.lock().unwrap().clone()
    }

    /// Waits until `count` events were published.
    pub(crate) async fn published_at_least(&self, count: usize) -> Vec<LoggedEvent> {
        wait_for("events", || self.published().len() >= count).await;
        self.published()
    }

    pub(crate) async fn create(&self, key: &str) -> SessionCreateResult {
        self.create_session(named(key)).await.unwrap()
    }

    /// Sends a text and answers its place.
    pub(crate) async fn send(&self, key: &str, text: &str) -> u64 {
        self.send_message(text_to(key, text)).await.unwrap().seq
    }

    /// Every message of a session.
    pub(crate) async fn messages(&self, key: &str) -> Vec<Message> {
        let mut messages = Vec::new();
        let mut after = None;
        loop {
            let page = self
                .export(SessionExportParams {
                    session_key: key.to_owned(),
                    after,
                    limit: None,
                })
                .await
                .unwrap();
            messages.extend(page.messages);
            match page.next {
                Some(next) => after = Some(next),
                None => return messages,
            }
        }
    }

    /// The whole log, page by page.
    pub(crate) async fn replay(&self, after: u64, limit: usize) -> Vec<LoggedEvent> {
        let log = self.event_log();
        let mut events = Vec::new();
        let mut cursor = after;
        loop {
            let page = log.page(cursor, limit).await.unwrap();
            let Some(last) = page.last() else {
                return events;
            };
            assert!(page.len() <= limit);
            cursor = last.seq;
            events.extend(page);
        }
    }
}

pub(crate) fn named(key: &str) -> SessionCreateParams {
    SessionCreateParams {
        session_key: Some(key.to_owned()),
        ..SessionCreateParams::default()
    }
}

pub(crate) fn text_to(key: &str, text: &str) -> SessionSendParams {
    SessionSendParams {
        session_key: key.to_owned(),
        content: MessageContent::from(text),
        role: None,
        idempotency_key: None,
    }
}

pub(crate) fn keyed(key: &str, text: &str, idempotency_key: &str) -> SessionSendParams {
    SessionSendParams {
        idempotency_key: Some(idempotency_key.to_owned()),
        role: Some(Role::User),
        ..text_to(key, text)
    }
}

/// Runs `count` futures at once and answers all their results.
pub(crate) async fn together<T, F, Fut>(count: usize, work: F) -> Vec<T>
where
    T: Send + 'static,
    F: Fn(usize) -> Fut,
    Fut: Future<Output = T> + Send + 'static,
{
    let tasks = TaskGroup::new();
    let results = Arc::new(Mutex::new(Vec::new()));
    for number in 0..count {
        let (future, results) = (work(number), Arc::clone(&results));
        tasks.spawn("together", async move {
            let result = future.await;
            results.lock().unwrap().push(result);
        });
    }
    assert!(tasks.finish(Duration::from_mins(2)).await);
    assert_eq!(tasks.panics(), 0);
    std::mem::take(&mut *results.lock().unwrap())
}

pub(crate) async fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "waited too long for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What a check of everything stored found.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) problems: Vec<String>,
    pub(crate) notes: Vec<String>,
}

pub(crate) fn verify(database: &Path) -> Verdict {
    let verified = Store::verify(database, &mut |_, _| {}).unwrap();
    let parts = verified.parts.into_iter();
    Verdict {
        problems: parts.flat_map(|part| part.problems).collect(),
        notes: verified.notes,
    }
}

/// Changes the file behind the store's back.
#[expect(
    clippy::disallowed_methods,
    reason = "the test changes the file behind the store's back"
)]
pub(crate) fn alter(home: &Home, change: &str) {
    let sql = rusqlite::Connection::open(home.database()).unwrap();
    assert!(sql.execute(change, []).unwrap() > 0, "{change}");
}

/// A number straight from the file, read beside the store.
#[expect(
    clippy::disallowed_methods,
    reason = "the test looks at the file behind the store's back"
)]
pub(crate) fn count(database: &Path, select: &str) -> i64 {
    let sql = rusqlite::Connection::open(database).unwrap();
    sql.query_row(select, [], |row| row.get(0)).unwrap()
}
