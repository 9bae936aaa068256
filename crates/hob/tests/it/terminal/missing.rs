//! Where something is not there: tmux, a terminal to attach on, a display, a wide screen.

use crate::support::{House, Pane};

/// A house whose daemon and commands find everything but tmux.
fn without_tmux() -> House {
    House::builder()
        .config("[terminal]\ntmux = \"/nonexistent/tmux\"\n")
        .start()
}

#[test]
fn without_tmux_every_command_says_so_and_what_to_install() {
    let house = without_tmux();
    for line in [&["terminal", "run", "true"][..], &["terminal", "open"]] {
        let wrong = house.hob(line);
        assert_ne!(wrong.code, Some(0), "{line:?}: {wrong:?}");
        assert!(wrong.stderr.contains("tmux"), "{line:?}: {wrong:?}");
    }
    let list = house.hob(&["terminal", "list"]).success();
    assert!(list.contains("terminal.tmux"), "{list}");
    let pane = Pane::open(&house, 80, 24);
    pane.run("hob terminal attach; echo code=$?");
    let screen = pane.wait_for("code=1");
    assert!(screen.contains("terminal.tmux"), "{screen}");
}

#[test]
fn without_tmux_in_the_path_the_line_that_installs_it_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    let house = House::builder().env("PATH", &path).start();
    let wrong = house.hob(&["terminal", "run", "true"]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    let said = "Terminals need tmux, which is not installed; run: install the package 'tmux'";
    assert!(wrong.stderr.contains(said), "{wrong:?}");
    let list = house.hob(&["terminal", "list"]).success();
    assert!(list.contains(said), "{list}");
}

#[test]
fn without_a_terminal_there_is_nothing_to_attach_on() {
    let house = House::start();
    let wrong = house.hob(&["terminal", "attach", "lab"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(
        wrong.stderr.contains("hob terminal capture lab"),
        "{wrong:?}"
    );
}

#[test]
fn what_is_no_name_is_said() {
    let house = House::start();
    let wrong = house.hob(&["terminal", "run", "-t", "a/b", "true"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let none = house.hob(&["terminal", "capture", "nobody"]);
    assert_eq!(none.code, Some(5), "{none:?}");
    assert!(none.stderr.contains("hob terminal list"), "{none:?}");
}

#[test]
fn tables_fit_a_narrow_screen() {
    let house = House::start();
    house
        .hob(&[
            "terminal",
            "run",
            "echo a rather long line that does not fit at all",
        ])
        .success();
    let pane = Pane::open(&house, 40, 24);
    for verb in ["list", "history"] {
        pane.run(&format!("hob terminal {verb}; echo done"));
        let screen = pane.wait_for("\ndone");
        // A line that was wrapped would begin a second one.
        let rows = screen.lines().filter(|line| !line.trim().is_empty());
        assert_eq!(rows.count(), 5, "{screen}");
    }
}
