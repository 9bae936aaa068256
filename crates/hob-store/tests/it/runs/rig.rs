//! Runs as these tests make them.

use crate::support::Open;
use hob_core::turn::RunLimits;
use hob_store::{
    AcceptedRun, CostReservation, LedgerWrite, NewRun, RunRow, RunSummary, SpendingCeilings,
    StepWrite,
};
use hob_wire::rooms::agent::{QueueMode, RunState};
use hob_wire::work::RunEndCause;
use hob_wire::{RunId, TokenUsage};
use serde_json::{Value, json};
use uuid::Uuid;

/// A run to be accepted, with an id of its own.
pub(crate) fn run(session: &str, task: &str) -> NewRun {
    NewRun {
        id: RunId(Uuid::from_u128(rand())),
        session: session.to_owned(),
        kind: None,
        fork: false,
        task: task.to_owned(),
        params: json!({ "sessionKey": session, "task": task }),
        limits: RunLimits::DEFAULT,
        mode: QueueMode::Queue,
        queue_max: 8,
        idempotency_key: None,
        parent_link: None,
    }
}

/// Ids that grow, as those of real runs do.
fn rand() -> u128 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    (0x0190_u128 << 112) | u128::from(NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn keyed(session: &str, task: &str, key: &str) -> NewRun {
    NewRun {
        idempotency_key: Some(key.to_owned()),
        ..run(session, task)
    }
}

pub(crate) fn in_state(state: RunState) -> RunSummary {
    let ended = state == RunState::Done;
    RunSummary {
        state,
        step: 1,
        attempt: 1,
        text: if ended { "the answer" } else { "" }.to_owned(),
        success: ended,
        cause: ended.then_some(RunEndCause::Answered),
        model: Some("sim/small".to_owned()),
        started_at: Some(1_000),
        ended_at: ended.then_some(2_000),
        ..RunSummary::default()
    }
}

pub(crate) fn step(run: &RunRow, at_index: u64, state: RunState) -> StepWrite {
    StepWrite {
        journal: vec![json!({ "event": "something", "at": at_index })],
        ..StepWrite::new(run.id, at_index, in_state(state))
    }
}

pub(crate) fn reserve(
    call_key: &str,
    micro_dollars: Option<u64>,
    ceilings: SpendingCeilings,
) -> CostReservation {
    CostReservation {
        call_key: call_key.to_owned(),
        model: "sim/small".to_owned(),
        micro_dollars,
        ceilings,
    }
}

pub(crate) fn settle(call_key: &str, micro_dollars: Option<u64>) -> LedgerWrite {
    LedgerWrite::Settle {
        call_key: call_key.to_owned(),
        usage: TokenUsage {
            input_tokens: 100,
            output_tokens: 10,
            cached_tokens: 3,
        },
        micro_dollars,
        model: "sim/small".to_owned(),
    }
}

impl Open {
    pub(crate) async fn accept(&self, run: NewRun) -> RunRow {
        let AcceptedRun { run, duplicate } = self.accept_run(run).await.unwrap();
        assert!(!duplicate);
        run
    }

    /// A run from its acceptance to its end.
    pub(crate) async fn whole_run(&self, session: &str, task: &str) -> RunRow {
        let run = self.accept(run(session, task)).await;
        self.write_step(step(&run, 0, RunState::Running))
            .await
            .unwrap();
        self.write_step(step(&run, 1, RunState::Done))
            .await
            .unwrap();
        self.run(&run.id).await.unwrap()
    }
}

/// The stored payload of the last event with this topic.
pub(crate) fn last_payload(events: &[hob_bus::LoggedEvent], topic: &str) -> Value {
    let event = events.iter().rev().find(|event| *event.topic == *topic);
    let payload = event.and_then(|event| event.payload.clone()).unwrap();
    serde_json::from_slice(&payload).unwrap()
}
