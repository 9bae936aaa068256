//! Outcomes of slots with tool calls, cost ceilings and waits.

use super::{House, PATIENCE, job, settings};
use hob_kit::clock::Clock;
use hob_wire::rooms::agent::{CallView, ToolCallState};
use hob_wire::rooms::cron::{
    Add, CronAddParams, CronJob, CronListParams, CronRunParams, HEARTBEAT, JobSlot, List, Run,
    SlotState,
};
use hob_wire::rooms::permission::{AnswerReach, PermissionDenial, RuleDecision, RuleTerms};
use hob_wire::work::RunEndCause;
use hob_wire::{ContentPart, ToolCall, ToolResult};
use serde_json::json;
use std::time::{Duration, Instant};

fn fire(name: &str) -> CronRunParams {
    CronRunParams {
        id: name.to_owned(),
        idempotency_key: None,
    }
}

fn call(step: u32, tool: &str, failed: Option<&str>) -> CallView {
    let id = format!("{step}-{tool}");
    CallView {
        step,
        call: ToolCall {
            id: id.clone(),
            name: tool.to_owned(),
            args: json!({}),
        },
        state: ToolCallState::Done,
        denial: None,
        result: Some(ToolResult {
            id,
            content: vec![ContentPart::Text {
                text: failed.unwrap_or("done").to_owned(),
            }],
            is_error: failed.is_some(),
        }),
    }
}

fn denied(step: u32, tool: &str) -> CallView {
    let call = call(step, tool, Some("Nobody is there."));
    CallView {
        state: ToolCallState::Denied,
        denial: Some(PermissionDenial {
            call_id: call.call.id.clone(),
            tool: tool.to_owned(),
            by: "unattended".to_owned(),
            reason: "Nobody is there.".to_owned(),
            grant: Some(RuleTerms::new(
                tool,
                RuleDecision::Allow,
                AnswerReach::Always,
            )),
        }),
        ..call
    }
}

/// Returns the next slot of a job once it has an outcome.
async fn outcome(house: &House, name: &str) -> JobSlot {
    let slot = house.caller().call::<Run>(&fire(name)).await;
    let number = slot.expect("fires").number;
    let begun = Instant::now();
    loop {
        let slots = house.slots().await;
        let slot = slots.into_iter().find(|slot| slot.number == number);
        let slot = slot.expect("is there");
        if slot.ended_at.is_some() {
            return slot;
        }
        assert!(begun.elapsed() < PATIENCE, "{slot:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn the_job(house: &House) -> CronJob {
    let listed = house
        .caller()
        .call::<List>(&CronListParams::default())
        .await;
    listed.expect("lists").jobs.remove(0)
}

#[tokio::test]
async fn a_denied_call_and_a_failed_last_one_are_no_clean_run() {
    let house = House::new();
    let caller = house.caller();
    let added = caller.call::<Add>(&job("tidy", "@yearly")).await;
    added.expect("is added");
    let failed = || call(1, "exec", Some("exit code 1"));
    let table = [
        (vec![call(1, "exec", None)], SlotState::Ran, "", (0, 0)),
        (
            vec![denied(1, "exec"), call(2, "read", None)],
            SlotState::RanWithDenials,
            "hob cron update tidy --allow exec",
            (1, 0),
        ),
        // A search that found nothing, and the work went on.
        (
            vec![failed(), call(2, "read", None)],
            SlotState::Ran,
            "",
            (0, 1),
        ),
        (
            vec![failed()],
            SlotState::RanWithFailures,
            "last call failed: exec",
            (0, 1),
        ),
    ];
    for (calls, state, words, counts) in table {
        house.agent.set_calls(calls);
        let slot = outcome(&house, "tidy").await;
        assert_eq!(slot.state, state, "{slot:?}");
        let reason = slot.reason.clone().unwrap_or_default();
        assert!(reason.contains(words), "{reason}");
        assert_eq!(reason.is_empty(), words.is_empty(), "{reason}");
        assert_eq!((slot.denied_calls, slot.failed_calls), counts);
        let job = the_job(&house).await;
        assert_eq!(job.last.as_ref(), Some(&slot));
        assert_eq!(job.failures, 0);
    }
    house.fixture.close().await;
}

#[tokio::test]
async fn a_ceiling_ends_the_slot_by_name_and_is_no_fault_of_the_job() {
    let house = House::with(Clock::system(), "");
    let params = CronAddParams {
        failures_max: Some(2),
        ..job("dear", "@yearly")
    };
    house.caller().call::<Add>(&params).await.expect("is added");
    for _ in 0..3 {
        house
            .agent
            .answer_with(RunEndCause::Budget, "The day's budget");
        let slot = outcome(&house, "dear").await;
        assert_eq!(slot.state, SlotState::Failed);
        assert_eq!(slot.reason.as_deref(), Some("The day's budget"));
    }
    let job = the_job(&house).await;
    assert_eq!((job.enabled, job.failures), (true, 0), "{job:?}");
    house.fixture.close().await;
}

#[tokio::test]
async fn a_run_that_waits_for_money_is_given_up() {
    let house = House::with(Clock::system(), "");
    let added = house.caller().call::<Add>(&job("dear", "@yearly")).await;
    added.expect("is added");
    house.agent.set_paused(true);
    let slot = outcome(&house, "dear").await;
    assert_eq!(slot.state, SlotState::Failed);
    let reason = slot.reason.unwrap_or_default();
    assert!(reason.contains("nobody is there to allow more"), "{reason}");
    house.fixture.close().await;
}

#[tokio::test]
async fn runs_that_wait_for_a_person_do_not_keep_the_heartbeat_from_working() {
    let house = House::new();
    let text = "[heartbeat]\nenabled = true\nevery = '1h'";
    house.settings.send_replace(settings(text));
    let begun = Instant::now();
    while house
        .caller()
        .call::<List>(&CronListParams::default())
        .await
        .expect("lists")
        .jobs
        .is_empty()
    {
        assert!(begun.elapsed() < PATIENCE, "there is no heartbeat");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let file = house.fixture.home.heartbeat_file();
    std::fs::write(&file, "# Heartbeat\n- look at the mail\n").expect("writes");
    house.agent.set_busy(2);
    let slot = outcome(&house, HEARTBEAT).await;
    assert_eq!(slot.state, SlotState::Skipped, "{slot:?}");
    house.agent.set_waiting(2);
    let slot = outcome(&house, HEARTBEAT).await;
    assert_eq!(slot.state, SlotState::Ran, "{slot:?}");
    house.fixture.close().await;
}
