//! The mark's line survives whole or not at all.

use super::{CommitMark, MarkClaim, MarkState};

const CLAIM: MarkClaim = MarkClaim {
    epoch: 7,
    frames: 1_234,
    seq: 99,
    closed: false,
    silent_commits: Some(5),
};

#[test]
fn reads_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hob.db.mark");
    assert_eq!(CommitMark::read(&path).unwrap(), MarkState::Missing);
    let mut mark = CommitMark::open(&path).unwrap();
    mark.raise(CLAIM).unwrap();
    assert_eq!(CommitMark::read(&path).unwrap(), MarkState::Whole(CLAIM));
    let closed = MarkClaim {
        frames: 0,
        closed: true,
        ..CLAIM
    };
    mark.lower(closed).unwrap();
    assert_eq!(CommitMark::read(&path).unwrap(), MarkState::Whole(closed));
}

#[test]
fn a_torn_or_flipped_line_claims_nothing() {
    let line = CLAIM.to_line();
    assert_eq!(MarkClaim::parse(line.as_bytes()), Some(CLAIM));
    for cut in 0..line.len() - 1 {
        assert_eq!(
            MarkClaim::parse(&line.as_bytes()[..cut]),
            None,
            "cut at {cut}"
        );
    }
    for at in 0..line.len() - 1 {
        let mut bytes = line.clone().into_bytes();
        bytes[at] ^= 1;
        assert_eq!(MarkClaim::parse(&bytes), None, "flipped at {at}");
    }
}

#[test]
fn a_mark_of_an_older_version_is_read() {
    let words = "hob-mark 00000000000000000003 00000000000000000012 00000000000000000040 open  ";
    let line = format!("{words} {:016x}\n", super::fnv1a(words.as_bytes()));
    let claim = MarkClaim::parse(line.as_bytes()).unwrap();
    assert_eq!((claim.epoch, claim.frames, claim.seq), (3, 12, 40));
    assert_eq!(claim.silent_commits, None);
}

#[test]
fn a_file_that_is_no_mark_is_damaged_and_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hob.db.mark");
    for content in [&b""[..], b"hob-mark", &[0xFF; 40], &[0; 120]] {
        std::fs::write(&path, content).unwrap();
        assert_eq!(CommitMark::read(&path).unwrap(), MarkState::Damaged);
    }
    CommitMark::open(&path).unwrap();
    let state = CommitMark::read(&path).unwrap();
    assert!(matches!(state, MarkState::Whole(_)), "{state:?}");
}
