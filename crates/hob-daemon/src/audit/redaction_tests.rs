//! Hidden and visible fields of an entry.

use super::{HIDDEN, without_typed_text};
use hob_wire::rule::AuditEntry;
use serde_json::{Value, json};

fn entry(act: &str, tool: &str, matter: Value) -> AuditEntry {
    AuditEntry {
        seq: 1,
        at: 2,
        act: act.to_owned(),
        by: "owner".to_owned(),
        session_key: None,
        run_id: None,
        tool: Some(tool.to_owned()),
        matter,
        previous: "p".to_owned(),
        hash: "h".to_owned(),
    }
}

#[test]
fn what_was_typed_is_hidden_and_the_rest_stays() {
    let typed = json!({
        "terminal": "main", "commands": ["mysql -psecret"], "reason": null,
        "digest": "d", "salt": "s",
    });
    let shown = without_typed_text(entry("own-act", "terminal.execute", typed));
    assert_eq!(
        shown.matter,
        json!({
            "terminal": "main", "commands": HIDDEN, "reason": null,
            "digest": HIDDEN, "salt": HIDDEN,
        })
    );
    assert_eq!((shown.seq, shown.hash.as_str()), (1, "h"));
    let keys = json!({ "terminal": "main", "text": "secret", "keys": ["Enter"] });
    let shown = without_typed_text(entry("own-act", "terminal.keys", keys));
    assert_eq!(
        shown.matter,
        json!({ "terminal": "main", "text": HIDDEN, "keys": HIDDEN })
    );
    let asked = json!({ "args": { "command": "secret", "terminal": "x" }, "callId": "c" });
    let shown = without_typed_text(entry("asked", "terminal", asked));
    assert_eq!(
        shown.matter,
        json!({ "args": { "command": HIDDEN, "terminal": "x" }, "callId": "c" })
    );
}

#[test]
fn other_entries_stay_as_they_are() {
    let matter = json!({ "args": { "command": "make" }, "digest": "d" });
    for (act, tool) in [
        ("asked", "exec"),
        ("own-act", "terminals"),
        ("rule-added", "terminal"),
    ] {
        let kept = entry(act, tool, matter.clone());
        assert_eq!(without_typed_text(kept.clone()), kept);
    }
}
