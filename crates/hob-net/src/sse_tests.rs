//! The same bytes give the same events, however they are cut.

use super::{SseError, SseEvent, SseParser};
use proptest::prelude::*;

fn event(event: &str, data: &str) -> SseEvent {
    SseEvent {
        event: event.into(),
        data: data.into(),
    }
}

fn whole(bytes: &[u8]) -> (Vec<SseEvent>, Result<(), SseError>) {
    in_pieces(bytes, &[])
}

/// Parses with a cut after each of these offsets.
fn in_pieces(bytes: &[u8], cuts: &[usize]) -> (Vec<SseEvent>, Result<(), SseError>) {
    let mut parser = SseParser::with_bounds(64, 128);
    let mut events = Vec::new();
    let mut from = 0;
    for cut in cuts.iter().copied().chain([bytes.len()]) {
        let cut = cut.clamp(from, bytes.len());
        let taken = parser.push(&bytes[from..cut], &mut events);
        if taken.is_err() {
            return (events, taken);
        }
        from = cut;
    }
    (events, Ok(()))
}

#[test]
fn fields_comments_and_many_lines() {
    let text =
        ": hello\nevent: a\ndata: 1\ndata:2\ndata:  3\nid: 7\nretry: 5\n\n\ndata\n\nevent: x\n\n";
    let (events, end) = whole(text.as_bytes());
    assert_eq!(events, [event("a", "1\n2\n 3"), event("", "")]);
    assert_eq!(end, Ok(()));
}

#[test]
fn every_line_end_is_a_line_end() {
    for end in ["\n", "\r\n", "\r"] {
        let text = ["data: a", "event: e", "", "data: b", "", ""].join(end);
        let (events, _) = whole(text.as_bytes());
        assert_eq!(events, [event("e", "a"), event("", "b")], "{end:?}");
    }
    let (events, _) = whole(b"\xEF\xBB\xBFdata: a\r\n\ndata: b\r\r");
    assert_eq!(events, [event("", "a"), event("", "b")]);
}

#[test]
fn half_an_event_is_no_event() {
    let text = b"data: {\"a\":1}\n\n";
    for cut in 0..text.len() {
        assert!(whole(&text[..cut]).0.is_empty(), "{cut}");
    }
    assert_eq!(whole(text).0.len(), 1);
}

#[test]
fn lines_and_events_are_bounded() {
    let long_line = "x".repeat(65);
    let too_long = Err(SseError::TooLarge { bytes_max: 64 });
    assert_eq!(whole(long_line.as_bytes()).1, too_long);
    let many_lines = format!("data: {}\n", "y".repeat(50)).repeat(3);
    let too_large = Err(SseError::TooLarge { bytes_max: 128 });
    assert_eq!(whole(many_lines.as_bytes()).1, too_large);
}

#[test]
fn what_is_no_event_stream_is_said_to_be_garbage() {
    for bytes in [
        &b"\xff\xfe\x00\n"[..],
        b"<html>\n",
        b"{\"error\":\"x\"}\n",
        b"data: \xc3\n\n",
        b"a b c\n",
    ] {
        let (_, end) = whole(bytes);
        assert!(matches!(end, Err(SseError::Garbage { .. })), "{bytes:?}");
    }
}

fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("data: ä{\"x\":1}".to_owned()),
        Just("data".to_owned()),
        Just("event: e".to_owned()),
        Just(": c".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("\r\n".to_owned()),
        Just("\n\n".to_owned()),
        "[a-z:]{0,70}",
    ];
    let bytes = prop_oneof![
        20 => piece.prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(bytes, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn cuts_change_nothing(
        stream in any_stream(),
        mut cuts in proptest::collection::vec(0..400_usize, 0..10)
    ) {
        cuts.sort_unstable();
        let expected = whole(&stream);
        prop_assert_eq!(&in_pieces(&stream, &cuts), &expected);
        let every_byte: Vec<usize> = (0..stream.len()).collect();
        prop_assert_eq!(&in_pieces(&stream, &every_byte), &expected);
    }
}
