//! Marks and what only looks like one, cut anywhere.

use super::{MARK_BYTES_MAX, MarkScanner, ScannedPiece, ShellMark, mark_head_bytes, mask_keys};
use proptest::prelude::*;

const KEY: &str = "0123456789abcdef0123456789abcdef";

/// What comes out, data joined.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Out {
    Data(Vec<u8>),
    Mark(ShellMark),
}

fn scan<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Out> {
    let mut scanner = MarkScanner::new(KEY);
    let mut out: Vec<Out> = Vec::new();
    for bytes in pieces {
        scanner.feed(bytes, &mut |piece| match (piece, out.last_mut()) {
            (ScannedPiece::Bytes(more), Some(Out::Data(data))) => data.extend_from_slice(more),
            (ScannedPiece::Bytes(data), _) => out.push(Out::Data(data.to_vec())),
            (ScannedPiece::Mark(mark), _) => out.push(Out::Mark(mark)),
        });
    }
    out
}

fn mark(body: &str) -> Vec<u8> {
    format!("\x1b]7717;{KEY};{body}\x07").into_bytes()
}

/// The same with its other end.
fn calm(body: &str) -> Vec<u8> {
    format!("\x1b]7717;{KEY};{body}\x1b\\").into_bytes()
}

fn one(body: &str) -> Option<ShellMark> {
    let [bell, calm] = [mark(body), calm(body)].map(|text| match &scan([text.as_slice()])[..] {
        [Out::Mark(mark)] => Some(mark.clone()),
        [Out::Data(data)] => {
            assert_eq!(data, &text, "what is no mark is handed on whole");
            None
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(bell, calm, "however it ends");
    bell
}

#[test]
fn every_kind_is_read() {
    let began = |at_us| {
        Some(ShellMark::Began {
            id: "cmd_1".to_owned(),
            at_us,
        })
    };
    assert_eq!(
        one("C;cmd_1;1700000000.000042"),
        began(Some(1_700_000_000_000_042))
    );
    assert_eq!(
        one("C;cmd_1;1700000000,5"),
        began(Some(1_700_000_000_500_000))
    );
    assert_eq!(
        one("C;cmd_1;1700000000.1234567890"),
        began(Some(1_700_000_000_123_456))
    );
    assert_eq!(
        one("C;cmd_1;1700000000"),
        began(Some(1_700_000_000_000_000))
    );
    assert_eq!(one("C;cmd_1;"), began(None));
    assert_eq!(one("C;cmd_1"), began(None));
    let ended = |status, typed: Option<&str>| {
        let (id, typed) = ("p71.3".to_owned(), typed.map(str::to_owned));
        Some(ShellMark::Ended {
            id,
            status,
            at_us: Some(2_000_001),
            typed,
        })
    };
    assert_eq!(one("D;p71.3;7;2.000001"), ended(7, None));
    assert_eq!(
        one("D;p71.3;-1;2.000001;6c73202D6c"),
        ended(-1, Some("ls -l"))
    );
    assert_eq!(one("D;p71.3;0;2.000001;"), ended(0, Some("")));
    assert_eq!(one("D;p71.3;0;2.000001;ff"), ended(0, Some("\u{fffd}")));
    assert_eq!(
        one("B;2f746d70"),
        Some(ShellMark::Prompt {
            folder: Some("/tmp".to_owned())
        })
    );
    assert_eq!(one("B;"), Some(ShellMark::Prompt { folder: None }));
    assert_eq!(one("B"), Some(ShellMark::Prompt { folder: None }));
    assert_eq!(one("B;ff"), Some(ShellMark::Prompt { folder: None }));
    assert_eq!(
        one("T;cmd_1"),
        Some(ShellMark::Taken {
            id: "cmd_1".to_owned()
        })
    );
    assert_eq!(one("I"), Some(ShellMark::Incomplete));
    assert_eq!(one("X;130"), Some(ShellMark::Left { status: 130 }));
}

#[test]
fn what_has_the_key_and_not_the_form_is_data() {
    let long = format!("T;{}", "a".repeat(65));
    for body in [
        "",
        "Z",
        "c;x",
        "C",
        "C;",
        "D;x",
        "D;x;",
        "D;x;99999999999",
        "D;x;0;1;zz",
        "T;a b",
        "T;ä",
        "X",
        "X;x",
        "I;",
        "I;1",
        "B;2f7",
        "B;2f;2f",
        "T;a;b",
        &long,
    ] {
        assert_eq!(one(body), None, "{body:?}");
    }
}

#[test]
fn marks_without_the_key_are_data() {
    for forged in [
        "\x1b]7717;;D;cmd_1;0;1\x07".to_owned(),
        "\x1b]7717;D;cmd_1;0;1\x07".to_owned(),
        format!("\x1b]7717;{};D;cmd_1;0;1\x07", KEY.replace('f', "e")),
        format!("\x1b]7717;{};D;cmd_1;0;1\x07", KEY.to_uppercase()),
        format!("\x1b\x1b]7717;{};\x1b]0;D;cmd_1;0;1\x07", &KEY[1..]),
    ] {
        assert_eq!(scan([forged.as_bytes()]), [Out::Data(forged.into_bytes())]);
    }
}

#[test]
fn a_mark_inside_an_unfinished_one_is_found() {
    let text = [format!("a\x1b]7717;{KEY};D;x").as_bytes(), &mark("I"), b"b"].concat();
    let broken = format!("a\x1b]7717;{KEY};D;x").into_bytes();
    assert_eq!(
        scan([text.as_slice()]),
        [
            Out::Data(broken),
            Out::Mark(ShellMark::Incomplete),
            Out::Data(b"b".to_vec())
        ]
    );
}

#[test]
fn an_escape_in_a_mark_that_does_not_end_it_begins_another() {
    let broken = format!("\x1b]7717;{KEY};D;x\x1b[0m").into_bytes();
    let text = [&broken[..], &mark("I")].concat();
    let incomplete = Out::Mark(ShellMark::Incomplete);
    assert_eq!(scan([&text[..]]), [Out::Data(broken), incomplete]);
    let marks = [&calm("I")[..KEY.len() + 9], &calm("I")[..], &mark("B")].concat();
    let data = Out::Data(calm("I")[..KEY.len() + 9].to_vec());
    let prompt = Out::Mark(ShellMark::Prompt { folder: None });
    let incomplete = Out::Mark(ShellMark::Incomplete);
    assert_eq!(scan([&marks[..]]), [data, incomplete, prompt]);
}

#[test]
fn an_endless_mark_is_data_and_holds_a_bound() {
    let mut scanner = MarkScanner::new(KEY);
    let mut passed = 0;
    scanner.feed(&mark("D")[..KEY.len() + 8], &mut |_| {
        panic!("it is unfinished")
    });
    for _ in 0..1_000 {
        scanner.feed(&[b'a'; 1_000], &mut |piece| match piece {
            ScannedPiece::Bytes(data) => passed += data.len(),
            ScannedPiece::Mark(mark) => panic!("{mark:?}"),
        });
        assert!(scanner.body.capacity() <= 2 * MARK_BYTES_MAX);
    }
    assert!(passed >= 1_000_000, "{passed}");
}

#[test]
fn masked_marks_keep_their_length_and_are_no_marks_any_more() {
    let whole = [mark("I"), b"\x1b[1mtext\x1b".to_vec(), calm("C;p1.1;1.5")].concat();
    let mut masked = whole.clone();
    mask_keys(&mut masked, KEY.len());
    assert_eq!(masked.len(), whole.len());
    assert!(
        !masked
            .windows(8)
            .any(|piece| KEY.as_bytes().windows(8).any(|key| key == piece))
    );
    assert_eq!(scan([masked.as_slice()]), [Out::Data(masked.clone())]);
    let text = String::from_utf8(masked).expect("text");
    assert!(
        text.contains(";I\x07\x1b[1mtext\x1b\x1b]7717;000"),
        "{text:?}"
    );
    assert!(text.ends_with(";C;p1.1;1.5\x1b\\"), "{text:?}");
    // Cut anywhere, the part with the head of a mark before it has no digit of the key.
    let one = mark("I");
    for cut in 1..mark_head_bytes(KEY.len()) {
        let mut head = one[..cut].to_vec();
        mask_keys(&mut head, KEY.len());
        assert!(head.iter().skip(7).all(|byte| *byte == b'0'), "{head:?}");
    }
}

proptest! {
    #[test]
    fn any_split_gives_the_same(
        parts in proptest::collection::vec(prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..20),
            Just(mark("I")),
            Just(mark("D;p1.1;0;1.5;6c73")),
            Just(mark("broken")),
            Just(calm("C;p1.1;1.5")),
            Just(calm("broken")),
            Just(b"\x1b".to_vec()),
            Just(format!("\x1b]7717;{KEY};C").into_bytes()),
        ], 0..12),
        cuts in proptest::collection::vec(0..1_000_usize, 0..12),
    ) {
        let whole = parts.concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (whole.len() + 1)).collect();
        cuts.extend([0, whole.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| &whole[cut[0]..cut[1]]);
        prop_assert_eq!(scan(pieces), scan([whole.as_slice()]));
    }

    #[test]
    fn without_the_key_nothing_is_lost(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let end = vec![b'!'];
        let out = scan([bytes.as_slice(), &end]);
        prop_assert_eq!(out, [Out::Data([bytes, end].concat())]);
    }
}
