//! Command patterns of stored rules, and names that other parties chose, with the built binary.

use crate::support::House;

fn add(house: &House, pattern: &str, decision: &str) {
    let pattern = format!("command={pattern}");
    let rule = [
        "--tool",
        "exec",
        "--match",
        &pattern,
        "--decision",
        decision,
        "--scope",
        "always",
    ];
    house
        .hob(&[&["permission", "add"][..], &rule].concat())
        .success();
}

/// What would be decided of a command.
fn decided(house: &House, command: &str) -> String {
    let argument = format!("command={command}");
    let line = ["--json", "permission", "check", "exec", "--arg", &argument];
    let text = house.hob(&line).stdout;
    let checked: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    checked["decision"].as_str().expect("a decision").to_owned()
}

#[test]
fn an_allowed_program_is_that_program_only() {
    let house = House::start();
    add(&house, "uptime*", "allow");
    for command in ["uptime", "uptimed"] {
        assert_eq!(decided(&house, command), "allow", "{command}");
    }
    for command in [
        "uptime=1 touch /x",
        "uptimed/evil.sh",
        "uptime/../evil.sh",
        "uptime -p",
        "uptime; touch /x",
    ] {
        assert_eq!(decided(&house, command), "ask", "{command}");
    }
    let list = house.hob(&["permission", "list"]).success();
    assert!(list.contains("Covers less than before"), "{list}");
    assert!(list.contains("Use 'uptime' and 'uptime *'."), "{list}");
    let json = house.hob(&["--json", "permission", "list"]).success();
    let page: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let id = page["rules"][0]["id"].as_str().expect("an id");
    assert!(page["notes"][id].is_string(), "{page}");
    // The forms to use.
    add(&house, "uptime *", "allow");
    assert_eq!(decided(&house, "uptime -p"), "allow");
    assert_eq!(decided(&house, "x=1 uptime -p"), "ask");
}

#[test]
fn a_denied_program_is_denied_however_it_is_spelt() {
    let house = House::start();
    add(&house, "ls *", "allow");
    add(&house, "*", "allow");
    add(&house, "rm *", "deny");
    for command in [
        "rm x",
        " rm x",
        "/bin/rm x",
        "\"rm\" x",
        "true; rm x",
        "env rm x",
        "x=1 rm x",
        "(rm x)",
        "sudo -u root rm x",
        "a | xargs -n1 rm",
    ] {
        assert_eq!(decided(&house, command), "deny", "{command}");
    }
    for command in [
        "echo $(rm x)",
        "sh -c 'rm x'",
        "find . -exec rm {} +",
        "$x y",
    ] {
        assert_eq!(decided(&house, command), "ask", "{command}");
    }
    for command in ["ls -l", "true"] {
        assert_eq!(decided(&house, command), "allow", "{command}");
    }
    // Where a rule is in doubt it stands before an allowance.
    add(&house, "bash -c 'ls'", "allow");
    assert_eq!(decided(&house, "bash -c 'ls'"), "ask");
}

#[test]
fn names_that_deceive_are_shown_as_they_are() {
    let house = House::start();
    house
        .hob(&["session", "create", "chat:m\u{430}in"])
        .success();
    house
        .hob(&["session", "label", "chat:m\u{430}in", "Not\u{200b}es"])
        .success();
    house.hob(&["session", "create", "письма"]).success();
    let list = house.hob(&["session", "list"]).success();
    for shown in [r"chat:m\u{430}in", r"Not\u{200b}es", "письма"] {
        assert!(list.contains(shown), "{list}");
    }
    let name = "ph\u{43e}ne";
    house
        .hob(&["token", "create", "--name", name, "--scope", "read"])
        .success();
    let list = house.hob(&["token", "list"]).success();
    assert!(
        list.contains(r"ph\u{43e}ne") && !list.contains(name),
        "{list}"
    );
}
