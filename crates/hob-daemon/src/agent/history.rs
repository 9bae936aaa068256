//! Reading a session's past: its own messages, and those of the session it was forked from.
//! Invariant: what is read is bounded, and begins with a person's message.

use super::conversation::Spoken;
use hob_store::{RunRow, Store, StoreError};
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::ContextPolicy;
use hob_wire::rooms::session::{ExportParams, HistoryParams, Session};
use hob_wire::{Content, Message, Part, Role};

/// Bytes of the past that are read for one model call; windows are smaller.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Messages read at once.
const PAGE_ROWS: u32 = 500;
/// Forks of forks that are followed.
const ANCESTORS_MAX: usize = 16;

/// What a run sees.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) session: Session,
    pub(crate) spoken: Vec<Spoken>,
    /// Whether there is more than was read.
    pub(crate) has_more: bool,
}

/// Reads what a run sees: the whole past, or only its own messages.
pub(crate) async fn read(
    store: &Store,
    row: &RunRow,
    policy: ContextPolicy,
) -> Result<Past, StoreError> {
    let session = store.get_session(&SessionRef::Id(row.session_id)).await?;
    let own_from = row.first_message;
    if policy == ContextPolicy::Fresh {
        let spoken = match own_from {
            Some(first) => own(store, &session, first).await?,
            None => Vec::new(),
        };
        return Ok(Past {
            session,
            spoken,
            has_more: false,
        });
    }
    let is_own = |message: &Message| own_from.is_some_and(|first| message.seq >= first);
    let mut bytes_left = BYTES_MAX;
    let mut newest_first: Vec<Spoken> = Vec::new();
    let mut has_more = false;
    let mut place = Some((session.clone(), None));
    for _ in 0..ANCESTORS_MAX {
        let Some((at, before)) = place.take() else {
            break;
        };
        let in_session = at.id == session.id;
        let (messages, complete) = back(store, &at, before, &mut bytes_left).await?;
        let spoken = messages.into_iter().map(|message| {
            let own = in_session && is_own(&message);
            Spoken::of(message, own)
        });
        newest_first.extend(spoken);
        has_more = !complete;
        if complete {
            place = forked_from(store, &at).await?;
        }
    }
    newest_first.reverse();
    if has_more {
        // The end of a turn whose beginning was not read means nothing.
        let first = newest_first.iter().position(|it| it.role == Role::User);
        newest_first.drain(..first.unwrap_or(0));
    }
    Ok(Past {
        session,
        spoken: newest_first,
        has_more,
    })
}

/// The run's own messages, oldest first.
async fn own(store: &Store, session: &Session, first: u64) -> Result<Vec<Spoken>, StoreError> {
    let mut spoken = Vec::new();
    let mut after = Some(first.saturating_sub(1));
    while let Some(seq) = after {
        let page = store.export(ExportParams {
            session_key: session.id.to_string(),
            limit: Some(PAGE_ROWS),
            after: Some(seq),
        });
        let page = page.await?;
        after = page.next;
        let messages = page.messages.into_iter();
        spoken.extend(messages.map(|message| Spoken::of(message, true)));
    }
    Ok(spoken)
}

/// Messages from before `before` back, newest first, and whether that was all of them.
async fn back(
    store: &Store,
    session: &Session,
    mut before: Option<u64>,
    bytes_left: &mut usize,
) -> Result<(Vec<Message>, bool), StoreError> {
    let mut read = Vec::new();
    loop {
        let page = store.history(HistoryParams {
            session_key: session.id.to_string(),
            limit: Some(PAGE_ROWS),
            before,
        });
        let page = page.await?;
        for message in page.messages.into_iter().rev() {
            let bytes = bytes_of(&message.content);
            if bytes > *bytes_left {
                return Ok((read, false));
            }
            *bytes_left -= bytes;
            read.push(message);
        }
        match page.next {
            Some(next) => before = Some(next),
            None => return Ok((read, true)),
        }
    }
}

/// The session this one was forked from, and the message before which it goes on there.
async fn forked_from(
    store: &Store,
    session: &Session,
) -> Result<Option<(Session, Option<u64>)>, StoreError> {
    let forked_at = session.metadata.get("forkedAt");
    let forked_at = forked_at.and_then(serde_json::Value::as_u64);
    let (Some(parent), Some(seq)) = (session.parent, forked_at) else {
        return Ok(None);
    };
    match store.get_session(&SessionRef::Id(parent)).await {
        Ok(parent) => Ok(Some((parent, Some(seq + 1)))),
        // A deleted parent takes its past along.
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn bytes_of(content: &Content) -> usize {
    fn of(part: &Part) -> usize {
        match part {
            Part::Text { text } | Part::Thinking { text, .. } => text.len(),
            Part::Image { data, .. } => data.len(),
            Part::ToolCall(call) => call.args.to_string().len(),
            Part::ToolResult(result) => result.content.iter().map(of).sum(),
        }
    }
    match content {
        Content::Text(text) => text.len(),
        Content::Parts(parts) => parts.iter().map(of).sum(),
    }
}
