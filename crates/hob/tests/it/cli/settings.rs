//! `hob config schema` and `hob config undo`, and the doctor's findings as a method.

use crate::support::House;
use serde_json::Value;

fn document(house: &House, line: &[&str]) -> Value {
    let text = house.hob(&[&["--json"], line].concat()).success();
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_change_is_taken_back_after_a_restart_too() {
    let mut house = House::builder().config("# mine\n[log]\n").start();
    let before = std::fs::read_to_string(house.home().join("config.toml")).expect("readable");
    house
        .hob(&["config", "set", "log.level", "debug"])
        .success();
    house.terminate();
    house.start_daemon();
    let undone = house.hob(&["config", "undo"]).success();
    assert!(undone.starts_with("log.level = info"), "{undone}");
    let after = std::fs::read_to_string(house.home().join("config.toml")).expect("readable");
    assert_eq!(after, before);
    let nothing = house.hob(&["config", "undo"]);
    assert_eq!(nothing.code, Some(5), "{nothing:?}");
    // A change that the daemon did not make is not the last one.
    house
        .hob(&["config", "set", "log.level", "debug"])
        .success();
    std::fs::write(house.home().join("config.toml"), "# by hand\n").expect("writable");
    let refused = house.hob(&["config", "undo"]);
    assert!(refused.code.is_some_and(|code| code != 0), "{refused:?}");
    assert!(refused.stderr.contains("was changed since"), "{refused:?}");
}

#[test]
fn every_setting_is_described() {
    let house = House::start();
    let all = document(&house, &["config", "schema"]);
    let all = all["settings"].as_array().expect("a list").clone();
    assert!(all.len() > 50, "{}", all.len());
    for setting in &all {
        assert!(setting["kind"]["type"].is_string(), "{setting}");
        assert!(setting["about"].as_str() > Some(""), "{setting}");
    }
    let page = house.hob(&["config", "schema", "log.level"]).success();
    for words in ["log.level", "value info, default info"] {
        assert!(page.contains(words), "{words} in {page}");
    }
    let wrong = house.hob(&["config", "schema", "log.levle"]);
    assert_eq!(wrong.code, Some(5), "{wrong:?}");
}

#[test]
fn the_daemon_finds_what_the_doctor_prints() {
    let house = House::start();
    let told = document(&house, &["rpc", "daemon.doctor", "{}"]);
    let printed = document(&house, &["doctor"]);
    let findings = |document: &Value| document["findings"].as_array().expect("a list").clone();
    let printed = findings(&printed);
    for finding in findings(&told) {
        // The daemon says that it runs; the doctor, that it answers. Sizes change meanwhile.
        let check = finding["check"].as_str().expect("a name");
        if !["daemon", "disk", "store"].contains(&check) {
            assert!(printed.contains(&finding), "{finding} in {printed:#?}");
        }
    }
    let checks: Vec<&str> = printed
        .iter()
        .filter_map(|finding| finding["check"].as_str())
        .collect();
    for check in [
        "home", "disk", "config", "port", "daemon", "store", "services",
    ] {
        assert!(checks.contains(&check), "{check} in {checks:?}");
    }
    assert!(checks.contains(&"sandbox") && checks.contains(&"tmux"));
}
