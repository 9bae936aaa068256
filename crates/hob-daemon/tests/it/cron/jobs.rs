//! Adding, changing, running and stopping jobs, and disabling those that keep failing.

use super::{House, PATIENCE, job, settings};
use crate::fixture::code;
use hob_kit::clock::Clock;
use hob_wire::ErrorCode;
use hob_wire::rooms::cron::{
    Add, CronAddParams, CronListParams, CronRunParams, CronUpdateParams, Disable, Enable,
    HEARTBEAT, JobSelector, JobWork, List, NotifyTarget, OverlapPolicy, Remove, Run, SlotState,
    Update,
};
use hob_wire::rooms::session::{self, SessionHistoryParams};
use hob_wire::work::RunEndCause;
use std::time::{Duration, Instant};

fn named(id: &str) -> JobSelector {
    JobSelector { id: id.to_owned() }
}

fn fire(id: &str, key: Option<&str>) -> CronRunParams {
    CronRunParams {
        id: id.to_owned(),
        idempotency_key: key.map(str::to_owned),
    }
}

#[tokio::test]
async fn a_job_runs_by_its_schedule_and_tells() {
    let house = House::new();
    let caller = house.caller();
    let added = CronAddParams {
        notify: Some(NotifyTarget {
            session_key: "chat:main".to_owned(),
            failures_only: false,
        }),
        ..job("tick", "every 1s")
    };
    let made = caller.call::<Add>(&added).await.expect("is added");
    assert!(made.enabled && made.next.len() == 3, "{made:?}");
    assert_eq!(made.about, "every second");
    let (_, trigger) = house.fixture.heard("cron.trigger").await;
    assert_eq!(trigger["task"], "task of tick");
    let key = trigger["sessionKey"].as_str().expect("a key");
    assert!(key.starts_with("cron:tick:2"), "{key}");
    let slots = house.slots_when(SlotState::Ran, 2).await;
    assert_eq!(slots[1].due_at - slots[0].due_at, 1_000);
    assert_eq!(slots[0].output.as_deref(), Some("did task of tick"));
    let asked = &house.agent.tasks()[0];
    assert_eq!(
        (asked.kind.as_deref(), asked.unattended),
        (Some("cron"), true)
    );
    let listed = caller
        .call::<List>(&CronListParams::default())
        .await
        .expect("lists");
    assert!(listed.jobs[0].last.is_some());
    let told = SessionHistoryParams {
        session_key: "chat:main".to_owned(),
        limit: None,
        before: None,
    };
    let begun = Instant::now();
    loop {
        let told = caller.call::<session::History>(&told).await;
        if told.is_ok_and(|told| !told.messages.is_empty()) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "nobody was told");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    caller
        .call::<Disable>(&named("tick"))
        .await
        .expect("is disabled");
    house.fixture.close().await;
}

#[tokio::test]
async fn a_manual_run_is_one_slot_however_often_it_is_asked_for() {
    let house = House::new();
    let caller = house.caller();
    caller
        .call::<Add>(&job("daily", "@daily"))
        .await
        .expect("is added");
    let first = caller
        .call::<Run>(&fire("daily", Some("k")))
        .await
        .expect("fires");
    let again = caller
        .call::<Run>(&fire("daily", Some("k")))
        .await
        .expect("fires");
    assert_eq!(first.number, again.number);
    house.slots_when(SlotState::Ran, 1).await;
    let after = caller
        .call::<Run>(&fire("daily", Some("k")))
        .await
        .expect("fires");
    assert_eq!((after.number, after.state), (first.number, SlotState::Ran));
    caller
        .call::<Run>(&fire("daily", None))
        .await
        .expect("fires");
    assert_eq!(house.slots_when(SlotState::Ran, 2).await.len(), 2);
    assert_eq!(house.agent.tasks().len(), 2);
    house.fixture.close().await;
}

#[tokio::test]
async fn overlap_is_skipped_queued_or_replaced() {
    for overlap in [
        OverlapPolicy::Skip,
        OverlapPolicy::Queue,
        OverlapPolicy::Replace,
    ] {
        let house = House::with(Clock::system(), "");
        let caller = house.caller();
        let added = CronAddParams {
            overlap: Some(overlap),
            ..job("slow", "@yearly")
        };
        caller.call::<Add>(&added).await.expect("is added");
        caller
            .call::<Run>(&fire("slow", None))
            .await
            .expect("fires");
        house.slots_when(SlotState::Running, 1).await;
        let second = caller
            .call::<Run>(&fire("slow", None))
            .await
            .expect("fires");
        match overlap {
            OverlapPolicy::Skip => {
                assert_eq!(second.state, SlotState::Skipped);
                assert!(second.reason.expect("a reason").contains("in progress"));
            }
            OverlapPolicy::Queue => {
                let third = caller
                    .call::<Run>(&fire("slow", None))
                    .await
                    .expect("fires");
                assert_eq!(
                    (second.state, third.state),
                    (SlotState::Due, SlotState::Skipped)
                );
                house.agent.end(RunEndCause::Answered);
                house.slots_when(SlotState::Ran, 1).await;
                house.slots_when(SlotState::Running, 1).await;
            }
            OverlapPolicy::Replace => {
                let slots = house.slots_when(SlotState::Stopped, 1).await;
                assert_eq!(slots[0].state, SlotState::Stopped);
                house.slots_when(SlotState::Running, 1).await;
            }
        }
        house.agent.end(RunEndCause::Answered);
        house.slots_when(SlotState::Ran, 1).await;
        house.fixture.close().await;
    }
}

#[tokio::test]
async fn a_run_that_waits_for_a_person_is_given_up_and_the_next_one_runs() {
    let house = House::with(Clock::system(), "");
    let caller = house.caller();
    let added = job("doubtful", "@yearly");
    caller.call::<Add>(&added).await.expect("is added");
    let doubtful = fire("doubtful", None);
    let run = || caller.call::<Run>(&doubtful);
    run().await.expect("fires");
    house.slots_when(SlotState::Running, 1).await;
    house.agent.set_doubt(true);
    let slots = house.slots_when(SlotState::Failed, 1).await;
    let failed = slots.iter().find(|slot| slot.state == SlotState::Failed);
    let why = failed.and_then(|slot| slot.reason.clone()).expect("why");
    assert!(why.contains("nobody is there to say"), "{why}");
    house.agent.set_doubt(false);
    run().await.expect("fires");
    house.slots_when(SlotState::Running, 1).await;
    house.agent.end(RunEndCause::Answered);
    house.slots_when(SlotState::Ran, 1).await;
    house.fixture.close().await;
}

#[tokio::test]
async fn a_job_that_fails_again_and_again_is_given_up_until_it_is_enabled() {
    let house = House::with(Clock::system(), "");
    let caller = house.caller();
    let added = CronAddParams {
        failures_max: Some(2),
        ..job("broken", "@yearly")
    };
    caller.call::<Add>(&added).await.expect("is added");
    for count in 1..=2 {
        caller
            .call::<Run>(&fire("broken", None))
            .await
            .expect("fires");
        house.slots_when(SlotState::Running, 1).await;
        house.agent.end(RunEndCause::ModelFailed);
        house.slots_when(SlotState::Failed, count).await;
    }
    let listed = caller
        .call::<List>(&CronListParams::default())
        .await
        .expect("lists");
    let job = &listed.jobs[0];
    assert!(!job.enabled && job.next.is_empty(), "{job:?}");
    assert!(
        job.problem
            .as_deref()
            .expect("a problem")
            .contains("2 times"),
        "{job:?}"
    );
    let enabled = caller
        .call::<Enable>(&named("broken"))
        .await
        .expect("is enabled");
    assert_eq!(
        (enabled.enabled, enabled.failures, enabled.problem),
        (true, 0, None)
    );
    house.fixture.close().await;
}

#[tokio::test]
async fn a_command_runs_in_the_sandbox() {
    let house = House::new();
    let caller = house.caller();
    let command = |name: &str, line: &str| CronAddParams {
        task: None,
        command: Some(line.to_owned()),
        ..job(name, "@yearly")
    };
    for (name, line) in [("good", "echo out; echo err >&2"), ("bad", "exit 7")] {
        caller
            .call::<Add>(&command(name, line))
            .await
            .expect("is added");
        caller.call::<Run>(&fire(name, None)).await.expect("fires");
    }
    let ran = house.slots_when(SlotState::Ran, 1).await;
    let failed = house.slots_when(SlotState::Failed, 1).await;
    let ran = ran
        .iter()
        .find(|slot| slot.state == SlotState::Ran)
        .expect("ran");
    assert_eq!(ran.output.as_deref(), Some("out\n\n[stderr]\nerr"));
    let failed = failed
        .iter()
        .find(|slot| slot.state == SlotState::Failed)
        .expect("failed");
    assert_eq!(failed.exit_code, Some(7));
    house.fixture.close().await;
}

#[tokio::test]
async fn names_are_unique_and_missing_jobs_are_named() {
    let house = House::new();
    let caller = house.caller();
    caller
        .call::<Add>(&job("a", "@daily"))
        .await
        .expect("is added");
    assert_eq!(
        code(caller.call::<Add>(&job("a", "@daily")).await),
        ErrorCode::Conflict
    );
    assert_eq!(
        code(caller.call::<Run>(&fire("b", None)).await),
        ErrorCode::NotFound
    );
    assert_eq!(
        code(caller.call::<Remove>(&named("b")).await),
        ErrorCode::NotFound
    );
    let update = CronUpdateParams {
        id: "a".to_owned(),
        name: Some("c".to_owned()),
        schedule: Some("every 10m".to_owned()),
        ..CronUpdateParams::default()
    };
    let updated = caller.call::<Update>(&update).await.expect("is changed");
    assert_eq!(
        (updated.terms.name.as_str(), updated.about.as_str()),
        ("c", "every 10 minutes")
    );
    caller
        .call::<Remove>(&named("c"))
        .await
        .expect("is removed");
    let listed = caller
        .call::<List>(&CronListParams::default())
        .await
        .expect("lists");
    assert!(listed.jobs.is_empty());
    house.fixture.close().await;
}

#[tokio::test]
async fn the_heartbeat_asks_no_model_while_there_is_nothing_to_do() {
    let house = House::new();
    let caller = house.caller();
    house
        .settings
        .send_replace(settings("[heartbeat]\nenabled = true\nevery = '1h'"));
    let begun = Instant::now();
    loop {
        let listed = caller
            .call::<List>(&CronListParams::default())
            .await
            .expect("lists");
        if let Some(beat) = listed.jobs.first() {
            assert_eq!(beat.terms.name, HEARTBEAT);
            assert!(matches!(beat.terms.work, JobWork::Heartbeat(_)));
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "there is no heartbeat");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let file = house.fixture.home.heartbeat_file();
    std::fs::write(&file, "# Heartbeat\n\n- [ ]\n").expect("writes");
    caller
        .call::<Run>(&fire(HEARTBEAT, None))
        .await
        .expect("fires");
    house.slots_when(SlotState::Skipped, 1).await;
    std::fs::write(&file, "# Heartbeat\n- look at the mail\n").expect("writes");
    house.agent.set_busy(1);
    caller
        .call::<Run>(&fire(HEARTBEAT, None))
        .await
        .expect("fires");
    let slots = house.slots_when(SlotState::Skipped, 2).await;
    assert_eq!(slots[1].reason.as_deref(), Some("another run is active"));
    assert!(house.agent.tasks().is_empty());
    house.agent.set_busy(0);
    caller
        .call::<Run>(&fire(HEARTBEAT, None))
        .await
        .expect("fires");
    house.slots_when(SlotState::Ran, 1).await;
    assert!(house.agent.tasks()[0].task.contains("look at the mail"));
    let elsewhere = house.fixture.home.root().join("elsewhere");
    std::fs::rename(&file, &elsewhere).expect("moves");
    std::os::unix::fs::symlink(&elsewhere, &file).expect("links");
    caller
        .call::<Run>(&fire(HEARTBEAT, None))
        .await
        .expect("fires");
    let slots = house.slots_when(SlotState::Skipped, 3).await;
    let why = slots.last().and_then(|slot| slot.reason.clone());
    let told = "HEARTBEAT.md is a link and was not read.";
    assert!(
        why.as_deref().is_some_and(|why| why.starts_with(told)),
        "{why:?}"
    );
    assert_eq!(house.agent.tasks().len(), 1);
    assert_eq!(
        code(caller.call::<Remove>(&named(HEARTBEAT)).await),
        ErrorCode::Conflict
    );
    house.fixture.close().await;
}
