//! Lines from bytes in arbitrary pieces.

use super::{LineBatch, LineReader, ReadLine};
use bytes::Bytes;

fn text(line: &'static str) -> ReadLine {
    ReadLine::Text(Bytes::from_static(line.as_bytes()))
}

#[tokio::test]
async fn lines_are_found_wherever_reads_end() {
    let (mut peer, ours) = tokio::io::duplex(3);
    let write = async move {
        use tokio::io::AsyncWriteExt;
        peer.write_all(b"{\"a\":1}\r\n\n\n{}\nunfinished")
            .await
            .unwrap();
    };
    let read = async move {
        let mut lines = LineReader::new(ours);
        assert_eq!(lines.next(64).await.unwrap(), text("{\"a\":1}"));
        assert_eq!(lines.next(64).await.unwrap(), text("{}"));
        assert_eq!(lines.next(64).await.unwrap(), ReadLine::End);
    };
    tokio::join!(write, read);
}

#[tokio::test]
async fn a_long_line_is_refused_before_it_ends() {
    let endless = tokio::io::repeat(b'x');
    let mut lines = LineReader::new(endless);
    assert_eq!(lines.next(100_000).await.unwrap(), ReadLine::TooLong);
    assert!(lines.buffer.capacity() < 300_000);
}

#[tokio::test]
async fn a_long_line_that_came_whole_is_refused_too() {
    let mut lines = LineReader::new(&b"0123456789\nok\n"[..]);
    assert_eq!(lines.next(9).await.unwrap(), ReadLine::TooLong);
}

#[test]
fn a_pretty_frame_becomes_one_line() {
    let mut batch = LineBatch::default();
    batch.add(b"{\n  \"a\": \"x\\ny\"\r\n}");
    batch.add(b"{}");
    assert_eq!(batch.bytes(), b"{   \"a\": \"x\\ny\"  }\n{}\n");
    batch.clear();
    assert!(batch.bytes().is_empty());
}
