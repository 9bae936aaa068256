//! The way the text is cut into pieces does not change what is shown or called.

use super::*;
use proptest::prelude::*;

fn whole(pieces: &[&str], complete: bool) -> (String, SplitAnswer) {
    let mut splitter = TextCallSplitter::default();
    let mut shown: String = pieces.iter().map(|piece| splitter.push(piece)).collect();
    let found = splitter.finish(complete);
    shown.push_str(&found.visible_rest);
    (shown, found)
}

const TEXT: &str =
    "Let me look.\nTOOL_CALL: {\"name\":\"read\",\"args\":{\"path\":\"a\"}}\nTOOL says\n";

#[test]
fn a_call_line_is_called_and_not_shown() {
    let (shown, found) = whole(&[TEXT], true);
    assert_eq!(shown, "Let me look.\nTOOL says\n");
    assert_eq!(found.calls.len(), 1);
    assert_eq!(found.calls[0].name, "read");
}

#[test]
fn a_half_call_never_runs() {
    let line = "TOOL_CALL: {\"name\":\"read\",\"args\":{\"path\":\"a\"}}";
    for end in 0..line.len() {
        let (_, found) = whole(&[&line[..end]], false);
        assert!(found.calls.is_empty(), "ran {:?}", &line[..end]);
    }
    assert!(
        whole(&[line], false).1.calls.is_empty(),
        "not even a full line of a cut stream"
    );
    assert_eq!(whole(&[line], true).1.calls.len(), 1);
}

#[test]
fn what_is_not_exactly_a_call_is_told_and_neither_run_nor_shown() {
    for line in [
        "TOOL_CALL: read a",
        "TOOL_CALL: {\"name\":\"x\",\"extra\":1}",
        "TOOL_CALL: [1]",
    ] {
        let (shown, found) = whole(&[line, "\n"], true);
        assert_eq!(
            (shown.as_str(), found.calls.len(), found.malformed.len()),
            ("", 0, 1),
            "{line}"
        );
    }
    let (shown, found) = whole(&["say TOOL_CALL: {\"name\":\"x\"}\n"], true);
    assert_eq!(
        (shown.as_str(), found.calls.len()),
        ("say TOOL_CALL: {\"name\":\"x\"}\n", 0)
    );
}

proptest! {
    #[test]
    fn pieces_do_not_matter(cuts in prop::collection::vec(0..TEXT.len(), 0..20)) {
        let mut cuts = cuts;
        cuts.extend([0, TEXT.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&str> = cuts.windows(2).map(|pair| &TEXT[pair[0]..pair[1]]).collect();
        prop_assert_eq!(whole(&pieces, true), whole(&[TEXT], true));
    }
}
