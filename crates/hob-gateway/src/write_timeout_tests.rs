//! Peers that read, and one that does not.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn a_peer_that_does_not_read_is_given_up() {
    let (ours, theirs) = tokio::io::duplex(16);
    let mut patience = WriteTimeoutStream::new(ours, Duration::from_millis(20));
    let failure = patience.write_all(&[0; 64]).await.unwrap_err();
    assert_eq!(failure.kind(), io::ErrorKind::TimedOut);
    drop(theirs);
}

#[tokio::test]
async fn a_peer_that_reads_is_waited_for() {
    let (ours, mut theirs) = tokio::io::duplex(16);
    let mut patience = WriteTimeoutStream::new(ours, Duration::from_mins(1));
    let writing = async {
        patience.write_all(&[7; 64]).await.unwrap();
        drop(patience);
    };
    let reading = async {
        let mut read = Vec::new();
        theirs.read_to_end(&mut read).await.unwrap();
        read
    };
    let ((), read) = tokio::join!(writing, reading);
    assert_eq!(read, [7; 64]);
}
