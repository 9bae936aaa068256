//! The same word in several hands.

use super::text;

#[test]
fn what_the_server_says_beats_what_the_page_says() {
    let page = b"<meta charset=utf-8>caf\xe9";
    assert!(text(page, "text/html; Charset=\"ISO-8859-1\"", true).ends_with("café"));
    assert!(!text(page, "text/html", true).ends_with("café"));
}

#[test]
fn a_page_may_say_it_itself() {
    let plain = b"<META charset='windows-1251'>\xcf\xf0\xe8\xe2\xe5\xf2";
    assert!(text(plain, "text/html", true).ends_with("Привет"));
    let long =
        b"<meta http-equiv=content-type content=\"text/html; charset=Shift_JIS\">\x93\xfa\x96{";
    assert!(text(long, "text/html", true).ends_with("日本"));
    assert!(
        !text(plain, "text/plain", false).ends_with("Привет"),
        "only pages have such tags"
    );
}

#[test]
fn marks_and_broken_letters_do_no_harm() {
    assert_eq!(
        text(b"\xef\xbb\xbfhi", "text/plain; charset=latin1", false),
        "hi"
    );
    assert_eq!(text(b"\xff\xfeh\0i\0", "text/html", true), "hi");
    assert_eq!(
        text(b"a\xffb", "text/plain; charset=nonsense", false),
        "a\u{fffd}b"
    );
    assert_eq!(
        text(b"<meta charset=utf-16>x", "text/html", true),
        "<meta charset=utf-16>x"
    );
}
