//! Config over the wire, and the daemon's log as events.

use super::http;
use super::wire::{Peer, SURFACES, Surface, number, text};
use crate::support::House;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

async fn setting(peer: &mut Peer, key: &str) -> Value {
    let answer = peer.call("config.get", json!({ "key": key })).await;
    let settings = answer["settings"].as_array().expect("a list");
    assert_eq!(settings.len(), 1, "{answer}");
    settings[0].clone()
}

#[tokio::test]
async fn settings_are_read_changed_and_told() {
    let house = House::start();
    let mut owner = Peer::owner(&house).await;
    let mut watchers = Vec::new();
    for surface in SURFACES {
        let mut watcher = Peer::on(surface, &house, &house.token()).await;
        watcher.subscribe(&["config.changed"]).await;
        watchers.push(watcher);
    }
    let level = setting(&mut owner, "log.level").await;
    assert_eq!(
        (&level["value"], &level["origin"]),
        (&json!("info"), &json!("default"))
    );
    assert_eq!(level["live"], true);
    let all = owner.call("config.get", json!({})).await;
    let below = owner.call("config.get", json!({ "key": "gateway" })).await;
    let count = |answer: &Value| answer["settings"].as_array().map_or(0, Vec::len);
    assert!(count(&all) > count(&below) && count(&below) > 1, "{below}");
    let changed = owner
        .call("config.set", json!({ "key": "log.level", "value": "warn" }))
        .await;
    let expected = json!({ "key": "log.level", "value": "warn", "applied": "now" });
    assert_eq!(changed, expected);
    for watcher in &mut watchers {
        let event = watcher.event().await;
        assert_eq!(event["payload"], expected);
        assert!(
            event["seq"].is_u64() && event.get("prev").is_some(),
            "it is logged: {event}"
        );
    }
    let level = setting(&mut owner, "log.level").await;
    assert_eq!(
        (&level["value"], &level["origin"]),
        (&json!("warn"), &json!("file"))
    );
    let file = std::fs::read_to_string(house.home().join("config.toml")).expect("it was written");
    assert!(file.contains("warn"), "{file}");
    let changed = owner
        .call("config.set", json!({ "key": "log.level", "value": null }))
        .await;
    assert_eq!(
        (&changed["value"], &changed["applied"]),
        (&json!("info"), &json!("now"))
    );
    assert_eq!(setting(&mut owner, "log.level").await["origin"], "default");
    let body = r#"{"key":"log.level","value":"debug"}"#;
    let answer = http::rpc(&house, &house.token(), "config.set", body).await;
    assert_eq!(
        (answer.status, answer.json()["applied"].clone()),
        (200, json!("now"))
    );
}

#[tokio::test]
async fn a_change_says_when_it_applies() {
    let mut house = House::builder().env("HOB_LOG_LEVEL", "warn").start();
    let mut owner = Peer::owner(&house).await;
    assert_eq!(setting(&mut owner, "log.level").await["origin"], "env");
    let changed = owner
        .call("config.set", json!({ "key": "log.level", "value": "info" }))
        .await;
    assert_eq!(changed["applied"], "overridden");
    assert_eq!(setting(&mut owner, "log.level").await["value"], "warn");
    let params = json!({ "key": "gateway.max_connections", "value": 321 });
    let changed = owner.call("config.set", params).await;
    assert_eq!(changed["applied"], "restart");
    assert!(house.terminate().success());
    house.start_daemon();
    let mut owner = Peer::owner(&house).await;
    let kept = setting(&mut owner, "gateway.max_connections").await;
    assert_eq!(
        (&kept["value"], &kept["origin"]),
        (&json!(321), &json!("file"))
    );
}

#[tokio::test]
async fn a_live_change_reaches_the_router() {
    let house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("mute", &["mute.ask"]).await;
    let mut owner = Peer::owner(&house).await;
    let params = json!({ "key": "gateway.request_timeout", "value": "300ms" });
    assert_eq!(owner.call("config.set", params).await["applied"], "now");
    let started = Instant::now();
    owner.refused("TIMEOUT", "mute.ask", json!({})).await;
    assert!(started.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn wrong_settings_are_refused_and_change_nothing() {
    let house = House::start();
    let mut owner = Peer::owner(&house).await;
    owner.subscribe(&["config.changed"]).await;
    for params in [
        json!({ "key": "log.levle", "value": "info" }),
        json!({ "key": "log.level", "value": "loud" }),
        json!({ "key": "log.level", "value": 7 }),
        json!({ "key": "gateway.ping_interval", "value": "soon" }),
        json!({ "key": "", "value": 1 }),
        json!({ "value": 1 }),
    ] {
        let error = owner
            .ask("config.set", params.clone())
            .await
            .expect_err("it must be refused");
        let code = text(&error, "code");
        assert!(
            ["INVALID_PARAMS", "NOT_FOUND"].contains(&&*code),
            "{params}: {error}"
        );
        if params["key"] == "log.levle" {
            assert!(
                text(&error, "message").contains("log.level"),
                "it suggests: {error}"
            );
        }
    }
    owner.assert_silent().await;
    assert_eq!(setting(&mut owner, "log.level").await["value"], "info");
}

#[tokio::test]
async fn log_lines_are_events() {
    let house = House::start();
    let mut owner = Peer::owner(&house).await;
    owner
        .call(
            "config.set",
            json!({ "key": "log.level", "value": "trace" }),
        )
        .await;
    for surface in SURFACES {
        let mut watcher = Peer::on(surface, &house, &house.token()).await;
        watcher.subscribe(&["log.line"]).await;
        // Someone comes and goes: that is worth a line at this level.
        let mut visitor = Peer::on(Surface::Ws, &house, &house.token()).await;
        visitor.register("visitor", &["visitor.hello"]).await;
        drop(visitor);
        let event = watcher.event_of("log.line").await;
        assert!(
            event["sub"].is_u64() && event.get("prev").is_none(),
            "volatile: {event}"
        );
        let line = &event["payload"];
        assert!(number(line, "at") > 1_600_000_000_000);
        assert!(["error", "warn", "info", "debug", "trace"].contains(&&*text(line, "level")));
        assert!(!text(line, "target").is_empty() && !text(line, "message").is_empty());
    }
}

#[tokio::test]
async fn watching_the_log_does_not_feed_it() {
    let house = House::builder().env("HOB_LOG_LEVEL", "trace").start();
    let mut watcher = Peer::owner(&house).await;
    watcher.subscribe(&["log.line"]).await;
    watcher.settled().await;
    // A line about delivering a line would never end.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let lines = watcher.settled().await.len();
    assert!(lines < 200, "{lines} lines in a quiet half second");
}

#[tokio::test]
async fn no_token_is_ever_logged() {
    let house = House::builder().env("HOB_LOG_LEVEL", "trace").start();
    let mut owner = Peer::owner(&house).await;
    let made = owner
        .call(
            "token.create",
            json!({ "name": "canary", "scopes": ["admin"] }),
        )
        .await;
    let canary = text(&made, "token");
    for surface in SURFACES {
        Peer::on(surface, &house, &canary).await.settled().await;
    }
    http::rpc(&house, &canary, "session.list", "{}").await;
    http::get(&house, &format!("/ws?token={canary}"), &canary).await;
    owner
        .call("token.revoke", json!({ "token": "canary" }))
        .await;
    http::rpc(&house, &canary, "session.list", "{}").await;
    let mut hits = Vec::new();
    for secret in [canary, house.token()] {
        // The part after the id is the secret one.
        let secret = secret.rsplit('_').next().unwrap_or_default().to_owned();
        for file in files_below(house.home()) {
            let bytes = std::fs::read(&file).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            if !file.ends_with("owner.token") && text.contains(&secret) {
                hits.push(file);
            }
        }
    }
    assert!(hits.is_empty(), "{hits:?}");
}

fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().expect("a file type");
        if kind.is_dir() {
            found.extend(files_below(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}

#[tokio::test]
async fn a_misspelt_key_in_the_file_is_refused_with_its_line() {
    let config = "[gateway]\nping_intervall = \"1s\"\n";
    let house = House::builder().config(config).build();
    let refused = house.hob(&["daemon", "--listen", "127.0.0.1:0"]);
    assert!(refused.code.is_some_and(|code| code != 0), "{refused:?}");
    assert!(refused.stdout.is_empty(), "{refused:?}");
    for word in ["ping_intervall", "gateway.ping_interval", "2"] {
        assert!(refused.stderr.contains(word), "{word} in {refused:?}");
    }
}
