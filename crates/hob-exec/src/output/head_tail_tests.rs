//! Head, tail, and every cut through a character.

use super::*;
use proptest::prelude::*;

#[test]
fn what_fits_is_whole() {
    let mut keep = HeadTailBuffer::new(10);
    keep.push(b"01234");
    keep.push(b"56789");
    let kept = keep.snapshot();
    assert_eq!(kept.text(), "0123456789");
    assert!(!kept.is_truncated());
}

#[test]
fn what_does_not_fit_is_counted_and_named() {
    let mut keep = HeadTailBuffer::new(10);
    for _ in 0..1000 {
        keep.push(b"0123456789");
    }
    let kept = keep.snapshot();
    assert_eq!(kept.head, "01234");
    assert_eq!(kept.tail, "56789");
    assert_eq!((kept.total_bytes, kept.left_out_bytes), (10_000, 9_990));
    assert!(kept.text().contains("9990 bytes left out"));
}

#[test]
fn a_reader_that_comes_back_sees_each_byte_once_or_is_told() {
    let mut keep = HeadTailBuffer::new(8);
    keep.push(b"abc");
    let first = keep.since(0);
    assert_eq!((first.text.as_str(), first.next), ("abc", 3));
    keep.push(b"defgh");
    let second = keep.since(first.next);
    assert_eq!((second.text.as_str(), second.missed_bytes), ("defgh", 0));
    keep.push(b"0123456789");
    let third = keep.since(second.next);
    assert_eq!((third.text.as_str(), third.missed_bytes), ("6789", 6));
    assert_eq!(keep.since(third.next).text, "");
}

#[test]
fn half_a_character_waits_for_its_rest() {
    let mut keep = HeadTailBuffer::new(64);
    let euro = "€".as_bytes();
    keep.push(&euro[..2]);
    let first = keep.since(0);
    assert_eq!((first.text.as_str(), first.next), ("", 0));
    keep.push(&euro[2..]);
    assert_eq!(keep.since(first.next).text, "€");
}

proptest! {
    #[test]
    fn any_text_cut_anywhere_stays_text(text in "[a€😀é]{0,80}", bound in 1_usize..64, step in 1_usize..9) {
        let mut keep = HeadTailBuffer::new(bound);
        for chunk in text.as_bytes().chunks(step) {
            keep.push(chunk);
        }
        let kept = keep.snapshot();
        prop_assert!(!kept.head.contains('\u{fffd}'), "{kept:?}");
        prop_assert!(!kept.tail.contains('\u{fffd}'), "{kept:?}");
        let held = kept.head.len() + kept.tail.len();
        prop_assert_eq!(kept.total_bytes, u64::try_from(text.len()).expect("small"));
        prop_assert_eq!(kept.left_out_bytes, u64::try_from(text.len() - held).expect("small"));
        prop_assert!(text.starts_with(&kept.head));
        prop_assert!(text.ends_with(&kept.tail));
    }

    #[test]
    fn any_bytes_stay_within_the_bound(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20), bound in 2_usize..64) {
        let mut keep = HeadTailBuffer::new(bound);
        let mut total = 0;
        for chunk in &chunks {
            keep.push(chunk);
            total += chunk.len();
        }
        prop_assert!(keep.head.len() + keep.tail.len() <= bound);
        prop_assert_eq!(keep.snapshot().total_bytes, u64::try_from(total).expect("small"));
    }
}
