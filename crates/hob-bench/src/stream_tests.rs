//! However the bytes of an answer are cut, its tokens are the same.

use super::{ChunkedAnswer, travelled};

const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

fn answer() -> String {
    let said = |text: &str| format!("data: {{\"delta\":{{\"content\":\"{text}\"}}}}\n\n");
    let mut answer = HEAD.to_owned();
    answer += &chunk(&said(""));
    answer += &chunk(&said("0000000000000700 "));
    // Two tokens in one event, an event in two chunks.
    let (first, second) = ("0000000000000800 ", "0000000000000900 ");
    let event = said(&format!("{first}{second}"));
    let (begin, end) = event.split_at(30);
    answer += &chunk(begin);
    answer += &chunk(end);
    answer + &chunk("data: [DONE]\n\n")
}

#[test]
fn tokens_are_read_however_the_bytes_are_cut() {
    let bytes = answer().into_bytes();
    for size in [1, 2, 3, 7, 64, bytes.len()] {
        let mut read = ChunkedAnswer::default();
        for piece in bytes.chunks(size) {
            read.take(piece, 1_000).expect("reads");
        }
        assert!(read.ended, "in pieces of {size}");
        let mut samples = travelled(&read.pieces, 0).expect("stamps");
        assert_eq!(samples.len(), 3);
        assert!((samples.percentile_ms(99) - 0.3).abs() < 1e-9);
        assert!((samples.percentile_ms(0) - 0.1).abs() < 1e-9);
    }
}

#[test]
fn a_refusal_and_an_early_end_are_errors() {
    let refusal = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}";
    assert!(ChunkedAnswer::default().take(refusal, 0).is_err());
    let cut = format!("{HEAD}0\r\n\r\n");
    assert!(ChunkedAnswer::default().take(cut.as_bytes(), 0).is_err());
}
