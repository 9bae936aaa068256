//! The daemon as a process: what it prints, what it leaves, how it starts and ends.

use super::wire::{Peer, SURFACES, number, text};
use crate::support::House;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[tokio::test]
async fn the_first_line_says_where_it_listens_and_nothing_follows() {
    let house = House::start();
    let address = house.address().to_owned();
    let port = address.strip_prefix("127.0.0.1:").expect("loopback");
    assert!(port.parse::<u16>().is_ok_and(|port| port != 0), "{address}");
    // What it promises exists by then.
    let state = house.state();
    assert_eq!(state["host"], "127.0.0.1");
    assert_eq!(state["port"].to_string(), port);
    assert_eq!(state["pid"], house.pid());
    assert!(number(&state, "startedAt") > 1_600_000_000_000);
    assert_eq!(state["protocol"], 1);
    assert!(!text(&state, "version").is_empty());
    assert_eq!(house.socket(), house.home().join("run/hob.sock"));
    let token = house.token();
    assert!(token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_hexdigit()));
    for surface in SURFACES {
        Peer::on(surface, &house, &token).await.settled().await;
    }
    assert_eq!(house.stdout_lines(), Vec::<String>::new());
}

#[tokio::test]
async fn everything_under_the_home_is_private() {
    let house = House::start();
    let mut owner = Peer::owner(&house).await;
    owner
        .call("session.create", json!({ "sessionKey": "chat:private" }))
        .await;
    let mut folders = vec![house.home().to_path_buf()];
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let entry = entry.expect("an entry");
            // The test's own file is not the daemon's.
            if entry.file_name() == "test-stderr.txt" {
                continue;
            }
            let mode = entry.metadata().expect("metadata").permissions().mode();
            assert_eq!(mode & 0o077, 0, "{:?} is {mode:o}", entry.path());
            looked_at += 1;
            if entry.file_type().expect("a file type").is_dir() {
                folders.push(entry.path());
            }
        }
    }
    assert!(looked_at >= 5, "{looked_at}");
}

#[tokio::test]
async fn a_second_daemon_is_refused_and_names_the_first() {
    let house = House::start();
    let pid = house.pid().to_string();
    let second = house.hob(&["daemon", "--listen", "127.0.0.1:0"]);
    assert!(second.code.is_some_and(|code| code != 0), "{second:?}");
    assert!(second.stderr.contains(&pid), "{second:?}");
    assert!(second.stdout.is_empty(), "{second:?}");
    Peer::owner(&house).await.settled().await;
    assert_eq!(
        house.state()["pid"],
        house.pid(),
        "the first one's state stands"
    );
}

#[tokio::test]
async fn each_start_is_a_new_epoch() {
    let mut house = House::start();
    let mut owner = Peer::owner(&house).await;
    let first = owner.call("daemon.status", json!({})).await;
    assert_eq!(first["pid"], house.pid());
    assert_eq!(first["store"]["state"], "ready");
    let token = house.token();
    house.kill();
    house.start_daemon();
    let mut owner = Peer::owner(&house).await;
    let second = owner.call("daemon.status", json!({})).await;
    assert!(number(&second, "epoch") > number(&first, "epoch"));
    assert_eq!(house.token(), token, "the owner's token stays");
}

#[tokio::test]
async fn a_taken_port_is_an_error_only_if_asked_for() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let house = House::builder().build();
    let refused = house.hob(&["daemon", "--listen", &address]);
    assert!(refused.code.is_some_and(|code| code != 0), "{refused:?}");
    assert!(refused.stderr.contains(&address), "{refused:?}");
    // Unasked, two homes never quarrel over the usual port.
    let houses = [House::builder().build(), House::builder().build()];
    let mut children = Vec::new();
    for house in &houses {
        let child = house.command(&["daemon"]).stdout(Stdio::null()).spawn();
        children.push(child.expect("it starts"));
    }
    let mut ports = Vec::new();
    for house in &houses {
        let state = house.home().join("run/daemon.json");
        crate::support::wait_until("a state file", || state.exists());
        ports.push(number(&house.state(), "port"));
    }
    for mut child in children {
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
    assert_ne!(ports[0], ports[1]);
}

#[tokio::test]
async fn only_loopback_is_bound() {
    let house = House::builder().build();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = house.hob(&["daemon", "--listen", address]);
        assert!(
            refused.code.is_some_and(|code| code != 0),
            "{address}: {refused:?}"
        );
        assert!(
            refused.stderr.contains("ssh -L"),
            "it says what to do instead: {refused:?}"
        );
    }
}

#[tokio::test]
async fn sigterm_ends_it_in_time_with_peers_connected_and_work_under_way() {
    let mut house = House::start();
    let mut peers = Vec::new();
    for n in 0..20 {
        let mut peer = Peer::on(SURFACES[n % 2], &house, &house.token()).await;
        peer.subscribe(&["*"]).await;
        peers.push(peer);
    }
    let mut service = Peer::owner(&house).await;
    service.register("mute", &["mute.ask"]).await;
    let mut writer = Peer::owner(&house).await;
    writer
        .call("session.create", json!({ "sessionKey": "chat:last" }))
        .await;
    writer.post("mute.ask", json!({})).await;
    let mut sent = Vec::new();
    for n in 0..200 {
        let params = json!({ "sessionKey": "chat:last", "content": n.to_string() });
        sent.push(writer.post("session.send", params).await);
    }
    house.signal_terminate();
    let started = Instant::now();
    let (frames, _) = writer.until_closed().await;
    let status = house.wait_exit(Duration::from_secs(10).saturating_sub(started.elapsed()));
    assert!(status.success(), "{status}");
    for peer in &mut peers {
        peer.until_closed().await;
    }
    // Whatever was acknowledged before the end is there after it.
    let acknowledged = frames
        .iter()
        .filter(|frame| frame["type"] == "res" && frame["payload"]["messageId"].is_string())
        .count() as u64;
    house.start_daemon();
    let mut owner = Peer::owner(&house).await;
    let session = owner
        .call("session.get", json!({ "sessionKey": "chat:last" }))
        .await;
    assert!(
        number(&session, "messages") >= acknowledged,
        "{session} after {acknowledged}"
    );
}

#[tokio::test]
async fn a_stale_socket_and_state_do_not_stop_the_next_start() {
    let mut house = House::start();
    house.kill();
    assert!(house.home().join("run/daemon.json").exists());
    house.start_daemon();
    assert_eq!(house.state()["pid"], house.pid());
    for surface in SURFACES {
        Peer::on(surface, &house, &house.token())
            .await
            .settled()
            .await;
    }
}

#[tokio::test]
async fn a_home_with_a_long_path_gets_a_short_socket() {
    let house = House::builder().build();
    let long = house.home().join("d".repeat(120));
    std::fs::create_dir(&long).expect("a folder");
    let mut child = house
        .command(&["daemon", "--listen", "127.0.0.1:0"])
        .env("HOB_HOME", &long)
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let state_file = long.join("run/daemon.json");
    crate::support::wait_until("the state file", || state_file.exists());
    let state: Value = serde_json::from_str(&std::fs::read_to_string(&state_file).expect("state"))
        .expect("the state file appears whole");
    let socket = text(&state, "socket");
    assert!(socket.len() <= 107, "{socket}");
    let mode = std::fs::metadata(&socket)
        .expect("the socket exists")
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    let _ = std::fs::remove_file(socket);
}
