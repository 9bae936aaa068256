//! Questions as a person reads them, and the money they type.

use super::*;
use hob_wire::content::ToolCall;
use hob_wire::rooms::agent::RunOf;
use hob_wire::rooms::tool::Tier;
use serde_json::json;

const NOW: u64 = 1_794_778_625_000; // 2026-11-15 21:37:05 UTC

fn of() -> RunOf {
    RunOf {
        session_key: "chat:main".to_owned(),
        run_id: "0190163d-8694-739b-aea5-966c26f8ad91"
            .parse()
            .expect("an id"),
    }
}

fn drawn(asked: &Asked) -> String {
    asked.lines(&Screen::plain(NOW)).join("\n")
}

fn permission(preview: Option<String>) -> Question {
    Question {
        id: "q1".to_owned(),
        session_key: of().session_key,
        run_id: of().run_id,
        call_id: "c1".to_owned(),
        tool: "write".to_owned(),
        args: json!({ "path": "notes.txt" }),
        tier: Tier::Write,
        sentence: "Write notes.txt".to_owned(),
        offers: Vec::new(),
        preview,
        digest: "d1".to_owned(),
        asked_at: NOW,
        deadline_at: NOW + 120_000,
    }
}

#[test]
fn a_permission_shows_exactly_what_will_run() {
    let preview = "+ one line\n+ a very long line ".to_owned() + &"x".repeat(90) + "\n\u{1b}[2J";
    let asked = Asked::Permission(Box::new(permission(Some(preview))));
    let text = drawn(&asked);
    assert!(!text.contains('\u{1b}'), "{text}");
    insta::assert_snapshot!(text);
    let many: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    let many = many.join("\n");
    let text = drawn(&Asked::Permission(Box::new(permission(Some(many)))));
    assert!(text.ends_with("    29\n    … and 20 more lines"), "{text}");
}

#[test]
fn a_doubt_shows_tool_arguments_beginning_and_what_is_known() {
    let doubt = RunInDoubtPayload {
        of: of(),
        step: 2,
        call: ToolCall {
            id: "c7".to_owned(),
            name: "send_mail".to_owned(),
            args: json!({ "to": "ada@example.org", "text": "Good morning ".repeat(8) }),
        },
        began_at: NOW,
        known: "It had begun when the daemon stopped; no answer was written".to_owned(),
    };
    insta::assert_snapshot!(drawn(&Asked::Doubt(Box::new(doubt))));
    let paused = RunPausedPayload {
        of: of(),
        message: "the day's budget of $1.00 is used up".to_owned(),
    };
    insta::assert_snapshot!(drawn(&Asked::Money(paused)));
}

#[test]
fn an_answer_is_bound_to_what_was_shown() {
    let question = permission(None);
    for decision in [Decision::Allow, Decision::Deny] {
        let given = answer(&question, decision);
        assert_eq!((given.id.as_str(), given.decision), ("q1", decision));
        assert_eq!(given.digest.as_deref(), Some("d1"));
    }
}

#[test]
fn dollars_are_read_to_the_millionth() {
    let read = |text| parse_dollars(text);
    assert_eq!(read("0.50"), Ok(500_000));
    assert_eq!(read("$2"), Ok(2_000_000));
    assert_eq!(read(" .000001 "), Ok(1));
    assert_eq!(read("12.5"), Ok(12_500_000));
    for wrong in [
        "",
        "$",
        "-1",
        "1e3",
        "0",
        "0.0000001",
        "1,50",
        "99999999999999999999",
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
