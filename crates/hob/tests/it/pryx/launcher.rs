//! hob in place of Pryx's runtime: its variables, its port file, and `hob` without arguments.

use super::client::Client;
use crate::support::{House, HouseBuilder, wait_until};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Stdio;

fn launched() -> HouseBuilder {
    House::builder()
        .env("PRYX_LISTEN_ADDR", ":0")
        .arg("--listen=127.0.0.1:0")
}

fn port_file(house: &House) -> PathBuf {
    house.home().join(".pryx/runtime.port")
}

/// The address after the launcher's variable on stdout.
fn announced(house: &House) -> String {
    let mut lines = Vec::new();
    wait_until("the second line", || {
        lines.extend(house.stdout_lines());
        !lines.is_empty()
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    let address = lines[0].strip_prefix("PRYX_CORE_LISTEN_ADDR=");
    address.expect("its own line").to_owned()
}

#[test]
fn the_announced_listener_speaks_the_dialect() {
    let mut house = launched().start();
    let address = announced(&house);
    let port = address.strip_prefix("127.0.0.1:").expect("on loopback");
    assert_ne!(address, house.address());
    let client = Client {
        port: port.parse().expect("a port"),
    };
    assert_eq!(client.get("/health")["status"], "ok");
    client.socket("");
    assert_eq!(client.port, Client::of(&house).port);
    // A plain number, for this person alone, and gone with the daemon.
    let file = port_file(&house);
    assert_eq!(fs::read_to_string(&file).expect("it is there"), port);
    let mode = fs::metadata(&file)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    assert!(house.terminate().success());
    assert!(!file.exists());
}

#[test]
fn without_the_variable_no_file_is_written() {
    let house = House::builder().config("listen.pryx = \":0\"").start();
    Client::of(&house).get("/health");
    assert!(!port_file(&house).exists());
    assert!(house.stdout_lines().is_empty());
}

#[test]
fn the_file_is_never_written_through_a_link() {
    let mut house = launched().build();
    let outside = house.work().join("outside");
    fs::write(&outside, "mine").expect("a file");
    fs::create_dir(house.home().join(".pryx")).expect("a folder");
    symlink(&outside, port_file(&house)).expect("a link");
    house.start_daemon();
    let port = announced(&house).rsplit(':').next().map(str::to_owned);
    assert_eq!(fs::read_to_string(&outside).expect("it is there"), "mine");
    assert_eq!(fs::read_to_string(port_file(&house)).ok(), port);
    house.terminate();

    // A folder that is a link is left alone, and the daemon runs all the same.
    let elsewhere = house.work().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::remove_dir_all(house.home().join(".pryx")).expect("it is there");
    symlink(&elsewhere, house.home().join(".pryx")).expect("a link");
    house.start_daemon();
    announced(&house);
    assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 0);
}

#[test]
fn a_file_of_another_daemon_is_left_alone() {
    let mut house = launched().start();
    announced(&house);
    fs::write(port_file(&house), "1").expect("it is ours");
    house.terminate();
    assert_eq!(
        fs::read_to_string(port_file(&house)).ok().as_deref(),
        Some("1")
    );
}

#[test]
fn hob_without_arguments_is_the_daemon() {
    let house = launched().build();
    let mut command = house.command(&[]);
    let mut child = command
        .env("HOB_LISTEN_ADDRESS", "127.0.0.1:0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("hob starts");
    let lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
    let lines: Vec<String> = lines.take(2).map_while(Result::ok).collect();
    let address = lines
        .get(1)
        .and_then(|line| line.strip_prefix("PRYX_CORE_LISTEN_ADDR="));
    let port = address.and_then(|address| address.rsplit(':').next());
    let client = port
        .and_then(|port| port.parse().ok())
        .map(|port| Client { port });
    let health = client.map(|client| client.get("/health"));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert_eq!(
        health.expect("it is announced")["status"],
        "ok",
        "{lines:?}"
    );
}

#[test]
fn hob_without_arguments_and_variable_is_a_usage_error() {
    let house = House::builder().build();
    let ended = house.hob(&[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[test]
fn another_database_is_refused_by_name() {
    let house = launched().env("PRYX_DB_PATH", "/tmp/pryx.db").build();
    let ended = house.hob(&["daemon"]);
    assert_ne!(ended.code, Some(0));
    for word in ["PRYX_DB_PATH", "HOB_HOME"] {
        assert!(ended.stderr.contains(word), "{ended:?}");
    }
    assert!(!house.home().join("hob.db").exists());
    // Without the launcher it is a stranger's variable.
    let house = House::builder().env("PRYX_DB_PATH", "/tmp/pryx.db").start();
    assert!(!house.address().is_empty());
}

#[test]
fn an_address_that_others_reach_is_refused() {
    for address in ["0.0.0.0:0", "[::]:0", ":99999", "8080"] {
        let house = House::builder().env("PRYX_LISTEN_ADDR", address).build();
        let ended = house.hob(&["daemon", "--listen", "127.0.0.1:0"]);
        assert_ne!(ended.code, Some(0), "{address}");
        assert!(ended.stderr.contains("PRYX_LISTEN_ADDR"), "{ended:?}");
    }
}
