//! The programs a line starts, and opaque lines.

use super::*;
use proptest::prelude::*;
use std::fmt::Write;

/// The commands by name, each from its beginning to the end of its words.
fn commands(line: &str) -> Vec<String> {
    let parsed = CommandLine::parse(line);
    let spelling = &parsed.by_name;
    let ends = &spelling.ends;
    let end = |start: &usize| ends[ends.partition_point(|end| end < start)];
    let texts = spelling.starts.iter();
    texts
        .map(|start| spelling.text[*start..end(start)].to_owned())
        .collect()
}

fn is_opaque(line: &str) -> bool {
    CommandLine::parse(line).is_opaque
}

#[test]
fn every_program_of_a_line_is_found() {
    for (line, expected) in [
        ("rm x", &["rm x"][..]),
        ("  rm\t x ", &["rm x"]),
        ("/bin/rm x", &["rm x"]),
        ("./rm x", &["rm x"]),
        ("~/bin/rm x", &["rm x"]),
        ("\"rm\" x", &["rm x"]),
        ("'r'm x", &["rm x"]),
        ("r\\m x", &["rm x"]),
        ("\\rm x", &["rm x"]),
        ("r''m x", &["rm x"]),
        ("r\\\nm x", &["rm x"]),
        ("$'r\\x6d' x", &["rm x"]),
        ("$'\\162m' x", &["rm x"]),
        ("true; rm x", &["true", "rm x"]),
        ("true;rm x", &["true", "rm x"]),
        ("true && rm x", &["true", "rm x"]),
        ("true||rm x", &["true", "rm x"]),
        ("a | rm x", &["a", "rm x"]),
        ("a |& rm x", &["a", "rm x"]),
        ("a & rm x", &["a", "rm x"]),
        ("a\nrm x", &["a", "rm x"]),
        ("(rm x)", &["rm x"]),
        ("( (rm x) )", &["rm x"]),
        ("{ rm x; }", &["rm x"]),
        ("! rm x", &["rm x"]),
        ("if a; then rm x; else b; fi", &["a", "rm x", "b"]),
        ("while a; do rm x; done", &["a", "rm x"]),
        ("for i in 1 2; do rm x; done", &["rm x"]),
        ("for i do rm x; done", &["rm x"]),
        ("x=1 rm x", &["x=1 rm x", "rm x"]),
        ("x=1 y=2 rm x", &["x=1 y=2 rm x", "rm x"]),
        ("a[0]=1 rm x", &["a[0]=1 rm x", "rm x"]),
        ("x=1", &["x=1"]),
        (">f rm x", &["rm x"]),
        ("2>&1 rm x >f", &["rm x"]),
        ("rm x # and more", &["rm x"]),
        ("echo 'a; rm x'", &["echo a; rm x"]),
        ("echo a#b", &["echo a#b"]),
        ("cat <<'E' > f\nrm x $(y)\nE\nls", &["cat", "ls"]),
        ("cat <<-E\n\trm x\n\tE\nls", &["cat", "ls"]),
        ("cat <<< 'rm x'", &["cat"]),
    ] {
        assert_eq!(commands(line), expected, "{line:?}");
        assert!(!is_opaque(line), "{line:?}");
    }
}

#[test]
fn a_wrapper_is_looked_through() {
    for (line, inner) in [
        ("env rm x", "rm x"),
        ("env -i A=1 B=2 rm x", "rm x"),
        ("env -u A --chdir /tmp -- rm x", "rm x"),
        ("/usr/bin/env rm x", "rm x"),
        ("sudo rm x", "rm x"),
        ("sudo -u root rm x", "rm x"),
        ("sudo -nu root A=1 /bin/rm x", "rm x"),
        ("sudo --user=root --preserve-env rm x", "rm x"),
        ("doas -u root rm x", "rm x"),
        ("nice rm x", "rm x"),
        ("nice -n 5 rm x", "rm x"),
        ("nice -5 rm x", "rm x"),
        ("nohup rm x", "rm x"),
        ("timeout 5 rm x", "rm x"),
        ("timeout -s KILL 5 rm x", "rm x"),
        ("timeout --signal=KILL -k 1 5 rm x", "rm x"),
        ("command rm x", "rm x"),
        ("command -p rm x", "rm x"),
        ("builtin command rm x", "rm x"),
        ("exec rm x", "rm x"),
        ("exec -a y rm x", "rm x"),
        ("time rm x", "rm x"),
        ("time -p rm x", "rm x"),
        ("stdbuf -oL rm x", "rm x"),
        ("setsid -f rm x", "rm x"),
        ("ionice -c 3 rm x", "rm x"),
        ("chroot /srv rm x", "rm x"),
        ("taskset -c 0 rm x", "rm x"),
        ("busybox rm x", "rm x"),
        ("xargs rm", "rm "),
        ("xargs -n1 rm", "rm "),
        ("xargs -0 -P 4 rm -f", "rm -f "),
        ("sudo env A=1 nice -n 5 timeout 5 rm x", "rm x"),
    ] {
        let found = commands(line);
        assert_eq!(found.last().map(String::as_str), Some(inner), "{line:?}");
        assert!(!is_opaque(line), "{line:?}");
    }
    // It only says where `rm` is.
    assert_eq!(commands("command -v rm"), ["command -v rm"]);
    assert_eq!(commands("exec > f"), ["exec"]);
}

#[test]
fn what_cannot_be_taken_apart_is_opaque() {
    for line in [
        "echo $(rm x)",
        "echo \"$(rm x)\"",
        "echo `rm x`",
        "echo \"`rm x`\"",
        "diff <(rm x) y",
        "tee >(rm x)",
        "echo ${x:-$(rm x)}",
        "echo $((a[$(rm x)]))",
        "$x y",
        "\"$x\" y",
        "${x} y",
        "/bin/r? x",
        "/bin/r* x",
        "/bin/[r]m x",
        "{rm,x}",
        "r{m,} x",
        "=rm x",
        "^ls^rm",
        "!rm",
        "~ x",
        "~/\"$x\"/rm y",
        "sh -c 'rm x'",
        "bash -c 'rm x'",
        "bash -xc 'rm x'",
        "bash --rcfile f",
        "bash",
        "bash -s",
        "bash $x",
        "bash <<E\nrm x\nE",
        "echo rm x | sh",
        "/bin/sh -c 'rm x'",
        "env sh -c 'rm x'",
        "busybox sh -c 'rm x'",
        "eval rm x",
        "source f",
        ". f",
        "find . -exec rm {} ;",
        "find . -execdir rm {} \\;",
        "find . -ok rm {} +",
        "find . $x",
        "fd -x rm",
        "python3 -c 'x'",
        "python3.12",
        "perl -e 'x'",
        "awk 'BEGIN { system(\"rm x\") }'",
        "ssh host rm x",
        "watch rm x",
        "alias ll=rm",
        "trap 'rm x' EXIT",
        "f() { rm x; }",
        "function f { rm x; }",
        "case a in b) rm x;; esac",
        "[[ -v 'a[$(rm x)]' ]]",
        "test -v 'a[$(rm x)]'",
        "PS4='$(rm x)' true",
        "a=(rm x)",
        "((x=1))",
        "env -S 'rm x'",
        "env --split-string='rm x'",
        "env --unse=A rm x",
        "env X=$y rm x",
        "sudo -e f",
        "sudo $x rm y",
        "timeout $t rm x",
        "xargs -I{} {} x",
        "xargs -I X X",
        "xargs $x rm",
        "ls # a; rm x",
        "ls\rrm x",
        "ls\u{0}",
        "ls 'a\u{3}'",
        "rm\u{a0}x",
        "echo 'a",
        "echo \"a",
        "echo a\\",
        "cat <<E\na",
        "cat <<E\n$(rm x)\nE",
        "(ls",
        "ls)",
        "ls >",
        "$'\\xff' x",
        "$'a\\0b' x",
    ] {
        assert!(is_opaque(line), "{line:?}");
    }
    assert!(is_opaque(&"x".repeat(LINE_BYTES_MAX + 1)));
}

#[test]
fn plain_lines_are_not_opaque() {
    for line in [
        "cargo test --workspace",
        "echo $HOME ${HOME} *.rs ~/x",
        "git commit -m 'see `x` and $(y)'",
        "bash script.sh a",
        "bash -eux script.sh",
        "python3 -m pytest -x",
        "python3 script.py",
        "find . -name '*.rs' -xdev",
        "[ -f x ] && ls",
        "[ a != b ]",
        "make -j4 2>&1 | tee log &",
        "printf '%s\\n' a",
        "date +%F",
        "",
        "  # nothing",
    ] {
        assert!(!is_opaque(line), "{line:?}");
    }
}

#[test]
fn what_is_known_only_later_says_from_where() {
    let line = CommandLine::parse("/bin/ls -l $x > $y; cat *.rs");
    assert_eq!(line.by_name.text, "ls -l $x > $y ; cat *.rs");
    assert_eq!(line.as_written.text, "/bin/ls -l $x > $y ; cat *.rs");
    assert_eq!(line.by_name.unknown, [6, 11, 20]);
    assert_eq!(line.by_name.starts, [0, 16]);
    assert_eq!(line.by_name.ends, [8, 13, 24, 24]);
}

#[test]
fn a_long_line_is_read_in_one_pass() {
    for part in [
        "env ", "a;", "(", "'a' ", "x=1 ", "$(", "`", "<<a ", "\\", "{ ", "xargs ",
    ] {
        let line = part.repeat(LINE_BYTES_MAX / part.len());
        CommandLine::parse(&line);
    }
}

proptest! {
    #[test]
    fn any_text_is_read(line in any::<String>()) {
        let parsed = CommandLine::parse(&line);
        for spelling in [&parsed.as_written, &parsed.by_name] {
            let marks = spelling.starts.iter().chain(&spelling.ends).chain(&spelling.unknown);
            for mark in marks {
                prop_assert!(spelling.text.is_char_boundary(*mark));
            }
            prop_assert!(spelling.starts.is_sorted());
            prop_assert!(spelling.ends.is_sorted());
            prop_assert!(spelling.unknown.is_sorted());
        }
    }

    #[test]
    fn any_line_of_shell_signs_is_read(line in "[a-z ;|&<>$`(){}\\[\\]\n\r\t\\\\'\"~#!*?^=/0-9é-]{0,60}") {
        let parsed = CommandLine::parse(&line);
        prop_assert!(parsed.by_name.ends.len() >= parsed.by_name.starts.len().min(1));
        prop_assert!(parsed.by_name.starts.is_sorted());
    }

    /// However a program's letters are quoted, its name is the same.
    #[test]
    fn quotes_do_not_hide_a_program(
        quoting in prop::collection::vec(0_u8..5, 6),
        before in prop::sample::select(vec!["", "a; ", "a && ", "( ", "x=1 ", "env ", "sudo -n "]),
    ) {
        let mut word = String::new();
        for (letter, how) in "delete".chars().zip(quoting) {
            match how {
                0 => word.push(letter),
                1 => word.extend(['\\', letter]),
                2 => word.extend(['\'', letter, '\'']),
                3 => word.extend(['"', letter, '"']),
                _ => write!(word, "$'\\x{:02x}'", u32::from(letter)).expect("a text"),
            }
        }
        let close = if before.starts_with('(') { " )" } else { "" };
        let line = format!("{before}/usr/bin/{word} 'a b'{close}");
        let found = commands(&line);
        prop_assert_eq!(found.last().map(String::as_str), Some("delete a b"), "{}", line);
        prop_assert!(!is_opaque(&line));
    }
}
