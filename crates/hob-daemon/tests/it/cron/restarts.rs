//! Slots that a previous daemon left behind.

use super::House;
use hob_kit::clock::Clock;
use hob_store::{JobRow, NewSlot, SlotOpening};
use hob_wire::rooms::cron::{
    AgentWork, CommandWork, FAILURES_MAX, JobDefinition, JobWork, SlotOrigin, SlotState,
};
use hob_wire::work::RunEndCause;

fn row(name: &str, work: JobWork, now: u64) -> JobRow {
    JobRow {
        id: name.to_owned(),
        terms: JobDefinition {
            name: name.to_owned(),
            schedule: "@yearly".to_owned(),
            work,
            failures_max: FAILURES_MAX,
            ..JobDefinition::default()
        },
        enabled: true,
        cursor_ms: now,
        failures: 0,
        problem: None,
        nonce: "n".to_owned(),
        created_at: now,
        updated_at: now,
    }
}

fn slot(name: &str, now: u64) -> SlotOpening {
    SlotOpening {
        job: name.to_owned(),
        cursor_ms: Some(now),
        slots: vec![NewSlot {
            key: "k".to_owned(),
            same_within_ms: None,
            due_ms: now,
            begin_ms: now,
            origin: SlotOrigin::Schedule,
            state: SlotState::Due,
            reason: None,
            stands_for: 0,
            session_key: Some(format!("cron:{name}:x")),
            task: "t".to_owned(),
            own_task: None,
        }],
    }
}

#[tokio::test]
async fn slots_without_an_outcome_are_taken_up_and_a_command_is_not_repeated() {
    let clock = Clock::system();
    let now = clock.wall_ms();
    let house = House::before(clock, async |store| {
        let agent = || {
            JobWork::Agent(AgentWork {
                task: "t".to_owned(),
                ..AgentWork::default()
            })
        };
        let command = || {
            JobWork::Command(CommandWork {
                command: "echo once".to_owned(),
                ..CommandWork::default()
            })
        };
        for (name, work) in [
            ("due", agent()),
            ("begun", agent()),
            ("cut", command()),
            ("fresh", command()),
        ] {
            store
                .add_job(row(name, work, now), Vec::new())
                .await
                .expect("is kept");
            let opened = store
                .open_slots(vec![slot(name, now)])
                .await
                .expect("is opened");
            if matches!(name, "begun" | "cut") {
                let number = opened[0].row.slot.number;
                store.begin_slot(number, None).await.expect("is begun");
            }
        }
    })
    .await;
    let slots = house.slots_when(SlotState::Running, 2).await;
    assert_eq!(house.agent.tasks().len(), 2, "{slots:?}");
    house.agent.end(RunEndCause::Answered);
    house.slots_when(SlotState::Ran, 3).await;
    let slots = house.slots_when(SlotState::Failed, 1).await;
    let of = |name: &str| {
        slots
            .iter()
            .find(|slot| slot.name == name)
            .expect("is there")
    };
    assert_eq!(of("begun").attempt, 2);
    assert_eq!(of("due").attempt, 1);
    assert_eq!(of("cut").state, SlotState::Failed);
    assert_eq!(of("cut").reason.as_deref(), Some("cut off by a restart"));
    assert_eq!(of("fresh").output.as_deref(), Some("once"));
    house.fixture.close().await;
}
