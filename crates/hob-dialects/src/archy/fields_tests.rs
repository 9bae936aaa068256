//! Valid and invalid fields of Archy's requests.

use super::ArchyFields;
use hob_kit::settings::{Settings, SettingsCatalog};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

fn settings() -> Settings {
    Settings::defaults(Arc::new(SettingsCatalog::new(&[
        crate::archy::settings::KEYS,
    ])))
}

#[test]
fn what_is_missing_or_null_has_a_default() {
    let settings = settings();
    let others = [json!(null), json!([]), json!("x"), json!(7)];
    let nulls = json!({ "session": null, "max_wait": null, "interval_ms": null });
    for data in others.iter().chain([&json!({}), &nulls]) {
        let fields = ArchyFields(data);
        assert_eq!(fields.session(&settings).unwrap(), "archy_session");
        assert_eq!(fields.max_wait(600).unwrap(), Duration::from_mins(10));
        let interval = fields.interval(&settings).unwrap();
        assert_eq!(interval, Duration::from_millis(500));
        assert_eq!(fields.command("no command").unwrap_err(), "no command");
        let missing = fields.require_name("app_name").unwrap_err();
        assert_eq!(missing, "Missing app_name parameter");
    }
}

#[test]
fn numbers_are_brought_within_their_bounds() {
    let wait = |value: Value| ArchyFields(&json!({ "max_wait": value })).max_wait(600);
    assert_eq!(wait(json!(30.0)).unwrap(), Duration::from_secs(30));
    assert_eq!(wait(json!(0.2)).unwrap(), Duration::from_secs(1));
    assert_eq!(wait(json!(-5)).unwrap(), Duration::ZERO);
    assert_eq!(wait(json!(99_999)).unwrap(), Duration::from_hours(1));
    assert_eq!(wait(json!(1e300)).unwrap(), Duration::from_hours(1));
    let wrong = wait(json!("30")).unwrap_err();
    assert_eq!(wrong, "Invalid max_wait: a number is needed");
    let looks = |value: Value| ArchyFields(&json!({ "interval_ms": value })).interval(&settings());
    assert_eq!(looks(json!(1)).unwrap(), Duration::from_millis(100));
    assert_eq!(looks(json!(250)).unwrap(), Duration::from_millis(250));
}

#[test]
fn names_are_no_paths() {
    let long = "n".repeat(256);
    for (name, wrong) in [
        ("a/b", "Invalid session: contains illegal characters"),
        ("..", "Invalid session: contains illegal characters"),
        ("a\0b", "Invalid session: contains illegal characters"),
        (long.as_str(), "Invalid session: too long"),
    ] {
        let data = json!({ "session": name });
        assert_eq!(ArchyFields(&data).session(&settings()).unwrap_err(), wrong);
    }
    let data = json!({ "session": 7 });
    let wrong = ArchyFields(&data).session(&settings()).unwrap_err();
    assert_eq!(wrong, "Invalid session: a text is needed");
    let data = json!({ "session": "mine" });
    assert_eq!(ArchyFields(&data).session(&settings()).unwrap(), "mine");
    let data = json!({ "session": "" });
    assert_eq!(
        ArchyFields(&data).session(&settings()).unwrap(),
        "archy_session"
    );
}

#[test]
fn commands_are_checked_in_letters() {
    let check = |command: Value| {
        let data = json!({ "command": command });
        let checked = ArchyFields(&data).command("missing");
        checked.map(str::to_owned)
    };
    assert_eq!(check(json!(" ls -la")).unwrap(), " ls -la");
    assert!(check(json!("ä".repeat(8_192))).is_ok());
    for (command, wrong) in [
        (json!(7), "missing"),
        (json!(null), "missing"),
        (json!(""), "Command cannot be empty"),
        (json!(" \t\n"), "Command cannot be empty"),
        (json!("a\0b"), "Invalid command: contains null byte"),
        (
            json!("ä".repeat(8_193)),
            "Command too long (max 8192 characters)",
        ),
    ] {
        assert_eq!(check(command).unwrap_err(), wrong);
    }
}
