//! Finds the end of a request, in whatever pieces it arrives.

use super::JsonFramer;

const WHOLE: &str = r#"{"action":"execute","data":{"command":"echo \"}]\\\" {","x":[1,{"y":2}]}}"#;

#[test]
fn the_end_is_found_in_pieces_of_any_size() {
    let text = format!("{WHOLE} {{\"next\":1}}");
    for size in 1..text.len() {
        let mut framing = JsonFramer::default();
        let mut found = None;
        for end in (size..text.len() + size).step_by(size) {
            found = framing.find_end(&text.as_bytes()[..end.min(text.len())]);
            if found.is_some() {
                break;
            }
        }
        assert_eq!(found, Some(WHOLE.len()), "pieces of {size}");
    }
}

#[test]
fn what_is_not_whole_has_no_end() {
    for end in 0..WHOLE.len() {
        let found = JsonFramer::default().find_end(&WHOLE.as_bytes()[..end]);
        assert_eq!(found, None, "{}", &WHOLE[..end]);
    }
}

#[test]
fn brackets_without_a_beginning_are_an_end() {
    assert_eq!(JsonFramer::default().find_end(b"]"), Some(1));
    assert_eq!(JsonFramer::default().find_end(b" {}{}"), Some(3));
}
