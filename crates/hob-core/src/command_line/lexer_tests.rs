//! Words without their quotes.

use super::*;

fn words(line: &str) -> Vec<String> {
    let tokens = lex(line).tokens.into_iter();
    let words = tokens.filter_map(|token| match token {
        ShellToken::Word(word) => Some(word.text),
        _ => None,
    });
    words.collect()
}

#[test]
fn quotes_are_taken_off() {
    for (line, expected) in [
        ("a b", &["a", "b"][..]),
        ("'a b' \"c d\"", &["a b", "c d"]),
        ("a'b'\"c\"d", &["abcd"]),
        ("''", &[""]),
        ("\"a\\\"b\\$c\\d\"", &["a\"b$c\\d"]),
        ("a\\ b", &["a b"]),
        ("$'a\\n\\t\\'\\u00e9'", &["a\n\t'é"]),
        ("\"a\\\nb\"", &["ab"]),
        ("a=\"b c\"", &["a=b c"]),
        ("a$", &["a$"]),
    ] {
        assert_eq!(words(line), expected, "{line:?}");
    }
}

#[test]
fn an_assignment_is_written_without_quotes() {
    let is = |line: &str| match lex(line).tokens.first() {
        Some(ShellToken::Word(word)) => word.is_assignment(),
        _ => false,
    };
    for line in ["a=1", "_a1=", "a+=b", "a[1]=2", "a='b c'", "a=b=c"] {
        assert!(is(line), "{line}");
    }
    for line in [
        "1a=1", "'a'=1", "a\\=1", "a-b=1", "=a", "a[1=2", "-a=b", "é=1",
    ] {
        assert!(!is(line), "{line}");
    }
}
