//! Which files a command line plainly runs.

use super::*;
use crate::trial::Trial;

fn names(trial: &Trial, command: &str, below: &str) -> Vec<String> {
    let root = trial.path("");
    let (root, _) = beneath::root(root.to_str()).expect("opens");
    let found = named(command, &root, below).into_iter();
    found.map(|script| script.path).collect()
}

#[test]
fn scripts_are_found_where_a_line_names_them() {
    let trial = Trial::new();
    trial.put("build.sh", "#!/bin/sh\nmake\n");
    trial.put("tools/gen.py", "print(1)\n");
    trial.put("data.txt", "x");
    for (command, below, expected) in [
        ("./build.sh --fast", ".", vec!["build.sh"]),
        ("bash -e build.sh", ".", vec!["build.sh"]),
        ("X=1 nice sh \"build.sh\"", ".", vec!["build.sh"]),
        ("cd tools && python3 gen.py", ".", vec!["tools/gen.py"]),
        (
            "python3 gen.py; ../build.sh",
            "tools",
            vec!["tools/gen.py", "tools/../build.sh"],
        ),
        ("cat data.txt", ".", vec![]),
        (
            "../outside/x.sh; /etc/passwd; bash /etc/profile",
            ".",
            vec![],
        ),
        ("bash missing.sh", ".", vec![]),
    ] {
        assert_eq!(names(&trial, command, below), expected, "{command}");
    }
}

#[test]
fn what_is_shown_is_bounded_and_bound_to_every_byte() {
    let long = Script {
        path: "a".to_owned(),
        bytes: vec![b'x'; SHOWN_BYTES_MAX + 7],
    };
    assert!(long.shown().ends_with("(7 more bytes)\n"));
    let mut other = long.clone();
    other.bytes[SHOWN_BYTES_MAX + 6] = b'y';
    assert_eq!(long.shown(), other.shown());
    assert_ne!(long.mark(), other.mark());
    let program = Script {
        path: "a".to_owned(),
        bytes: vec![0; 3],
    };
    assert_eq!(program.shown(), "(a program of 3 bytes)\n");
}
