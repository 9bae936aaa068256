//! Ids fit their provider and stay one to one.

use super::{ToolIdFormat, format_id, make_unique};
use hob_wire::content::{ContentPart, ToolCall};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;

fn call(id: &str) -> ContentPart {
    ContentPart::ToolCall(ToolCall {
        id: id.into(),
        name: "read".into(),
        args: json!({}),
    })
}

fn ids(parts: &[ContentPart]) -> Vec<&str> {
    let mut ids = Vec::new();
    for part in parts {
        match part {
            ContentPart::ToolCall(call) => ids.push(call.id.as_str()),
            other => panic!("{other:?}"),
        }
    }
    ids
}

#[test]
fn empty_double_and_taken_ids_are_replaced_and_good_ones_stay() {
    let mut parts = [call("a"), call(""), call("a"), call("old"), call("b")];
    let taken = BTreeSet::from(["old"]);
    let repeated = make_unique(&mut parts, &taken, b"request");
    let ids = ids(&parts);
    // Only the third call repeats an id of its own answer.
    assert_eq!(repeated, BTreeSet::from([ids[2].to_owned()]));
    assert_eq!((ids[0], ids[4]), ("a", "b"));
    let all: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(all.len(), 5);
    assert!(!all.contains("old") && !all.contains(""));
}

#[test]
fn every_call_behind_the_first_of_an_id_is_said_to_repeat_it() {
    let mut parts = [
        call("old"),
        call("a"),
        call("old"),
        call("a"),
        call(""),
        call(""),
    ];
    let taken = BTreeSet::from(["old"]);
    let repeated = make_unique(&mut parts, &taken, b"request");
    let ids = ids(&parts);
    assert_eq!(
        repeated,
        BTreeSet::from([ids[2].to_owned(), ids[3].to_owned()])
    );
    let all: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(all.len(), 6);
}

#[test]
fn another_request_makes_another_id() {
    let mut one = [call("")];
    let mut two = [call("")];
    make_unique(&mut one, &BTreeSet::new(), b"one");
    make_unique(&mut two, &BTreeSet::new(), b"two");
    assert_ne!(one, two);
}

proptest! {
    #[test]
    fn any_id_fits_and_keeps_its_shape(id in ".{0,60}") {
        for format in [ToolIdFormat::Common, ToolIdFormat::NineLetters] {
            let once = format_id(&id, format);
            prop_assert_eq!(&format_id(&once, format), &once);
            prop_assert!(!once.is_empty() && once.len() <= 40);
        }
        prop_assert_eq!(format_id(&id, ToolIdFormat::NineLetters).len(), 9);
    }
}
