//! Loops in Loop Runner's format and back.

use super::{
    LoopRunnerChange, blank_loop, config, history, model, monitor_text, named_model, parse_change,
    state,
};
use crate::looprunner::types::{
    DEFAULT_SYSTEM, DEFAULT_USER, LoopRunnerConfigChange, LoopRunnerModel, LoopRunnerMonitor,
};
use hob_wire::NetworkGrant;
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::loops::{
    self, IterationRecord, LOOP_TEXT_BYTES_MAX, Loop, LoopChange, MonitorConfigView, MonitorOutput,
};
use hob_wire::rooms::model::{self as rooms, ModelAlias};
use serde_json::{Map, Value, json};

fn aliases() -> Vec<ModelAlias> {
    let alias = |alias: &str, models: &[&str]| ModelAlias {
        alias: alias.to_owned(),
        models: models.iter().map(|&id| id.to_owned()).collect(),
    };
    vec![
        alias("default", &["lab/big/one", "lab/two"]),
        alias("fast", &["lab/small"]),
        alias("smart", &[]),
    ]
}

fn ids(model: &LoopRunnerModel) -> (&str, &str) {
    (&model.provider_id, &model.model_id)
}

fn made() -> Loop {
    let mut made = blank_loop();
    made.config.monitor = Some(MonitorConfigView {
        command: "date".to_owned(),
        interval_ms: Some(2_000),
        network: NetworkGrant::Proxy,
        timeout_ms: Some(9_000),
    });
    made.working.text = "note".to_owned();
    made.persistent.text = "goal".to_owned();
    made
}

fn entry(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

fn read(text: &str) -> LoopRunnerConfigChange {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_model_is_shown_as_the_one_that_is_asked_first() {
    let of = |chosen, aliases: &[ModelAlias]| {
        let model = model(chosen, aliases);
        (model.provider_id, model.model_id)
    };
    let pair = |one: &str, two: &str| (one.to_owned(), two.to_owned());
    assert_eq!(of(None, &aliases()), pair("lab", "big/one"));
    assert_eq!(of(Some("fast"), &aliases()), pair("lab", "small"));
    assert_eq!(of(Some("smart"), &aliases()), pair("lab", "big/one"));
    assert_eq!(
        of(Some("openrouter/meta/llama"), &[]),
        pair("openrouter", "meta/llama")
    );
    let theirs = pair("anthropic", "claude-sonnet-4-20250514");
    assert_eq!(of(None, &[]), theirs);
    assert_eq!(of(Some("fast"), &[]), theirs);
    let listed = named_model(rooms::ModelInfo {
        id: "openrouter/meta/llama".to_owned(),
        provider: "openrouter".to_owned(),
        name: "Llama".to_owned(),
        context_tokens: None,
        price: None,
    });
    assert_eq!(ids(&listed.model), ("openrouter", "meta/llama"));
}

#[test]
fn a_form_that_is_saved_as_it_was_shown_changes_neither_model_nor_monitor() {
    let shown = config(&made(), &aliases());
    let text = serde_json::to_string(&shown).unwrap();
    let LoopRunnerChange {
        settings,
        working,
        persistent,
    } = parse_change(read(&text), None, &made(), &aliases()).unwrap();
    assert_eq!((settings.model, settings.monitor), (None, None));
    assert_eq!((working, persistent), (None, None));
    assert_eq!(settings.interval_ms, Some(5_000));
    // Their default is shown where there is no model; sent back it is not chosen either.
    let shown = config(&made(), &[]);
    let text = serde_json::to_string(&shown).unwrap();
    let back = parse_change(read(&text), None, &made(), &[]).unwrap();
    assert_eq!(back.settings.model, None);
}

#[test]
fn what_is_named_is_changed_and_nothing_else() {
    let requested = read(r#"{"working":"now","autoApprove":false}"#);
    let chosen = Some("or/meta/llama".to_owned());
    let requested = parse_change(requested, chosen, &made(), &aliases()).unwrap();
    let settings = LoopChange {
        model: Some(Some("or/meta/llama".to_owned())),
        metadata: entry(json!({ "looprunner": { "autoApprove": false } })),
        ..LoopChange::default()
    };
    let expected = LoopRunnerChange {
        settings,
        working: Some("now".to_owned()),
        persistent: None,
    };
    assert_eq!(requested, expected);
    let nothing = parse_change(read("{}"), None, &made(), &aliases()).unwrap();
    assert_eq!(nothing, LoopRunnerChange::default());
}

/// What is shown of a loop that nobody has set up is not there yet; the first change makes it so.
#[test]
fn the_default_loop_has_texts_before_anybody_sets_it_up() {
    let mut blank = blank_loop();
    blank.name = "default".to_owned();
    let shown = config(&blank, &[]);
    assert_eq!(
        (shown.system.as_str(), shown.user.as_str()),
        (DEFAULT_SYSTEM, DEFAULT_USER)
    );
    let change = |text: &str, of: &Loop| parse_change(read(text), None, of, &[]).unwrap().settings;
    let first = change(r#"{"user":"Look."}"#, &blank);
    assert_eq!(first.system.as_deref(), Some(DEFAULT_SYSTEM));
    assert_eq!(first.user.as_deref(), Some("Look."));
    let first = change("{}", &blank);
    assert_eq!(first.user.as_deref(), Some(DEFAULT_USER));

    // Whoever has cleared a text sees it cleared, and does not get it back.
    let cleared = change(r#"{"system":"","user":""}"#, &blank);
    blank.config.metadata = cleared.metadata;
    let shown = config(&blank, &[]);
    assert_eq!((shown.system.as_str(), shown.user.as_str()), ("", ""));
    assert_eq!(change("{}", &blank), LoopChange::default());

    // Neither another loop nor one that has run is blank.
    for (name, iteration, user) in [("build", 0, ""), ("default", 1, ""), ("default", 0, "Go.")] {
        let mut other = blank_loop();
        other.name = name.to_owned();
        other.state.iteration = iteration;
        other.config.user = user.to_owned();
        assert_eq!(config(&other, &[]).system, "", "{name} {iteration} {user}");
        assert_eq!(change("{}", &other), LoopChange::default());
    }
}

#[test]
fn auto_approve_is_kept_and_an_unreadable_entry_is_the_default() {
    let mut made = made();
    assert!(config(&made, &[]).auto_approve);
    let change = |text: &str, of: &Loop| {
        let change = parse_change(read(text), None, of, &[]).unwrap();
        change.settings.metadata
    };
    assert_eq!(change(r#"{"autoApprove":true}"#, &made), Map::new());
    made.config.metadata = change(r#"{"autoApprove":false}"#, &made);
    assert!(!config(&made, &[]).auto_approve);
    assert_eq!(change(r#"{"user":"x"}"#, &made), Map::new());
    let back = entry(json!({ "looprunner": { "autoApprove": true } }));
    assert_eq!(change(r#"{"autoApprove":true}"#, &made), back);
    made.config.metadata = entry(json!({ "looprunner": [7] }));
    assert!(config(&made, &[]).auto_approve);
}

#[test]
fn a_monitor_keeps_what_was_granted_to_its_bytes_only() {
    let set = |text: &str| {
        parse_change(read(text), None, &made(), &[])
            .unwrap()
            .settings
            .monitor
    };
    let same = set(r#"{"monitor":{"command":"date"}}"#).unwrap().unwrap();
    assert_eq!(
        same,
        loops::MonitorConfig {
            command: "date".to_owned(),
            interval_ms: None,
            network: NetworkGrant::Proxy,
            timeout_ms: Some(9_000),
        }
    );
    let other = set(r#"{"monitor":{"command":"date ","interval":1000}}"#);
    let other = other.unwrap().unwrap();
    assert_eq!((other.network, other.timeout_ms), (NetworkGrant::Off, None));
    assert_eq!(other.interval_ms, Some(1_000));
    for none in [r#"{"monitor":null}"#, r#"{"monitor":{"command":" "}}"#] {
        assert_eq!(set(none), Some(None), "{none}");
    }
}

#[test]
fn what_is_wrong_is_refused_with_a_sentence() {
    let long = "x".repeat(LOOP_TEXT_BYTES_MAX + 1);
    for (text, word) in [
        (r#"{"interval":999}"#.to_owned(), "1000"),
        (r#"{"interval":0}"#.to_owned(), "interval"),
        (r#"{"interval":99999999999}"#.to_owned(), "604800000"),
        (
            r#"{"monitor":{"command":"date","interval":10}}"#.to_owned(),
            "monitor.interval",
        ),
        (format!(r#"{{"user":"{long}"}}"#), "user"),
        (format!(r#"{{"working":"{long}"}}"#), "working"),
        (
            format!(r#"{{"monitor":{{"command":"{long}"}}}}"#),
            "monitor.command",
        ),
    ] {
        let why = parse_change(read(&text), None, &made(), &aliases()).unwrap_err();
        assert!(why.contains(word) && why.ends_with('.'), "{why}");
    }
}

#[test]
fn a_history_has_answers_only_and_the_oldest_first() {
    let one = |number: u32, response: Option<&str>| IterationRecord {
        iteration: number,
        session_key: format!("loop:default:{number}"),
        run_id: None,
        prompt: format!("p{number}"),
        response: response.map(str::to_owned),
        success: None,
        outcome: None,
        cause: None,
        message: None,
        denied_calls: 0,
        failed_calls: 0,
        cost: Cost::default(),
        started_at: 10,
        ended_at: response.map(|_| 20),
    };
    let broken = IterationRecord {
        success: Some(false),
        ..one(5, Some("half an ans"))
    };
    let told = history(vec![
        broken,
        one(4, None),
        one(3, Some("c")),
        one(2, None),
        one(1, Some("a")),
    ]);
    let numbers: Vec<_> = told.iter().map(|past| past.iteration).collect();
    assert_eq!(numbers, [1, 3]);
    assert_eq!((told[1].prompt.as_str(), told[1].timestamp), ("p3", 20));
    let many = (1..=150).rev().map(|number| one(number, Some("r")));
    let told = history(many.collect());
    assert_eq!((told.len(), told[0].iteration), (100, 51));
}

#[test]
fn a_monitor_is_one_text() {
    let mut output = MonitorOutput {
        stdout: "ok\n".to_owned(),
        ..MonitorOutput::default()
    };
    assert_eq!(monitor_text(&output), "ok\n");
    output.stderr = "hm".to_owned();
    assert_eq!(monitor_text(&output), "ok\n\n[stderr]\nhm");
    output.problem = Some("It was killed.".to_owned());
    assert!(monitor_text(&output).ends_with("\n[error]\nIt was killed."));
    let mut made = made();
    made.state.monitor = Some(output);
    assert!(state(&made).monitor_output.starts_with("ok"));
    let monitor = config(&made, &[]).monitor;
    let expected = LoopRunnerMonitor {
        command: "date".to_owned(),
        interval: Some(2_000),
    };
    assert_eq!(monitor, Some(expected));
}
