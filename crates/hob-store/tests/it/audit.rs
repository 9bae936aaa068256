//! Rules and the audit record: one transaction, one chain, and the removal of rules.

use crate::support::{Home, alter, count};
use hob_bus::NewEvent;
use hob_core::permission::verify_audit;
use hob_kit::clock::Clock;
use hob_store::{AuditedDecision, NewAuditEntry, NewRule, StoreError};
use hob_wire::RunId;
use hob_wire::id::SessionRef;
use hob_wire::rooms::permission::PermissionListParams;
use hob_wire::rule::{AuditEntry, RuleTerms};
use hob_wire::work::{AnswerReach, RuleDecision};
use serde_json::{Value, json};

fn run(number: u8) -> RunId {
    let id = format!("00000000-0000-7000-8000-0000000000{number:02x}");
    id.parse().unwrap()
}

fn entry(act: &'static str, matter: Value) -> NewAuditEntry {
    NewAuditEntry {
        act,
        by: "owner".to_owned(),
        session_key: Some("chat:main".to_owned()),
        run_id: Some(run(1)),
        tool: Some("write".to_owned()),
        matter,
    }
}

fn terms(tool: &str, scope: AnswerReach) -> RuleTerms {
    RuleTerms {
        session_key: (scope == AnswerReach::Session).then(|| "chat:main".to_owned()),
        run_id: (scope == AnswerReach::Run).then(|| run(1)),
        folder: (scope == AnswerReach::Folder).then(|| "/w".to_owned()),
        ..RuleTerms::new(tool, RuleDecision::Allow, scope)
    }
}

fn adding(id: &str, terms: RuleTerms) -> AuditedDecision {
    AuditedDecision {
        entries: vec![entry("rule-added", json!({ "rule": id }))],
        event: None,
        rule: Some(NewRule {
            id: id.to_owned(),
            terms,
            created_by: "owner".to_owned(),
            idempotency_key: None,
        }),
    }
}

async fn record(store: &hob_store::Store) -> Vec<AuditEntry> {
    let mut entries = Vec::new();
    loop {
        let page = store.audit_after(entries.len() as u64).await.unwrap();
        entries.extend(page.entries);
        if !page.more {
            return entries;
        }
    }
}

async fn ids(store: &hob_store::Store) -> Vec<String> {
    let rules = store.all_rules().await.unwrap().rows;
    rules.into_iter().map(|kept| kept.rule.id).collect()
}

#[tokio::test]
async fn an_answer_its_rule_and_its_entry_are_one_write_that_survives_a_kill() {
    let home = Home::new();
    let store = home.open();
    store.create("chat:main").await;
    let event = NewEvent {
        source: "permissions".into(),
        topic: "permission.answered".into(),
        session: None,
        payload: Some(b"{\"id\":1}".to_vec().into()),
    };
    let mut answer = adding("aa11", terms("write", AnswerReach::Session));
    answer.event = Some(event);
    answer
        .entries
        .insert(0, entry("allowed", json!({ "n": 1 })));
    let kept = store.record_decision(answer).await.unwrap().unwrap();
    assert!(kept.session.is_some() && !kept.duplicate);

    let left = home.remains();
    let again = left.open();
    assert_eq!(ids(&again).await, ["aa11"]);
    let entries = record(&again).await;
    let acts: Vec<&str> = entries.iter().map(|entry| entry.act.as_str()).collect();
    assert_eq!(acts, ["allowed", "rule-added"]);
    let log = again.replay(0, 100).await;
    assert!(
        log.iter()
            .any(|event| &*event.topic == "permission.answered")
    );
    // The chain goes on where it was.
    again
        .record_decision(AuditedDecision {
            entries: vec![entry("denied", json!({ "n": 2 }))],
            ..AuditedDecision::default()
        })
        .await
        .unwrap();
    let (chain, problem) = verify_audit(record(&again).await, Some(&entries[1].hash));
    assert_eq!((chain.entries(), problem), (3, None));
    again.close().await;
    store.close().await;
}

#[tokio::test]
async fn what_is_refused_leaves_nothing() {
    let home = Home::new();
    let store = home.open();
    let nowhere = store
        .record_decision(adding("aa11", terms("write", AnswerReach::Session)))
        .await;
    assert!(
        matches!(nowhere, Err(StoreError::NotFound(_))),
        "{nowhere:?}"
    );
    let huge = AuditedDecision {
        entries: vec![entry("allowed", json!("x".repeat(100_000)))],
        ..AuditedDecision::default()
    };
    assert!(matches!(
        store.record_decision(huge).await,
        Err(StoreError::Invalid(_))
    ));
    store
        .record_decision(adding("bb22", terms("write", AnswerReach::Always)))
        .await
        .unwrap();
    // The same id again fails after it was planned, and takes its entry along.
    let twice = store
        .record_decision(adding("bb22", terms("edit", AnswerReach::Always)))
        .await;
    assert!(twice.is_err());
    assert_eq!(record(&store).await.len(), 1);
    assert_eq!(ids(&store).await, ["bb22"]);
    let gone = store
        .remove_rule("cc33", entry("rule-removed", json!({})))
        .await;
    assert!(matches!(gone, Err(StoreError::NotFound(_))));
    assert_eq!(record(&store).await.len(), 1);
    store.close().await;
}

#[tokio::test]
async fn a_repeated_request_is_one_rule() {
    let home = Home::new();
    let store = home.open();
    let keyed = |id: &str, tool: &str| {
        let mut judgement = adding(id, terms(tool, AnswerReach::Always));
        let rule = judgement.rule.as_mut().unwrap();
        rule.idempotency_key = Some("k".to_owned());
        judgement
    };
    let first = store
        .record_decision(keyed("aa11", "write"))
        .await
        .unwrap()
        .unwrap();
    let again = store
        .record_decision(keyed("bb22", "write"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((&again.rule, again.duplicate), (&first.rule, true));
    let other = store.record_decision(keyed("cc33", "edit")).await;
    assert!(matches!(other, Err(StoreError::Conflict(_))));
    assert_eq!(record(&store).await.len(), 1);
    store.close().await;
}

#[tokio::test]
async fn rules_go_with_their_session_their_run_and_their_time() {
    let mut home = Home::new();
    home.clock = Clock::manual(1_000_000);
    let store = home.open();
    store.create("chat:main").await;
    let mut short = terms("write", AnswerReach::Always);
    short.expires_ms = Some(60_000);
    for (id, terms) in [
        ("a1", terms("write", AnswerReach::Session)),
        ("b2", short),
        ("c3", terms("write", AnswerReach::Always)),
        ("d4", terms("write", AnswerReach::Folder)),
    ] {
        store.record_decision(adding(id, terms)).await.unwrap();
    }
    let main = SessionRef::parse("chat:main");
    store.delete_session(&main).await.unwrap();
    assert_eq!(ids(&store).await, ["b2", "c3", "d4"]);
    home.clock.advance(60_000);
    let now_ms = home.clock.wall_ms();
    let page = store
        .list_rules(PermissionListParams::default(), now_ms)
        .await;
    let (listed, _) = page.unwrap().rows;
    let listed: Vec<String> = listed.into_iter().map(|rule| rule.id).collect();
    assert_eq!(
        listed,
        ["d4", "c3"],
        "newest first, without what has expired"
    );
    store
        .record_decision(adding("e5", terms("w*", AnswerReach::Always)))
        .await
        .unwrap();
    assert_eq!(
        count(&home.database(), "SELECT count(*) FROM rules"),
        3,
        "it was pruned"
    );
    store
        .record_decision(adding("f6", terms("write", AnswerReach::Run)))
        .await
        .unwrap();
    assert_eq!(store.end_run_rules(run(2)).await.unwrap(), 0);
    assert_eq!(store.end_run_rules(run(1)).await.unwrap(), 1);
    // A run that nobody knows is over: at the next look at all rules it goes, too.
    store
        .record_decision(adding("f7", terms("write", AnswerReach::Run)))
        .await
        .unwrap();
    assert_eq!(ids(&store).await, ["c3", "d4", "e5"]);
    let of_tool = PermissionListParams {
        tool: Some("write".to_owned()),
        limit: Some(2),
        ..PermissionListParams::default()
    };
    let (page, more) = store.list_rules(of_tool, now_ms).await.unwrap().rows;
    assert_eq!(
        (page[0].id.as_str(), more),
        ("e5", true),
        "a beginning counts"
    );
    assert_eq!(store.rule("c").await.unwrap().id, "c3");
    store.close().await;
}

#[tokio::test]
async fn a_changed_row_is_found() {
    let home = Home::new();
    let store = home.open();
    for number in 0..600 {
        let entries = vec![entry(
            "allowed",
            json!({ "args": { "n": number, "f": "1.5" } }),
        )];
        let judgement = AuditedDecision {
            entries,
            ..AuditedDecision::default()
        };
        store.record_decision(judgement).await.unwrap();
    }
    let whole = record(&store).await;
    assert_eq!(
        (whole.len(), verify_audit(whole.clone(), None).1),
        (600, None)
    );
    store.close().await;
    for change in [
        "UPDATE audit SET by = 'somebody' WHERE seq = 300",
        "UPDATE audit SET matter = replace(matter, '7', '8') WHERE seq = 8",
        "DELETE FROM audit WHERE seq = 599",
        "UPDATE audit SET at = at + 1 WHERE seq = 1",
    ] {
        let copy = home.remains();
        alter(&copy, change);
        let store = copy.open();
        let problem = verify_audit(record(&store).await, None).1;
        assert!(problem.is_some(), "{change}");
        store.close().await;
    }
    let cut = home.remains();
    alter(&cut, "DELETE FROM audit WHERE seq > 500");
    let store = cut.open();
    let entries = record(&store).await;
    assert_eq!(verify_audit(entries.clone(), None).1, None);
    let head = whole.last().map(|entry| entry.hash.as_str());
    assert!(
        verify_audit(entries, head).1.is_some(),
        "the hash kept elsewhere tells"
    );
    store.close().await;
}
