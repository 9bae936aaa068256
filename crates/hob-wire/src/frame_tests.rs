//! Only the envelope of a frame is parsed; the rest is passed on byte for byte.

use super::*;

fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).expect("frames are UTF-8")
}

#[test]
fn a_request_keeps_its_params_as_bytes() {
    let line = r#"{"type":"req","id":"1","method":"a.b","params":{ "x" : "{\"type\":\"res\"}" }}"#;
    let Ok(Envelope::Request(request)) = read(line) else {
        panic!("not a request")
    };
    assert_eq!(request.target, "");
    assert_eq!(
        request.params.map(RawValue::get),
        Some(r#"{ "x" : "{\"type\":\"res\"}" }"#)
    );
    assert!(matches!(request.method, Cow::Borrowed(_)));
}

#[test]
fn what_is_written_is_read_back() {
    let mut out = Vec::new();
    let head = RequestHead {
        id: "q\"1",
        target: "t",
        method: "a.b",
        trace: Some("x"),
    };
    write_request(&mut out, &head, Some(b"[1]"));
    let line = text(out);
    let Ok(Envelope::Request(request)) = read(&line) else {
        panic!("not a request: {line}")
    };
    assert_eq!(
        (&*request.id, request.trace.as_deref()),
        ("q\"1", Some("x"))
    );

    let mut out = Vec::new();
    let place = Some(EventPosition::Logged { seq: 7, prev: None });
    write_event(
        &mut out,
        EventHead {
            source: "s",
            event: "a.b",
            position: place,
        },
        Some(b"{}"),
    );
    assert_eq!(
        text(out),
        r#"{"type":"event","source":"s","event":"a.b","seq":7,"prev":null,"payload":{}}"#
    );
}

#[test]
fn a_malformed_frame_is_answered_by_its_id_when_it_has_one() {
    let id_of = |line: &str| read(line).expect_err("malformed").id;
    assert_eq!(id_of("nonsense"), None);
    assert_eq!(id_of(r#"{"type":"req","id":"7"}"#), Some("7".into()));
    assert_eq!(
        id_of(r#"{"type":"req","id":"7","method":5}"#),
        Some("7".into())
    );
    assert_eq!(id_of(r#"{"type":"req","id":7,"method":"a.b"}"#), None);
    assert_eq!(
        id_of(r#"{"type":"req","id":"7","id":"8","method":"a.b"}"#),
        None
    );
    let long = "x".repeat(NAME_BYTES_MAX + 1);
    assert_eq!(
        id_of(&format!(r#"{{"type":"req","id":"{long}","method":"a.b"}}"#)).map(|id| id.len()),
        Some(257)
    );
}

#[test]
fn depth_counts_brackets_outside_strings() {
    assert!(is_depth_within(r#"{"a":"[[[[","b":"\"[["}"#, 1));
    assert!(is_depth_within("[[]]", 2));
    assert!(!is_depth_within("[[[]]]", 2));
}

#[test]
fn line_breaks_between_tokens_become_spaces() {
    let mut frame = b"{\"a\":\n 1,\r\n\"b\":\"x\\n\"}".to_vec();
    flatten_line_breaks(&mut frame);
    assert_eq!(text(frame), "{\"a\":  1,  \"b\":\"x\\n\"}");
}

#[test]
fn null_is_a_body_and_a_missing_one_is_none() {
    let params = |text| match read(text) {
        Ok(Envelope::Request(request)) => request.params.map(|params| params.get().to_owned()),
        other => panic!("{other:?}"),
    };
    let null = r#"{"type":"req","id":"1","method":"a.b","params":null}"#;
    assert_eq!(params(null), Some("null".to_owned()));
    assert_eq!(params(r#"{"type":"req","id":"1","method":"a.b"}"#), None);
    let failed = read(r#"{"type":"res","id":"1","ok":false,"error":null}"#);
    assert!(failed.is_err(), "null says nothing about a failure");
}
