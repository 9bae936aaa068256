//! Money as a person types it.

use super::*;

#[test]
fn dollars_are_read_to_the_millionth() {
    let read = |text| parse_dollars(text);
    assert_eq!(read("0.50"), Ok(500_000));
    assert_eq!(read("$2"), Ok(2_000_000));
    assert_eq!(read(" .000001 "), Ok(1));
    assert_eq!(read("12.5"), Ok(12_500_000));
    for wrong in [
        "",
        "$",
        "-1",
        "1e3",
        "0",
        "0.0000001",
        "1,50",
        "99999999999999999999",
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
