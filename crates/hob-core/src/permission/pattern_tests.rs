//! Matches of patterns, and characters a star never crosses.

use super::*;
use proptest::prelude::*;

fn fits(pattern: &str, value: &str, star: StarKind) -> bool {
    ArgumentPattern::parse(pattern).matches(value, star)
}

#[test]
fn a_star_stands_for_anything_else_for_itself() {
    for (pattern, value, expected) in [
        ("", "", true),
        ("", "a", false),
        ("a", "a", true),
        ("a", "A", false),
        ("*", "", true),
        ("*", "any\nthing", true),
        ("a*c", "abc", true),
        ("a*c", "ac", true),
        ("a*c", "acd", false),
        ("a*b*c", "a-b-b-c", true),
        ("*.rs", "main.rs", true),
        ("*.rs", "main.rs.txt", false),
        ("a**b", "axb", true),
        (r"a\*b", "a*b", true),
        (r"a\*b", "axb", false),
        (r"a\\*", r"a\x", true),
        (r"a\", r"a\", true),
        ("é*é", "éxé", true),
        ("[a-z]?", "[a-z]?", true),
    ] {
        assert_eq!(
            fits(pattern, value, StarKind::Anything),
            expected,
            "{pattern:?} {value:?}"
        );
    }
}

#[test]
fn a_star_in_a_command_is_words() {
    let covered = [
        "git status ",
        "git status -s",
        "git status --porcelain=v2 -- src/main.rs",
        "git status наве",
    ];
    for command in covered {
        assert!(fits("git status *", command, StarKind::Words), "{command}");
    }
    let not_covered = [
        "git status; rm -rf /",
        "git status & rm x",
        "git status && rm x",
        "git status | sh",
        "git status > f",
        "git status < f",
        "git status $(rm x)",
        "git status `rm x`",
        "git status $HOME",
        "git status {a,b}",
        "git status 'a' ; x",
        "git status \"$x\"",
        "git status \\\n rm",
        "git status\nrm x",
        "git status x\nrm x",
        "git status x\rrm x",
        "git status ~",
        "git status #x",
        "git status !x",
        "git status *",
        "git status [a]",
        "git status ?",
        "git status \u{0}",
        "git status \t",
        "git status ^x",
        "git statuss",
        "ls; git status x",
    ];
    for command in not_covered {
        assert!(
            !fits("git status *", command, StarKind::Words),
            "{command:?}"
        );
    }
    assert!(
        fits("ls; *", "ls; pwd", StarKind::Words),
        "what is written is meant"
    );
    assert!(!fits("ls; *", "ls; pwd; id", StarKind::Words));
    assert!(fits("* x;y*z", "a x;yz", StarKind::Words));
}

/// A pattern, commands it covers, and commands it does not.
type CoveredCommands = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const STARS_IN_PROGRAMS: &[CoveredCommands] = &[
    (
        "uptime*",
        &["uptime", "uptimed", "uptime2", "uptime-x"],
        &[
            "uptime=1 touch /x",
            "uptime=1",
            "uptimed/evil.sh",
            "uptime/../evil.sh",
            "uptime -p",
            "uptime ",
            " uptime",
            "uptime\tx",
            "uptime\nx",
            "uptime\u{a0}x",
            "uptime~",
            "uptime$x",
            "uptime`x`",
            "uptime'x'",
            "uptime\\x",
            "uptime?",
            "uptime\u{0}",
        ],
    ),
    (
        "uptime",
        &["uptime"],
        &["uptime -p", "uptime ", "x=1 uptime"],
    ),
    (
        "uptime *",
        &["uptime -p", "uptime a/b=c"],
        &["uptime", "uptimed x", "x=1 uptime -p", " uptime -p"],
    ),
    ("*", &["ls", ""], &["ls -l", "/bin/ls", "x=1", "./ls", "%1"]),
    (
        "* *",
        &["ls -l", "ls /tmp"],
        &["/bin/ls -l", " /bin/ls", "  ls", "x=1 ls", "./x y", "a/b c"],
    ),
    (
        "* foo",
        &["a foo"],
        &[" foo", "a/b foo", "x=1 foo", "a b foo"],
    ),
    (
        "./build.sh *",
        &["./build.sh all"],
        &["./build.sh", "../build.sh x"],
    ),
    (
        "./scripts/*",
        &["./scripts/a.sh"],
        &["./scripts/a/b.sh", "./scripts/a b"],
    ),
    (
        "ls; *",
        &["ls; pwd"],
        &["ls; ./x", "ls; x=1", "ls; a b", "ls; /bin/x"],
    ),
    (
        "ls; * *",
        &["ls; a b/c"],
        &["ls;  /bin/x", "ls; x=1 y", "ls; ./x y"],
    ),
    ("ls | *", &["ls | wc"], &["ls | ./wc"]),
    ("(*", &["(ls"], &["(./ls"]),
    (
        "if * ; then",
        &["if ls ; then"],
        &["if ./ls ; then", "if  ; then"],
    ),
    ("time * x", &["time ls x"], &["time ./ls x"]),
    ("echo $(* x)", &[], &["echo $(./y x)", "echo $(a=1 x)"]),
    (
        "'my *' x",
        &["'my prog' x"],
        &["'my /prog' x", "'my a b' x"],
    ),
    ("my\\\\ * x", &["my\\ prog x"], &["my\\ ../prog x"]),
    // Something other than a program stands first.
    ("A=1 make *", &[], &["A=1 make x"]),
    ("A*=1 make", &[], &["A=1 make"]),
    ("A=*", &[], &["A=1", "A="]),
    ("make; A=1 *", &[], &["make; A=1 x"]),
    (">f * x", &[], &[">f ls x"]),
    ("2>f * x", &[], &["2>f ls x"]),
    ("< f *", &[], &["< f ls"]),
    // Behind the program they are arguments.
    ("make A=1 *", &["make A=1 x"], &[]),
    ("env A=1 make *", &["env A=1 make x"], &[]),
    ("ls 2>&1 | *", &["ls 2>&1 | wc"], &["ls 2>&1 | ./wc"]),
    // A whole line that was allowed word for word stays so.
    ("A=1 make", &["A=1 make"], &["A=2 make"]),
];

#[test]
fn a_star_in_a_program_stays_in_its_word_and_folder() {
    for (pattern, covered, not_covered) in STARS_IN_PROGRAMS {
        for command in *covered {
            assert!(
                fits(pattern, command, StarKind::Words),
                "{pattern:?} {command:?}"
            );
        }
        for command in *not_covered {
            assert!(
                !fits(pattern, command, StarKind::Words),
                "{pattern:?} {command:?}"
            );
        }
    }
}

#[test]
fn a_star_in_a_host_ends_with_it() {
    let pattern = "https://*.example.org/*";
    for (value, expected) in [
        ("https://a.example.org/x?y", true),
        ("https://a.b.example.org/", true),
        ("https://evil.test/?.example.org/", false),
        ("https://evil.test#.example.org/", false),
        ("https://me@evil.test:.example.org/", false),
        ("https://evil.test\\.example.org/", false),
    ] {
        assert_eq!(fits(pattern, value, StarKind::Address), expected, "{value}");
    }
}

proptest! {
    #[test]
    fn an_escaped_text_fits_itself_alone(text in ".*", other in ".*") {
        let pattern = ArgumentPattern::parse(&escaped(&text));
        prop_assert_eq!(pattern.literal(), Some(text.as_str()));
        prop_assert!(pattern.matches(&text, StarKind::Words));
        prop_assert_eq!(pattern.matches(&other, StarKind::Anything), text == other);
    }

    #[test]
    fn a_star_of_words_never_crosses_a_sign_of_the_shell(
        before in "[a-z ]{0,6}",
        sign in "[;|&<>$`(){}\\[\\]\n\r\t\\\\'\"~#!*?^\u{0}]",
        after in "[a-z ;|&]{0,6}",
        pattern in "[a-z *]{1,8}",
    ) {
        // The pattern names no such sign, so a value with one is never covered.
        let value = format!("{before}{sign}{after}");
        prop_assert!(!ArgumentPattern::parse(&pattern).matches(&value, StarKind::Words));
    }

    /// Whatever a star in the first word stands for, it names one program of the same folder.
    #[test]
    fn a_first_star_names_one_program(
        pattern in "[ab]{0,2}\\*[ab*]{0,2}( [ab*]{0,3})?",
        line in "[ab=/ %.]{0,8}",
    ) {
        if ArgumentPattern::parse(&pattern).matches(&line, StarKind::Words) {
            let first = line.split(' ').next().unwrap_or_default();
            prop_assert!(!first.contains(['/', '=', '%']), "{pattern:?} {line:?}");
            prop_assert!(!first.is_empty() || !line.contains(' '), "{pattern:?} {line:?}");
        }
    }

    #[test]
    fn words_are_never_more_than_anything(pattern in "[ab;*\\\\]{0,8}", value in "[ab;*]{0,8}") {
        let pattern = ArgumentPattern::parse(&pattern);
        if pattern.matches(&value, StarKind::Words) {
            prop_assert!(pattern.matches(&value, StarKind::Anything));
        }
    }
}
