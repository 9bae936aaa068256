//! What is done for a write before the writer's thread sees it: rules, JSON, blobs. The thread
//! that everybody waits for then has only SQL to do.

use super::journal::{ENTRIES_MAX, Stored};
use super::payload;
use super::words::{Birth, LedgerWrite, NewMessage, NewRun, Reserve, RunSummary, StepWrite};
use crate::blobs::{Blobs, Hash, INLINE_BYTES_MAX, Pin};
use crate::error::StoreError;
use crate::rules;
use crate::sessions::write::Draft;
use crate::store::to_json;
use bytes::Bytes;
use hob_core::turn::Limits;
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::{QueueMode, RunState};
use hob_wire::{Content, RunId};
use serde_json::Value;
use std::sync::Arc;

/// Journal entries, messages, ledger writes or events of one write.
const ITEMS_MAX: usize = 1_024;

/// A run to be accepted; its parts were checked and its parameters stored.
#[derive(Debug)]
pub(crate) struct AcceptPlan {
    pub(crate) id: RunId,
    pub(crate) session: SessionRef,
    pub(crate) kind: String,
    pub(crate) fork: bool,
    pub(crate) task: String,
    pub(crate) limits: Limits,
    pub(crate) limits_json: String,
    pub(crate) params: Stored,
    pub(crate) params_hash: Option<Hash>,
    pub(crate) mode: QueueMode,
    pub(crate) queue_max: u32,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) birth: Option<Birth>,
    pub(crate) pins: Vec<Pin>,
    /// About what it writes.
    pub(crate) bytes: usize,
}

impl AcceptPlan {
    pub(crate) async fn new(run: NewRun, blobs: &Arc<Blobs>) -> Result<Self, StoreError> {
        let session = rules::session_ref(&run.session)?;
        let kind = run.kind.unwrap_or_else(|| rules::KIND_DEFAULT.to_owned());
        rules::kind(&kind)?;
        let key = run.idempotency_key;
        key.as_deref().map_or(Ok(()), rules::idempotency_key)?;
        let label = run.birth.as_ref().and_then(|birth| birth.label.as_deref());
        label.map_or(Ok(()), rules::label)?;
        rules::task(&run.task)?;
        let params = to_json(&run.params)?;
        rules::params(&params)?;
        let params_hash = key.is_some().then(|| sense(run.params)).transpose()?;
        let limits_json = to_json(&run.limits)?;
        // Last, because a refusal after it would leave a file behind.
        let mut store = Storing::new(blobs);
        let params = store.keep(params).await?;
        Ok(AcceptPlan {
            id: run.id,
            session,
            kind,
            fork: run.fork,
            limits_json,
            limits: run.limits,
            params,
            params_hash,
            mode: run.mode,
            queue_max: run.queue_max,
            idempotency_key: key,
            birth: run.birth,
            pins: store.pins,
            bytes: store.bytes + run.task.len(),
            task: run.task,
        })
    }
}

/// What a run is asked to do: its parameters but for those that only say how to be answered.
fn sense(mut params: Value) -> Result<Hash, StoreError> {
    if let Value::Object(fields) = &mut params {
        fields.shift_remove("wait");
        fields.shift_remove("idempotencyKey");
    }
    params.sort_all_objects();
    Ok(Hash::of(to_json(&params)?.as_bytes()))
}

/// A step to be written; its parts were checked and its values stored.
#[derive(Debug)]
pub(crate) struct StepPlan {
    pub(crate) run: RunId,
    pub(crate) at_index: u64,
    pub(crate) journal: Vec<Stored>,
    pub(crate) messages: Vec<Draft>,
    pub(crate) ledger: Vec<LedgerWrite>,
    pub(crate) reserve: Option<Reserve>,
    pub(crate) events: Vec<PlannedEvent>,
    pub(crate) steer_keys: Vec<String>,
    pub(crate) summary: RunSummary,
    /// JSON already.
    pub(crate) notes: String,
    pub(crate) pins: Vec<Pin>,
    /// About what it writes.
    pub(crate) bytes: usize,
}

/// An event and how much of it has to be stored.
#[derive(Debug)]
pub(crate) struct PlannedEvent {
    pub(crate) topic: Arc<str>,
    pub(crate) payload: Bytes,
    /// The message that holds the rest, by its number in this write, and the bytes before that.
    pub(crate) shared: Option<(usize, usize)>,
}

impl StepPlan {
    /// The plan, and the contents of the messages as their caller gave them.
    pub(crate) async fn new(
        step: StepWrite,
        blobs: &Arc<Blobs>,
    ) -> Result<(Self, Vec<Content>), StoreError> {
        check(&step)?;
        let mut bytes = step.summary.text.len();
        let mut contents = Vec::with_capacity(step.messages.len());
        let mut messages = Vec::with_capacity(step.messages.len());
        for message in step.messages {
            let draft = draft(&message)?;
            bytes += draft.content.len();
            contents.push(message.content);
            messages.push(draft);
        }
        let mut events = Vec::with_capacity(step.events.len());
        for (topic, payload) in step.events {
            let event = PlannedEvent::new(topic, &payload, &messages)?;
            bytes += event.shared.map_or(event.payload.len(), |(_, kept)| kept);
            events.push(event);
        }
        let mut entries = Vec::with_capacity(step.journal.len());
        for entry in &step.journal {
            let entry = to_json(entry)?;
            rules::journal_entry(&entry)?;
            entries.push(entry);
        }
        let notes = to_json(&step.summary.notes)?;
        rules::notes(&notes)?;
        rules::answer(&step.summary.text)?;
        // Last, because a refusal after it would leave files behind.
        let mut store = Storing::new(blobs);
        let mut journal = Vec::with_capacity(entries.len());
        for entry in entries {
            journal.push(store.keep(entry).await?);
        }
        bytes += store.bytes;
        let plan = StepPlan {
            run: step.run,
            at_index: step.at_index,
            journal,
            messages,
            ledger: step.ledger,
            reserve: step.reserve,
            events,
            steer_keys: step.steer_keys,
            notes,
            summary: step.summary,
            pins: store.pins,
            bytes,
        };
        Ok((plan, contents))
    }
}

impl PlannedEvent {
    fn new(topic: &str, payload: &Value, messages: &[Draft]) -> Result<Self, StoreError> {
        let payload = to_json(payload)?;
        rules::payload(&payload)?;
        let shared = messages.iter().enumerate().find_map(|(number, message)| {
            let kept = payload::beginning(topic, payload.as_bytes(), &message.content)?;
            Some((number, kept))
        });
        Ok(PlannedEvent {
            topic: topic.into(),
            payload: payload.into(),
            shared,
        })
    }
}

fn draft(message: &NewMessage) -> Result<Draft, StoreError> {
    let key = message.idempotency_key.as_deref();
    key.map_or(Ok(()), rules::idempotency_key)?;
    let content = to_json(&message.content)?;
    rules::content(&content)?;
    Ok(Draft {
        role: message.role,
        content,
        idempotency_key: message.idempotency_key.clone(),
    })
}

fn check(step: &StepWrite) -> Result<(), StoreError> {
    let items = [
        step.journal.len(),
        step.messages.len(),
        step.ledger.len(),
        step.events.len(),
        step.steer_keys.len(),
    ];
    if items.into_iter().any(|count| count > ITEMS_MAX) {
        return Err(StoreError::Invalid(format!(
            "A step writes at most {ITEMS_MAX} of a kind at once."
        )));
    }
    for key in &step.steer_keys {
        rules::idempotency_key(key)?;
    }
    if step.at_index.saturating_add(step.journal.len() as u64) > ENTRIES_MAX {
        return Err(StoreError::Invalid(format!(
            "The journal of a run has at most {ENTRIES_MAX} entries."
        )));
    }
    let summary = &step.summary;
    let ended = summary.state == RunState::Done;
    if summary.cause.is_some() != ended || summary.ended_at.is_some() != ended {
        return Err(StoreError::Invalid(
            "A run has a cause and an end when it is done, and only then.".to_owned(),
        ));
    }
    check_calls(&step.ledger, step.reserve.as_ref())
}

/// Whether the calls of ledger writes are named as they may be.
pub(crate) fn check_calls(
    writes: &[LedgerWrite],
    reserve: Option<&Reserve>,
) -> Result<(), StoreError> {
    let keys = writes.iter().map(|write| match write {
        LedgerWrite::Settle { call_key, .. } | LedgerWrite::Unknown { call_key } => call_key,
    });
    let reserved = reserve.map(|reserve| &reserve.call_key);
    keys.chain(reserved)
        .try_for_each(|key| rules::call_key(key))
}

/// Puts values where they belong, and remembers what must be kept meanwhile.
struct Storing<'a> {
    blobs: &'a Arc<Blobs>,
    pins: Vec<Pin>,
    bytes: usize,
}

impl<'a> Storing<'a> {
    fn new(blobs: &'a Arc<Blobs>) -> Self {
        Storing {
            blobs,
            pins: Vec::new(),
            bytes: 0,
        }
    }

    async fn keep(&mut self, json: String) -> Result<Stored, StoreError> {
        if json.len() <= INLINE_BYTES_MAX {
            self.bytes += json.len();
            return Ok(Stored::Row(json));
        }
        let pin = self.blobs.keep(json.into_bytes()).await?;
        let hash = pin.hash;
        self.pins.push(pin);
        Ok(Stored::Blob(hash))
    }
}
