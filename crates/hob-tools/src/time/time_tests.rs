//! The time at a fixed moment, and zones that are none.

use super::*;
use hob_wire::content::ContentPart;
use hob_wire::work::ToolContext;

fn told(args: serde_json::Value) -> (String, bool) {
    let work = PreparedCall {
        tool: "time".to_owned(),
        fingerprint: String::new(),
        args,
        context: ToolContext::default(),
        state: None,
    };
    let env = ToolEnv::new(hob_kit::clock::Clock::manual(1_794_787_200_123), []);
    let answer = current_time(&work, &env);
    match &answer.content[..] {
        [ContentPart::Text { text }] => (text.clone(), answer.is_error),
        other => panic!("one text: {other:?}"),
    }
}

#[test]
fn the_time_is_told_in_a_zone() {
    let (words, is_error) = told(json!({ "zone": "UTC" }));
    assert_eq!(words, "Monday, 2026-11-16 00:00:00 +00:00 (UTC)");
    assert!(!is_error);
    assert!(told(json!({})).0.contains("2026-11-1"));
}

#[test]
fn a_zone_that_is_none_is_named() {
    for zone in ["Mars/Olympus", "../../etc/passwd", "/etc/passwd", ""] {
        let (words, is_error) = told(json!({ "zone": zone }));
        assert!(is_error, "{zone}");
        assert!(words.contains("America/New_York"), "{words}");
    }
}
