//! Answers of terminals, whole, partial and mixed with keys.

use super::*;

#[test]
fn answers_are_read_and_keys_are_kept() {
    let facts = read_answers("h\u{1b}]11;rgb:ffff/ffff/ffff\u{1b}\\i\u{1b}[?1u\u{1b}[?62;4c!");
    assert_eq!(
        facts,
        TerminalFacts {
            is_light: true,
            reports_keys: true,
            typed: "hi!".into()
        }
    );
    assert!(has_last_answer(b"\x1b[?62;4c"));
    assert!(!has_last_answer(b"\x1b]11;rgb:0/0/0\x1b\\\x1b[?0u"));
    for text in [
        "",
        "\u{1b}",
        "\u{1b}]11;rgb:",
        "\u{1b}[?",
        "\u{1b}]11;rgb:zz/1/1\u{7}",
    ] {
        let facts = read_answers(text);
        assert!(!facts.is_light && !facts.reports_keys, "{text:?}");
    }
}

#[test]
fn a_background_is_light_or_dark() {
    for (colour, light) in [
        ("rgb:ff/ff/ff", true),
        ("rgb:fdfd/f6f6/e3e3", true),
        ("rgb:0000/0000/0000", false),
        ("rgb:1e1e/1e1e/2e2e", false),
        ("rgb:f/f/f", true),
        ("", false),
    ] {
        assert_eq!(is_light(colour), light, "{colour}");
    }
}
