//! Which files a command line runs, in all the ways to call one.

use super::*;
use crate::trial::TestWorkspace;
use std::os::unix::fs::symlink;

fn scripts(trial: &TestWorkspace, command: &str, below: &str) -> CommandScripts {
    let real = |path: PathBuf| path.canonicalize().expect("is there");
    let (root, folder) = (real(trial.path("")), real(trial.path(below)));
    let around = real(trial.around.path().to_owned());
    let place = ScriptContext {
        root: &root,
        folder: Some(&folder),
        home: Some(&around),
        hidden: &[],
    };
    CommandScripts::find(command, &place)
}

fn trial() -> TestWorkspace {
    let trial = TestWorkspace::new();
    trial.put("x.sh", "#!/bin/sh\nmake\n");
    trial.put("x y.sh", "echo\n");
    trial.put("x.py", "print(1)\n");
    trial.put("tools/gen.py", "print(1)\n");
    trial.put("data.txt", "x");
    symlink("x.sh", trial.path("link.sh")).expect("made");
    symlink("/bin/true", trial.path("out.sh")).expect("made");
    trial
}

#[test]
fn a_script_is_found_in_every_way_to_call_it() {
    let trial = trial();
    let absolute = trial.path("x.sh").canonicalize().expect("is there");
    let (absolute, with_bash) = (
        format!("{}", absolute.display()),
        format!("bash {}", absolute.display()),
    );
    let ways = [
        "./x.sh",
        "./x.sh --fast a b",
        "bash x.sh",
        "sh -e x.sh",
        "bash -eu -o pipefail x.sh",
        "bash -- x.sh",
        "/bin/bash x.sh",
        ". x.sh",
        ". ./x.sh",
        "source x.sh",
        "env bash x.sh",
        "env -i X=1 bash x.sh",
        "env -u Y ./x.sh",
        "/usr/bin/env bash ./x.sh",
        "time ./x.sh",
        "nohup ./x.sh &",
        "nice -n 5 ./x.sh",
        "timeout -k 1 5 ./x.sh",
        "setsid bash x.sh",
        "exec ./x.sh",
        "command ./x.sh",
        "bash < x.sh",
        "\"./x.sh\"",
        "'./x.sh' a",
        ".\\/x.sh",
        "X=1 ./x.sh",
        "X=1 Y=2 bash x.sh",
        "(./x.sh)",
        "{ ./x.sh; }",
        "./x.sh; true",
        "true && ./x.sh",
        "false || ./x.sh",
        "true | ./x.sh",
        "if true; then ./x.sh; fi",
        "! ./x.sh",
        "echo $(./x.sh)",
        "echo \"`./x.sh`\"",
        "bash -c './x.sh a'",
        "bash -ec 'bash x.sh'",
        "eval ./x.sh",
        "cd tools && ../x.sh",
        "(cd tools); ./x.sh",
        "$PWD/x.sh",
        "\"${PWD}\"/x.sh",
        "~/work/x.sh",
        "./link.sh",
        "bash link.sh",
        "./tools/../x.sh",
        "./x.sh > out 2>&1",
        "find . -name a -exec ./x.sh {} \\;",
        "echo a | xargs ./x.sh",
        "bash x.sh # and more",
        &absolute,
        &with_bash,
    ];
    for way in ways {
        assert_eq!(scripts(&trial, way, ".").paths(), ["x.sh"], "{way}");
    }
    for (way, path) in [
        ("./x\\ y.sh", "x y.sh"),
        ("bash 'x y.sh'", "x y.sh"),
        ("python3 x.py", "x.py"),
        ("python3.12 -u -X dev x.py a", "x.py"),
        ("node x.py", "x.py"),
        ("perl -w x.py", "x.py"),
        ("ruby x.py", "x.py"),
        ("deno run --allow-read x.py", "x.py"),
        ("cd tools && python3 gen.py", "tools/gen.py"),
        ("cd tools; cd ..; cd tools && ./gen.py", "tools/gen.py"),
        ("awk -f x.py data.txt", "x.py"),
    ] {
        assert_eq!(scripts(&trial, way, ".").paths(), [path], "{way}");
    }
    let two = scripts(&trial, "python3 gen.py; ../x.sh", "tools");
    assert_eq!(two.paths(), ["tools/gen.py", "x.sh"]);
}

#[test]
fn what_is_named_and_not_shown_is_said() {
    let trial = trial();
    for (way, part) in [
        ("bash missing.sh", "does not exist yet"),
        ("$X/x.sh", "decided when it runs"),
        ("./*.sh", "decided when it runs"),
        ("cd $X && ./x.sh", "is not known before it runs"),
        ("cd - && bash x.sh", "is not known before it runs"),
        ("./out.sh", "leads out of the workspace"),
        ("bash tools", "is no plain file"),
        ("cat x.sh | bash", "what another program prints"),
        ("make all", "What 'make' runs"),
        ("python3 -m tools.gen", "The Python module 'tools.gen'"),
        ("bash -c \"$X\"", "decided when it runs"),
        ("env -C tools ./gen.py", "in another folder"),
    ] {
        let found = scripts(&trial, way, ".");
        assert!(found.preview(true).contains(part), "{way}: {found:?}");
        assert!(found.paths().is_empty(), "{way}: {found:?}");
    }
    trial.put("large", vec![b'x'; 1024 * 1024 + 1]);
    let large = scripts(&trial, "./large", ".");
    assert!(large.preview(true).contains("is larger than"), "{large:?}");
    let hidden = [trial.path("tools").canonicalize().expect("is there")];
    let root = trial.path("").canonicalize().expect("is there");
    let place = ScriptContext {
        root: &root,
        folder: Some(&root),
        home: None,
        hidden: &hidden,
    };
    let own = CommandScripts::find("python3 tools/gen.py", &place);
    assert!(own.preview(true).contains("belongs to hob"), "{own:?}");
}

#[test]
fn nothing_is_said_where_no_script_is_named() {
    let trial = trial();
    for way in [
        "cat data.txt",
        "ls -l x.sh",
        "echo ./x.sh",
        "bash /etc/profile",
        "/usr/bin/true",
        "python3 -c 'print(1)'",
        "git status && grep x data.txt",
        "sed s/a/b/ data.txt",
        "bash -c 'echo hi'",
    ] {
        let found = scripts(&trial, way, ".");
        assert_eq!(found, CommandScripts::default(), "{way}");
        assert_eq!(found.preview(true), "", "{way}");
    }
}

#[test]
fn what_is_shown_says_what_is_bound() {
    let trial = trial();
    let found = scripts(&trial, "./x.sh", ".");
    let shown = found.preview(true);
    assert!(shown.contains("--- x.sh ---\n#!/bin/sh\nmake\n"), "{shown}");
    assert!(shown.contains("These bytes are what runs."), "{shown}");
    assert!(shown.contains(LOADS_NOTE), "{shown}");
    let open = found.preview(false);
    assert!(open.contains("is not bound"), "{open}");
    let bound = found.bound_files();
    assert_eq!(bound[0].bytes, b"#!/bin/sh\nmake\n");
    assert!(bound[0].opens_at_start);
    let late = scripts(&trial, "sleep 60; ./x.sh", ".").bound_files();
    assert!(!late[0].opens_at_start, "it is watched until the end");
}

#[test]
fn what_is_shown_is_bounded_and_bound_to_every_byte() {
    let script = |bytes: Vec<u8>| ScriptFile {
        path: "a".to_owned(),
        named: "/a".into(),
        real: "/a".into(),
        bytes,
        mode: 0o755,
    };
    let long = script(vec![b'x'; SHOWN_BYTES_MAX + 7]);
    assert!(long.preview().ends_with("(7 more bytes)\n"));
    let mut other = long.clone();
    other.bytes[SHOWN_BYTES_MAX + 6] = b'y';
    assert_eq!(long.preview(), other.preview());
    assert_ne!(long.fingerprint(), other.fingerprint());
    assert_eq!(script(vec![0; 3]).preview(), "(a program of 3 bytes)\n");
}

#[test]
fn a_line_cannot_make_the_reading_endless() {
    let trial = trial();
    let evals = format!("{}./x.sh", "eval ".repeat(5_000));
    let found = scripts(&trial, &evals, ".");
    assert!(
        found.preview(true).contains("Lines within lines"),
        "{found:?}"
    );
    let many: Vec<String> = (0..100).map(|number| format!("./{number}.sh")).collect();
    assert!(scripts(&trial, &many.join(";"), ".").notes.len() <= NOTES_MAX);
}

#[test]
fn a_script_that_may_be_opened_later_is_watched_until_the_end() {
    let trial = trial();
    for way in [
        "for i in 1 2; do ./x.sh; done",
        "bash -c 'sleep 60; ./x.sh'",
        "bash <<E\nsleep 60\n./x.sh\nE",
        "find . -name a -exec ./x.sh {} \\;",
    ] {
        let found = scripts(&trial, way, ".");
        assert_eq!(found.paths(), ["x.sh"], "{way}");
        assert!(!found.bound_files()[0].opens_at_start, "{way}");
    }
    let text = "cat > y.sh <<E\n./x.sh\nE";
    assert!(scripts(&trial, text, ".").paths().is_empty());
}
