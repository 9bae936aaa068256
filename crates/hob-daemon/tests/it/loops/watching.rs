//! Monitors: before each iteration or at their own interval. A failing monitor stops nothing.

use super::{get, history, make, start, stop};
use crate::agent::house::{folder, house, thinking, until};
use hob_sim::Answer;
use hob_wire::rooms::audit::AuditListParams as AuditParams;
use serde_json::json;

#[tokio::test]
async fn what_a_monitor_prints_is_in_the_prompt_with_its_end() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let house = house(folder.path(), &sim);
    let monitor = json!({ "command": "echo '```'; echo bad >&2; exit 4" });
    let config =
        json!({ "user": "Go.", "intervalMs": 1000, "maxIterations": 1, "monitor": monitor });
    make(&house, "watch", config).await;
    start(&house, "watch").await;
    house.hears("loop.stopped", 1).await;
    let prompt = &history(&house, "watch").await[0].prompt;
    assert!(
        prompt.contains("with exit code 4.\n\n````\n```\n[stderr]\nbad\n````\n"),
        "{prompt}"
    );
    let output = get(&house, "watch").await.state.monitor.expect("is kept");
    assert_eq!((output.exit_code, &*output.stderr), (Some(4), "bad\n"));
    let heard = house.heard("loop.monitor");
    assert_eq!(heard[0]["output"]["stdout"], "```\n");
    let audit = house
        .store
        .list_audit(AuditParams::default())
        .await
        .expect("lists");
    let set = audit.entries.iter().find(|entry| entry.act == "own-act");
    let set = set.expect("setting it was recorded");
    assert_eq!(
        (&*set.by, &set.matter["for"]),
        ("test", &json!("loop:watch"))
    );
    house.close().await;
}

#[tokio::test]
async fn a_monitor_that_hangs_or_cannot_run_stops_nothing() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let house = house(folder.path(), &sim);
    for (name, config, told) in [
        (
            "hangs",
            json!({ "monitor": { "command": "sleep 600", "timeoutMs": 300 } }),
            "It took longer than 300 ms",
        ),
        (
            "lost",
            json!({ "monitor": { "command": "true" }, "workspace": "/nowhere/at/all" }),
            "without an exit code",
        ),
    ] {
        let mut config = config;
        config["user"] = json!("Go.");
        config["maxIterations"] = json!(1);
        make(&house, name, config).await;
        start(&house, name).await;
        until(|| {
            house
                .heard("loop.stopped")
                .iter()
                .any(|ended| ended["name"] == name)
        })
        .await;
        let seen = &history(&house, name).await[0];
        assert_eq!(seen.success, Some(true));
        assert!(seen.prompt.contains(told), "{}", seen.prompt);
    }
    house.close().await;
}

#[tokio::test]
async fn one_with_its_own_interval_runs_beside_the_iterations() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let house = house(folder.path(), &sim);
    let place = tempfile::tempdir().expect("a folder");
    let monitor = json!({ "command": "echo x >> beats; wc -l < beats", "intervalMs": 1000 });
    let config = json!({ "user": "Go.", "intervalMs": 600_000, "monitor": monitor, "workspace": place.path() });
    make(&house, "beside", config).await;
    start(&house, "beside").await;
    let beats = house.hears("loop.monitor", 3).await;
    assert_eq!(beats[2]["output"]["stdout"], "3\n");
    assert_eq!(house.hears("loop.response", 1).await.len(), 1);
    let shown = get(&house, "beside").await;
    assert!(
        shown
            .state
            .monitor
            .is_some_and(|output| output.exit_code == Some(0))
    );
    stop(&house, "beside").await;
    let beats = || std::fs::read_to_string(place.path().join("beats")).expect("is there");
    let before = beats();
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    assert_eq!(beats(), before, "it ended with the loop");
    house.close().await;
}
