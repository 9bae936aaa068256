//! The main help pages, kept as snapshots at 80 columns, and how they are reached.

use crate::support::House;

fn page(path: &[&str]) -> String {
    let mut command = hob::tree::command().term_width(80);
    command.build();
    let found = path.iter().fold(&mut command, |command, name| {
        command
            .find_subcommand_mut(name)
            .expect("the command exists")
    });
    found.render_help().to_string()
}

#[test]
fn pages_look_as_they_were_approved() {
    for path in [
        &[][..],
        &["ask"],
        &["chat"],
        &["run"],
        &["run", "resolve"],
        &["undo"],
        &["autostart"],
        &["uninstall"],
        &["permission"],
        &["permission", "add"],
        &["permission", "list"],
        &["permission", "remove"],
        &["permission", "pending"],
        &["permission", "answer"],
        &["permission", "check"],
        &["audit"],
        &["audit", "list"],
        &["audit", "verify"],
        &["audit", "export"],
        &["cost"],
        &["up"],
        &["status"],
        &["session"],
        &["session", "send"],
        &["session", "history"],
        &["loop"],
        &["loop", "create"],
        &["loop", "update"],
        &["loop", "watch"],
        &["loop", "persistent"],
        &["cron"],
        &["cron", "add"],
        &["cron", "update"],
        &["cron", "run"],
        &["cron", "history"],
        &["events"],
        &["rpc"],
        &["token", "create"],
        &["config", "set"],
        &["import"],
        &["daemon"],
    ] {
        let name = format!("help_{}", path.join("_"));
        insta::assert_snapshot!(name, page(path));
    }
}

#[test]
fn a_script_that_names_no_command_gets_help_and_2() {
    let house = House::builder().build();
    let finished = house.hob(&[]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stdout.contains("Usage: hob"), "{finished:?}");
    assert!(!house.home().join("hob.db").exists(), "nothing was made");
}

#[test]
fn every_way_to_ask_for_help_answers_the_same() {
    let house = House::builder().build();
    let asked = [
        &["help", "session", "send"][..],
        &["session", "send", "--help"],
        &["session", "send", "-h"],
    ];
    let pages = asked.map(|line| house.hob(line).success().trim_end().to_owned());
    assert!(pages[0].contains("hob session send"), "{}", pages[0]);
    assert_eq!([&pages[0], &pages[0]], [&pages[1], &pages[2]]);
}

#[test]
fn topics_and_mistakes() {
    let house = House::builder().build();
    assert!(house.hob(&["help", "exit-codes"]).success().contains("130"));
    let unknown = house.hob(&["help", "sesion"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.stderr.contains("Did you mean 'session'?"),
        "{unknown:?}"
    );
    let json = house.hob(&["--json", "sesion"]);
    assert_eq!(json.code, Some(2));
    let error: serde_json::Value = serde_json::from_str(json.stderr.trim()).expect("one object");
    assert_eq!(error["error"]["code"], "USAGE");
    assert_eq!(
        (json.stdout.as_str(), &error["error"]["exit"]),
        ("", &2.into())
    );
}

#[test]
fn completions_know_the_derived_commands() {
    let house = House::builder().build();
    for shell in ["bash", "zsh", "fish"] {
        let script = house.hob(&["completions", shell]).success();
        assert!(script.contains("history"), "{shell}");
    }
}
