//! What outlives the daemon, and what ends.

use super::{history, terminal};
use crate::support::{House, wait_until};

#[test]
fn a_command_that_runs_while_the_daemon_dies_ends_as_it_would_have() {
    let mut house = House::start();
    let go = house.work().join("go");
    let line = format!(
        "echo before; while [ ! -e '{}' ]; do sleep 0.05; done; echo after; (exit 9)",
        go.display()
    );
    house.hob(&["terminal", "run", "-d", &line]).success();
    wait_until("it runs", || terminal(&house, "main")["state"] == "busy");
    house.kill();
    // It ends while nobody is there.
    std::fs::write(&go, "").expect("writes");
    std::thread::sleep(std::time::Duration::from_millis(300));
    house.start_daemon();
    wait_until("its end is known", || {
        history(&house, "main")[0]["state"] == "done"
    });
    let id = history(&house, "main")[0]["id"].clone();
    let id = id.as_str().expect("an id");
    let whole = super::json_of(&house, &["terminal", "history", "--id", id]);
    assert_eq!(whole["exitCode"], 9, "{whole}");
    assert_eq!(whole["output"], "before\nafter\n");
    let said = house.hob(&["terminal", "run", "echo again"]).success();
    assert_eq!(said, "again\n");
    assert_eq!(history(&house, "main").len(), 2, "nothing ran twice");
}

#[test]
fn a_terminal_is_closed_and_made_anew() {
    let house = House::start();
    house.hob(&["terminal", "run", "X=1"]).success();
    let said = house.hob(&["terminal", "close"]).success();
    assert_eq!(said, "Closed main.\n");
    let again = house.hob(&["terminal", "close"]);
    assert_eq!(again.code, Some(5), "{again:?}");
    assert!(again.stderr.contains("hob terminal list"), "{again:?}");
    let said = house.hob(&["terminal", "run", "echo \"<$X>\""]).success();
    assert_eq!(said, "<>\n");
}

#[test]
fn a_busy_terminal_is_closed_with_a_yes_only() {
    let house = House::start();
    house.hob(&["terminal", "run", "-d", "sleep 300"]).success();
    wait_until("it runs", || terminal(&house, "main")["state"] == "busy");
    let refused = house.hob(&["terminal", "close"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("`sleep 300`"), "{refused:?}");
    assert!(
        refused.stderr.contains("hob terminal close main --yes"),
        "{refused:?}"
    );
    assert_eq!(terminal(&house, "main")["state"], "busy");
    house.hob(&["terminal", "close", "--yes"]).success();
    assert_eq!(history(&house, "main")[0]["state"], "lost");
}

#[test]
fn a_shell_that_is_left_closes_its_terminal() {
    let house = House::start();
    house.hob(&["terminal", "run", "true"]).success();
    house
        .hob(&["terminal", "keys", "--text", "exit", "Enter"])
        .success();
    wait_until("it is gone", || {
        let state = terminal(&house, "main")["state"].clone();
        state.is_null() || state == "closed"
    });
    let said = house.hob(&["terminal", "run", "echo", "new"]).success();
    assert_eq!(said, "new\n");
}
