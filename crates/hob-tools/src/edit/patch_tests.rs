//! Patches that fit, fit elsewhere, or do not.

use super::apply;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

#[test]
fn a_patch_applies_where_its_lines_say() {
    let patch =
        "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -5,1 +5,2 @@\n five\n+six\n";
    let (after, count) = apply(TEXT, patch).unwrap();
    assert_eq!(after, "one\n2\nthree\nfour\nfive\nsix\n");
    assert_eq!(count, 2);
}

#[test]
fn wrong_line_numbers_do_no_harm_when_the_place_is_clear() {
    let (after, _) = apply(TEXT, "@@ -40,2 +40,2 @@\n three\n-four\n+4\n").unwrap();
    assert_eq!(after, "one\ntwo\nthree\n4\nfive\n");
    let twice = "a\nb\na\nb\n";
    let unclear = apply(twice, "@@ -40,1 +40,1 @@\n-a\n+c\n").unwrap_err();
    assert!(unclear.contains("several places"), "{unclear}");
}

#[test]
fn what_does_not_fit_is_refused() {
    for (patch, told) in [
        ("", "no hunk"),
        ("just words", "no hunk"),
        ("@@ what @@\n-a\n", "not of the form"),
        ("@@ -1,1 +1,1 @@\n-zwei\n+2\n", "does not fit"),
        ("@@ -1,1 +1,1 @@\nzwei\n", "begins with none"),
        (
            "--- a\n+++ a\n--- b\n+++ b\n@@ -1 +1 @@\n-one\n+1\n",
            "several files",
        ),
    ] {
        let reason = apply(TEXT, patch).unwrap_err();
        assert!(reason.contains(told), "{patch}: {reason}");
    }
}

#[test]
fn a_missing_end_of_line_is_kept_and_made() {
    let gone = "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n";
    assert_eq!(apply("a\nb", gone).unwrap().0, "a\nc\n");
    let made = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n";
    assert_eq!(apply("a\nb\n", made).unwrap().0, "a\nc");
}

#[test]
fn lines_go_into_an_empty_file() {
    assert_eq!(apply("", "@@ -0,0 +1,1 @@\n+a\n").unwrap().0, "a\n");
}
