//! The order of one stream, frame by frame: what is yielded, what is left out, what breaks.

use super::*;

fn reader(cursor: u64) -> Reader {
    Reader {
        subscription: Subscription::to(["*"]),
        cursor: Some(cursor),
        log_id: Some("ours".into()),
        connected_log_id: Some("theirs".into()),
        fresh: true,
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

fn seq_of(read: &Read) -> Option<u64> {
    match read {
        Read::Item(Item::Event(event)) => Some(event.seq),
        _ => None,
    }
}

#[test]
fn a_whole_chain_is_yielded_and_remembered() {
    let mut reader = reader(4);
    assert_eq!(seq_of(&reader.read(&logged(7, None))), Some(7));
    assert_eq!(seq_of(&reader.read(&volatile(7, 1))), Some(7));
    assert_eq!(seq_of(&reader.read(&logged(9, Some(7)))), Some(9));
    assert_eq!(reader.cursor, Some(9));
}

#[test]
fn an_event_the_consumer_has_is_not_yielded_again() {
    let mut reader = reader(9);
    assert_eq!(reader.read(&logged(9, Some(8))), Read::Nothing);
    assert_eq!(reader.read(&logged(3, None)), Read::Nothing);
}

#[test]
fn a_broken_chain_is_resumed_rather_than_yielded() {
    let mut reader = reader(4);
    assert_eq!(seq_of(&reader.read(&logged(5, Some(4)))), Some(5));
    assert_eq!(reader.read(&logged(9, Some(8))), Read::Broken);
    assert_eq!(
        reader.cursor,
        Some(5),
        "the resumption asks for what was missed"
    );
}

#[test]
fn a_gap_of_the_log_is_yielded_and_skipped_over() {
    let mut reader = reader(4);
    let expected = Item::Gap(GapRange {
        from: 5,
        to: 90,
        reason: None,
    });
    assert_eq!(reader.read(&gap(5, 90)), Read::Item(expected));
    assert_eq!(reader.cursor, Some(90));
    assert_eq!(seq_of(&reader.read(&logged(91, Some(4)))), Some(91));
}

#[test]
fn a_gap_of_a_slow_consumer_is_resumed_since_the_log_has_it_all() {
    let mut reader = reader(4);
    assert_eq!(seq_of(&reader.read(&logged(5, Some(4)))), Some(5));
    assert_eq!(reader.read(&gap(6, 90)), Read::Broken);
    assert_eq!(reader.cursor, Some(5));
}

#[test]
fn a_volatile_event_moves_no_cursor() {
    let mut reader = reader(4);
    reader.read(&volatile(8, 1));
    assert_eq!(reader.cursor, Some(4));
}

#[test]
fn payloads_are_read_only_as_their_own_topic() {
    use hob_wire::rooms::session::{SessionDeleted, SessionMessage};
    let event = Event {
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
    let mut reader = reader(4);
    assert_eq!(reader.read(&Bytes::from_static(b"{}")), Read::Nothing);
    assert_eq!(reader.log_id.as_deref(), Some("ours"));
    let Read::Item(Item::Event(event)) = reader.read(&logged(5, Some(4))) else {
        panic!("an event");
    };
    assert_eq!(event.log_id.as_deref(), Some("theirs"));
    assert_eq!(reader.log_id.as_deref(), Some("theirs"));
}

#[test]
fn the_numbers_of_another_log_begin_anew() {
    let mut reader = reader(900);
    let told = r#"{"type":"event","source":"gateway","event":"gateway.gap","payload":{"from":1,"to":30,"reason":"otherLog"}}"#;
    let read = reader.read(&Bytes::from(told));
    assert!(matches!(read, Read::Item(Item::Gap(_))), "{read:?}");
    assert_eq!(reader.cursor, Some(30));
    assert_eq!(reader.log_id.as_deref(), Some("theirs"));
    assert_eq!(seq_of(&reader.read(&logged(31, Some(30)))), Some(31));
}
