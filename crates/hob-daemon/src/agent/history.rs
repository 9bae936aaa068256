//! Reading a session's past: its own messages, and those of the session it was forked from. It is
//! read from its end, page by page, and only as far as the model can be shown it.
//!
//! Invariants: what is read is bounded by tokens and bytes, and begins with a person's message; the
//! run's own messages are read whatever they weigh; messages that are not read are counted, not
//! guessed; the same messages and limit give the same past, stored or about to be.

use super::conversation::Spoken;
use hob_models::Candidate;
use hob_store::{RunRow, Store, StoreError};
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::ContextPolicy;
use hob_wire::rooms::session::{HistoryParams, Session};
use hob_wire::{Message, Part, Role};

/// Bytes of the past that are read for one model call, whatever its window.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Messages read at once.
const PAGE_ROWS: u32 = 500;
/// Forks of forks that are followed.
const ANCESTORS_MAX: usize = 64;

/// What a run sees.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) session: Session,
    /// Oldest first; those that are about to be stored come last.
    pub(crate) spoken: Vec<Spoken>,
    pub(crate) unread: Unread,
}

/// Messages before those that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) messages: u64,
    /// There are forks beyond those that were followed.
    pub(crate) or_more: bool,
}

/// The past of one run.
#[derive(Debug)]
pub(crate) struct History<'a> {
    pub(crate) store: &'a Store,
    pub(crate) row: &'a RunRow,
    pub(crate) policy: ContextPolicy,
    /// The run's messages that are not stored yet.
    pub(crate) coming: &'a [Spoken],
}

/// Where reading goes on: in this session, before this message.
struct Place {
    session: Session,
    before: Option<u64>,
    /// The run's own messages begin here.
    own_from: Option<u64>,
}

/// What was read so far.
struct Reading<'a> {
    candidate: &'a Candidate,
    tokens_left: u64,
    bytes_left: usize,
    newest_first: Vec<Spoken>,
}

impl History<'_> {
    /// Reads up to `tokens_max` tokens as this model counts them.
    pub(crate) async fn read(
        &self,
        candidate: &Candidate,
        tokens_max: u64,
    ) -> Result<Past, StoreError> {
        let id = SessionRef::Id(self.row.session_id);
        let session = self.store.get_session(&id).await?;
        let mut reading = Reading {
            candidate,
            tokens_left: tokens_max,
            bytes_left: BYTES_MAX,
            newest_first: Vec::new(),
        };
        for message in self.coming {
            reading.count(&message.parts);
            let bytes: usize = message.parts.iter().map(bytes_of).sum();
            reading.bytes_left = reading.bytes_left.saturating_sub(bytes);
        }
        let mut unread = match self.policy {
            ContextPolicy::Fresh => self.read_own(&session, &mut reading).await?,
            _ => self.read_all(&session, &mut reading).await?,
        };
        let mut spoken = reading.newest_first;
        spoken.reverse();
        if unread != Unread::default() {
            // The end of a turn whose beginning was not read means nothing.
            let opens = |message: &Spoken| message.role == Role::User;
            let first = spoken.iter().position(opens);
            let first = first.unwrap_or(if self.coming.iter().any(opens) {
                spoken.len()
            } else {
                0
            });
            unread.messages += first as u64;
            spoken.drain(..first);
        }
        spoken.extend_from_slice(self.coming);
        Ok(Past {
            session,
            spoken,
            unread,
        })
    }

    /// The run's own messages only.
    async fn read_own(
        &self,
        session: &Session,
        reading: &mut Reading<'_>,
    ) -> Result<Unread, StoreError> {
        let Some(first) = self.row.first_message else {
            return Ok(Unread::default());
        };
        let place = Place {
            session: session.clone(),
            before: None,
            own_from: Some(first),
        };
        let below = reading.back(self.store, &place, first).await?;
        Ok(Unread {
            messages: below.saturating_sub(first),
            or_more: false,
        })
    }

    /// The session back to its beginning, then what it was forked from. Once the room is full the
    /// rest is counted: messages have numbers.
    async fn read_all(
        &self,
        session: &Session,
        reading: &mut Reading<'_>,
    ) -> Result<Unread, StoreError> {
        let mut unread = Unread::default();
        let mut next = Some(Place {
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
                _ => reading.back(self.store, &place, 1).await?,
            };
            unread.messages += below.saturating_sub(1);
            next = forked_from(self.store, &place.session).await?;
        }
        unread.or_more = next.is_some();
        Ok(unread)
    }
}

impl Reading<'_> {
    /// Reads back to the message `first`. Answers the number of the oldest message that was read;
    /// those from `first` up to it were not.
    async fn back(&mut self, store: &Store, place: &Place, first: u64) -> Result<u64, StoreError> {
        let mut before = place.before;
        loop {
            let page = store.history(HistoryParams {
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
                if !self.take(message, own) {
                    return Ok(below);
                }
            }
            match page.next {
                Some(next) => before = Some(next),
                None => return Ok(first),
            }
        }
    }

    /// Takes a message if it fits. The run's own always fit, but for the bound on bytes.
    fn take(&mut self, message: Message, own: bool) -> bool {
        let mut spoken = Spoken::of(message, own);
        if !own {
            // Thoughts of other runs go back to no model.
            spoken.parts.retain(|part| !is_thought(part));
        }
        let bytes: usize = spoken.parts.iter().map(bytes_of).sum();
        if bytes > self.bytes_left || !(self.count(&spoken.parts) || own) {
            return false;
        }
        self.bytes_left -= bytes;
        self.newest_first.push(spoken);
        true
    }

    /// Counts some parts. Answers whether they fit.
    fn count(&mut self, parts: &[Part]) -> bool {
        // Thoughts may be left out of the prompt, so they do not count here.
        let counted = parts.iter().filter(|part| !is_thought(part));
        let tokens = counted.map(|part| self.candidate.count_tokens(std::slice::from_ref(part)));
        let tokens = tokens.fold(0, u64::saturating_add);
        let fits = tokens <= self.tokens_left;
        self.tokens_left = self.tokens_left.saturating_sub(tokens);
        fits
    }
}

/// The session this one was forked from, and the message before which it goes on there.
async fn forked_from(store: &Store, session: &Session) -> Result<Option<Place>, StoreError> {
    let forked_at = session.metadata.get("forkedAt");
    let forked_at = forked_at.and_then(serde_json::Value::as_u64);
    let (Some(parent), Some(seq)) = (session.parent, forked_at) else {
        return Ok(None);
    };
    match store.get_session(&SessionRef::Id(parent)).await {
        Ok(parent) => Ok(Some(Place {
            // Metadata is anybody's word: no more is counted than there is.
            before: Some(seq.min(parent.messages).saturating_add(1)),
            session: parent,
            own_from: None,
        })),
        // A deleted parent takes its past along.
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_thought(part: &Part) -> bool {
    matches!(part, Part::Thinking { .. })
}

fn bytes_of(part: &Part) -> usize {
    match part {
        Part::Text { text } | Part::Thinking { text, .. } => text.len(),
        Part::Image { data, .. } => data.len(),
        Part::ToolCall(call) => call.args.to_string().len(),
        Part::ToolResult(result) => result.content.iter().map(bytes_of).sum(),
    }
}
