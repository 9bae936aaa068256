//! The parts of a head. Whole answers are tested with the transfer.

use super::*;

#[test]
fn the_range_of_an_answer_is_read_strictly() {
    assert_eq!(parse_content_range("bytes 5-9/10"), Some((5, 10)));
    for wrong in ["bytes */10", "bytes 5-9/*", "5-9/10", "bytes -9/10", ""] {
        assert_eq!(parse_content_range(wrong), None, "{wrong}");
    }
}
