//! Services that need each other.

use super::*;

#[tokio::test]
async fn what_is_needed_is_ready_before_and_stops_after() {
    let mut house = house();
    let tale_at = tale_file(&house);
    let env = |delay: &str| {
        format!(
            "env = {{ TALE = \"{}\", DELAY = \"{delay}\" }}\n",
            tale_at.display()
        )
    };
    server(&house, "base", &env("1"));
    server(
        &house,
        "middle",
        &format!("needs = [\"base\"]\n{}", env("0.3")),
    );
    server(
        &house,
        "top",
        &format!("needs = [\"middle\", \"base\"]\n{}", env("0")),
    );
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    assert_eq!(start(&mut peer, "top").await["state"], "running");
    let begun = [
        "base begins",
        "base is ready",
        "middle begins",
        "middle is ready",
        "top begins",
        "top is ready",
    ];
    assert_eq!(tale(&tale_at), begun);
    assert_eq!(stop(&mut peer, "base").await["state"], "stopped");
    for name in ["middle", "top"] {
        assert_eq!(status(&mut peer, name).await["state"], "stopped");
    }
    assert_eq!(
        tale(&tale_at)[begun.len()..],
        ["top ends", "middle ends", "base ends"]
    );
    // The daemon's own end goes the same way.
    std::fs::remove_file(&tale_at).expect("it was written");
    start(&mut peer, "top").await;
    assert!(house.terminate().success());
    assert_eq!(
        tale(&tale_at)[begun.len()..],
        ["top ends", "middle ends", "base ends"]
    );
}

#[tokio::test]
async fn circles_and_unknown_needs_are_refused_by_name() {
    let mut house = house();
    server(&house, "one", "needs = [\"two\"]");
    server(&house, "two", "needs = [\"one\"]");
    server(&house, "three", "needs = [\"nobody\"]");
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    let message = peer
        .refused("CONFLICT", "service.start", json!({ "name": "one" }))
        .await;
    assert!(message.contains("one → two → one"), "{message}");
    let message = peer
        .refused("CONFLICT", "service.start", json!({ "name": "three" }))
        .await;
    assert!(message.contains("'three' needs 'nobody'"), "{message}");
    assert_eq!(status(&mut peer, "one").await["state"], "stopped");
}

#[tokio::test]
async fn one_whose_need_fails_fails_and_names_it() {
    let mut house = house();
    describe(
        &house,
        "base",
        "command = [\"sh\", \"-c\", \"echo no disk; exit 3\"]\nkind = \"http\"\nport = 0\nhealth = \"/\"\nrestart = \"never\"\n",
    );
    server(&house, "top", "needs = [\"base\"]");
    house.start_daemon();
    let mut peer = Peer::owner(&house).await;
    let failed = start(&mut peer, "top").await;
    assert_eq!(failed["state"], "failed", "{failed}");
    let detail = failed["detail"].as_str().expect("a reason");
    assert!(
        detail.contains("'top' needs 'base'") && detail.contains("no disk"),
        "{detail}"
    );
}
