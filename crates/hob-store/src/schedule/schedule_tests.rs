//! Jobs and slots over a real database.

use super::{JobRow, NewSlot, SlotEnd, SlotOpening};
use crate::{NewAuditEntry, NewRule, RuleChange, RuleReplacement, Store, StoreError, StoreOptions};
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::cron::{CronChange, CronHistoryParams, JobDefinition, SlotOrigin, SlotState};
use hob_wire::rule::RuleTerms;
use hob_wire::work::{AnswerReach, RuleDecision};

const NOW: u64 = 1_800_000_000_000;

fn house() -> (tempfile::TempDir, Store, Clock) {
    let folder = tempfile::tempdir().unwrap();
    let (publisher, _) = hob_bus::publisher();
    let clock = Clock::manual(NOW);
    let store = Store::open(StoreOptions {
        database: folder.path().join("hob.db"),
        clock: clock.clone(),
        randomness: Randomness::seeded(1),
        publisher,
        had_database: false,
    });
    (folder, store.unwrap(), clock)
}

fn job(name: &str) -> JobRow {
    JobRow {
        id: format!("id-{name}"),
        terms: JobDefinition {
            name: name.to_owned(),
            schedule: "every 10m".to_owned(),
            ..JobDefinition::default()
        },
        enabled: true,
        cursor_ms: NOW,
        failures: 0,
        problem: None,
        nonce: "n".to_owned(),
        created_at: NOW,
        updated_at: NOW,
    }
}

fn slot(due_ms: u64, state: SlotState) -> NewSlot {
    NewSlot {
        key: due_ms.to_string(),
        same_within_ms: None,
        due_ms,
        begin_ms: due_ms,
        origin: SlotOrigin::Schedule,
        state,
        reason: None,
        stands_for: 0,
        session_key: Some("cron:a:x".to_owned()),
        task: "do it".to_owned(),
        own_task: None,
    }
}

fn opening(name: &str, cursor_ms: u64, slots: Vec<NewSlot>) -> Vec<SlotOpening> {
    vec![SlotOpening {
        job: format!("id-{name}"),
        cursor_ms: Some(cursor_ms),
        slots,
    }]
}

fn ended(number: u64, state: SlotState) -> SlotEnd {
    SlotEnd {
        number,
        state,
        reason: None,
        run: None,
        exit_code: Some(3),
        output: Some("said".to_owned()),
        cost: Cost::default(),
        denied_calls: 0,
        failed_calls: 0,
        failures: Some(1),
        given_up: None,
    }
}

/// The topics of the log.
async fn topics(store: &Store) -> Vec<String> {
    let page = store.event_log().page(0, 1_000).await.unwrap();
    page.iter().map(|event| event.topic.to_string()).collect()
}

#[tokio::test]
async fn a_slot_is_opened_once_and_has_one_outcome() {
    let (_folder, store, _) = house();
    store.add_job(job("a"), Vec::new()).await.unwrap();
    let due = NOW + 600_000;
    let open = || opening("a", due, vec![slot(due, SlotState::Due)]);
    let first = store.open_slots(open()).await.unwrap();
    let again = store.open_slots(open()).await.unwrap();
    assert!(!first[0].duplicate && again[0].duplicate);
    assert_eq!(first[0].row, again[0].row);
    assert_eq!(store.all_jobs().await.unwrap().rows[0].cursor_ms, due);
    let number = first[0].row.slot.number;
    assert_eq!(store.live_slots().await.unwrap().len(), 1);
    store.begin_slot(number, None).await.unwrap();
    store.begin_slot(number, None).await.unwrap();
    let live = store.live_slots().await.unwrap();
    assert_eq!(
        (live[0].slot.attempt, live[0].slot.state),
        (2, SlotState::Running)
    );
    store
        .end_slot(ended(number, SlotState::Failed))
        .await
        .unwrap();
    store.end_slot(ended(number, SlotState::Ran)).await.unwrap();
    assert!(store.live_slots().await.unwrap().is_empty());
    let history = store.slot_history(Some("id-a".to_owned()), CronHistoryParams::default());
    let history = history.await.unwrap();
    assert_eq!(history.slots.len(), 1);
    assert_eq!(history.slots[0].state, SlotState::Failed);
    assert_eq!(history.slots[0].exit_code, Some(3));
    assert_eq!(store.all_jobs().await.unwrap().rows[0].failures, 1);
    let told = topics(&store).await;
    assert_eq!(told, ["cron.changed", "cron.trigger", "cron.slot"]);
}

#[tokio::test]
async fn a_call_that_comes_again_soon_is_the_same_and_later_another() {
    let (_folder, store, clock) = house();
    store.add_job(job("a"), Vec::new()).await.unwrap();
    let call = |due_ms| NewSlot {
        key: "id-7".to_owned(),
        same_within_ms: Some(300_000),
        origin: SlotOrigin::Webhook,
        ..slot(due_ms, SlotState::Due)
    };
    let mut numbers = Vec::new();
    for wait in [0, 1_000, 400_000] {
        clock.advance(wait);
        let openings = vec![SlotOpening {
            job: "id-a".to_owned(),
            cursor_ms: None,
            slots: vec![call(clock.wall_ms())],
        }];
        numbers.push(store.open_slots(openings).await.unwrap()[0].row.slot.number);
    }
    assert_eq!(numbers[0], numbers[1]);
    assert_ne!(numbers[1], numbers[2]);
}

#[tokio::test]
async fn names_are_unique_and_what_is_removed_is_gone() {
    let (_folder, store, _) = house();
    store.add_job(job("a"), Vec::new()).await.unwrap();
    store.add_job(job("b"), Vec::new()).await.unwrap();
    let taken = JobRow {
        id: "other".to_owned(),
        ..job("a")
    };
    let refused = store.add_job(taken, Vec::new()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Conflict(_)));
    let renamed = JobRow {
        id: "id-a".to_owned(),
        ..job("b")
    };
    let refused = store
        .update_job(renamed, Vec::new(), CronChange::Updated, false)
        .await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))));
    let open = opening("a", NOW + 1, vec![slot(NOW + 1, SlotState::Due)]);
    store.open_slots(open.clone()).await.unwrap();
    store.remove_job("id-a", Vec::new()).await.unwrap();
    assert!(store.live_slots().await.unwrap().is_empty());
    assert!(store.open_slots(open).await.unwrap().is_empty());
    let gone = store.remove_job("id-a", Vec::new()).await.unwrap_err();
    assert!(matches!(gone, StoreError::NotFound(_)));
    assert_eq!(store.all_jobs().await.unwrap().rows.len(), 1);
}

#[tokio::test]
async fn a_job_that_is_given_up_is_disabled_with_its_slot() {
    let (_folder, store, _) = house();
    store.add_job(job("a"), Vec::new()).await.unwrap();
    let open = opening("a", NOW + 1, vec![slot(NOW + 1, SlotState::Due)]);
    let number = store.open_slots(open).await.unwrap()[0].row.slot.number;
    let end = SlotEnd {
        failures: Some(5),
        given_up: Some("5 failures in a row".to_owned()),
        ..ended(number, SlotState::Failed)
    };
    store.end_slot(end).await.unwrap();
    let kept = &store.all_jobs().await.unwrap().rows[0];
    assert!(!kept.enabled);
    assert_eq!(kept.problem.as_deref(), Some("5 failures in a row"));
    assert_eq!(topics(&store).await.last().unwrap(), "cron.changed");
    let last = store.last_slots(vec!["id-a".to_owned()]).await.unwrap();
    assert_eq!(last["id-a"].number, number);
}

#[tokio::test]
async fn old_slots_go_and_the_living_stay() {
    let (_folder, store, clock) = house();
    store.add_job(job("a"), Vec::new()).await.unwrap();
    let mut due = NOW;
    let live = opening("a", NOW, vec![slot(due, SlotState::Due)]);
    store.open_slots(live).await.unwrap();
    for _ in 0..3 {
        let slots: Vec<_> = (1..=600)
            .map(|index| slot(due + index * 1_000, SlotState::Skipped))
            .collect();
        due += 600_000;
        let open = opening("a", due, slots);
        store.open_slots(open).await.unwrap();
    }
    let count = || async {
        let mut count = 0;
        let mut before = None;
        loop {
            let params = CronHistoryParams {
                before,
                limit: Some(500),
                ..CronHistoryParams::default()
            };
            let page = store.slot_history(None, params).await.unwrap();
            count += page.slots.len();
            before = page.slots.last().map(|slot| slot.number);
            if !page.more {
                return count;
            }
        }
    };
    let kept = count().await;
    assert!((1_000..1_100).contains(&kept), "{kept}");
    assert_eq!(store.live_slots().await.unwrap().len(), 1);
    clock.advance(40 * 24 * 3_600_000);
    let slots = (0..50).map(|index| slot(clock.wall_ms() + index, SlotState::Missed));
    let open = opening("a", due, slots.collect());
    store.open_slots(open).await.unwrap();
    assert!(count().await <= 51, "{}", count().await);
    assert_eq!(store.live_slots().await.unwrap().len(), 1);
}

#[tokio::test]
async fn ten_thousand_jobs_are_loaded_and_decided_together() {
    let (_folder, store, _) = house();
    for chunk in 0..20 {
        let adding = (0..500)
            .map(|index| store.add_job(job(&format!("j-{chunk:02}-{index:03}")), Vec::new()));
        for added in futures_util::future::join_all(adding).await {
            added.unwrap();
        }
    }
    let jobs = store.all_jobs().await.unwrap().rows;
    assert_eq!(jobs.len(), 10_000);
    for chunk in jobs.chunks(super::SLOTS_OPENED_MAX) {
        let openings = chunk.iter().map(|job| SlotOpening {
            job: job.id.clone(),
            cursor_ms: Some(NOW + 1),
            slots: vec![slot(NOW + 1, SlotState::Due)],
        });
        store.open_slots(openings.collect()).await.unwrap();
    }
    assert_eq!(store.live_slots().await.unwrap().len(), 10_000);
}

fn rule(id: &str, name: &str) -> NewRule {
    NewRule {
        id: id.to_owned(),
        terms: RuleTerms {
            sessions: Some(format!("cron:{name}:*")),
            kind: Some("cron".to_owned()),
            ..RuleTerms::new("exec", RuleDecision::Allow, AnswerReach::Always)
        },
        created_by: "cron".to_owned(),
        idempotency_key: None,
    }
}

fn entry(act: &'static str) -> NewAuditEntry {
    NewAuditEntry {
        act,
        by: "cron".to_owned(),
        session_key: None,
        run_id: None,
        tool: Some("exec".to_owned()),
        matter: serde_json::json!({}),
    }
}

fn add(id: &str, name: &str) -> RuleChange {
    RuleChange::Add {
        rule: Box::new(rule(id, name)),
        entry: entry("rule-added"),
    }
}

#[tokio::test]
async fn a_job_and_its_rules_are_one_write() {
    let (_folder, store, _) = house();
    let ids = async || {
        let rules = store.rules_made_by("cron", None).await.unwrap();
        rules.into_iter().map(|rule| rule.id).collect::<Vec<_>>()
    };
    let version = store.rules_version();
    // The second rule cannot be written, so neither the job nor the first one is there.
    let twice = vec![add("r1", "a"), add("r1", "a")];
    store.add_job(job("a"), twice).await.unwrap_err();
    assert!(store.all_jobs().await.unwrap().rows.is_empty());
    assert!(ids().await.is_empty());
    let mut listed = job("a");
    listed.terms.grants = vec![hob_wire::schedule::ToolGrantView {
        tool: "write".to_owned(),
        matches: std::collections::BTreeMap::new(),
        path: None,
        host: None,
    }];
    store.add_job(listed, vec![add("r1", "a")]).await.unwrap();
    assert!(store.rules_version() > version, "whoever holds rules hears");
    let kept = store.all_jobs().await.unwrap();
    assert!(
        kept.rows[0].terms.grants.is_empty(),
        "the rules alone say it"
    );
    assert_eq!(ids().await, ["r1"]);
    // A rule that somebody removed meanwhile is not handed over.
    let hand_over = |id: &str, to: &str| {
        RuleChange::Replace(Box::new(RuleReplacement {
            id: id.to_owned(),
            removed: entry("rule-removed"),
            rule: rule(to, "b"),
            added: entry("rule-added"),
        }))
    };
    let renamed = JobRow {
        terms: job("b").terms,
        ..job("a")
    };
    let changes = vec![hand_over("r1", "r2"), hand_over("gone", "r3")];
    let update = store.update_job(renamed, changes, CronChange::Updated, false);
    update.await.unwrap();
    assert_eq!(ids().await, ["r2"]);
    let of_b = store.rules_made_by("cron", Some("cron:b:*")).await.unwrap();
    assert_eq!(of_b.len(), 1);
    let gone = RuleChange::Remove {
        id: "r2".to_owned(),
        entry: entry("rule-removed"),
    };
    store.remove_job("id-a", vec![gone]).await.unwrap();
    assert!(ids().await.is_empty());
    assert!(store.all_jobs().await.unwrap().rows.is_empty());
}

/// Slots that each of these jobs has, in their order.
async fn slots_of_each(store: &Store, jobs: usize) -> Vec<u64> {
    let counted = store.read(move |sql| {
        let mut count = sql.prepare(
            "SELECT count(*) FROM slots s JOIN jobs j ON j.row_id = s.job WHERE j.id = ?1",
        )?;
        let counts = (0..jobs).map(|index| {
            let id = format!("id-j-{index}");
            count.query_row([id], |row| crate::value::number(row, 0))
        });
        Ok(counts.collect::<Result<Vec<u64>, _>>()?)
    });
    counted.await.unwrap()
}

#[tokio::test]
async fn every_job_of_a_rotation_is_trimmed() {
    for jobs in [1, 7, 10, 50, 64, 100] {
        let (_folder, store, clock) = house();
        for index in 0..jobs {
            store
                .add_job(job(&format!("j-{index}")), Vec::new())
                .await
                .unwrap();
        }
        let round = |due_ms: u64| {
            let openings = (0..jobs).map(|index| SlotOpening {
                job: format!("id-j-{index}"),
                cursor_ms: None,
                slots: vec![slot(due_ms, SlotState::Skipped)],
            });
            openings.collect::<Vec<_>>()
        };
        for turn in 0..60 {
            store.open_slots(round(NOW + turn)).await.unwrap();
        }
        clock.advance(40 * 24 * 3_600_000);
        // As many as a job may have before it is looked at.
        for turn in 0..50 {
            let due_ms = clock.wall_ms() + turn;
            store.open_slots(round(due_ms)).await.unwrap();
        }
        let kept = slots_of_each(&store, jobs).await;
        let most = kept.iter().max().copied();
        assert!(most <= Some(51), "{jobs} jobs: {kept:?}");
    }
}

#[tokio::test]
async fn the_bound_of_slots_holds_for_every_job() {
    const JOBS: usize = 10;
    let (_folder, store, _) = house();
    for index in 0..JOBS {
        store
            .add_job(job(&format!("j-{index}")), Vec::new())
            .await
            .unwrap();
    }
    for block in 0..11_u64 {
        let turns = (0..100).flat_map(|turn| {
            (0..JOBS).map(move |index| SlotOpening {
                job: format!("id-j-{index}"),
                cursor_ms: None,
                slots: vec![slot(NOW + block * 100 + turn, SlotState::Skipped)],
            })
        });
        let turns: Vec<_> = turns.collect();
        for some in turns.chunks(super::SLOTS_OPENED_MAX) {
            store.open_slots(some.to_vec()).await.unwrap();
        }
    }
    for kept in slots_of_each(&store, JOBS).await {
        assert!((1_000..=1_050).contains(&kept), "{kept}");
    }
}
