//! Names of keys.

use super::*;

#[test]
fn keys_that_are_the_same_everywhere_are_bytes() {
    let cases: &[(&str, &[u8])] = &[
        ("Enter", b"\r"),
        ("enter", b"\r"),
        ("Tab", b"\t"),
        ("Escape", b"\x1b"),
        ("Space", b" "),
        ("BSpace", b"\x7f"),
        ("C-c", b"\x03"),
        ("C-C", b"\x03"),
        ("C-[", b"\x1b"),
        ("C-?", b"\x7f"),
        ("M-f", b"\x1bf"),
        ("M-C-x", b"\x1b\x18"),
        ("M-Enter", b"\x1b\r"),
        ("a", b"a"),
        ("-", b"-"),
        ("C--", b""),
        (";", b";"),
        ("é", "é".as_bytes()),
    ];
    for (name, bytes) in cases {
        let expected = (!bytes.is_empty()).then(|| KeyPress::Bytes(bytes.to_vec()));
        assert_eq!(parse_key(name), expected, "{name}");
    }
}

#[test]
fn keys_that_programs_differ_about_go_by_tmuxs_name() {
    let cases = [
        ("Up", "Up"),
        ("up", "Up"),
        ("F5", "F5"),
        ("C-Left", "C-Left"),
        ("S-F5", "S-F5"),
        ("M-S-Up", "M-S-Up"),
        ("S-Tab", "BTab"),
        ("C-Space", "C-Space"),
        ("C-@", "C-Space"),
        ("PageDown", "PageDown"),
    ];
    for (name, expected) in cases {
        let expected = Some(KeyPress::Named(expected.to_owned()));
        assert_eq!(parse_key(name), expected, "{name}");
    }
}

#[test]
fn what_is_no_key_is_none() {
    for name in [
        "", "Entr", "F13", "C-", "C-é", "ls", "-n", "C-Enter", "\u{7}", "S-a", "Enter ",
    ] {
        assert_eq!(parse_key(name), None, "{name}");
    }
}
