//! Words that tmux and shells read as they are.

use super::*;

#[test]
fn a_word_of_control_mode_has_no_syntax_in_it() {
    assert_eq!(quote_for_control(b"echo a;"), r#""echo a\073""#);
    assert_eq!(
        quote_for_control(b"~/$HOME\n\"'\\"),
        r#""\176/\044HOME\012\042\047\134""#
    );
    assert_eq!(quote_for_control("é".as_bytes()), r#""\303\251""#);
    assert_eq!(quote_for_control(b"#{x}"), r#""\043\173x\175""#);
}

#[test]
fn the_last_semicolon_of_an_argument_is_kept_from_tmux() {
    assert_eq!(escape_argument(OsStr::new("a;b;")), "a;b\\;");
    assert_eq!(escape_argument(OsStr::new("a;b")), "a;b");
}

#[test]
fn formats_dates_and_quotes_are_kept_from_what_reads_them() {
    assert_eq!(escape_format(OsStr::new("/a#{b}%Y")), "/a##{b}%Y");
    let argv = ["/bin/it's".into(), "#{x} %H".into()];
    assert_eq!(
        quote_piped_command(&argv),
        r"exec '/bin/it'\''s' '##{x} %%H'"
    );
}
