//! The record as a table, and what checking it found.

use super::*;
use serde_json::json;

const NOW: u64 = 1_794_778_625_000; // 2026-11-15 21:37:05 UTC

fn entry(seq: u64, act: &str, matter: serde_json::Value) -> AuditEntry {
    AuditEntry {
        seq,
        at: NOW,
        act: act.to_owned(),
        by: "owner".to_owned(),
        session_key: None,
        run_id: None,
        tool: Some("write".to_owned()),
        matter,
        previous: String::new(),
        hash: String::new(),
    }
}

#[test]
fn calls_and_rules_are_told_in_a_few_words_within_the_screen() {
    let terms = json!({ "tool": "write", "decision": "allow", "scope": "folder", "folder": "/w" });
    let page = AuditListResult {
        damaged: Vec::new(),
        entries: vec![
            entry(12, "rule-added", json!({ "rule": "1", "terms": terms })),
            entry(
                11,
                "allowed",
                json!({ "args": { "content": "long ".repeat(50), "path": "a\u{1b}[2J" } }),
            ),
            AuditEntry {
                tool: None,
                ..entry(10, "own-act", json!({}))
            },
        ],
        more: true,
    };
    let lines = list(&page, &ScreenStyle::plain(NOW));
    let wide = |line: &&String| super::super::text::width(line) > 80;
    assert_eq!(lines.iter().find(wide), None);
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_broken_record_is_said_first() {
    let mut found = AuditVerifyResult {
        entries: 1_234,
        head: "ab12".to_owned(),
        problem: None,
    };
    let whole = verified(&found, &ScreenStyle::plain(NOW));
    assert_eq!(whole, ["1,234 entries, whole and in order.", "head ab12"]);
    found.problem = Some("entry 7 was changed".to_owned());
    let broken = verified(&found, &ScreenStyle::plain(NOW));
    assert_eq!(broken, ["The record is not whole: Entry 7 was changed."]);
}
