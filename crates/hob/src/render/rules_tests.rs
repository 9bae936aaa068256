//! Rules as tables, sentences and command lines.

use super::*;
use serde_json::json;
use std::collections::BTreeMap;

const NOW: u64 = 1_794_778_625_000; // 2026-11-15 21:37:05 UTC

fn terms(fields: &serde_json::Value) -> RuleTerms {
    let mut whole = json!({ "tool": "write", "decision": "allow", "scope": "always" });
    for (name, value) in fields.as_object().expect("an object") {
        whole[name] = value.clone();
    }
    serde_json::from_value(whole).expect("terms")
}

fn rule(id: &str, terms: RuleTerms) -> PermissionRule {
    PermissionRule {
        id: id.to_owned(),
        expires_at: terms.expires_ms.map(|ms| NOW + ms),
        terms,
        created_at: NOW,
        created_by: "owner".to_owned(),
    }
}

#[test]
fn a_list_fits_the_screen_and_tells_its_rules_apart() {
    let page = PermissionListResult {
        damaged: Vec::new(),
        mode: PermissionMode::Ask,
        rules: vec![
            rule(
                "0190163d-8694-7001",
                terms(&json!({ "scope": "folder", "folder": "/work/app", "path": "/work/app" })),
            ),
            rule(
                "0190163d-8699-7002",
                terms(&json!({
                    "tool": "exec", "decision": "deny", "match": { "command": "rm *\u{1b}[2J" },
                    "scope": "session", "sessionKey": "chat:main", "expiresMs": 3_600_000,
                })),
            ),
            rule(
                "01901641-1111-7003",
                terms(&json!({
                    "tool": "*", "decision": "ask", "host": "*", "kind": "cron",
                    "path": "/a/very/long/path/".repeat(9),
                })),
            ),
        ],
        notes: BTreeMap::from([(
            "0190163d-8694-7001".to_owned(),
            "Covers less than before: a '*' in a program's name stands for no space, '/' or '='. Use 'uptime' and 'uptime *'.".to_owned(),
        )]),
        more: true,
    };
    let lines = list(&page, &ScreenStyle::plain(NOW));
    let wide = |line: &&String| super::super::text::width(line) > 80;
    assert_eq!(lines.iter().find(wide), None);
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_limit_to_a_job_comes_first_on_the_narrowest_screen() {
    let granted = terms(&json!({
        "tool": "exec", "match": { "command": "tar czf backup.tgz notes" },
        "sessions": "cron:backup",
    }));
    assert_eq!(
        calls(&granted),
        "in cron:backup: exec command='tar czf backup.tgz notes'"
    );
    let page = PermissionListResult {
        damaged: Vec::new(),
        mode: PermissionMode::Ask,
        rules: vec![rule("0190163d-8694-7001", granted)],
        notes: BTreeMap::new(),
        more: false,
    };
    let screen = ScreenStyle {
        width: Some(40),
        ..ScreenStyle::plain(NOW)
    };
    let lines = list(&page, &screen);
    let row = lines.last().expect("a row");
    assert!(row.contains("in cron:b"), "{lines:#?}");
    assert!(!lines.concat().contains("EXPIRES"), "{lines:#?}");
}

#[test]
fn what_was_stored_is_said_whole() {
    let stored = rule(
        "r1",
        terms(&json!({
            "tool": "exec", "match": { "command": "cargo test *" }, "scope": "folder",
            "folder": "/work", "expiresMs": 86_400_000,
        })),
    );
    let lines = added(&stored, &ScreenStyle::plain(NOW));
    assert_eq!(
        lines[0],
        "Stored r1: allow exec command='cargo test *' in folder /work, until 2026-11-16 21:37."
    );
    assert!(lines[1].ends_with("hob permission remove r1"), "{lines:?}");
    let narrow = json!({ "tool": "exec", "match": { "command": "uptime*" } });
    let lines = added(&rule("r3", terms(&narrow)), &ScreenStyle::plain(NOW));
    assert!(
        lines[1].contains("Use 'uptime' and 'uptime *'."),
        "{lines:?}"
    );
    let gone = removed(&rule("r2", terms(&json!({}))), &ScreenStyle::plain(NOW));
    assert_eq!(gone, ["Removed r2: allow write, always."]);
}

#[test]
fn a_command_line_says_everything_a_shell_can_take() {
    let run = "0190163d-8694-739b-aea5-966c26f8ad91";
    let whole = terms(&json!({
        "tool": "exec", "match": { "command": "echo 'it' $HOME; -x", "cwd": "-a" },
        "path": "/w/a b", "host": "*.example.org", "scope": "run", "runId": run,
        "kind": "chat", "channel": "mail", "expiresMs": 604_800_000,
    }));
    assert_eq!(
        add_line(&whole),
        "hob permission add --tool exec --match 'command=echo '\\''it'\\'' $HOME; -x' \
         --match cwd=-a --path '/w/a b' --host '*.example.org' --decision allow --scope run \
         --run 0190163d-8694-739b-aea5-966c26f8ad91 --kind chat --channel mail --expires 7d"
    );
    let lines = RuleTerms {
        matches: BTreeMap::from([("command".to_owned(), "a\nb'\\\u{1b}".to_owned())]),
        ..terms(&json!({}))
    };
    let line = add_line(&lines);
    assert!(line.contains(r"$'command=a\nb\'\\\u001b'"), "{line}");
    assert!(!line.contains('\n'), "{line}");
}

#[test]
fn a_rule_of_deceiving_letters_shows_them() {
    let hidden = terms(&json!({ "tool": "exec", "match": { "command": "c\u{443}rl a\u{200b}b" } }));
    assert_eq!(calls(&hidden), r"exec command='c\u{443}rl a\u{200b}b'");
    let line = add_line(&hidden);
    assert!(line.contains(r"$'command=c\u0443rl a\u200bb'"), "{line}");
    let honest = terms(&json!({ "tool": "exec", "match": { "command": "cat größe.txt" } }));
    assert!(add_line(&honest).contains("'command=cat größe.txt'"));
}
