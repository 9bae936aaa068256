//! Reads the past of a session: its own messages and those of the session it was forked from. It
//! reads backwards, page by page, only as far as the model's window.
//!
//! Invariants: the read is bounded by tokens and bytes, and begins with a user message; the run's
//! own messages are read regardless of tokens; unread messages are counted exactly; the same
//! messages and limit give the same past, stored or about to be.

use super::conversation::ContextMessage;
use hob_models::ModelCandidate;
use hob_store::{COPIED_MESSAGES, RunRow, Store, StoreError};
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::ContextPolicy;
use hob_wire::rooms::session::{Session, SessionHistoryParams};
use hob_wire::{ContentPart, Message, Role};

/// Most bytes read for one model call, regardless of its window.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Messages per page.
const PAGE_ROWS: u32 = 500;
/// Most ancestors followed through forks.
const ANCESTORS_MAX: usize = 64;

/// The past that a run's model sees.
#[derive(Debug)]
pub(crate) struct SessionPast {
    pub(crate) session: Session,
    /// Oldest first; messages that are not stored yet come last.
    pub(crate) messages: Vec<ContextMessage>,
    pub(crate) unread: UnreadCount,
}

/// The number of older messages that were not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnreadCount {
    pub(crate) messages: u64,
    /// True if there are more ancestors than were followed.
    pub(crate) or_more: bool,
}

/// Reads the past for one run.
#[derive(Debug)]
pub(crate) struct HistoryReader<'a> {
    pub(crate) store: &'a Store,
    pub(crate) row: &'a RunRow,
    pub(crate) policy: ContextPolicy,
    /// Messages of the run that are not stored yet.
    pub(crate) pending: &'a [ContextMessage],
}

/// The position where reading continues.
struct ReadPosition {
    session: Session,
    before: Option<u64>,
    /// Number of the run's first own message.
    own_from: Option<u64>,
}

/// Messages read so far and the remaining budget.
struct ReadProgress<'a> {
    candidate: &'a ModelCandidate,
    tokens_left: u64,
    bytes_left: usize,
    newest_first: Vec<ContextMessage>,
}

impl HistoryReader<'_> {
    /// Reads up to `tokens_max` tokens, counted for this model.
    pub(crate) async fn read(
        &self,
        candidate: &ModelCandidate,
        tokens_max: u64,
    ) -> Result<SessionPast, StoreError> {
        let id = SessionRef::Id(self.row.session_id);
        let session = self.store.get_session(&id).await?;
        let mut reading = ReadProgress {
            candidate,
            tokens_left: tokens_max,
            bytes_left: BYTES_MAX,
            newest_first: Vec::new(),
        };
        for message in self.pending {
            reading.count_tokens(&message.parts);
            let bytes: usize = message.parts.iter().map(bytes_of).sum();
            // Pending messages are always in the prompt, so they reduce the budget first.
            reading.bytes_left = reading.bytes_left.saturating_sub(bytes);
        }
        let mut unread = match self.policy {
            ContextPolicy::Fresh => self.read_own(&session, &mut reading).await?,
            _ => self.read_all(&session, &mut reading).await?,
        };
        let mut messages = reading.newest_first;
        messages.reverse();
        if unread != UnreadCount::default() {
            // A turn without its beginning makes no sense to the model.
            let opens = |message: &ContextMessage| message.role == Role::User;
            let first = messages.iter().position(opens);
            let first = first.unwrap_or(if self.pending.iter().any(opens) {
                messages.len()
            } else {
                0
            });
            unread.messages += first as u64;
            messages.drain(..first);
        }
        messages.extend_from_slice(self.pending);
        Ok(SessionPast {
            session,
            messages,
            unread,
        })
    }

    /// Reads only the run's own messages.
    async fn read_own(
        &self,
        session: &Session,
        reading: &mut ReadProgress<'_>,
    ) -> Result<UnreadCount, StoreError> {
        let Some(first) = self.row.first_message else {
            return Ok(UnreadCount::default());
        };
        let place = ReadPosition {
            session: session.clone(),
            before: None,
            own_from: Some(first),
        };
        let below = reading.read_back_to(self.store, &place, first).await?;
        Ok(UnreadCount {
            messages: below.saturating_sub(first),
            or_more: false,
        })
    }

    /// Reads the session back to its beginning, then its ancestors. Once the budget is used up, the
    /// rest is counted from message numbers.
    async fn read_all(
        &self,
        session: &Session,
        reading: &mut ReadProgress<'_>,
    ) -> Result<UnreadCount, StoreError> {
        let mut unread = UnreadCount::default();
        let mut next = Some(ReadPosition {
            session: session.clone(),
            before: None,
            own_from: self.row.first_message,
        });
        for _ in 0..ANCESTORS_MAX {
            let Some(place) = next.take() else {
                return Ok(unread);
            };
            let below = match place.before {
                Some(before) if unread.messages > 0 => before,
                _ => reading.read_back_to(self.store, &place, 1).await?,
            };
            unread.messages += below.saturating_sub(1);
            next = forked_from(self.store, &place.session).await?;
        }
        unread.or_more = next.is_some();
        Ok(unread)
    }
}

impl ReadProgress<'_> {
    /// Reads back to the message `first`. Returns the number of the oldest message read; those from
    /// `first` up to it were not read.
    async fn read_back_to(
        &mut self,
        store: &Store,
        place: &ReadPosition,
        first: u64,
    ) -> Result<u64, StoreError> {
        let mut before = place.before;
        loop {
            let page = store.history(SessionHistoryParams {
                session_key: place.session.id.to_string(),
                limit: Some(PAGE_ROWS),
                before,
            });
            let page = page.await?;
            for message in page.messages.into_iter().rev() {
                if message.seq < first {
                    return Ok(first);
                }
                let below = message.seq.saturating_add(1);
                let own = place.own_from.is_some_and(|from| message.seq >= from);
                if !self.try_take(message, own) {
                    return Ok(below);
                }
            }
            match page.next {
                Some(next) => before = Some(next),
                None => return Ok(first),
            }
        }
    }

    /// Takes a message if it fits. The run's own messages always fit, except for the limit on
    /// bytes.
    fn try_take(&mut self, message: Message, own: bool) -> bool {
        let mut messages = ContextMessage::from_stored(message, own);
        if !own {
            // Thinking of other runs is never sent to a model.
            messages.parts.retain(|part| !is_thought(part));
        }
        let bytes: usize = messages.parts.iter().map(bytes_of).sum();
        if bytes > self.bytes_left || !(self.count_tokens(&messages.parts) || own) {
            return false;
        }
        self.bytes_left -= bytes;
        self.newest_first.push(messages);
        true
    }

    /// Counts parts against the budget. Returns true if they fit.
    fn count_tokens(&mut self, parts: &[ContentPart]) -> bool {
        // Thinking may be left out of the prompt, so it does not count here.
        let counted = parts.iter().filter(|part| !is_thought(part));
        let tokens = counted.map(|part| self.candidate.count_tokens(std::slice::from_ref(part)));
        let tokens = tokens.fold(0, u64::saturating_add);
        let fits = tokens <= self.tokens_left;
        self.tokens_left = self.tokens_left.saturating_sub(tokens);
        fits
    }
}

/// The position in the session that this one was forked from.
async fn forked_from(store: &Store, session: &Session) -> Result<Option<ReadPosition>, StoreError> {
    let number = |name: &str| {
        let value = session.metadata.get(name);
        value.and_then(serde_json::Value::as_u64)
    };
    // A fork with copies has its parent's messages itself, and not those of the parent's ancestors.
    let copied = number(COPIED_MESSAGES).map(|_| 0);
    let forked_at = copied.or(number("forkedAt"));
    let (Some(parent), Some(seq)) = (session.parent, forked_at) else {
        return Ok(None);
    };
    match store.get_session(&SessionRef::Id(parent)).await {
        Ok(parent) => Ok(Some(ReadPosition {
            // Any client can write metadata, so the number is limited to the messages that exist.
            before: Some(seq.min(parent.messages).saturating_add(1)),
            session: parent,
            own_from: None,
        })),
        // The past of a deleted parent is gone.
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_thought(part: &ContentPart) -> bool {
    matches!(part, ContentPart::Thinking { .. })
}

fn bytes_of(part: &ContentPart) -> usize {
    match part {
        ContentPart::Text { text } | ContentPart::Thinking { text, .. } => text.len(),
        ContentPart::Image { data, .. } => data.len(),
        ContentPart::ToolCall(call) => call.args.to_string().len(),
        ContentPart::ToolResult(result) => result.content.iter().map(bytes_of).sum(),
    }
}
