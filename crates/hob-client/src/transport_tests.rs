//! Lines over a socket pair: split anywhere, of any size, in both directions at once.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn pair() -> (FrameTransport, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("a socket pair");
    (FrameTransport::unix(ours), theirs)
}

#[tokio::test]
async fn lines_are_found_wherever_they_are_cut() {
    let (mut transport, mut peer) = pair();
    for piece in ["{\"a\"", ":1}\n\n{\"b\":2}\n{\"c\"", ":3}\n"] {
        peer.write_all(piece.as_bytes()).await.expect("writes");
    }
    drop(peer);
    for expected in [r#"{"a":1}"#, r#"{"b":2}"#, r#"{"c":3}"#] {
        assert_eq!(transport.next().await.expect("a line"), expected);
    }
    assert!(transport.next().await.is_err(), "the end is an error");
}

#[tokio::test]
async fn a_frame_with_line_breaks_stays_one_line() {
    let (mut transport, peer) = pair();
    transport.queue(b"{\"a\":\n1}".to_vec());
    transport.flush().await.expect("writes");
    drop(transport);
    let mut text = String::new();
    let mut peer = peer;
    peer.read_to_string(&mut text).await.expect("reads");
    assert_eq!(text, "{\"a\": 1}\n");
}

#[tokio::test]
async fn two_sides_that_both_write_much_do_not_wait_for_each_other() {
    let (ours, theirs) = UnixStream::pair().expect("a socket pair");
    let (mut left, mut right) = (FrameTransport::unix(ours), FrameTransport::unix(theirs));
    let big = vec![b'x'; 4 * 1024 * 1024];
    left.queue(big.clone());
    right.queue(big.clone());
    // Each side still has to write while it waits for the other's frame.
    let (from_right, from_left) = tokio::join!(
        async {
            let frame = left.next().await;
            left.flush().await.expect("writes");
            frame
        },
        async {
            let frame = right.next().await;
            right.flush().await.expect("writes");
            frame
        },
    );
    assert_eq!(from_right.expect("a frame").len(), big.len());
    assert_eq!(from_left.expect("a frame").len(), big.len());
}

#[tokio::test]
async fn a_line_without_end_is_refused_at_the_limit() {
    let (mut transport, mut peer) = pair();
    let flood = async {
        let chunk = vec![b'['; 1024 * 1024];
        // Ends with an error once the reader has hung up.
        while peer.write_all(&chunk).await.is_ok() {}
    };
    let read = async {
        let error = transport.next().await.expect_err("refused");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        drop(transport);
    };
    tokio::join!(flood, read);
}
