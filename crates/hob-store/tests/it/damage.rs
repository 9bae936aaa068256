//! A damaged row is named and never shown as whole; everything else stays readable.

use crate::runs::rig::{run, step};
use crate::support::{Home, Open, alter, text_to, verify};
use hob_core::permission::AuditChain;
use hob_store::{AuditedDecision, NewAuditEntry, NewRule, StoreError, TokenRow};
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::{AgentListParams as RunListParams, RunState};
use hob_wire::rooms::audit::AuditListParams;
use hob_wire::rooms::cron::JobDefinition;
use hob_wire::rooms::permission::PermissionListParams;
use hob_wire::rooms::session::{SessionHistoryParams, SessionMessages};
use hob_wire::rooms::token::TokenInfo;
use hob_wire::rule::RuleTerms;
use hob_wire::work::{AnswerReach, RuleDecision, RunEndCause};
use hob_wire::{DamagedRow, MessageContent, Role};
use serde_json::json;

async fn history(store: &Open, limit: u32, before: Option<u64>) -> SessionMessages {
    let params = SessionHistoryParams {
        session_key: "chat:main".to_owned(),
        limit: Some(limit),
        before,
    };
    store.history(params).await.unwrap()
}

fn texts(page: &SessionMessages) -> Vec<(u64, String)> {
    let text = |content: &MessageContent| match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Parts(_) => String::new(),
    };
    let messages = page.messages.iter();
    messages
        .map(|message| (message.seq, text(&message.content)))
        .collect()
}

/// A home with ten messages, closed.
async fn ten() -> Home {
    let home = Home::new();
    let store = home.open();
    store.create("chat:main").await;
    for number in 1..=10 {
        store.send("chat:main", &format!("m{number}")).await;
    }
    store.close().await;
    home
}

fn damaged(error: StoreError) -> DamagedRow {
    match error {
        StoreError::DamagedRow(row) => *row,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_damaged_message_is_named_in_its_place_and_the_others_are_shown() {
    let home = ten().await;
    alter(
        &home,
        "UPDATE messages SET content = replace(content, 'm4', 'M4') WHERE seq = 4",
    );
    let store = home.open();
    let page = history(&store, 50, None).await;
    assert_eq!(page.messages.len(), 10);
    for (seq, text) in texts(&page) {
        if seq == 4 {
            assert!(
                text.starts_with("[Message 4 of session 'chat:main' is damaged"),
                "{text}"
            );
        } else {
            assert_eq!(text, format!("m{seq}"));
        }
    }
    assert_eq!(page.messages[3].role, Role::System);
    let [row] = &page.damaged[..] else {
        panic!("{:?}", page.damaged);
    };
    assert_eq!((row.table.as_str(), row.number), ("messages", Some(4)));
    assert_eq!(row.session_key.as_deref(), Some("chat:main"));
    assert_eq!(store.messages("chat:main").await.len(), 10);
    assert_eq!(store.status().damaged.len(), 1, "named once");
    // Work goes on, and the log leaves the damaged message out.
    assert_eq!(store.send("chat:main", "m11").await, 11);
    assert_eq!(store.replay(0, 50).await.len(), 11);
    let verified = store.verify_in_use(&mut |_, _| {}).unwrap();
    assert!(!verified.sound);
    assert_eq!(verified.damaged, page.damaged);
    store.close().await;
    assert_eq!(verify(&home.database()).problems.len(), 1);
}

#[tokio::test]
async fn a_missing_message_is_named_whichever_way_it_is_read() {
    let home = ten().await;
    alter(&home, "DELETE FROM messages WHERE seq IN (4, 7, 8)");
    let store = home.open();
    let page = history(&store, 50, None).await;
    let named: Vec<Option<u64>> = page.damaged.iter().map(|row| row.number).collect();
    assert_eq!(named, [Some(4), Some(7)]);
    let seqs: Vec<u64> = page.messages.iter().map(|message| message.seq).collect();
    assert_eq!(seqs, [1, 2, 3, 4, 5, 6, 7, 9, 10]);
    assert!(
        page.damaged[1]
            .message
            .contains("Messages 7 to 8 of session 'chat:main' are missing")
    );
    assert_eq!(page.next, None);
    assert_eq!(store.messages("chat:main").await.len(), 9);
    // Page by page each gap is met once.
    let (mut before, mut met, mut pages) = (None, 0, 0);
    loop {
        let page = history(&store, 2, before).await;
        met += page.damaged.len();
        pages += 1;
        match page.next {
            Some(next) => before = Some(next),
            None => break,
        }
    }
    assert_eq!((met, pages), (2, 4));
    let verified = store.verify_in_use(&mut |_, _| {}).unwrap();
    let missing: Vec<Option<u64>> = verified.damaged.iter().map(|row| row.number).collect();
    assert_eq!(missing, [Some(4), Some(7), Some(8)]);
    store.close().await;
}

#[tokio::test]
async fn a_gap_at_either_end_is_found() {
    for (gap, number) in [
        ("seq = 1", 1),
        ("seq = 10", 10),
        ("seq <= 3", 1),
        ("seq > 0", 1),
    ] {
        let home = ten().await;
        alter(&home, &format!("DELETE FROM messages WHERE {gap}"));
        let store = home.open();
        let page = history(&store, 50, None).await;
        assert_eq!(page.damaged.len(), 1, "{gap}");
        assert_eq!(page.damaged[0].number, Some(number), "{gap}");
        assert_eq!(page.next, None);
        store.close().await;
        assert!(!verify(&home.database()).problems.is_empty(), "{gap}");
    }
}

#[tokio::test]
async fn a_repeat_of_a_damaged_message_is_refused_and_a_session_with_one_can_be_deleted() {
    let home = Home::new();
    let store = home.open();
    store.create("chat:main").await;
    let keyed = crate::support::keyed("chat:main", "one", "k");
    store.send_message(keyed.clone()).await.unwrap();
    store.close().await;
    alter(&home, "UPDATE messages SET at = at + 1");
    let store = home.open();
    let row = damaged(store.send_message(keyed).await.unwrap_err());
    assert_eq!(row.number, Some(1));
    let session = SessionRef::parse("chat:main");
    store.delete_session(&session).await.unwrap();
    store.close().await;
    assert_eq!(verify(&home.database()).problems, Vec::<String>::new());
}

#[tokio::test]
async fn a_damaged_journal_is_not_read_as_whole() {
    for (change, number) in [
        (
            "UPDATE journal SET entry = replace(entry, 'something', 'somethinG') WHERE place = 1",
            1,
        ),
        ("DELETE FROM journal WHERE place = 0", 0),
        ("DELETE FROM journal WHERE place = 1", 1),
    ] {
        let home = Home::new();
        let store = home.open();
        store.create("chat:main").await;
        let of = store.whole_run("chat:main", "task").await;
        let other = store.whole_run("chat:main", "other").await;
        store.close().await;
        alter(&home, &format!("{change} AND run = 1"));
        let store = home.open();
        let row = damaged(store.journal(&of.id).await.unwrap_err());
        assert_eq!((row.table.as_str(), row.number), ("journal", Some(number)));
        assert_eq!(row.id, Some(of.id.to_string()));
        assert_eq!(row.session_key.as_deref(), Some("chat:main"));
        assert_eq!(store.journal(&other.id).await.unwrap().len(), 2);
        // Its row is whole, and it can still be ended or deleted.
        assert_eq!(store.run(&of.id).await.unwrap().id, of.id);
        store.close().await;
        assert!(!verify(&home.database()).problems.is_empty());
    }
}

#[tokio::test]
async fn a_damaged_run_is_named_and_one_under_way_is_ended_with_the_reason() {
    let home = Home::new();
    let store = home.open();
    store.create("chat:main").await;
    let first = store.whole_run("chat:main", "first").await;
    let under_way = store.accept(run("chat:main", "second")).await;
    let begun = step(&under_way, 0, RunState::Running);
    store.write_step(begun).await.unwrap();
    store.close().await;
    alter(&home, "UPDATE runs SET micro_dollars = 5, calls = 77");
    let store = home.open();
    let listed = store.list_runs(RunListParams::default()).await.unwrap();
    assert_eq!((listed.runs.len(), listed.damaged.len()), (0, 2));
    let row = damaged(store.run(&first.id).await.unwrap_err());
    assert_eq!(row.id, Some(first.id.to_string()));
    // A step would give it a new checksum.
    let next = step(&under_way, 1, RunState::Done);
    damaged(store.write_step(next).await.unwrap_err());
    let session = SessionRef::parse("chat:main");
    damaged(store.next_run(&session).await.unwrap_err());
    assert_eq!(store.unfinished_runs().await.unwrap(), []);

    let ended = store.end_damaged_runs().await.unwrap();
    assert_eq!(ended.len(), 1);
    let row = store.run(&under_way.id).await.unwrap();
    assert_eq!(row.summary.state, RunState::Done);
    assert_eq!(row.summary.cause, Some(RunEndCause::Parked));
    assert_eq!(row.summary.message, Some(ended[0].message.clone()));
    assert!(!row.summary.success && row.summary.text.is_empty());
    assert_eq!(store.next_run(&session).await.unwrap(), None);
    assert_eq!(store.end_damaged_runs().await.unwrap(), []);
    // The first one had ended and stays named.
    damaged(store.run(&first.id).await.unwrap_err());
    store.close().await;
}

fn rule(id: &str, decision: RuleDecision) -> AuditedDecision {
    AuditedDecision {
        entries: vec![entry("rule-added")],
        event: None,
        rule: Some(NewRule {
            id: id.to_owned(),
            terms: RuleTerms::new("exec", decision, AnswerReach::Always),
            created_by: "owner".to_owned(),
            idempotency_key: None,
        }),
    }
}

fn entry(act: &'static str) -> NewAuditEntry {
    NewAuditEntry {
        act,
        by: "owner".to_owned(),
        session_key: None,
        run_id: None,
        tool: Some("exec".to_owned()),
        matter: json!({ "n": 1 }),
    }
}

#[tokio::test]
async fn a_damaged_rule_is_apart_from_the_others_and_can_be_removed() {
    let home = Home::new();
    let store = home.open();
    for (id, decision) in [("aa", RuleDecision::Allow), ("bb", RuleDecision::Deny)] {
        store.record_decision(rule(id, decision)).await.unwrap();
    }
    store.close().await;
    alter(
        &home,
        "UPDATE rules SET terms = replace(terms, 'deny', 'allow'), expires_at = 1 WHERE id = 'bb'",
    );
    let store = home.open();
    let all = store.all_rules().await.unwrap();
    assert_eq!(all.rows.len(), 1);
    assert_eq!(all.rows[0].rule.id, "aa");
    assert_eq!(
        all.damaged[0].id.as_deref(),
        Some("bb"),
        "it is not pruned unseen"
    );
    let page = store
        .list_rules(PermissionListParams::default(), 0)
        .await
        .unwrap();
    assert_eq!((page.rows.0.len(), page.damaged.len()), (1, 1));
    assert_eq!(store.rule("bb").await.unwrap().id, "bb");
    store
        .remove_rule("bb", entry("rule-removed"))
        .await
        .unwrap();
    assert_eq!(store.all_rules().await.unwrap().damaged, []);
    assert_eq!(store.status().damaged, []);
    store.close().await;
    assert_eq!(verify(&home.database()).problems, Vec::<String>::new());
}

#[tokio::test]
async fn a_damaged_job_does_not_come_back_as_whole() {
    let home = Home::new();
    let store = home.open();
    for name in ["backup", "tidy"] {
        let job = hob_store::JobRow {
            id: format!("id-{name}"),
            terms: JobDefinition {
                name: name.to_owned(),
                schedule: "every 10m".to_owned(),
                ..JobDefinition::default()
            },
            enabled: true,
            cursor_ms: 1,
            failures: 0,
            problem: None,
            nonce: "n".to_owned(),
            created_at: 1,
            updated_at: 1,
        };
        store.add_job(job, Vec::new()).await.unwrap();
    }
    store.close().await;
    alter(&home, "UPDATE jobs SET enabled = 0 WHERE name = 'tidy'");
    let store = home.open();
    let all = store.all_jobs().await.unwrap();
    assert_eq!(all.rows.len(), 1);
    assert_eq!(all.damaged[0].id.as_deref(), Some("tidy"));
    assert_eq!(store.damaged_rows("jobs"), all.damaged);
    let opening = hob_store::SlotOpening {
        job: "id-tidy".to_owned(),
        cursor_ms: Some(9),
        slots: Vec::new(),
    };
    damaged(store.open_slots(vec![opening]).await.unwrap_err());
    store.remove_job("tidy", Vec::new()).await.unwrap();
    assert_eq!(store.all_jobs().await.unwrap().damaged, []);
    store.close().await;
}

#[tokio::test]
async fn a_damaged_token_is_not_among_those_that_open_anything() {
    let home = Home::new();
    let store = home.open();
    for id in ["aa", "bb"] {
        let token = TokenRow {
            info: TokenInfo {
                id: id.to_owned(),
                name: format!("name-{id}"),
                scopes: vec!["read".to_owned()],
                created_at: 1,
                expires_at: None,
                revoked_at: None,
                note: None,
                workspaces: vec!["/w".to_owned()],
            },
            secret_hash: [7; 32],
        };
        store.insert_token(token).await.unwrap();
    }
    store.close().await;
    alter(&home, "UPDATE tokens SET scopes = 'admin' WHERE id = 'bb'");
    let store = home.open();
    let found = store.list_tokens().await.unwrap();
    assert_eq!((found.rows.len(), found.damaged.len()), (1, 1));
    assert_eq!(found.rows[0].info.id, "aa");
    assert_eq!(store.token_workspaces("aa").await.unwrap(), ["/w"]);
    damaged(store.token_workspaces("bb").await.unwrap_err());
    store.revoke_token("bb", 5).await.unwrap();
    let found = store.list_tokens().await.unwrap();
    assert_eq!((found.rows.len(), found.damaged.len()), (1, 0));
    store.close().await;
    assert_eq!(verify(&home.database()).problems, Vec::<String>::new());
}

#[tokio::test]
async fn a_damaged_audit_entry_is_named_where_the_chain_comes_to_it() {
    let home = Home::new();
    let store = home.open();
    for _ in 0..5 {
        let judgement = AuditedDecision {
            entries: vec![entry("allowed")],
            ..AuditedDecision::default()
        };
        store.record_decision(judgement).await.unwrap();
    }
    store.close().await;
    for number in [1, 3, 5] {
        let copy = home.remains();
        let change = "UPDATE audit SET by = 'someone' WHERE seq";
        alter(&copy, &format!("{change} = {number}"));
        let store = copy.open();
        let mut chain = AuditChain::new(None);
        let problem = store.verify_audit(&mut chain).await.unwrap().unwrap();
        let named = format!("Entry {number} of the audit record is damaged");
        assert!(problem.starts_with(&named), "{problem}");
        let list = store.list_audit(AuditListParams::default()).await.unwrap();
        assert_eq!((list.entries.len(), list.damaged.len()), (4, 1));
        store.close().await;
        // The row and the chain.
        assert_eq!(verify(&copy.database()).problems.len(), 2);
    }
    let mut chain = AuditChain::new(None);
    let store = home.open();
    assert_eq!(store.verify_audit(&mut chain).await.unwrap(), None);
    assert_eq!(chain.entries(), 5);
    store.close().await;
}

/// A byte of the file itself, under an index entry that still says the former value: what touches
/// the row later makes the index anew instead of giving the database up.
#[tokio::test]
async fn a_changed_byte_of_the_file_costs_one_row_and_not_the_store() {
    let home = Home::new();
    let store = home.open();
    store
        .record_decision(rule("aaaaaaaaaaaa", RuleDecision::Allow))
        .await
        .unwrap();
    store.create("chat:main").await;
    store
        .send_message(text_to("chat:main", "find me here"))
        .await
        .unwrap();
    store.send("chat:main", "and me").await;
    store.close().await;
    let mut file = std::fs::read(home.database()).unwrap();
    let places = |file: &[u8], text: &[u8]| -> Vec<usize> {
        let windows = file.windows(text.len()).enumerate();
        windows
            .filter(|(_, bytes)| *bytes == text)
            .map(|(at, _)| at)
            .collect()
    };
    for at in places(&file, b"find me here") {
        file[at] ^= 1;
    }
    // The rule's id is in its row and in the index of ids; only the row's copy rots. The row is
    // the one that is followed by the tool's name.
    for at in places(&file, b"aaaaaaaaaaaaexec") {
        file[at] = b'b';
    }
    std::fs::write(home.database(), &file).unwrap();
    let store = home.open();
    let page = history(&store, 50, None).await;
    assert_eq!(page.damaged.len(), 1);
    assert_eq!(texts(&page)[1].1, "and me");
    let all = store.all_rules().await.unwrap();
    assert_eq!(all.rows, []);
    let id = all.damaged[0].id.clone().unwrap();
    let removed = store.remove_rule(&id, entry("rule-removed")).await;
    removed.unwrap();
    assert_eq!(store.send("chat:main", "work goes on").await, 3);
    assert_eq!(store.all_rules().await.unwrap().damaged, []);
    store.close().await;
}
