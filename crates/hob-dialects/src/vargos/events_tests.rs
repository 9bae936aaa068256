//! Events as a client gets them.

use super::*;
use serde_json::json;

fn through(translator: &mut VargosEventTranslator, frame: &Value) -> Value {
    // The bus writes the type first.
    let rest = frame.to_string();
    let rest = rest.strip_prefix('{').expect("an object");
    let bytes = Bytes::from(format!(r#"{{"type":"event",{rest}"#));
    serde_json::from_slice(&translator.translate(bytes)).expect("JSON")
}

fn delta(kind: &str) -> Value {
    json!({
        "source": "agent", "event": "run.delta", "seq": 7, "sub": 3,
        "payload": {"sessionKey": "a", "runId": "r", "offset": 0, "kind": kind, "delta": "hm"},
    })
}

#[test]
fn only_text_of_the_answer_is_in_delta() {
    let mut translator = VargosEventTranslator::new(true);
    let text = through(&mut translator, &delta("text"));
    assert_eq!((&text["seq"], &text["sub"]), (&json!(7), &json!(3)));
    assert_eq!(
        (&text["payload"]["delta"], &text["payload"]["data"]),
        (&json!("hm"), &json!("hm"))
    );
    let thought = through(&mut translator, &delta("thinking"))["payload"].clone();
    assert_eq!(
        (&thought["delta"], &thought["thinking"], &thought["type"]),
        (&json!(""), &json!("hm"), &json!("thinking_delta"))
    );
    let args = through(&mut translator, &delta("tool"))["payload"].clone();
    assert_eq!(
        (&args["delta"], &args["toolArgs"]),
        (&json!(""), &json!("hm"))
    );
}

#[test]
fn a_tool_has_its_name_and_a_message_its_text() {
    let mut translator = VargosEventTranslator::new(true);
    let tool = through(
        &mut translator,
        &json!({
            "source": "agent", "event": "run.tool", "seq": 8, "prev": null,
            "payload": {"phase": "start", "call": {"id": "c", "name": "time", "args": {"zone": "UTC"}}},
        }),
    );
    assert_eq!((&tool["seq"], &tool["prev"]), (&json!(8), &Value::Null));
    assert_eq!(tool["payload"]["toolName"], "time");
    assert_eq!(tool["payload"]["args"], json!({"zone": "UTC"}));
    let message = through(
        &mut translator,
        &json!({
            "source": "sessions", "event": "session.message", "seq": 9, "prev": 8,
            "payload": {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        }),
    );
    assert_eq!(message["payload"]["content"], "hi");
    assert_eq!(message["prev"], 8);
}

#[test]
fn other_frames_are_not_touched() {
    let mut translator = VargosEventTranslator::new(true);
    for frame in [
        r#"{"type":"res","id":"1","ok":true,"payload":{"kind":"thinking","delta":"x"}}"#,
        r#"{"type":"event","source":"mill","event":"mill.delta","seq":1,"sub":1,"payload":{"kind":"thinking"}}"#,
        r#"{"type":"event","source":"agent","event":"run.delta","seq":1,"sub":1,"payload":7}"#,
        r#"{"type":"event","source":"agent","event":"run.started","seq":1,"prev":null}"#,
    ] {
        let bytes = Bytes::from_static(frame.as_bytes());
        assert_eq!(translator.translate(bytes.clone()), bytes, "{frame}");
    }
}

#[test]
fn on_a_bare_daemon_events_are_numbered_without_gaps() {
    let mut translator = VargosEventTranslator::new(false);
    let tick = |seq: u64, sub: Option<u64>| match sub {
        Some(sub) => json!({"source": "a", "event": "tick", "seq": seq, "sub": sub}),
        None => json!({"source": "a", "event": "tick", "seq": seq, "prev": null}),
    };
    let mut seen = Vec::new();
    for (seq, sub) in [(0, Some(4)), (0, Some(5)), (9, None), (9, Some(1))] {
        seen.push(through(&mut translator, &tick(seq, sub))["seq"].clone());
    }
    assert_eq!(seen, [1, 2, 9, 10]);
    let gap = json!({"source": "gateway", "event": "gateway.gap", "seq": 3, "sub": 1});
    assert_eq!(through(&mut translator, &gap)["seq"], 3);
    // The rooms are outside services here: their payload is theirs.
    let theirs = through(&mut translator, &delta("thinking"));
    assert_eq!(theirs["payload"]["delta"], "hm");
}
