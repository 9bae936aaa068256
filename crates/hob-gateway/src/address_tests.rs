//! Accepted and refused listen addresses.

use super::parse;

#[test]
fn loopback_is_taken_in_each_form() {
    for (text, address) in [
        ("127.0.0.1:7717", "127.0.0.1:7717"),
        ("127.0.0.1:0", "127.0.0.1:0"),
        ("127.8.8.8:1", "127.8.8.8:1"),
        ("localhost:9000", "127.0.0.1:9000"),
        ("[::1]:7717", "[::1]:7717"),
    ] {
        assert_eq!(parse(text).unwrap().to_string(), address);
    }
}

#[test]
fn anything_else_is_refused_with_the_way_out() {
    for text in [
        "0.0.0.0:7717",
        "0.0.0.0:0",
        "[::]:7717",
        "192.168.1.2:7717",
        "[::ffff:127.0.0.1]:7717",
    ] {
        let reason = parse(text).unwrap_err();
        assert!(reason.contains("ssh -L 7717:127.0.0.1:7717"), "{reason}");
    }
    for text in [
        "",
        "7717",
        "127.0.0.1",
        "localhost:",
        "example.org:80",
        "::1:7717",
    ] {
        assert!(
            parse(text).unwrap_err().contains("not an address"),
            "{text}"
        );
    }
}
