//! The lines of an event stream.

use super::{last_event_id, write_event};
use crate::looprunner::types::LoopRunnerEvent;
use axum::http::{HeaderMap, HeaderValue};

#[test]
fn an_event_is_one_line_of_data_after_its_id() {
    let mut out = Vec::new();
    let event = LoopRunnerEvent::Prompt {
        prompt: "two\nlines\r\nid: 7".to_owned(),
        iteration: 1,
    };
    write_event(&mut out, Some(41), &event);
    write_event(&mut out, None, &LoopRunnerEvent::Stopped);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "id: 41\ndata: {\"type\":\"prompt\",\"prompt\":\"two\\nlines\\r\\nid: 7\",\"iteration\":1}\n\ndata: {\"type\":\"stopped\"}\n\n"
    );
}

#[test]
fn what_is_no_place_counts_as_none() {
    let read = |text: &'static [u8]| {
        let value = HeaderValue::from_bytes(text).unwrap();
        last_event_id(&HeaderMap::from_iter([(super::LAST_EVENT_ID, value)]))
    };
    assert_eq!(read(b"12"), Some(12));
    assert_eq!(read(b" 12 "), Some(12));
    for none in [
        &b""[..],
        b"-1",
        b"1.5",
        b"abc",
        b"\xff",
        b"99999999999999999999999",
    ] {
        assert_eq!(read(none), None, "{none:?}");
    }
    assert_eq!(last_event_id(&HeaderMap::new()), None);
}
