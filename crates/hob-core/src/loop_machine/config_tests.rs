//! Merging, defaults and validation of loop settings.

use super::*;
use serde_json::json;

fn change(json: serde_json::Value) -> LoopChange {
    serde_json::from_value(json).expect("is a change")
}

#[test]
fn metadata_is_merged_and_bounded() {
    let before = LoopConfig::default();
    let set = change(json!({ "metadata": { "page": { "dark": true }, "other": 1 } }));
    let config = merge_config(&before, set);
    let config = merge_config(&config, change(json!({ "metadata": { "other": null } })));
    assert_eq!(json!(config.metadata), json!({ "page": { "dark": true } }));
    let same = merge_config(&config, change(json!({ "user": "x" })));
    assert_eq!(same.metadata, config.metadata);
    let long = json!({ "metadata": { "page": "x".repeat(70_000) } });
    let why = check_config(&merge_config(&before, change(long))).unwrap_err();
    assert!(why.contains("65536"), "{why}");
}

#[test]
fn what_is_missing_stays_and_null_clears() {
    let first = merge_config(
        &LoopConfig::default(),
        change(
            json!({ "model": "a/b/c", "user": "Go on.", "monitor": { "command": "date" }, "tools": [] }),
        ),
    );
    assert_eq!(first.model.as_deref(), Some("a/b/c"));
    assert_eq!(first.tools.as_deref(), Some(&[][..]));
    let second = merge_config(&first, change(json!({ "system": "Be kind." })));
    assert_eq!((&*second.user, &*second.system), ("Go on.", "Be kind."));
    assert!(second.monitor.is_some());
    let third = merge_config(
        &second,
        change(json!({ "monitor": null, "model": null, "tools": null })),
    );
    assert!(third.monitor.is_none() && third.model.is_none() && third.tools.is_none());
    assert_eq!(third.user, "Go on.");
}

#[test]
fn names_are_plain() {
    for name in ["default", "a", "build-2", &"x".repeat(64)] {
        check_name(name).expect(name);
    }
    for name in [
        "",
        "-a",
        "a-",
        "A",
        "a:b",
        "a/b",
        "ä",
        "a b",
        &"x".repeat(65),
    ] {
        check_name(name).expect_err(name);
    }
}

#[test]
fn what_no_loop_can_be_set_to_is_refused() {
    let with = |json| check_config(&merge_config(&LoopConfig::default(), change(json)));
    with(json!({})).expect("the default is sound");
    for (json, told) in [
        (json!({ "intervalMs": 999 }), "1000 to"),
        (json!({ "intervalMs": u64::MAX }), "1000 to"),
        (
            json!({ "monitor": { "command": "x", "intervalMs": 1 } }),
            "The monitor's interval",
        ),
        (json!({ "workspace": "here" }), "absolute"),
        (json!({ "notify": { "sessionKey": "" } }), "session"),
        (
            json!({ "user": "x".repeat(LOOP_TEXT_BYTES_MAX + 1) }),
            "The prompt",
        ),
        (json!({ "tools": vec!["x"; 300] }), "300"),
    ] {
        let refusal = with(json).expect_err(told);
        assert!(refusal.contains(told), "{refusal}");
    }
}

#[test]
fn a_monitor_runs_before_each_iteration_or_by_its_own_time() {
    let watch =
        |json| LoopPolicy::from_config(&merge_config(&LoopConfig::default(), change(json))).monitor;
    assert_eq!(watch(json!({})), MonitorSchedule::Off);
    assert_eq!(
        watch(json!({ "monitor": { "command": "x" } })),
        MonitorSchedule::BeforeIteration
    );
    let every = json!({ "monitor": { "command": "x", "intervalMs": 2000 } });
    assert_eq!(watch(every), MonitorSchedule::Interval(2_000));
}
