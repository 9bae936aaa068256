//! Recordings written and read, from any offset, with bytes missing.

use super::recorder::record;
use super::*;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_mins(1);

async fn next(reader: &mut RecordingReader) -> RecordedPiece {
    let piece = tokio::time::timeout(PATIENCE, reader.next()).await;
    piece.expect("in time").expect("readable")
}

/// Everything up to the end: bytes, and how many were skipped.
async fn all(reader: &mut RecordingReader) -> (Vec<u8>, u64) {
    let (mut bytes, mut skipped) = (Vec::new(), 0);
    loop {
        match next(reader).await {
            RecordedPiece::Bytes(piece) => {
                assert!(!piece.is_empty() && piece.len() <= 64 * 1024);
                bytes.extend(piece);
            }
            RecordedPiece::Skipped(count) => skipped += count,
            RecordedPiece::Ended => return (bytes, skipped),
        }
    }
}

/// Has bytes recorded, to the end.
fn recorded(folder: &Path, bytes: &[u8]) {
    use std::io::Write;
    let (mut source, mut feed) = std::io::pipe().expect("a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || feed.write_all(bytes).expect("taken"));
        record(folder, &mut source).expect("recorded");
    });
}

fn text(length: usize) -> Vec<u8> {
    (0..length)
        .map(|number| b"abcdefghijk"[number % 11])
        .collect()
}

#[tokio::test]
async fn what_is_recorded_is_read_from_any_offset_also_by_a_second_recorder() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = text(2_500_000);
    recorded(folder.path(), &written[..1_300_000]);
    assert!(folder.path().join(ENDED).exists());
    recorded(folder.path(), &written[1_300_000..]);
    assert_eq!(
        list_segments(folder.path()).expect("listed"),
        [0, SEGMENT_BYTES, 2 * SEGMENT_BYTES]
    );
    for from in [
        0_usize, 1, 1_048_575, 1_048_576, 1_048_577, 2_499_999, 2_500_000,
    ] {
        let mut reader = RecordingReader::open(folder.path(), from as u64).expect("opened");
        let (bytes, skipped) = all(&mut reader).await;
        assert_eq!(
            (bytes == written[from..], skipped),
            (true, 0),
            "from {from}"
        );
        assert_eq!(reader.offset(), 2_500_000);
    }
}

#[tokio::test]
async fn old_segments_are_removed_and_what_was_in_them_is_told_as_skipped() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = text(20 * 1024 * 1024 + 7);
    recorded(folder.path(), &written[..]);
    let kept = list_segments(folder.path()).expect("listed");
    assert_eq!((kept.len(), kept[0]), (SEGMENTS_MAX, 5 * SEGMENT_BYTES));
    let mut reader = RecordingReader::open(folder.path(), 100).expect("opened");
    let (bytes, skipped) = all(&mut reader).await;
    assert_eq!(skipped, 5 * SEGMENT_BYTES - 100);
    assert!(bytes == written[5 * 1024 * 1024..]);
}

#[tokio::test]
async fn a_reader_waits_for_more_and_sees_each_byte_once() {
    use std::io::Write;
    let folder = tempfile::tempdir().expect("a folder");
    let (mut source, mut feed) = std::io::pipe().expect("a pipe");
    let path = folder.path().to_owned();
    let recorder = std::thread::spawn(move || record(&path, &mut source));
    let mut reader = RecordingReader::open(folder.path(), 0).expect("opened");
    let written = text(3_000_000);
    let mut read = Vec::new();
    for piece in written.chunks(70_001) {
        feed.write_all(piece).expect("taken");
        // Each byte comes without any more being written.
        let wanted = read.len() + piece.len();
        while read.len() < wanted {
            let RecordedPiece::Bytes(bytes) = next(&mut reader).await else {
                panic!("only bytes");
            };
            read.extend(bytes);
        }
    }
    assert!(read == written);
    // A wait that is given up loses nothing.
    let given_up = tokio::time::timeout(Duration::from_millis(20), reader.next()).await;
    assert!(given_up.is_err());
    feed.write_all(b"last").expect("taken");
    assert_eq!(
        next(&mut reader).await,
        RecordedPiece::Bytes(b"last".to_vec())
    );
    drop(feed);
    assert_eq!(next(&mut reader).await, RecordedPiece::Ended);
    recorder.join().expect("ends").expect("recorded");
}

#[tokio::test]
async fn a_slow_reader_who_is_overtaken_reads_what_it_has_open_and_then_skips() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = text(30 * 1024 * 1024);
    recorded(folder.path(), &written[..1_000]);
    let mut reader = RecordingReader::open(folder.path(), 0).expect("opened");
    let RecordedPiece::Bytes(first) = next(&mut reader).await else {
        panic!("bytes first");
    };
    recorded(folder.path(), &written[1_000..]);
    let (rest, skipped) = all(&mut reader).await;
    let first_segment = &written[..1024 * 1024];
    assert_eq!(skipped, 13 * SEGMENT_BYTES);
    assert!([first, rest].concat() == [first_segment, &written[14 * 1024 * 1024..]].concat());
}

#[tokio::test]
async fn bytes_that_could_not_be_written_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    recorded(folder.path(), &b"0123456789"[..]);
    // As after a time without room on the disk: the next segment begins later.
    std::fs::write(segment_path(folder.path(), 25), b"after").expect("written");
    let mut reader = RecordingReader::open(folder.path(), 4).expect("opened");
    assert_eq!(
        next(&mut reader).await,
        RecordedPiece::Bytes(b"456789".to_vec())
    );
    assert_eq!(next(&mut reader).await, RecordedPiece::Skipped(15));
    assert_eq!(
        next(&mut reader).await,
        RecordedPiece::Bytes(b"after".to_vec())
    );
    assert_eq!(next(&mut reader).await, RecordedPiece::Ended);
    recorded(folder.path(), &b"!"[..]);
    assert_eq!(next(&mut reader).await, RecordedPiece::Bytes(b"!".to_vec()));
}

#[tokio::test]
async fn the_files_are_the_persons_own() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    recorded(folder.path(), &b"x"[..]);
    for entry in std::fs::read_dir(folder.path()).expect("listed") {
        let entry = entry.expect("there");
        let mode = entry.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.file_name());
    }
}

#[test]
fn pages_are_read_from_anywhere_and_begin_after_what_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = |since, until, most| read_page(folder.path(), since, until, most).expect("read");
    assert_eq!(recording_end(folder.path()).expect("read"), 0);
    let written = text(2_500_000);
    recorded(folder.path(), &written);
    assert_eq!(recording_end(folder.path()).expect("read"), 2_500_000);
    for (since, until, most) in [
        (0, 2_500_000, 3_000_000),
        (1_048_575, 2_500_000, 2),
        (1_048_576, 2_500_000, 1_048_577),
        (7, 1_048_580, 2_000_000),
        (2_499_999, 2_500_000, 10),
    ] {
        let read = page(since, until, most);
        let end = until.min(since + most as u64);
        let wanted = &written[usize::try_from(since).unwrap()..usize::try_from(end).unwrap()];
        assert!(read.offset == since && read.bytes == wanted, "{since}");
    }
    // Behind the end, and behind what the caller may see.
    for (since, until) in [(2_500_000, 2_500_000), (2_600_000, 2_500_000), (50, 40)] {
        let read = page(since, until, 10);
        assert_eq!((read.offset, read.bytes.len()), (since, 0));
    }
    std::fs::remove_file(segment_path(folder.path(), 0)).expect("removed");
    let read = page(5, 2_500_000, 10);
    assert_eq!((read.offset, read.bytes.len()), (SEGMENT_BYTES, 10));
    let none = page(5, 100, 10);
    assert_eq!(
        (none.offset, none.bytes.len()),
        (100, 0),
        "all of it is gone"
    );
    // As after a time without room on the disk: the page ends before the gap.
    std::fs::write(segment_path(folder.path(), 2_500_025), b"after").expect("written");
    assert_eq!(page(2_499_990, 2_500_030, 100).bytes.len(), 10);
    let after = page(2_500_000, 2_500_030, 100);
    assert_eq!((after.offset, &after.bytes[..]), (2_500_025, &b"after"[..]));
}
