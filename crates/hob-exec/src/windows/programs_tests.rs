//! Which program shows a window, and how it is told what to show.

use super::*;
use std::os::unix::fs::PermissionsExt;

/// An environment in which these programs are installed.
fn with(names: &[&str]) -> (tempfile::TempDir, EnvVars) {
    let folder = tempfile::tempdir().expect("a folder");
    for name in names {
        let path = folder.path().join(name);
        std::fs::write(&path, "#!/bin/sh\n").expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("set");
    }
    let env = EnvVars::from_pairs([("PATH", folder.path().as_os_str())]);
    (folder, env)
}

fn desktop(x11: bool, wayland: bool) -> Desktop {
    Desktop {
        x11: x11.then(|| ":0".to_owned()),
        wayland: wayland.then(|| "wayland-0".to_owned()),
        ..Desktop::default()
    }
}

fn names(found: &[WindowProgram]) -> Vec<&str> {
    found.iter().map(|program| program.name.as_str()).collect()
}

#[test]
fn what_is_installed_is_found_in_order_and_only_for_a_display_it_speaks_to() {
    let (_folder, env) = with(&["xterm", "konsole", "foot", "kitty", "other"]);
    let both = installed_programs(&env, &desktop(true, true));
    assert_eq!(names(&both), ["foot", "kitty", "konsole", "xterm"]);
    let x11 = installed_programs(&env, &desktop(true, false));
    assert_eq!(names(&x11), ["kitty", "konsole", "xterm"]);
    let wayland = installed_programs(&env, &desktop(false, true));
    assert_eq!(names(&wayland), ["foot", "kitty", "konsole"]);
    assert_eq!(installed_programs(&env, &desktop(false, false)), []);
}

#[test]
fn each_program_is_told_in_its_own_words() {
    let (folder, env) = with(PREFERENCE);
    let command = ["sh".into(), "-c".into(), "echo a; b".into()];
    let expected: &[(&str, &[&str])] = &[
        ("foot", &["--title", "t x"]),
        ("kitty", &["--title", "t x", "--"]),
        ("alacritty", &["--title", "t x", "-e"]),
        ("gnome-terminal", &["--wait", "--title", "t x", "--"]),
        ("konsole", &["-p", "tabtitle=t x", "-e"]),
        (
            "xfce4-terminal",
            &["--disable-server", "--title", "t x", "-x"],
        ),
        ("terminator", &["--no-dbus", "--title", "t x", "-x"]),
        ("xterm", &["-T", "t x", "-e"]),
    ];
    let all = installed_programs(&env, &desktop(true, true));
    assert_eq!(all.len(), expected.len());
    for (program, (name, words)) in all.iter().zip(expected) {
        let mut argv = vec![folder.path().join(name).into_os_string()];
        argv.extend(words.iter().map(OsString::from));
        argv.extend(command.iter().cloned());
        assert_eq!(program.argv("t x", &command), argv, "{name}");
    }
}

#[test]
fn a_setting_names_a_program_or_begins_a_command_line() {
    let (folder, env) = with(&["xterm", "st"]);
    let path = |name: &str| folder.path().join(name).into_os_string();
    let argv = |asked: &str| {
        parse_named(asked, &env)
            .expect("found")
            .argv("t", &["x".into()])
    };
    assert_eq!(
        argv("xterm")[1..],
        ["-T", "t", "-e", "x"].map(OsString::from)
    );
    let by_path = path("xterm").into_string().expect("text");
    assert_eq!(
        argv(&by_path)[1..],
        ["-T", "t", "-e", "x"].map(OsString::from)
    );
    assert_eq!(argv("st"), [path("st"), "-e".into(), "x".into()]);
    let line = argv(r#"xterm -fa "DejaVu Sans Mono" -fs 12 -e"#);
    let words = ["-fa", "DejaVu Sans Mono", "-fs", "12", "-e", "x"];
    assert_eq!(line[1..], words.map(OsString::from));
    let line = argv("xterm -e nice {} -n");
    assert_eq!(line[1..], ["-e", "nice", "x", "-n"].map(OsString::from));
    let missing = parse_named("nothing -e", &env).expect_err("not there");
    assert_eq!(
        missing.to_string(),
        "There is no program 'nothing' to show a window with."
    );
    assert!(matches!(
        parse_named("xterm 'a", &env),
        Err(WindowError::Line(_))
    ));
}

#[test]
fn words_are_split_as_a_shell_would() {
    assert_eq!(
        split_words(" a  'b c' \"d \\\" e\" f\\ g ''").expect("read"),
        ["a", "b c", "d \" e", "f g", ""]
    );
    assert_eq!(split_words("").expect("read"), Vec::<String>::new());
    assert!(split_words("a\\").is_err() && split_words("'a").is_err());
}
