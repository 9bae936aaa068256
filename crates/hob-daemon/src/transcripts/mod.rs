//! The transcripts of sessions as blocks: `session.blocks` and the event `session.block`.
//!
//! - [`Transcripts`]: the transcripts in memory: those of runs in progress and of followed sessions.
//!   The rooms of the agent, the tools, the permissions and the sessions tell it what happens
//! - `registry`: where they are kept
//! - `session_transcript`: one of them: the fold of `hob_core::transcript`, fed in order
//! - `feed`: the inputs of one run
//! - `pages`: the answers to `session.blocks`, from stored messages and from the fold
//!
//! Invariants: what a client does not follow costs no event and hardly any work; changes are emitted
//! in the order of their positions; positions never go back to a number that a client may know; the
//! memory of a transcript is bounded by one step of one run.

mod feed;
mod pages;
mod registry;
mod session_transcript;

pub(crate) use feed::TranscriptFeed;

use hob_bus::{Bus, SessionTag};
use hob_core::transcript::{StoredMessage, TranscriptFold, TranscriptInput};
use hob_kit::clock::Clock;
use hob_kit::tasks::TaskGroup;
use hob_store::{Store, StoreError, TranscriptPlace, TranscriptTail};
use hob_wire::block::{BlockChange, BlockKind, BlockOp, QuestionKind};
use hob_wire::rooms::permission::PermissionQuestion;
use hob_wire::rooms::session::{
    SessionBlock, SessionBlockPayload, SessionBlocks, SessionBlocksParams,
};
use hob_wire::{RunId, SessionId, WireError};
use registry::TranscriptRegistry;
use session_transcript::SessionTranscript;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Messages read at once for a transcript that begins in the middle of a run.
const TAIL_GROUPS: usize = 500;
/// Wait before followers are told again that they missed something.
const RETRY_WAIT: Duration = Duration::from_millis(100);
/// The name of a change that has no block and only says that some were missed.
const MISSED: &str = "missed";

/// The transcripts in memory. Cheap to clone.
#[derive(Clone)]
pub struct Transcripts(Arc<TranscriptRegistry>);

/// What a transcript shows now.
struct TranscriptView {
    settled: u64,
    position: u64,
    /// The blocks that are not final.
    blocks: Vec<hob_wire::block::Block>,
}

impl Transcripts {
    pub fn new(bus: &Bus, store: Store, clock: Clock, tasks: TaskGroup) -> Self {
        let emitter = bus.emitter("sessions");
        let registry = TranscriptRegistry::new(emitter, store, clock, tasks);
        Transcripts(Arc::new(registry))
    }

    /// Answers `session.blocks`.
    pub(crate) async fn blocks(
        &self,
        params: SessionBlocksParams,
    ) -> Result<SessionBlocks, WireError> {
        pages::read(self, params).await
    }

    /// Registers a run that is about to be driven. Its inputs go to the feed.
    pub(crate) fn feed(&self, run: RunId, session: SessionId, session_key: &str) -> TranscriptFeed {
        let tag = tag_of(session, session_key);
        let registry = &self.0;
        let mut live = registry.lock();
        let transcript = live.entry(registry, &tag, session, session_key);
        // Under the mutex, so that nobody removes it as one without a run.
        transcript.add_feed();
        drop(live);
        TranscriptFeed::new(self.clone(), transcript, run)
    }

    /// Shows a message that was added to a session, if somebody follows it or a run of it is in
    /// progress.
    pub(crate) async fn add_message(&self, session: &str, seq: u64) {
        if self.find(session).is_none() && !self.is_followed(&named(session)) {
            return;
        }
        let place = TranscriptPlace::After(seq.saturating_sub(1), seq);
        let Ok(page) = self.0.store.transcript(session, place, 1).await else {
            return self.reset(session);
        };
        let tag = tag_of(page.session, &page.session_key);
        let found = page.messages.into_iter().find(|it| it.message.seq == seq);
        if let Some(message) = found {
            let transcript = self.entry(&tag, page.session, &page.session_key);
            self.apply(&transcript, [TranscriptInput::Message(message)]);
        }
    }

    /// Shows the output of a running call.
    pub(crate) fn add_output(&self, session: &SessionTag, run: RunId, call_id: &str, text: &str) {
        let call_id = call_id.to_owned();
        self.apply_to(session, |_| TranscriptInput::CallOutput {
            run,
            call_id,
            text: text.to_owned(),
        });
    }

    /// Shows a question to a person: in the session of its run, and in the one that the run was
    /// started for.
    pub(crate) fn add_question(&self, watched: Option<&SessionTag>, question: &PermissionQuestion) {
        for session in self.shown_in(watched, &question.session_key) {
            self.apply_to(&session, |current| TranscriptInput::Asked {
                // A transcript shows only its own runs.
                run: current.unwrap_or(question.run_id),
                asks: QuestionKind::Permission,
                id: question.id.clone(),
                call_id: Some(question.call_id.clone()),
                sentence: question.sentence.clone(),
            });
        }
    }

    /// Removes a question that was answered or withdrawn.
    pub(crate) fn remove_question(
        &self,
        watched: Option<&SessionTag>,
        question: &PermissionQuestion,
    ) {
        for session in self.shown_in(watched, &question.session_key) {
            self.apply_to(&session, |current| TranscriptInput::Answered {
                run: current.unwrap_or(question.run_id),
                id: question.id.clone(),
            });
        }
    }

    /// Forgets a session's transcript: it was deleted, or something happened that the fold was not
    /// told. Followers ask again.
    pub(crate) fn reset(&self, session: &str) {
        let Some(transcript) = self.find(session) else {
            return;
        };
        let mut position = transcript.skip_position();
        // A run in progress goes on telling this transcript what happens.
        if transcript.is_idle() {
            self.0.remove(&mut self.0.lock(), &transcript);
            position = self.0.next_position();
        }
        self.tell_missed(&transcript, position);
    }

    /// The transcript with this key or id.
    fn find(&self, session: &str) -> Option<Arc<SessionTranscript>> {
        let live = self.0.lock();
        let id = live.ids.get(session).map_or(session, |id| id);
        live.by_id.get(id).cloned()
    }

    /// The transcript of a session, created if it is missing.
    fn entry(
        &self,
        tag: &SessionTag,
        session: SessionId,
        session_key: &str,
    ) -> Arc<SessionTranscript> {
        let registry = &self.0;
        let mut live = registry.lock();
        live.entry(registry, tag, session, session_key)
    }

    fn is_followed(&self, session: &SessionTag) -> bool {
        self.0.emitter.has_followers::<SessionBlock>(session)
    }

    /// The sessions that show the questions of a run in this session.
    fn shown_in(&self, watched: Option<&SessionTag>, own: &str) -> Vec<SessionTag> {
        let own = self.find(own).map(|transcript| transcript.tag.clone());
        let other = watched.filter(|tag| own.as_ref().is_none_or(|own| own.id != tag.id));
        own.iter().chain(other).cloned().collect()
    }

    /// Applies an input to a transcript in memory. `input` gets the run in progress.
    fn apply_to(&self, session: &SessionTag, input: impl FnOnce(Option<RunId>) -> TranscriptInput) {
        if let Some(transcript) = self.find(&session.id) {
            let input = input(transcript.current_run());
            self.apply(&transcript, [input]);
        }
    }

    /// Applies inputs and emits the changes, if somebody follows the session.
    fn apply(
        &self,
        transcript: &Arc<SessionTranscript>,
        inputs: impl IntoIterator<Item = TranscriptInput>,
    ) {
        let followed = self.is_followed(&transcript.tag);
        let position = || self.0.next_position();
        let emit = |change| self.emit(transcript, change);
        let is_told = transcript.apply(inputs, followed, position, emit);
        if !is_told {
            self.retry_missed(transcript);
        }
    }

    fn emit(&self, transcript: &SessionTranscript, change: BlockChange) -> bool {
        let subject: Arc<str> = change.id.as_str().into();
        let payload = SessionBlockPayload {
            session_key: transcript.session_key.clone(),
            session_id: transcript.session,
            change,
        };
        let tag = transcript.tag.clone();
        self.0
            .emitter
            .emit_to_followers::<SessionBlock>(tag, subject, &payload)
    }

    /// Tells followers that they missed changes. Returns false if the bus is overloaded.
    fn tell_missed(&self, transcript: &SessionTranscript, position: u64) -> bool {
        if !self.is_followed(&transcript.tag) {
            return true;
        }
        let change = BlockChange {
            position,
            op: BlockOp::Drop,
            id: MISSED.to_owned(),
            revision: 0,
            kind: BlockKind::Notice,
            run_id: None,
            offset: 0,
            text: String::new(),
            before: None,
            details: None,
            settled: None,
        };
        self.emit(transcript, change)
    }

    /// Tells followers that they missed changes, as soon as the bus has room for it. Before that, a
    /// transcript that lost a message begins anew.
    fn retry_missed(&self, transcript: &Arc<SessionTranscript>) {
        if transcript.is_retrying.swap(true, Ordering::Relaxed) {
            return;
        }
        let (transcripts, transcript) = (self.clone(), Arc::clone(transcript));
        let retry = async move {
            loop {
                tokio::time::sleep(RETRY_WAIT).await;
                // Before the position is taken: a change that fails from now on is another one.
                transcript.is_retrying.store(false, Ordering::Relaxed);
                if transcript.is_lost()
                    && let Err(error) = transcripts.start(&transcript).await
                {
                    tracing::debug!("a transcript cannot be read yet: {error}");
                }
                let position = transcript.skip_position();
                if transcripts.tell_missed(&transcript, position)
                    || transcript.is_retrying.swap(true, Ordering::Relaxed)
                {
                    return;
                }
            }
        };
        self.0
            .tasks
            .spawn_until_stop("missed changes of a transcript", retry);
    }

    /// What the transcript of a session shows now.
    async fn view(&self, session: &str) -> Result<TranscriptView, StoreError> {
        if let Some(transcript) = self.find(session)
            && let Some(view) = self.view_of(&transcript)
        {
            return Ok(view);
        }
        let tail = self.0.store.transcript_tail(session).await?;
        let tag = tag_of(tail.session, &tail.session_key);
        let is_live = self.find(&tag.id).is_some();
        if !is_live && !self.is_followed(&tag) {
            return self.view_stored(&tail).await;
        }
        let transcript = self.entry(&tag, tail.session, &tail.session_key);
        self.start(&transcript).await?;
        match self.view_of(&transcript) {
            Some(view) => Ok(view),
            None => self.view_stored(&tail).await,
        }
    }

    fn view_of(&self, transcript: &Arc<SessionTranscript>) -> Option<TranscriptView> {
        let mut view = None;
        let is_told = transcript.look(
            self.is_followed(&transcript.tag),
            |change| self.emit(transcript, change),
            |fold, position| {
                view = Some(TranscriptView {
                    settled: fold.settled(),
                    position,
                    blocks: fold.blocks().cloned().collect(),
                });
            },
        );
        if !is_told {
            self.retry_missed(transcript);
        }
        view
    }

    /// What a session shows that is neither followed nor in progress.
    async fn view_stored(&self, tail: &TranscriptTail) -> Result<TranscriptView, StoreError> {
        let position = self.0.next_position();
        let mut fold = TranscriptFold::new(settled_before(tail), position);
        if tail.run.is_some() {
            let (inputs, _) = self.stored_tail(tail).await?;
            for input in inputs {
                fold.apply(input, &mut Vec::new());
            }
        }
        Ok(TranscriptView {
            settled: fold.settled(),
            position,
            blocks: fold.blocks().cloned().collect(),
        })
    }

    /// Begins the fold of a transcript with what is stored, unless it has begun.
    async fn start(&self, transcript: &Arc<SessionTranscript>) -> Result<(), StoreError> {
        if !transcript.begin_load() {
            return Ok(());
        }
        let loaded = async {
            let tail = self
                .0
                .store
                .transcript_tail(&transcript.session.to_string())
                .await?;
            let (inputs, next_seq) = self.stored_tail(&tail).await?;
            Ok::<_, StoreError>((settled_before(&tail), inputs, next_seq))
        };
        let loaded = loaded.await;
        let followed = self.is_followed(&transcript.tag);
        let is_told = match loaded {
            Ok((settled, inputs, next_seq)) => {
                let position = self.0.next_position();
                let mut fold = TranscriptFold::new(settled, position);
                for input in inputs {
                    // A page has them; nobody knows this fold yet.
                    fold.apply(input, &mut Vec::new());
                }
                transcript.start(fold, next_seq, followed, |change| {
                    self.emit(transcript, change)
                })
            }
            Err(error) => {
                transcript.end_load();
                return Err(error);
            }
        };
        if !is_told {
            self.retry_missed(transcript);
        }
        Ok(())
    }

    /// The inputs that the stored messages behind a tail's beginning make, and the number of the
    /// first message that is not among them.
    async fn stored_tail(
        &self,
        tail: &TranscriptTail,
    ) -> Result<(Vec<TranscriptInput>, u64), StoreError> {
        let session = tail.session.to_string();
        let mut messages: Vec<StoredMessage> = Vec::new();
        let mut next_seq = tail.message_count + 1;
        let mut after = (tail.run.is_some()).then(|| settled_before(tail));
        while let Some(start) = after {
            let place = TranscriptPlace::After(start, u64::MAX);
            let page = self
                .0
                .store
                .transcript(&session, place, TAIL_GROUPS)
                .await?;
            after = page.after;
            next_seq = next_seq.max(page.message_count + 1);
            messages.extend(page.messages);
        }
        messages.sort_by_key(|it| it.message.seq);
        if let Some(last) = messages.last() {
            next_seq = next_seq.max(last.message.seq + 1);
        }
        let begun = tail.run.map(|(run, _)| TranscriptInput::RunBegun { run });
        let messages = messages.into_iter().map(TranscriptInput::Message);
        Ok((begun.into_iter().chain(messages).collect(), next_seq))
    }

    /// Forgets a transcript if nobody needs it.
    fn release(&self, transcript: &Arc<SessionTranscript>) {
        let mut live = self.0.lock();
        if transcript.is_idle() && !self.is_followed(&transcript.tag) {
            self.0.remove(&mut live, transcript);
        }
    }
}

impl fmt::Debug for Transcripts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transcripts").finish_non_exhaustive()
    }
}

/// The last message that is final.
fn settled_before(tail: &TranscriptTail) -> u64 {
    tail.run
        .map_or(tail.message_count, |(_, begins)| begins.saturating_sub(1))
}

fn tag_of(session: SessionId, session_key: &str) -> SessionTag {
    let id = session.to_string();
    SessionTag {
        key: (session_key != id).then(|| session_key.into()),
        id: id.into(),
    }
}

/// A tag of which only one name is known.
fn named(session: &str) -> SessionTag {
    SessionTag {
        id: session.into(),
        key: None,
    }
}
