//! Imports sessions: several at once, the messages of each one after the other.
//!
//! Invariants: a message has an idempotency key of its content, so it is added once however often the
//! import is repeated; a session that was imported whole is marked, and a repeated import of it sends
//! nothing; a session that continued in hob keeps what it has.

use super::apply::refusal;
use super::report::ImportReport;
use crate::progress_line::ProgressLine;
use crate::render::text::group_thousands;
use futures_util::{StreamExt, TryStreamExt, stream};
use hob_client::{Client, ClientError};
use hob_dialects::import_plan::{ImportPlan, ImportedSession, SESSION_KIND};
use hob_wire::MessageContent;
use hob_wire::rooms::session::{
    Annotate, Create, Send, Session, SessionAnnotateParams, SessionCreateParams, SessionSendParams,
};
use serde_json::{Map, Value, json};
use std::cell::{Cell, RefCell};

/// Sessions that are imported at once: their messages share commits.
const SESSIONS_AT_ONCE: usize = 16;
/// The entry of a session's metadata that says where it is from, and its part that says what of it
/// is imported.
const ORIGIN: &str = "imported";
const DONE: &str = "done";

/// What was done for one session.
#[derive(Clone, Copy, Debug, Default)]
struct SessionOutcome {
    is_new: bool,
    added: usize,
    present: usize,
}

/// Shows how many messages were imported.
pub(super) struct ImportProgress {
    line: RefCell<ProgressLine>,
    done: Cell<usize>,
    total: usize,
}

impl ImportProgress {
    pub(super) fn new(line: ProgressLine, plan: &ImportPlan) -> ImportProgress {
        ImportProgress {
            line: RefCell::new(line),
            done: Cell::new(0),
            total: plan.sessions.iter().map(|it| it.messages.len()).sum(),
        }
    }

    fn advance(&self, messages: usize) {
        self.done.set(self.done.get() + messages);
        let (done, total) = (self.done.get() as u64, self.total as u64);
        self.line.borrow_mut().show(&format!(
            "Importing messages: {} of {}",
            group_thousands(done),
            group_thousands(total)
        ));
    }

    pub(super) fn clear(&self) {
        self.line.borrow_mut().clear();
    }
}

pub(super) async fn import(
    client: &Client,
    sessions: &[ImportedSession],
    progress: &ImportProgress,
    report: &mut ImportReport,
) -> Result<(), ClientError> {
    let imports = stream::iter(sessions).map(|session| async move {
        let imported = refusal(import_one(client, session, progress).await)?;
        Ok::<_, ClientError>((session, imported))
    });
    let outcomes = imports.buffer_unordered(SESSIONS_AT_ONCE);
    let outcomes: Vec<_> = outcomes.try_collect().await?;
    for (session, outcome) in outcomes {
        match outcome {
            Ok(outcome) => {
                report.sessions.count(outcome.is_new);
                report.messages.added += outcome.added;
                report.messages.present += outcome.present;
            }
            Err(error) => report.skip(format!("session {}", session.session_key), error.message),
        }
    }
    Ok(())
}

async fn import_one(
    client: &Client,
    session: &ImportedSession,
    progress: &ImportProgress,
) -> Result<SessionOutcome, ClientError> {
    let created = client
        .call_with_retry::<Create>(&SessionCreateParams {
            session_key: Some(session.session_key.clone()),
            kind: Some(SESSION_KIND.to_owned()),
            label: Some(session.label.clone()),
            metadata: Some(session.metadata.clone()),
            ..SessionCreateParams::default()
        })
        .await?;
    let mut outcome = SessionOutcome {
        is_new: created.created,
        ..SessionOutcome::default()
    };
    let done = done_mark(session);
    if is_marked(&created.session, &done) {
        outcome.present = session.messages.len();
        progress.advance(session.messages.len());
        return Ok(outcome);
    }
    let before = created.session.messages;
    for message in &session.messages {
        let sent = client
            .call_with_retry::<Send>(&SessionSendParams {
                session_key: session.session_key.clone(),
                content: MessageContent::Text(message.text.clone()),
                role: Some(message.role),
                idempotency_key: Some(message.key.clone()),
            })
            .await?;
        // A repeated message answers with the position that it has.
        if sent.seq > before {
            outcome.added += 1;
        } else {
            outcome.present += 1;
        }
        progress.advance(1);
    }
    mark(client, session, &done).await?;
    Ok(outcome)
}

/// Names exactly these messages.
fn done_mark(session: &ImportedSession) -> String {
    let last = session
        .messages
        .last()
        .map_or("", |message| message.key.as_str());
    format!("{} {last}", session.messages.len())
}

fn is_marked(session: &Session, done: &str) -> bool {
    let origin = session.metadata.get(ORIGIN);
    origin
        .and_then(|origin| origin.get(DONE))
        .and_then(Value::as_str)
        == Some(done)
}

async fn mark(client: &Client, session: &ImportedSession, done: &str) -> Result<(), ClientError> {
    let mut origin = session.metadata.get(ORIGIN).cloned().unwrap_or_default();
    origin[DONE] = json!(done);
    let params = SessionAnnotateParams {
        session_key: session.session_key.clone(),
        metadata: Map::from_iter([(ORIGIN.to_owned(), origin)]),
    };
    client.call_with_retry::<Annotate>(&params).await.map(drop)
}
