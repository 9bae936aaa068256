//! Order, bounds, and what is told of the rest.

use super::*;
use OutputStream::{Stderr, Stdout};

fn printed(stream: OutputStream, text: &str, dropped: u64) -> Printed {
    let text = text.to_owned();
    Printed {
        stream,
        text,
        dropped,
    }
}

#[test]
fn pieces_of_a_stream_become_one_and_order_stays() {
    let outlet = Outlet::default();
    for (stream, text) in [(Stdout, "a"), (Stdout, "b"), (Stderr, "c"), (Stdout, "d")] {
        outlet.print(stream, text);
    }
    let expected = [
        printed(Stdout, "ab", 0),
        printed(Stderr, "c", 0),
        printed(Stdout, "d", 0),
    ];
    assert_eq!(outlet.take(), expected);
    assert!(outlet.take().is_empty());
}

#[test]
fn what_does_not_fit_is_counted_and_told_with_the_next() {
    let outlet = Outlet::default();
    outlet.print(Stdout, &"€".repeat(WAITING_BYTES_MAX));
    outlet.print(Stdout, "x".repeat(3).as_str());
    outlet.print(Stderr, "y".repeat(3).as_str());
    let first = outlet.take();
    let bytes: usize = first.iter().map(|piece| piece.text.len()).sum();
    assert!(bytes <= WAITING_BYTES_MAX, "{bytes}");
    outlet.print(Stdout, "after");
    let after = outlet.take();
    assert_eq!(after.len(), 1);
    assert!(after[0].dropped >= 2, "{after:?}");
    assert_eq!(after[0].text, "after");
    outlet.print(Stdout, "plain");
    assert_eq!(outlet.take(), [printed(Stdout, "plain", 0)]);
}

#[test]
fn what_is_left_out_at_the_end_is_told() {
    let outlet = Outlet::default();
    outlet.print(Stderr, &"x".repeat(WAITING_BYTES_MAX));
    outlet.print(Stderr, "lost");
    let last = outlet.finish();
    assert_eq!(last.len(), 2);
    assert_eq!(last[1], printed(Stderr, "", 1));
    assert!(outlet.finish().is_empty());
}

#[tokio::test]
async fn whoever_waits_hears_of_it() {
    let outlet = Outlet::default();
    outlet.print(Stdout, "a");
    outlet.filled().await;
    assert_eq!(outlet.take().len(), 1);
}
