//! The transcripts in memory, by session, and the positions that they begin with.
//!
//! Invariants: a transcript that a run tells its inputs stays; a new one begins above all positions
//! that a client may know.

use super::session_transcript::SessionTranscript;
use hob_bus::{EventEmitter, SessionTag};
use hob_kit::clock::Clock;
use hob_kit::tasks::TaskGroup;
use hob_store::Store;
use hob_wire::SessionId;
use hob_wire::rooms::session::SessionBlock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Transcripts in memory after which those that nobody needs are looked for.
const SWEEP_AT_MIN: usize = 64;
/// Positions for each millisecond. A new transcript begins at the time, so its positions are above
/// those of its predecessors, also of former daemons.
const POSITIONS_PER_MS: u64 = 1_024;

pub(super) struct TranscriptRegistry {
    pub(super) store: Store,
    pub(super) emitter: EventEmitter,
    clock: Clock,
    pub(super) tasks: TaskGroup,
    /// The last position that any transcript began or ended with. Not under the mutex: a transcript
    /// asks for it under its own lock, which is taken under the mutex elsewhere.
    position: AtomicU64,
    // A std mutex: held for lookups, never across an await.
    live: Mutex<LiveTranscripts>,
}

#[derive(Default)]
pub(super) struct LiveTranscripts {
    pub(super) by_id: HashMap<Arc<str>, Arc<SessionTranscript>>,
    pub(super) ids: HashMap<Arc<str>, Arc<str>>,
    sweep_at: usize,
}

impl TranscriptRegistry {
    pub(super) fn new(emitter: EventEmitter, store: Store, clock: Clock, tasks: TaskGroup) -> Self {
        TranscriptRegistry {
            store,
            emitter,
            clock,
            tasks,
            position: AtomicU64::new(0),
            live: Mutex::default(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, LiveTranscripts> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes transcripts whose followers left.
    fn sweep(&self, live: &mut LiveTranscripts) {
        let followed = |tag| self.emitter.has_followers::<SessionBlock>(tag);
        let needless = live
            .by_id
            .values()
            .filter(|transcript| transcript.is_idle() && !followed(&transcript.tag));
        for transcript in needless.cloned().collect::<Vec<_>>() {
            self.remove(live, &transcript);
        }
        live.sweep_at = live.by_id.len() * 2;
    }

    pub(super) fn remove(&self, live: &mut LiveTranscripts, transcript: &Arc<SessionTranscript>) {
        let tag = &transcript.tag;
        let is_same = |held: &Arc<SessionTranscript>| Arc::ptr_eq(held, transcript);
        if live.by_id.get(&tag.id).is_some_and(is_same) {
            live.by_id.remove(&tag.id);
            if let Some(key) = &tag.key {
                live.ids.remove(key);
            }
            let position = transcript.position();
            self.position.fetch_max(position, Ordering::Relaxed);
        }
    }

    /// A position above all that a client may know.
    pub(super) fn next_position(&self) -> u64 {
        let now = self.clock.wall_ms().saturating_mul(POSITIONS_PER_MS);
        // Two steps, so that it is never the one after the last change of another transcript.
        let next = |last: u64| Some(last.saturating_add(2).max(now));
        let former = self
            .position
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        next(former.unwrap_or_default()).unwrap_or(now)
    }
}

impl LiveTranscripts {
    /// The transcript of a session, created if it is missing.
    pub(super) fn entry(
        &mut self,
        registry: &TranscriptRegistry,
        tag: &SessionTag,
        session: SessionId,
        session_key: &str,
    ) -> Arc<SessionTranscript> {
        if let Some(transcript) = self.by_id.get(&tag.id) {
            return Arc::clone(transcript);
        }
        if self.by_id.len() >= self.sweep_at.max(SWEEP_AT_MIN) {
            registry.sweep(self);
        }
        let transcript = Arc::new(SessionTranscript::new(tag.clone(), session, session_key));
        if let Some(key) = &tag.key {
            self.ids.insert(Arc::clone(key), Arc::clone(&tag.id));
        }
        self.by_id
            .insert(Arc::clone(&tag.id), Arc::clone(&transcript));
        transcript
    }
}
