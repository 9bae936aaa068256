//! When a card takes keys, what its answers are, and when it closes.

use super::answers::{money_answer, permission_answer};
use super::*;
use crate::actions::{Action, Keymap};
use hob_wire::rooms::agent::RunRef;
use hob_wire::rooms::permission::{AnswerReach, PermissionDecision, RuleDecision, RuleTerms};
use hob_wire::work::Tier;
use serde_json::json;

fn run_id() -> RunId {
    "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap()
}

fn permission(id: &str) -> Question {
    let mut offer = RuleTerms::new("exec", RuleDecision::Allow, AnswerReach::Session);
    let exact = "cargo test";
    offer.matches.insert("command".into(), exact.into());
    Question::Permission(Box::new(PermissionQuestion {
        id: id.into(),
        session_key: "chat:main".into(),
        run_id: run_id(),
        call_id: "c1".into(),
        tool: "exec".into(),
        args: json!({ "command": exact }),
        tier: Tier::Exec,
        sentence: "Run cargo test".into(),
        offers: vec![offer],
        preview: Some("$ cargo test\n\u{1b}[2Jfolder /work".into()),
        digest: "d1".into(),
        asked_at: 0,
        deadline_at: 0,
        attended: true,
    }))
}

#[test]
fn keys_typed_before_a_card_was_seen_do_not_answer_it() {
    let mut cards = Cards::default();
    assert!(cards.ask(permission("1"), 1_000));
    assert!(!cards.has_keys());
    assert_eq!(cards.arms_at(1_500), Some(1_500 + ARM_MS));
    cards.arm();
    assert!(cards.has_keys());
    // The card behind it waits anew.
    cards.ask(permission("2"), 1_000);
    cards.sent(9_000);
    assert!(!cards.has_keys());
    assert_eq!(cards.arms_at(0), Some(9_000 + ARM_MS));
}

#[test]
fn a_card_answered_elsewhere_closes() {
    let mut cards = Cards::default();
    cards.ask(permission("1"), 0);
    assert!(
        !cards.ask(permission("1"), 0),
        "the same question is one card"
    );
    cards.close(
        5,
        |it| matches!(it, Question::Permission(it) if it.id == "1"),
    );
    assert!(cards.top().is_none());
    cards.ask(permission("2"), 0);
    cards.replace(vec![permission("3")], 7);
    assert_eq!(cards.count(), 1);
    cards.postpone(8);
    assert!(cards.top().is_none());
    assert_eq!(cards.count(), 1, "a postponed question is still open");
    cards.toggle_keys();
    assert!(cards.has_keys());
}

#[test]
fn an_answer_carries_the_digest_and_only_offered_reaches() {
    let Question::Permission(question) = permission("1") else {
        panic!("a permission");
    };
    let answer = permission_answer(&question, Action::AllowSession).unwrap();
    assert_eq!(answer.scope, Some(AnswerReach::Session));
    assert_eq!(answer.digest.as_deref(), Some("d1"));
    assert_eq!(answer.decision, PermissionDecision::Allow);
    assert!(permission_answer(&question, Action::AllowAlways).is_none());
    assert!(permission_answer(&question, Action::Happened).is_none());
}

#[test]
fn a_card_shows_what_runs_and_which_rule_is_stored() {
    let mut cards = Cards::default();
    cards.ask(permission("1"), 0);
    let card = cards.top().unwrap();
    let rows = card_rows(card, &Keymap::default(), 60, true, 0);
    let text = |rows: &[crate::text::Row]| -> String {
        let lines: Vec<String> = rows.iter().map(crate::text::Row::text).collect();
        lines.join("\n")
    };
    assert_eq!(
        text(&rows.body),
        "Allow this? Run cargo test\n$ cargo test\n\\u{1b}[2Jfolder /work"
    );
    assert_eq!(
        text(&rows.answers),
        "[y] yes, once  [n] no  [l] later\n[s] this session allows exec this exact command"
    );
}

#[test]
fn money_is_read_exactly() {
    let run = RunRef {
        session_key: "k".into(),
        run_id: run_id(),
    };
    let question = Question::Money(Box::new(RunPausedPayload {
        run,
        message: "Used up.".into(),
    }));
    assert_eq!(
        money_answer(&question, "$0.50").unwrap().micro_dollars,
        500_000
    );
    for wrong in ["", "0", "1.2.3", "x", "0.0000001"] {
        assert!(money_answer(&question, wrong).is_err(), "{wrong}");
    }
}
