//! Nothing hides in what a person is shown.

use super::*;
use crate::visible_text::is_hidden;
use hob_wire::work::{Idempotency, Tier};
use proptest::prelude::*;
use serde_json::json;

fn tool(approval: &str) -> ToolSpec {
    ToolSpec {
        name: "write".to_owned(),
        aliases: Vec::new(),
        description: "Writes.".to_owned(),
        parameters: json!({ "type": "object" }),
        tier: Tier::Write,
        effect: Idempotency::Probeable,
        needs: Vec::new(),
        approval: approval.to_owned(),
        timeout_ms: None,
    }
}

#[test]
fn a_part_in_brackets_goes_with_its_argument() {
    let tool = tool("Terminal[ {name}][: run {command}][ [so it is]]");
    let told = |args| approval_sentence(&tool, &args);
    assert_eq!(told(json!({})), "Terminal[ [so it is]]");
    assert_eq!(
        told(json!({ "command": "ls [a]", "name": null })),
        "Terminal: run \"ls [a]\"[ [so it is]]"
    );
}

fn shown(text: &str) -> String {
    approval_sentence(&tool("Run {command}"), &json!({ "command": text }))
}

#[test]
fn arguments_stand_in_their_places() {
    let args = json!({ "path": "notes.md", "lines": 3, "deep": { "b": 1, "a": [true] } });
    let words = approval_sentence(&tool("Write {lines} lines to {path} {deep} {gone}"), &args);
    assert_eq!(
        words,
        r#"Write 3 lines to "notes.md" {"a":[true],"b":1} (nothing)"#
    );
    assert_eq!(
        approval_sentence(&tool("Odd { brace"), &args),
        "Odd { brace"
    );
}

#[test]
fn an_argument_cannot_end_its_own_quotes() {
    assert_eq!(shown(r#"a" and "b"#), r#"Run "a\" and \"b""#);
    assert_eq!(shown(r"a\"), r#"Run "a\\""#);
}

#[test]
fn what_hides_is_shown() {
    for (text, expected) in [
        ("ls\n rm", r#"Run "ls\n rm""#),
        ("\u{1b}[2Kls", r#"Run "\u{1b}[2Kls""#),
        ("a\u{202e}txt.exe", r#"Run "a\u{202e}txt.exe""#),
        ("a\u{200b}b", r#"Run "a\u{200b}b""#),
        ("a\u{2066}b\u{2069}", r#"Run "a\u{2066}b\u{2069}""#),
        ("a\u{a0}b", r#"Run "a\u{a0}b""#),
        ("a\u{e0041}", r#"Run "a\u{e0041}""#),
        ("a\u{2028}b", r#"Run "a\u{2028}b""#),
    ] {
        assert_eq!(shown(text), expected);
    }
}

#[test]
fn letters_that_imitate_ascii_are_shown() {
    // Cyrillic letters in a Latin word, and a word of look-alikes alone.
    assert_eq!(shown("c\u{443}rl"), r#"Run "c\u{443}rl""#);
    assert_eq!(
        shown("\u{455}\u{455}\u{4bb}"),
        r#"Run "\u{455}\u{455}\u{4bb}""#
    );
    // A slash that is none, full-width letters, mathematical ones.
    assert_eq!(shown("a\u{2215}b"), r#"Run "a\u{2215}b""#);
    assert_eq!(shown("\u{ff52}\u{ff4d}"), r#"Run "\u{ff52}\u{ff4d}""#);
    assert_eq!(shown("\u{1d42b}m"), r#"Run "\u{1d42b}m""#);
}

#[test]
fn honest_words_of_any_script_are_readable() {
    for text in [
        "привет мир",
        "καλημέρα κόσμε",
        "größe.txt",
        "日本語.md",
        "café",
        "שלום",
    ] {
        assert_eq!(shown(text), format!("Run \"{text}\""));
    }
}

#[test]
fn the_tools_own_words_are_data_too() {
    let words = approval_sentence(&tool("Harmless\u{202e} {a}"), &json!({ "a": 1 }));
    assert_eq!(words, r"Harmless\u{202e} 1");
}

#[test]
fn everything_is_bounded_and_says_what_is_missing() {
    let long = shown(&"x".repeat(10_000));
    assert!(long.chars().count() < 300, "{long}");
    assert!(long.contains("(9800 more characters)"), "{long}");
    let many = approval_sentence(&tool(&"word ".repeat(1_000)), &json!({}));
    assert!(many.chars().count() < SENTENCE_CHARS_MAX + 40);
    let args = json!({ "text": "y".repeat(100_000) });
    let all = call_preview(&tool("x"), &args, &ToolContext::default());
    assert!(all.chars().count() < PREVIEW_CHARS_MAX + 40);
}

#[test]
fn a_preview_holds_all_that_runs() {
    let context = ToolContext {
        workspace: Some("/home/me\u{202e}".to_owned()),
        ..ToolContext::default()
    };
    let args = json!({ "path": "a", "text": "one\ntwo" });
    assert_eq!(
        call_preview(&tool("x"), &args, &context),
        "tool: write\nfolder: /home/me\\u{202e}\npath: \"a\"\ntext: \"one\\\\ntwo\""
    );
}

proptest! {
    /// Whatever a model writes, what a person reads has no hidden character and one line.
    #[test]
    fn nothing_hides(text in any::<String>()) {
        let words = shown(&text);
        prop_assert!(!words.chars().any(is_hidden), "{words:?}");
        prop_assert!(!words.contains('\n'));
    }
}

#[test]
fn a_change_keeps_its_lines_and_hides_nothing() {
    let context = ToolContext {
        workspace: Some("/w".to_owned()),
        ..ToolContext::default()
    };
    let shown = change_preview(
        &tool("Write {path}"),
        &context,
        "-a\n+b\u{1b}[2K\u{202e}c\r\n+d",
    );
    assert!(
        shown.contains("folder: /w\n-a\n+b\\u{1b}[2K\\u{202e}c\\r\n+d"),
        "{shown}"
    );
    assert!(shown.ends_with("+d"), "{shown}");
    let long = change_preview(&tool("Write {path}"), &context, &"x\n".repeat(20_000));
    assert!(long.contains("more characters)") && long.chars().count() < 17_000);
}
