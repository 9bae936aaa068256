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
    for line in [
        &["terminal", "run", "true"][..],
        &["terminal", "capture"],
        &["terminal", "open"],
        &["terminal", "keys", "Enter"],
    ] {
        let wrong = house.hob(line);
        assert_ne!(wrong.code, Some(0), "{line:?}: {wrong:?}");
        assert!(wrong.stderr.contains("tmux"), "{line:?}: {wrong:?}");
    }
    let list = house.hob(&["terminal", "list"]).success();
    assert!(list.contains("tmux") && list.contains("nstall"), "{list}");
    let pane = Pane::open(&house, 80, 24);
    pane.run("hob terminal attach; echo code=$?");
    let screen = pane.wait_for("code=1");
    assert!(screen.contains("tmux"), "{screen}");
}

#[test]
fn without_a_terminal_there_is_nothing_to_attach_on() {
    let house = House::start();
    let wrong = house.hob(&["terminal", "attach", "lab"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("hob terminal capture lab"), "{wrong:?}");
}

#[test]
fn without_a_display_a_window_names_the_way_without_one() {
    let house = House::start();
    let wrong = house.hob(&["terminal", "open"]);
    assert_ne!(wrong.code, Some(0), "{wrong:?}");
    assert!(wrong.stderr.contains("hob terminal attach"), "{wrong:?}");
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
        .hob(&["terminal", "run", "echo a rather long line that does not fit at all"])
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
