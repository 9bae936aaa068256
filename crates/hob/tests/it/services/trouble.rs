//! Services that do not behave.

use super::*;

#[tokio::test]
async fn one_that_ends_again_and_again_is_given_up_with_its_reason() {
    let mut house = house();
    describe(
        &house,
        "weak",
        "command = [\"sh\", \"-c\", \"echo out of coffee >&2; exit 7\"]\nintensity = { restarts = 2 }\n",
    );
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    start(&mut peer, "weak").await;
    let failed = until_state(&mut peer, "weak", "failed", Duration::from_secs(30)).await;
    assert_eq!(
        (&failed["lastExit"], &failed["restarts"]),
        (&json!(7), &json!(2)),
        "{failed}"
    );
    let detail = failed["detail"].as_str().expect("a reason");
    for part in [
        "exit code 7",
        "out of coffee",
        "gave up after 2 restarts",
        "hob service start weak",
    ] {
        assert!(detail.contains(part), "{detail}");
    }
    // A person's start begins anew.
    let again = start(&mut peer, "weak").await;
    assert!(again["restarts"].as_u64() < Some(2), "{again}");
    let stopped = stop(&mut peer, "weak").await;
    assert_eq!(stopped["state"], "stopped");
}

#[tokio::test]
async fn one_that_ignores_the_signal_is_killed_with_all_it_started() {
    let mut house = house();
    server(
        &house,
        "deaf",
        "stop_seconds = 0.5\nenv = { STUBBORN = \"1\" }",
    );
    let word = format!("mark-{}", std::process::id());
    // It starts another that leaves its session and its parent.
    let hidden = format!(
        "(setsid sh -c 'trap \\\"\\\" TERM; while :; do sleep 1; done # {word}' &) ; exec sleep 1000"
    );
    describe(
        &house,
        "fork",
        &format!("command = [\"sh\", \"-c\", \"{hidden}\"]\nstop_seconds = 0.5\n"),
    );
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    let deaf = start(&mut peer, "deaf").await;
    let stopped = stop(&mut peer, "deaf").await;
    assert_eq!(stopped["lastExit"], "SIGKILL", "{stopped}");
    assert!(!lives(pid(&deaf)));
    start(&mut peer, "fork").await;
    wait_until("the hidden one", || !marked(&word).is_empty());
    stop(&mut peer, "fork").await;
    assert_eq!(marked(&word), Vec::<u64>::new());
}

#[tokio::test]
async fn nothing_outlives_a_killed_daemon() {
    let mut house = house();
    server(
        &house,
        "page",
        "stop_seconds = 0.5\nenv = { STUBBORN = \"1\" }",
    );
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    let running = start(&mut peer, "page").await;
    house.kill();
    gone(pid(&running));
    assert!(!asks(&running["port"]));
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    assert_eq!(status(&mut peer, "page").await["state"], "stopped");
    assert_eq!(start(&mut peer, "page").await["state"], "running");
}

#[tokio::test]
async fn one_that_is_not_ready_in_time_is_killed_and_says_so() {
    let mut house = house();
    server(
        &house,
        "slow",
        "ready_seconds = 1\nrestart = \"never\"\nenv = { DELAY = \"600\" }",
    );
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    let params = json!({ "name": "slow" });
    let starting = peer.call("service.start", params).await;
    assert_eq!(starting["state"], "starting", "{starting}");
    let failed = until_state(&mut peer, "slow", "failed", Duration::from_secs(20)).await;
    let detail = failed["detail"].as_str().expect("a reason");
    assert!(detail.contains("not ready within 1s"), "{detail}");
}

#[tokio::test]
async fn a_program_that_is_not_there_and_a_port_that_is_taken_are_said() {
    let mut house = house();
    describe(&house, "ghost", "command = [\"no-such-program-here\"]\n");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    server(
        &house,
        "crowded",
        &format!("port = {port}\nrestart = \"never\""),
    );
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    let failed = start(&mut peer, "ghost").await;
    assert_eq!(failed["state"], "failed", "{failed}");
    assert!(
        failed["detail"]
            .to_string()
            .contains("no-such-program-here"),
        "{failed}"
    );
    let failed = start(&mut peer, "crowded").await;
    assert_eq!(failed["state"], "failed", "{failed}");
    assert!(
        failed["detail"]
            .to_string()
            .contains(&format!("Port {port} is taken")),
        "{failed}"
    );
}

#[tokio::test]
async fn a_stop_during_a_start_wins() {
    let mut house = house();
    server(&house, "slow", "env = { DELAY = \"600\" }");
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    let params = json!({ "name": "slow" });
    peer.call("service.start", params).await;
    wait_for_pid(&mut peer, "slow").await;
    let stopped = stop(&mut peer, "slow").await;
    assert_eq!(stopped["state"], "stopped", "{stopped}");
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(status(&mut peer, "slow").await["state"], "stopped");
}

async fn wait_for_pid(peer: &mut Peer, name: &str) -> u64 {
    let begun = Instant::now();
    loop {
        let found = status(peer, name).await;
        if let Some(pid) = found["pid"].as_u64() {
            return pid;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{found}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn one_that_ends_at_once_is_not_reported_as_running() {
    let mut house = house();
    let script = |name: &str, line: &str| {
        let text = format!("command = [\"sh\", \"-c\", \"{line}\"]\nrestart = \"never\"\n");
        describe(&house, name, &text);
    };
    script("keyless", "echo no key >&2; exit 3");
    script("brief", "exit 0");
    script("steady", "exec sleep 1000");
    house.start_daemon();
    let failed = house.hob(&["service", "start", "keyless"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    for part in ["keyless did not start", "exit code 3", "no key"] {
        assert!(failed.stderr.contains(part), "{failed:?}");
    }
    let ended = house.hob(&["service", "start", "brief"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("brief ended at once"), "{ended:?}");
    assert!(ended.stderr.contains("exit code 0"), "{ended:?}");
    let runs = house.hob(&["service", "start", "steady"]).success();
    assert!(runs.contains("steady runs"), "{runs}");
}

#[test]
fn a_broken_file_is_named_with_its_line() {
    let mut house = house();
    describe(&house, "torn", "command = [\"true\"]\nport = \"many\"\n");
    describe(&house, "noise", "command = [\n");
    // A file in the place of one that ships.
    describe(&house, "llm", "comand = [\"true\"]\n");
    house.start_daemon();
    for (name, line) in [
        ("torn", "torn.toml, line 2"),
        ("noise", "noise.toml, line"),
        ("llm", "llm.toml, line 1"),
    ] {
        for verb in ["start", "restart"] {
            let failed = house.hob(&["service", verb, name]);
            assert_eq!(failed.code, Some(1), "{name}: {failed:?}");
            let said = failed.stderr.replace('\n', " ");
            assert!(said.contains(line), "{name}: {failed:?}");
            assert!(!said.contains("No service is called"), "{name}: {failed:?}");
        }
    }
    let list = house.hob(&["service", "list"]).success();
    for name in ["torn", "noise", "llm"] {
        let row = list
            .lines()
            .find(|row| row.starts_with(name))
            .expect("a row");
        assert!(row.contains("broken"), "{list}");
    }
    assert!(list.contains("torn.toml, line 2"), "{list}");
}
