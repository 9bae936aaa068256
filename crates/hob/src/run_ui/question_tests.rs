//! Questions as a person reads them, and the money they type.

use super::*;
use hob_wire::content::ToolCall;
use hob_wire::rooms::agent::RunRef;
use serde_json::json;

const NOW: u64 = 1_794_778_625_000; // 2026-11-15 21:37:05 UTC

fn of() -> RunRef {
    RunRef {
        session_key: "chat:main".to_owned(),
        run_id: "0190163d-8694-739b-aea5-966c26f8ad91"
            .parse()
            .expect("an id"),
    }
}

fn drawn(asked: &UserQuestion) -> String {
    asked.lines(&ScreenStyle::plain(NOW)).join("\n")
}

#[test]
fn a_doubt_shows_tool_arguments_beginning_and_what_is_known() {
    let doubt = RunInDoubtPayload {
        run: of(),
        step: 2,
        call: ToolCall {
            id: "c7".to_owned(),
            name: "send_mail".to_owned(),
            args: json!({ "to": "ada@example.org", "text": "Good morning ".repeat(8) }),
        },
        began_at: NOW,
        known: "It had begun when the daemon stopped; no answer was written".to_owned(),
    };
    insta::assert_snapshot!(drawn(&UserQuestion::Doubt(Box::new(doubt))));
    let paused = RunPausedPayload {
        run: of(),
        message: "the day's budget of $1.00 is used up".to_owned(),
    };
    insta::assert_snapshot!(drawn(&UserQuestion::Budget(paused)));
}
