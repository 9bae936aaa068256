//! Results as lines, at 80 columns.

use super::text::{bytes, kebab, label, one_line, truncate, width, wrap};
use super::*;
use serde_json::json;

const NOW: u64 = 1_794_778_625_000; // 2026-11-15 21:37:05 UTC

fn drawn(method: &str, value: &Value) -> String {
    result(method, value, &ScreenStyle::plain(NOW)).join("\n")
}

fn message(seq: u64, role: &str, content: &Value) -> Value {
    json!({
        "id": "0190163d-8694-739b-aea5-966c26f8ad91", "seq": seq, "role": role,
        "content": content, "at": NOW - 60_000,
    })
}

#[test]
fn a_list_of_objects_is_a_table() {
    let spans = json!({ "spans": [
        { "trace": "a1", "method": "session.list", "service": "sessions", "caller": "owner",
          "startedAt": NOW, "micros": 1_240 },
        { "trace": "a1", "method": "session.send", "service": "sessions", "caller": "owner",
          "startedAt": NOW, "micros": 80, "error": "NOT_FOUND" },
    ]});
    insta::assert_snapshot!(drawn("any.trace", &spans));
    insta::assert_snapshot!("traced", drawn("gateway.trace", &spans));
}

#[test]
fn an_object_is_aligned_pairs_and_blank_fields_are_left_out() {
    let session = json!({
        "id": "0190163d-8694-739b-aea5-966c26f8ad91", "sessionKey": "chat:main", "kind": "main",
        "label": null, "metadata": {}, "messages": 3, "createdAt": NOW, "updatedAt": NOW,
    });
    insta::assert_snapshot!(drawn("session.get", &session));
}

#[test]
fn what_nests_is_indented_below_its_name() {
    let inspection = json!({
        "services": [{ "name": "sessions", "builtin": true, "methods": ["a.b", "a.c"] }],
        "connections": [{ "id": 1, "name": "owner", "surface": "unix" }],
    });
    insta::assert_snapshot!(drawn("any.inspect", &inspection));
}

#[test]
fn history_reads_like_a_conversation() {
    let parts = json!([
        { "type": "thinking", "text": "They greet." },
        { "type": "text", "text": "Good morning. ".repeat(9) },
        { "type": "toolCall", "id": "1", "name": "clock", "args": { "zone": "UTC" } },
        { "type": "image", "mimeType": "image/png", "data": "AAAA" },
    ]);
    let page = json!({ "messages": [
        message(7, "user", &json!("Good morning\n\tand hello")),
        message(8, "assistant", &parts),
    ], "next": 7 });
    insta::assert_snapshot!(drawn("session.history", &page));
}

#[test]
fn sessions_fit_the_screen_whatever_their_names() {
    let session = |key: &str| {
        json!({
            "id": "0190163d-8694-739b-aea5-966c26f8ad91", "sessionKey": key, "kind": "main",
            "label": "L".repeat(60), "messages": 12, "createdAt": 0, "updatedAt": NOW,
        })
    };
    let page = json!({ "sessions": [session("chat:main"), session(&"k".repeat(90))] });
    let text = drawn("session.list", &page);
    assert!(text.lines().all(|line| width(line) <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn forty_columns_keep_the_session_and_its_title() {
    let session = json!({
        "id": "0190163d-8694-739b-aea5-966c26f8ad91", "sessionKey": "chat:main", "kind": "main",
        "title": "What is filling my disk?", "messages": 12, "createdAt": 0, "updatedAt": NOW,
    });
    let screen = ScreenStyle {
        width: Some(40),
        ..ScreenStyle::plain(NOW)
    };
    let page = json!({ "sessions": [session] });
    let lines = result("session.list", &page, &screen);
    assert_eq!(
        lines,
        [
            "SESSION    TITLE               LAST USED",
            "chat:main  What is filling m…  21:37",
        ]
    );
}

#[test]
fn names_in_a_list_cannot_pass_for_others() {
    let session = |key: &str, kind: &str, label: &str| {
        json!({
            "id": "0190163d-8694-739b-aea5-966c26f8ad91", "sessionKey": key, "kind": kind,
            "label": label, "messages": 1, "createdAt": 0, "updatedAt": NOW,
        })
    };
    let page = json!({ "sessions": [
        session("chat:m\u{430}in", "ma\u{200b}in", "Notes\u{202e}"),
        session("письма", "main", "日本語 café 🎉"),
    ] });
    let text = drawn("session.list", &page);
    for shown in [
        r"chat:m\u{430}in",
        r"ma\u{200b}in",
        r"Notes\u{202e}",
        "письма",
        "日本語 café 🎉",
    ] {
        assert!(text.contains(shown), "{text}");
    }
    // Any other list is drawn by its shape, and no less safely.
    let tokens = json!({ "tokens": [{ "name": "ph\u{43e}ne" }, { "name": "phone\u{2060}" }] });
    let text = drawn("any.list", &tokens);
    for shown in [r"ph\u{43e}ne", r"phone\u{2060}"] {
        assert!(text.contains(shown), "{text}");
    }
}

#[test]
fn a_program_gets_whole_values() {
    let screen = ScreenStyle {
        width: None,
        ..ScreenStyle::plain(NOW)
    };
    let long = "x".repeat(300);
    let lines = result("any.thing", &json!([{ "name": long }]), &screen);
    assert!(lines[1].contains(&"x".repeat(300)));
}

#[test]
fn nothing_from_outside_moves_the_cursor() {
    let nasty = json!({ "messages": [message(1, "user", &json!("a\u{1b}[2Jb\u{202e}c\u{7}"))] });
    for method in ["session.history", "any.thing"] {
        let text = drawn(method, &nasty);
        let hidden = text
            .chars()
            .find(|letter| letter.is_control() && *letter != '\n');
        assert_eq!(
            (hidden, text.contains('\u{202e}')),
            (None, false),
            "{text:?}"
        );
    }
}

#[test]
fn a_result_of_a_newer_daemon_is_drawn_by_its_shape() {
    let text = drawn("session.list", &json!({ "rows": [{ "name": "x" }] }));
    assert_eq!(text, "NAME\nx");
}

#[test]
fn words_are_spelt_and_measured() {
    assert_eq!(kebab("idempotencyKey"), "idempotency-key");
    assert_eq!(label("pendingRequests"), "Pending requests");
    assert_eq!(one_line("a\nb\tc"), "a b c");
    assert_eq!(one_line("pho\u{200b}ne"), r"pho\u{200b}ne");
    assert_eq!(one_line("p\u{430}ypal"), r"p\u{430}ypal");
    assert_eq!(one_line("Привет, 日本語 café 🎉"), "Привет, 日本語 café 🎉");
    assert_eq!((width("añ"), width("日本"), width("e\u{301}")), (2, 4, 1));
    assert_eq!(truncate("abcdef", 4), "abc…");
    assert_eq!(truncate("日本語", 4), "日…");
    assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
    assert_eq!(wrap("abcdefgh x", 3), ["abc", "def", "gh", "x"]);
    assert_eq!(
        [bytes(5), bytes(1_536), bytes(5 * 1_024 * 1_024)],
        ["5 B", "1.5 KiB", "5.0 MiB"]
    );
}

#[test]
fn times_are_local_and_spans_are_short() {
    let screen = ScreenStyle::plain(NOW);
    assert_eq!(time::local(NOW, &screen), "2026-11-15 21:37:05");
    assert_eq!(time::short(NOW - 1_000, &screen), "21:37");
    assert_eq!(time::short(NOW - 86_400_000, &screen), "2026-11-14 21:37");
    assert_eq!(time::local(u64::MAX, &screen), u64::MAX.to_string());
    assert_eq!(
        time::span(3 * 3_600_000 + 12 * 60_000 + 4_000),
        "3 h 12 min"
    );
    assert_eq!(time::span(86_400_000), "1 d");
    assert_eq!([time::span(900), time::micros(1_240)], ["900 ms", "1.2 ms"]);
}
