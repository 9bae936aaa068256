//! An ordinary life: described, started, asked, restarted, stopped.

use super::*;

#[tokio::test]
async fn a_service_is_described_started_read_restarted_and_stopped() {
    let mut house = house();
    server(&house, "page", "about = \"A page\"\naliases = [\"leaf\"]");
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    let rests = status(&mut peer, "leaf").await;
    let expected = json!({
        "name": "page", "state": "stopped", "pid": null, "port": null, "detail": null,
        "lastExit": null, "restarts": 0,
    });
    assert_eq!(rests, expected);
    peer.subscribe(&["service.status", "service.log"]).await;
    let first = start(&mut peer, "page").await;
    assert_eq!(first["state"], "running", "{first}");
    assert!(lives(pid(&first)) && asks(&first["port"]), "{first}");
    for state in ["starting", "running"] {
        let event = peer.event_of("service.status").await;
        assert_eq!(event["payload"]["state"], state, "{event}");
    }
    let line = peer.event_of("service.log").await;
    assert_eq!(line["payload"]["name"], "page");
    let params = json!({ "name": "page", "lines": 5 });
    let logs = peer.call("service.logs", params).await;
    let text = logs["lines"][0]["text"].as_str().expect("a line");
    assert!(text.starts_with("serving on"), "{logs}");
    let file = logs["file"].as_str().expect("a file");
    assert!(file.ends_with("logs/services/page.log"), "{logs}");
    wait_until("the line in the file", || {
        std::fs::read_to_string(file).is_ok_and(|text| text.contains("serving on"))
    });
    // One that runs stays as it is.
    let same = start(&mut peer, "page").await;
    assert_eq!(pid(&same), pid(&first));
    let params = json!({ "name": "page", "wait": true });
    let second = peer.call("service.restart", params).await;
    assert_eq!(second["state"], "running", "{second}");
    assert!(!lives(pid(&first)) && lives(pid(&second)), "{second}");
    let stopped = stop(&mut peer, "page").await;
    assert_eq!(
        (&stopped["state"], &stopped["pid"]),
        (&json!("stopped"), &Value::Null)
    );
    assert_eq!(stopped["lastExit"], 0);
    assert!(!lives(pid(&second)));
    let reached = peer.call("service.reach", json!({ "name": "page" })).await;
    let url = reached["url"].as_str().expect("an address");
    assert!(url.starts_with("http://127.0.0.1:"), "{reached}");
}

#[tokio::test]
async fn a_file_is_read_while_the_daemon_runs_and_a_wrong_one_breaks_nothing() {
    let mut house = house();
    server(&house, "good", "");
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    describe(&house, "wrong", "command = [\"true\"]\nhealthy = \"/x\"\n");
    describe(&house, "broken", "command = [");
    server(&house, "late", "");
    let list = peer.call("service.list", json!({})).await;
    let names: Vec<&str> = list["services"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert!(
        names.contains(&"good") && names.contains(&"late"),
        "{names:?}"
    );
    assert!(!names.contains(&"wrong"), "{names:?}");
    let problems = list["problems"].to_string();
    assert!(
        problems.contains("wrong.toml, line 2: there is no key 'healthy'"),
        "{problems}"
    );
    assert!(
        problems.contains("broken.toml, line 1: this is not TOML"),
        "{problems}"
    );
    let message = peer
        .refused("NOT_FOUND", "service.start", json!({ "name": "ghost" }))
        .await;
    let listed = ["good", "late"].iter().all(|name| message.contains(name));
    assert!(listed, "{message}");
    assert_eq!(start(&mut peer, "late").await["state"], "running");
    // A file that goes while its service runs takes the service from the list when it stops.
    std::fs::remove_file(house.home().join("services/late.toml")).expect("it was there");
    assert_eq!(status(&mut peer, "late").await["state"], "running");
    assert_eq!(stop(&mut peer, "late").await["state"], "stopped");
}

#[tokio::test]
async fn a_healthy_instance_on_the_port_is_used_and_never_killed() {
    let mut house = house();
    let probe = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = probe.local_addr().expect("an address").port();
    drop(probe);
    server(&house, "theirs", &format!("port = {port}"));
    let script = house.work().join("server.py");
    #[expect(clippy::disallowed_methods, reason = "somebody else's server")]
    let mut theirs = std::process::Command::new("python3")
        .arg(script)
        .args(["other", &port.to_string()])
        .spawn()
        .expect("python3 runs");
    let port = json!(port);
    wait_until("their server", || asks(&port));
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    let found = start(&mut peer, "theirs").await;
    assert_eq!(
        (&found["state"], &found["pid"]),
        (&json!("running"), &Value::Null),
        "{found}"
    );
    assert_eq!(found["port"], port);
    let detail = found["detail"].as_str().expect("it says so");
    assert!(detail.contains("already running"), "{detail}");
    let list = peer.call("service.list", json!({})).await;
    let row = list["services"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|it| it["name"] == "theirs")
        .cloned()
        .expect("it is listed");
    assert_eq!(row["adopted"], true);
    assert_eq!(stop(&mut peer, "theirs").await["state"], "stopped");
    assert!(asks(&port), "theirs was stopped");
    start(&mut peer, "theirs").await;
    assert!(house.terminate().success());
    assert!(asks(&port), "theirs was stopped with the daemon");
    theirs.kill().expect("it is ours to end");
    theirs.wait().expect("it ends");
}

#[tokio::test]
async fn it_starts_with_the_daemon_in_its_own_folder_with_few_variables() {
    let house = House::builder()
        .config("[llm]\nservers = []\n[services.second]\nautostart = true\n")
        .env("SOME_TOKEN", "secret-of-hob")
        .build();
    let mut house = house;
    std::fs::create_dir_all(house.home().join("services")).expect("a folder");
    let script = "env; pwd; echo home={home}; exec sleep 1000";
    let text = |more: &str| {
        format!(
            "command = [\"sh\", \"-c\", \"{script}\"]\nport = 0\nenv = {{ MINE = \"{{dir}}:{{port}}\" }}\n{more}"
        )
    };
    describe(&house, "first", &text("autostart = true\n"));
    describe(&house, "second", &text(""));
    describe(&house, "third", &text(""));
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    let within = Duration::from_secs(20);
    let first = until_state(&mut peer, "first", "running", within).await;
    until_state(&mut peer, "second", "running", within).await;
    assert_eq!(status(&mut peer, "third").await["state"], "stopped");
    let folder = house.home().join("services/first");
    let folder = folder.canonicalize().expect("it was made");
    let begun = Instant::now();
    let text = loop {
        let logs = peer.call("service.logs", json!({ "name": "first" })).await;
        let lines = logs["lines"].as_array().expect("lines").clone();
        let text: Vec<&str> = lines.iter().filter_map(|it| it["text"].as_str()).collect();
        let text = text.join("\n");
        if text.contains("home=") {
            break text;
        }
        assert!(begun.elapsed() < within, "{text}");
    };
    let port = &first["port"];
    assert!(text.contains(&format!("PORT={port}")), "{text}");
    assert!(text.contains(&format!("services/first:{port}")), "{text}");
    assert!(
        text.contains(&format!("\n{}\n", folder.display())),
        "{text}"
    );
    assert!(
        !text.contains("secret-of-hob") && !text.contains("HOB_"),
        "{text}"
    );
}

#[tokio::test]
async fn one_that_is_not_used_leaves_and_comes_back_when_it_is_needed() {
    let mut house = house();
    server(&house, "shy", "idle_seconds = 1");
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    let reach = json!({ "name": "shy" });
    peer.call("service.reach", reach.clone()).await;
    let left = until_state(&mut peer, "shy", "stopped", Duration::from_secs(20)).await;
    let detail = left["detail"].as_str().expect("a reason");
    assert!(
        detail.contains("starts again when it is needed"),
        "{detail}"
    );
    peer.call("service.reach", reach).await;
    assert_eq!(status(&mut peer, "shy").await["restarts"], 0);
}
