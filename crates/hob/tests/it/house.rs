//! The daemon's start and end as its home sees them.

use crate::conformance::wire::Peer;
use crate::support::House;
use serde_json::json;
use std::time::{Duration, Instant};

#[tokio::test]
async fn an_orderly_end_leaves_nothing_that_says_it_runs() {
    let mut house = House::start();
    let socket = house.socket();
    assert!(socket.exists());
    assert!(house.terminate().success());
    assert!(!house.home().join("run/daemon.json").exists());
    assert!(!socket.exists());
    let log = std::fs::read_to_string(house.home().join("logs/hob.log")).expect("it logs");
    assert!(log.contains("stopping on SIGTERM"), "{log}");
    house.start_daemon();
    Peer::owner(&house).await.settled().await;
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let mut house = House::start();
    let mut service = Peer::owner(&house).await;
    service.register("mute", &["mute.ask"]).await;
    let mut caller = Peer::owner(&house).await;
    caller.post("mute.ask", json!({})).await;
    // It arrives and stays unanswered: draining has something to wait for.
    service.request().await;
    house.signal_terminate();
    let log = house.home().join("logs/hob.log");
    crate::support::wait_until("the first signal", || {
        std::fs::read_to_string(&log).is_ok_and(|log| log.contains("stopping on"))
    });
    let begun = Instant::now();
    house.signal_terminate();
    let status = house.wait_exit(Duration::from_secs(5));
    assert!(!status.success(), "{status}");
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(!house.home().join("run/daemon.json").exists());
}

#[tokio::test]
async fn a_lost_database_is_never_a_fresh_start() {
    let mut house = House::start();
    assert!(house.terminate().success());
    for name in ["hob.db", "hob.db-wal", "hob.db-shm", "hob.db.mark"] {
        let _ = std::fs::remove_file(house.home().join(name));
    }
    let refused = house.hob(&["daemon", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stdout.is_empty(), "{refused:?}");
    assert!(refused.stderr.contains("hob.db"), "{refused:?}");
    assert!(!house.home().join("hob.db").exists());
}

#[tokio::test]
async fn the_first_start_writes_a_commented_config_and_later_ones_leave_it() {
    let mut house = House::start();
    let file = house.home().join("config.toml");
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert_eq!(text, hob::settings::catalog().default_text());
    assert!(house.terminate().success());
    let mine = "# mine alone\n";
    std::fs::write(&file, mine).expect("it is writable");
    house.start_daemon();
    assert_eq!(std::fs::read_to_string(&file).expect("it stays"), mine);
}

#[tokio::test]
async fn a_wrong_config_is_refused_with_its_line_before_anything_is_made() {
    let house = House::builder()
        .config("[log]\nlevel = \"info\"\nlevle = \"debug\"\n")
        .build();
    let refused = house.hob(&["daemon", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("line 3"), "{refused:?}");
    assert!(
        refused.stderr.contains("did you mean 'log.level'?"),
        "{refused:?}"
    );
    assert!(!house.home().join("hob.db").exists());

    let house = House::builder().env("HOB_LOG_LEVEL", "loud").build();
    let refused = house.hob(&["daemon", "--listen", "127.0.0.1:0"]);
    assert!(refused.stderr.contains("HOB_LOG_LEVEL"), "{refused:?}");
}

#[tokio::test]
async fn a_start_that_fails_late_leaves_the_home_usable() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let mut house = House::builder().build();
    let refused = house.hob(&["daemon", "--listen", &address]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(!house.home().join("run/daemon.json").exists());
    house.start_daemon();
    Peer::owner(&house).await.settled().await;
}
