//! The preparation of writes outside the writer's thread: validation, JSON, blobs. The writer,
//! which everybody waits for, then only runs SQL.

use super::journal::{ENTRIES_MAX, StoredValue};
use super::payload;
use super::types::{
    CostReservation, LedgerWrite, NewMessage, NewRun, ParentLink, RunSummary, StepWrite,
};
use crate::blobs::{BlobHash, BlobPin, BlobStore, INLINE_BYTES_MAX};
use crate::error::StoreError;
use crate::sessions::transcript::StepOrigin;
use crate::sessions::write::{DraftOrigin, MessageDraft};
use crate::store::to_json;
use crate::validate;
use bytes::Bytes;
use hob_core::turn::RunLimits;
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::{QueueMode, RunState};
use hob_wire::{MessageContent, RunId};
use serde_json::Value;
use std::sync::Arc;

/// Journal entries, messages, ledger writes or events of one write.
const ITEMS_MAX: usize = 1_024;

/// A run to accept, validated, with its parameters stored.
#[derive(Debug)]
pub(crate) struct AcceptPlan {
    pub(crate) id: RunId,
    pub(crate) session: SessionRef,
    pub(crate) kind: String,
    pub(crate) fork: bool,
    pub(crate) task: String,
    pub(crate) limits: RunLimits,
    pub(crate) limits_json: String,
    pub(crate) params: StoredValue,
    pub(crate) params_hash: Option<BlobHash>,
    pub(crate) mode: QueueMode,
    pub(crate) queue_max: u32,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) parent_link: Option<ParentLink>,
    pub(crate) pins: Vec<BlobPin>,
    /// The approximate bytes that it writes.
    pub(crate) bytes: usize,
}

impl AcceptPlan {
    pub(crate) async fn new(run: NewRun, blobs: &Arc<BlobStore>) -> Result<Self, StoreError> {
        let session = validate::session_ref(&run.session)?;
        let kind = run
            .kind
            .unwrap_or_else(|| validate::KIND_DEFAULT.to_owned());
        validate::kind(&kind)?;
        let key = run.idempotency_key;
        key.as_deref().map_or(Ok(()), validate::idempotency_key)?;
        let label = run
            .parent_link
            .as_ref()
            .and_then(|parent_link| parent_link.label.as_deref());
        label.map_or(Ok(()), validate::label)?;
        validate::task(&run.task)?;
        let params = to_json(&run.params)?;
        validate::params(&params)?;
        let params_hash = key
            .is_some()
            .then(|| params_fingerprint(run.params))
            .transpose()?;
        let limits_json = to_json(&run.limits)?;
        // Last, because a refusal after it would leave a file behind.
        let mut store = ValuePlacement::new(blobs);
        let params = store.place(params).await?;
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
            parent_link: run.parent_link,
            pins: store.pins,
            bytes: store.bytes + run.task.len(),
            task: run.task,
        })
    }
}

/// The hash of a run's parameters, without those that only affect the answer.
fn params_fingerprint(mut params: Value) -> Result<BlobHash, StoreError> {
    if let Value::Object(fields) = &mut params {
        fields.shift_remove("wait");
        fields.shift_remove("idempotencyKey");
    }
    // A retry may come from a client that orders the fields differently.
    params.sort_all_objects();
    Ok(BlobHash::of(to_json(&params)?.as_bytes()))
}

/// A step to write, validated, with its values stored.
#[derive(Debug)]
pub(crate) struct StepPlan {
    pub(crate) run: RunId,
    pub(crate) at_index: u64,
    pub(crate) journal: Vec<StoredValue>,
    pub(crate) messages: Vec<MessageDraft>,
    pub(crate) ledger: Vec<LedgerWrite>,
    pub(crate) reserve: Option<CostReservation>,
    pub(crate) events: Vec<PlannedEvent>,
    pub(crate) steer_keys: Vec<String>,
    pub(crate) summary: RunSummary,
    /// JSON text.
    pub(crate) notes: String,
    pub(crate) pins: Vec<BlobPin>,
    /// The approximate bytes that it writes.
    pub(crate) bytes: usize,
}

/// An event and the part of it that must be stored.
#[derive(Debug)]
pub(crate) struct PlannedEvent {
    pub(crate) topic: Arc<str>,
    pub(crate) payload: Bytes,
    /// The index of the message that holds the rest, and the length of the prefix to store.
    pub(crate) shared: Option<(usize, usize)>,
}

impl StepPlan {
    /// Returns the plan, and the contents of the messages as given.
    pub(crate) async fn new(
        step: StepWrite,
        blobs: &Arc<BlobStore>,
    ) -> Result<(Self, Vec<MessageContent>), StoreError> {
        check_step(&step)?;
        let mut bytes = step.summary.text.len();
        let mut contents = Vec::with_capacity(step.messages.len());
        let mut messages = Vec::with_capacity(step.messages.len());
        for message in step.messages {
            let draft = message_draft(&message)?;
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
            validate::journal_entry(&entry)?;
            entries.push(entry);
        }
        let notes = to_json(&step.summary.notes)?;
        validate::notes(&notes)?;
        validate::answer(&step.summary.text)?;
        // Last, because a refusal after it would leave files behind.
        let mut store = ValuePlacement::new(blobs);
        let mut journal = Vec::with_capacity(entries.len());
        for entry in entries {
            journal.push(store.place(entry).await?);
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
    fn new(topic: &str, payload: &Value, messages: &[MessageDraft]) -> Result<Self, StoreError> {
        let payload = to_json(payload)?;
        validate::payload(&payload)?;
        let shared = messages.iter().enumerate().find_map(|(number, message)| {
            let kept = payload::stored_prefix(topic, payload.as_bytes(), &message.content)?;
            Some((number, kept))
        });
        Ok(PlannedEvent {
            topic: topic.into(),
            payload: payload.into(),
            shared,
        })
    }
}

fn message_draft(message: &NewMessage) -> Result<MessageDraft, StoreError> {
    let key = message.idempotency_key.as_deref();
    key.map_or(Ok(()), validate::idempotency_key)?;
    let content = to_json(&message.content)?;
    validate::content(&content)?;
    Ok(MessageDraft {
        role: message.role,
        content,
        idempotency_key: message.idempotency_key.clone(),
        origin: message.origin.as_ref().map(draft_origin).transpose()?,
    })
}

fn draft_origin(origin: &StepOrigin) -> Result<DraftOrigin, StoreError> {
    Ok(DraftOrigin {
        step: origin.step,
        attempt: origin.attempt,
        outcome: origin.outcome.as_ref().map(to_json).transpose()?,
    })
}

fn check_step(step: &StepWrite) -> Result<(), StoreError> {
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
        validate::idempotency_key(key)?;
    }
    if step.at_index.saturating_add(step.journal.len() as u64) > ENTRIES_MAX {
        return Err(StoreError::Invalid(format!(
            "The journal of a run has at most {ENTRIES_MAX} entries."
        )));
    }
    let summary = &step.summary;
    let ended = summary.state == RunState::Done;
    // `invariants` checks the same rule over the stored rows.
    if summary.cause.is_some() != ended || summary.ended_at.is_some() != ended {
        return Err(StoreError::Invalid(
            "A run has a cause and an end when it is done, and only then.".to_owned(),
        ));
    }
    check_calls(&step.ledger, step.reserve.as_ref())
}

/// Checks the keys of the calls.
pub(crate) fn check_calls(
    writes: &[LedgerWrite],
    reserve: Option<&CostReservation>,
) -> Result<(), StoreError> {
    let keys = writes.iter().map(|write| match write {
        LedgerWrite::Settle { call_key, .. } | LedgerWrite::Unknown { call_key } => call_key,
    });
    let reserved = reserve.map(|reserve| &reserve.call_key);
    keys.chain(reserved)
        .try_for_each(|key| validate::call_key(key))
}

/// Places values in rows or blobs, and collects the pins of the blobs.
struct ValuePlacement<'a> {
    blobs: &'a Arc<BlobStore>,
    pins: Vec<BlobPin>,
    bytes: usize,
}

impl<'a> ValuePlacement<'a> {
    fn new(blobs: &'a Arc<BlobStore>) -> Self {
        ValuePlacement {
            blobs,
            pins: Vec::new(),
            bytes: 0,
        }
    }

    async fn place(&mut self, json: String) -> Result<StoredValue, StoreError> {
        if json.len() <= INLINE_BYTES_MAX {
            self.bytes += json.len();
            return Ok(StoredValue::Row(json));
        }
        let pin = self.blobs.put(json.into_bytes()).await?;
        let hash = pin.hash;
        self.pins.push(pin);
        Ok(StoredValue::Blob(hash))
    }
}
