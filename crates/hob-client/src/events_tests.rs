//! The cursor of a stream, frame by frame: yielded, skipped and broken.

use super::*;

fn cursor_at(seq: u64) -> StreamCursor {
    StreamCursor {
        subscription: SubscribeOptions::to(["*"]),
        last_seq: Some(seq),
        log_id: Some("ours".into()),
        connected_log_id: Some("theirs".into()),
        is_fresh: true,
    }
}

fn logged(seq: u64, prev: Option<u64>) -> Bytes {
    let prev = prev.map_or("null".to_owned(), |prev| prev.to_string());
    Bytes::from(format!(
        r#"{{"type":"event","source":"s","event":"a.b","seq":{seq},"prev":{prev},"payload":{{"n":{seq}}}}}"#
    ))
}

fn volatile(seq: u64, sub: u64) -> Bytes {
    Bytes::from(format!(
        r#"{{"type":"event","source":"s","event":"a.v","seq":{seq},"sub":{sub}}}"#
    ))
}

fn gap(from: u64, to: u64) -> Bytes {
    Bytes::from(format!(
        r#"{{"type":"event","source":"gateway","event":"gateway.gap","payload":{{"from":{from},"to":{to}}}}}"#
    ))
}

fn seq_of(read: &ReadOutcome) -> Option<u64> {
    match read {
        ReadOutcome::Item(StreamItem::Event(event)) => Some(event.seq),
        _ => None,
    }
}

#[test]
fn a_whole_chain_is_yielded_and_remembered() {
    let mut cursor = cursor_at(4);
    assert_eq!(seq_of(&cursor.read(&logged(7, None))), Some(7));
    assert_eq!(seq_of(&cursor.read(&volatile(7, 1))), Some(7));
    assert_eq!(seq_of(&cursor.read(&logged(9, Some(7)))), Some(9));
    assert_eq!(cursor.last_seq, Some(9));
}

#[test]
fn an_event_the_consumer_has_is_not_yielded_again() {
    let mut cursor = cursor_at(9);
    assert_eq!(cursor.read(&logged(9, Some(8))), ReadOutcome::Nothing);
    assert_eq!(cursor.read(&logged(3, None)), ReadOutcome::Nothing);
}

#[test]
fn a_broken_chain_is_resumed_rather_than_yielded() {
    let mut cursor = cursor_at(4);
    assert_eq!(seq_of(&cursor.read(&logged(5, Some(4)))), Some(5));
    assert_eq!(cursor.read(&logged(9, Some(8))), ReadOutcome::Broken);
    assert_eq!(
        cursor.last_seq,
        Some(5),
        "the resumption asks for what was missed"
    );
}

#[test]
fn a_gap_of_the_log_is_yielded_and_skipped_over() {
    let mut cursor = cursor_at(4);
    let expected = StreamItem::Gap(GapRange {
        from: 5,
        to: 90,
        reason: None,
    });
    assert_eq!(cursor.read(&gap(5, 90)), ReadOutcome::Item(expected));
    assert_eq!(cursor.last_seq, Some(90));
    assert_eq!(seq_of(&cursor.read(&logged(91, Some(4)))), Some(91));
}

#[test]
fn a_gap_of_a_slow_consumer_is_resumed_since_the_log_has_it_all() {
    let mut cursor = cursor_at(4);
    assert_eq!(seq_of(&cursor.read(&logged(5, Some(4)))), Some(5));
    assert_eq!(cursor.read(&gap(6, 90)), ReadOutcome::Broken);
    assert_eq!(cursor.last_seq, Some(5));
}

#[test]
fn a_volatile_event_moves_no_cursor() {
    let mut cursor = cursor_at(4);
    cursor.read(&volatile(8, 1));
    assert_eq!(cursor.last_seq, Some(4));
}

#[test]
fn payloads_are_read_only_as_their_own_topic() {
    use hob_wire::rooms::session::{SessionDeleted, SessionMessage};
    let event = BusEvent {
        source: "sessions".into(),
        topic: "session.deleted".into(),
        seq: 1,
        sub: None,
        payload: Some(Bytes::from_static(
            br#"{"sessionKey":"k","sessionId":"0190163d-8694-739b-aea5-966c26f8ad91","later":1}"#,
        )),
        log_id: None,
    };
    assert_eq!(
        event.read::<SessionDeleted>().expect("fits").session_key,
        "k"
    );
    assert!(event.read::<SessionMessage>().is_none());
}

#[test]
fn the_log_of_a_connection_is_taken_over_with_its_first_frame() {
    let mut cursor = cursor_at(4);
    assert_eq!(
        cursor.read(&Bytes::from_static(b"{}")),
        ReadOutcome::Nothing
    );
    assert_eq!(cursor.log_id.as_deref(), Some("ours"));
    let ReadOutcome::Item(StreamItem::Event(event)) = cursor.read(&logged(5, Some(4))) else {
        panic!("an event");
    };
    assert_eq!(event.log_id.as_deref(), Some("theirs"));
    assert_eq!(cursor.log_id.as_deref(), Some("theirs"));
}

#[test]
fn the_numbers_of_another_log_begin_anew() {
    let mut cursor = cursor_at(900);
    let frame = r#"{"type":"event","source":"gateway","event":"gateway.gap","payload":{"from":1,"to":30,"reason":"otherLog"}}"#;
    let read = cursor.read(&Bytes::from(frame));
    assert!(
        matches!(read, ReadOutcome::Item(StreamItem::Gap(_))),
        "{read:?}"
    );
    assert_eq!(cursor.last_seq, Some(30));
    assert_eq!(cursor.log_id.as_deref(), Some("theirs"));
    assert_eq!(seq_of(&cursor.read(&logged(31, Some(30)))), Some(31));
}
