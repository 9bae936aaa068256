//! Nothing in a name hides, moves or passes for another letter without being seen.

use super::*;
use proptest::prelude::*;

#[test]
fn hidden_characters_are_shown() {
    for (text, expected) in [
        ("pho\u{200b}ne", "pho\\u{200b}ne"),
        ("a\u{200d}b", "a\\u{200d}b"),
        ("a\u{202e}txt.exe", "a\\u{202e}txt.exe"),
        ("a\u{2066}b", "a\\u{2066}b"),
        ("\u{feff}a", "\\u{feff}a"),
        ("a\u{ad}b", "a\\u{ad}b"),
        ("a\u{1b}[2J", "a\\u{1b}[2J"),
        ("a\nb", "a\\u{a}b"),
        ("a\u{a0}b", "a\\u{a0}b"),
        ("a\u{2003}b", "a\\u{2003}b"),
        ("a\u{3164}", "a\\u{3164}"),
        ("a\u{e0041}", "a\\u{e0041}"),
        ("a\u{fe0f}", "a\\u{fe0f}"),
        ("a\u{301}", "a\\u{301}"),
        ("\u{301}", "\\u{301}"),
        ("a\u{e123}", "a\\u{e123}"),
    ] {
        assert_eq!(visible(text), expected);
        assert!(needs_escaping(text), "{expected}");
    }
}

#[test]
fn letters_that_pass_for_others_are_shown() {
    for (text, expected) in [
        // Cyrillic, Greek, Armenian and Cherokee letters in Latin words.
        ("p\u{430}ypal", "p\\u{430}ypal"),
        ("\u{3bf}wner", "\\u{3bf}wner"),
        ("\u{578}ow", "\\u{578}ow"),
        ("\u{13aa}o", "\\u{13aa}o"),
        // One that looks like nothing in ASCII is mixed as well.
        ("do\u{436}e", "do\\u{436}e"),
        // Words that are made of look-alikes alone.
        ("\u{455}\u{455}\u{4bb}", "\\u{455}\\u{455}\\u{4bb}"),
        ("\u{430}\u{0440}\u{0440}", "\\u{430}\\u{440}\\u{440}"),
        // Two alphabets that are both foreign.
        ("\u{43f}\u{3c0}", "\\u{43f}\\u{3c0}"),
        // A direction that turns within a word.
        ("ab\u{5d0}\u{5d1}", "ab\\u{5d0}\\u{5d1}"),
        // Letters of ASCII in another form.
        ("\u{ff52}\u{ff4d}", "\\u{ff52}\\u{ff4d}"),
        ("\u{1d42b}m", "\\u{1d42b}m"),
        ("\u{217c}s", "\\u{217c}s"),
        ("\u{1d00}dmin", "\\u{1d00}dmin"),
        ("\u{a4d0}", "\\u{a4d0}"),
        // Accents, but not on an imitation.
        ("\u{440}\u{e9}", "\\u{440}é"),
    ] {
        assert_eq!(visible(text), expected);
    }
}

#[test]
fn honest_names_stay_readable() {
    for text in [
        "phone",
        "Привет",
        "письмо от а и о",
        "καλημέρα κόσμε",
        "日本語",
        "日本語abc",
        "größe.txt",
        "café",
        "שלום",
        "مرحبا",
        "한국어",
        "ไทย",
        "हिन्दी",
        "Ada’s notes — draft",
        "notes 🎉 👍",
        "chat:main",
        "a\\b",
        "",
    ] {
        assert_eq!(visible(text), text);
        assert!(!needs_escaping(text));
    }
}

#[test]
fn what_is_decided_about_is_shown_more_strictly() {
    for (text, expected) in [
        ("a\u{2215}b", "a\\u{2215}b"),
        ("it\u{2019}s", "it\\u{2019}s"),
        ("a\\b", "a\\\\b"),
        ("a\n\t\rb", "a\\n\\t\\rb"),
        ("письмо а", "письмо \\u{430}"),
        ("ls -l", "ls -l"),
    ] {
        assert_eq!(visible_exactly(text), expected);
    }
}

proptest! {
    #[test]
    fn nothing_hides(text in any::<String>()) {
        prop_assert!(!visible(&text).chars().any(is_hidden));
        prop_assert!(!visible_exactly(&text).chars().any(is_hidden));
    }

    #[test]
    fn ascii_stays(text in "[ -~]*") {
        prop_assert_eq!(visible(&text), text);
    }
}
