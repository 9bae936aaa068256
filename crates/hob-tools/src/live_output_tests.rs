//! Order, bounds and the count of dropped pieces.

use super::*;
use OutputStream::{Stderr, Stdout};

fn printed(stream: OutputStream, offset: u64, text: &str, dropped: u64) -> OutputChunk {
    let text = text.to_owned();
    OutputChunk {
        stream,
        offset,
        text,
        dropped,
    }
}

#[test]
fn pieces_of_a_stream_become_one_and_order_stays() {
    let live_output = LiveOutput::default();
    for (stream, text) in [(Stdout, "a"), (Stdout, "b"), (Stderr, "c"), (Stdout, "d")] {
        live_output.print(stream, text);
    }
    let expected = [
        printed(Stdout, 0, "ab", 0),
        printed(Stderr, 2, "c", 0),
        printed(Stdout, 3, "d", 0),
    ];
    assert_eq!(live_output.take(), expected);
    assert!(live_output.take().is_empty());
}

#[test]
fn what_does_not_fit_is_counted_and_told_with_the_next() {
    let live_output = LiveOutput::default();
    live_output.print(Stdout, &"€".repeat(WAITING_BYTES_MAX));
    live_output.print(Stdout, "x".repeat(3).as_str());
    live_output.print(Stderr, "y".repeat(3).as_str());
    let first = live_output.take();
    let bytes: usize = first.iter().map(|piece| piece.text.len()).sum();
    assert!(bytes <= WAITING_BYTES_MAX, "{bytes}");
    live_output.print(Stdout, "after");
    let after = live_output.take();
    assert_eq!(after.len(), 1);
    assert!(after[0].dropped >= 2, "{after:?}");
    assert_eq!(after[0].text, "after");
    let before = 3 * WAITING_BYTES_MAX as u64 + 6;
    assert_eq!(after[0].offset, before, "what was dropped counts");
    live_output.print(Stdout, "plain");
    let plain = printed(Stdout, before + 5, "plain", 0);
    assert_eq!(live_output.take(), [plain]);
    assert_eq!(live_output.total(), before + 10);
}

#[test]
fn what_is_left_out_at_the_end_is_told() {
    let live_output = LiveOutput::default();
    live_output.print(Stderr, &"x".repeat(WAITING_BYTES_MAX));
    live_output.print(Stderr, "lost");
    let last = live_output.finish();
    assert_eq!(last.len(), 2);
    let total = WAITING_BYTES_MAX as u64 + 4;
    assert_eq!(last[1], printed(Stderr, total, "", 1));
    assert!(live_output.finish().is_empty());
}

#[tokio::test]
async fn whoever_waits_hears_of_it() {
    let live_output = LiveOutput::default();
    live_output.print(Stdout, "a");
    live_output.ready().await;
    assert_eq!(live_output.take().len(), 1);
}
