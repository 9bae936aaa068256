//! The mark's line survives whole or not at all.

use super::{Claim, Mark};

const CLAIM: Claim = Claim {
    epoch: 7,
    frames: 1_234,
    seq: 99,
    closed: false,
};

#[test]
fn reads_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hob.db.mark");
    assert_eq!(Mark::read(&path), None);
    let mut mark = Mark::open(&path).unwrap();
    mark.raise(CLAIM).unwrap();
    assert_eq!(Mark::read(&path), Some(CLAIM));
    let closed = Claim {
        frames: 0,
        closed: true,
        ..CLAIM
    };
    mark.lower(closed).unwrap();
    assert_eq!(Mark::read(&path), Some(closed));
}

#[test]
fn a_torn_or_flipped_line_claims_nothing() {
    let line = CLAIM.to_line();
    assert_eq!(Claim::parse(&line), Some(CLAIM));
    for cut in 0..line.len() - 1 {
        assert_eq!(Claim::parse(&line[..cut]), None, "cut at {cut}");
    }
    for at in 0..line.len() - 1 {
        let mut bytes = line.clone().into_bytes();
        bytes[at] ^= 1;
        let flipped = String::from_utf8(bytes).unwrap();
        assert_eq!(Claim::parse(&flipped), None, "flipped at {at}");
    }
}
