//! Events for watchers.

use super::{DEADLINE, Rig};
use serde_json::Value;
use std::time::Duration;
use tokio::sync::mpsc::Receiver;

/// Longer than any event is delayed.
const QUIET: Duration = Duration::from_millis(500);

/// Collects events until one matches.
async fn until(events: &mut Receiver<Value>, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
    let mut heard = Vec::new();
    let listen = async {
        loop {
            let event = events.recv().await.expect("the watcher lives");
            let is_last = fits(&event);
            heard.push(event);
            if is_last {
                return;
            }
        }
    };
    let listened = tokio::time::timeout(DEADLINE, listen).await;
    assert!(listened.is_ok(), "after {} events", heard.len());
    heard
}

fn text(event: &Value) -> &str {
    event["text"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_printed_is_told_as_plain_text_while_it_runs() {
    let rig = Rig::new();
    rig.create("main").await;
    let mut events = rig.hear("terminal.output");
    let id = rig
        .detached("printf '\\033[31mred\\033[0m \\033]52;c;eA==\\007\\033]0;title\\007'; sleep 600")
        .await;
    let heard = until(&mut events, |event| text(event).trim() == "red").await;
    let last = heard.last().unwrap();
    assert_eq!(last["name"], "main");
    assert_eq!(last["command"], id.to_string());
    assert_eq!(text(last).trim(), "red");
    // What the shell shows itself is nobody's command.
    let shown = heard.iter().filter(|event| event["command"].is_null());
    let shown: String = shown.map(text).collect();
    assert!(shown.contains("sleep 600"), "{shown:?}");
    assert!(heard.iter().all(|event| !text(event).contains('\u{1b}')));
    rig.cancel(None).await;
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_bounded_and_what_is_left_out_is_counted() {
    let rig = Rig::new();
    rig.create("main").await;
    let mut events = rig.hear("terminal.output");
    let flood = rig.run("seq 1 400000").await;
    assert!(flood.truncated && flood.output_bytes > 2_000_000);
    assert!(flood.output.unwrap().len() < 100_000);
    // What comes right behind the flood may be left out with it.
    let mut heard = Vec::new();
    while !heard.iter().any(|event| text(event).trim() == "over") {
        rig.run("echo over").await;
        while let Ok(Some(event)) = tokio::time::timeout(QUIET, events.recv()).await {
            heard.push(event);
        }
    }
    assert!(heard.iter().all(|event| text(event).len() <= 192 * 1024));
    let told: u64 = heard.iter().map(|event| text(event).len() as u64).sum();
    let dropped = heard.iter().filter_map(|event| event["dropped"].as_u64());
    let dropped: u64 = dropped.sum();
    assert!(
        told + dropped >= 2_000_000,
        "{told} told, {dropped} left out"
    );
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_terminals_do_is_counted() {
    let rig = Rig::new();
    rig.run("true").await;
    rig.run("false").await;
    let figures = rig.figures();
    let of = |name: &str, outcome: Option<&str>| {
        let mut found = figures.iter();
        let found = found.find(|it| it.name == name && it.label.map(|it| it.1) == outcome);
        found.unwrap().value
    };
    assert_eq!(of("hob_terminals", None), 1);
    let total = "hob_terminal_commands_total";
    assert_eq!(of(total, Some("succeeded")), 1);
    assert_eq!(of(total, Some("failed")), 1);
    assert_eq!(of(total, Some("lost")), 0);
    assert_eq!(of("hob_terminal_commands_queued", None), 0);
    rig.end().await;
}
