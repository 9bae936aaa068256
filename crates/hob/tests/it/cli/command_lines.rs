//! Taking a command line apart, compared with bash itself: the words of a line that is understood
//! are those that bash starts a program with.

use hob_core::command_line::CommandLine;
use std::path::Path;
use std::process::Command;

/// Prints every command that bash would start, its words between zeros. No program is found, so
/// none runs.
const TELL: &str = r#"
command_not_found_handle() { printf '%s\0' "$@" >> "$OUT"; printf '\n' >> "$OUT"; }
PATH=/nowhere
"#;

/// The commands that bash starts, in order.
#[expect(clippy::disallowed_methods, reason = "the judge is bash itself")]
fn by_bash(line: &str, folder: &Path) -> Vec<String> {
    let out = folder.join("out");
    let _ = std::fs::remove_file(&out);
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-c", &format!("{TELL}{line}\n")]);
    bash.env_clear().env("OUT", &out).current_dir(folder);
    bash.output().expect("bash runs");
    let told = std::fs::read_to_string(&out).unwrap_or_default();
    let lines = told.split_terminator("\0\n");
    lines.map(|line| line.replace('\0', " ")).collect()
}

/// The commands that are found in a line.
fn by_us(line: &str) -> Vec<String> {
    let parsed = CommandLine::parse(line);
    assert!(!parsed.is_opaque, "{line:?}");
    let spelling = &parsed.as_written;
    let end = |start: &usize| {
        let next = spelling.ends.partition_point(|end| end < start);
        spelling.ends[next]
    };
    let starts = spelling.starts.iter();
    starts
        .map(|start| spelling.text[*start..end(start)].to_owned())
        .collect()
}

#[test]
fn words_and_commands_are_those_of_bash() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = [
        "p a",
        "p 'a b'",
        "p \"a b\"",
        "p a\\ b",
        "'p' a",
        "p''q a",
        "\\p a",
        "p \"a\\\"b\"",
        "p $'a\\tb\\x41'",
        "p a'b'\"c\"d",
        "p \"\"x",
        "p a#b",
        "p a # b",
        "p a\\\nb",
        "p 'a\nb'",
        "p \"a\\nb\"",
        "p a=b",
        "p -x --y=z",
        "p é 日本",
        "p '$(x)' '`y`'",
        "p {} a",
        "p a >/dev/null",
        ">/dev/null p a",
        "p 2>&1 a",
        "p a </dev/null b",
        "p '*' '?'",
        "p \\$x",
        "p \"\\$x\"",
        "p a]b",
        "p %s",
        "p a:b,c+d@e",
        "p <<'E'\nq r\nE",
        "p <<-E\n\tq\n\tE",
        "p <<< 'a b'",
        "p a~b",
    ];
    let joints = [
        ("", "", ""),
        ("", "; q z", ""),
        ("", ";q z", ""),
        ("", "\nq z", ""),
        ("", " && q z", ""),
        ("(", " ; q z", ")"),
        ("{ ", "; q z; ", "}"),
        ("! ", "", ""),
        ("if ", "; then q z; ", "fi"),
        ("for i in 1; do ", "; q z; ", "done"),
    ];
    let mut compared = 0;
    for word in words {
        for (before, after, end) in joints {
            // A here-document and a comment reach to the end of their line.
            let ends_line = word.contains("<<") || word.contains(" # ");
            if ends_line && !(after.is_empty() && end.is_empty()) && !after.starts_with('\n') {
                continue;
            }
            let line = format!("{before}{word}{after}{end}");
            assert_eq!(by_us(&line), by_bash(&line, folder.path()), "{line:?}");
            compared += 1;
        }
    }
    assert!(compared > 300, "{compared}");
}
