//! Fault 38: clients and daemons of different ages meet.

use crate::faults::http;
use crate::faults::peer::Peer;
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use crate::faults::websocket::Socket;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};

#[test]
fn f38_version_skew() {
    let trial = Trial::begin(38);
    let mut rig = Rig::new();
    rig.start();
    let mut cases = 0;
    cases += subprotocols(&rig);
    cases += first_line(&rig);
    cases += words_from_the_future(&rig);
    cases += our_client_meets_another_daemon(&mut rig);
    trial.figure("cases", cases);
    trial.figure("silent_misreads", 0);
}

/// A browser's way to say the version.
fn subprotocols(rig: &Rig) -> usize {
    let token = format!("hob.token.{}", rig.token());
    let open = |offered: &str| {
        let line = format!("Sec-WebSocket-Protocol: {offered}");
        Socket::open_with_head(rig.port(), &[&line]).expect("an answer")
    };
    for unknown in ["hob.v99", "hob.v0", "hob.v2", "hob.v"] {
        let refused = open(&format!("{unknown}, {token}"));
        let reply = refused
            .err()
            .unwrap_or_else(|| panic!("{unknown} was taken"));
        assert_eq!(reply.status, 400, "{unknown}: {reply:?}");
        assert!(
            reply.body.contains("hob.v1"),
            "it says what is spoken: {reply:?}"
        );
    }
    for known in [
        format!("hob.v1, {token}"),
        format!("hob.v99, hob.v1, {token}"),
    ] {
        let (_, head) = open(&known).unwrap_or_else(|reply| panic!("{known}: {reply:?}"));
        assert_eq!(
            http::header(&head, "sec-websocket-protocol"),
            Some("hob.v1"),
            "{head}"
        );
    }
    6
}

/// The socket's way to say the version.
fn first_line(rig: &Rig) -> usize {
    for unknown in [0, 2, 99] {
        let mut peer = Peer::open(rig.socket()).expect("the socket");
        let error = peer.refused(
            "gateway.auth",
            &json!({ "token": rig.token(), "protocol": unknown }),
        );
        let said = error["message"].as_str().unwrap_or_default();
        assert!(
            said.contains('1'),
            "it names the version it speaks: {error}"
        );
        assert!(
            !matches!(peer.call("session.list", &json!({})), Ok(Ok(_))),
            "nothing follows a refusal"
        );
    }
    for known in [
        json!({ "token": rig.token() }),
        json!({ "token": rig.token(), "protocol": 1 }),
    ] {
        let mut peer = Peer::open(rig.socket()).expect("the socket");
        assert_eq!(peer.must("gateway.auth", &known)["protocol"], 1);
    }
    5
}

/// What a newer client says and this daemon does not know.
fn words_from_the_future(rig: &Rig) -> usize {
    let mut peer = rig.peer();
    let error = peer.refused(
        "session.create",
        &json!({ "sessionKey": "a", "colour": "red" }),
    );
    assert_eq!(error["code"], "INVALID_PARAMS", "{error}");
    assert!(
        error["message"]
            .as_str()
            .unwrap_or_default()
            .contains("colour"),
        "it names the field: {error}"
    );
    assert_eq!(
        peer.refused("session.get", &json!({ "sessionKey": "a" }))["code"],
        "NOT_FOUND"
    );
    assert_eq!(
        peer.refused("session.dream", &json!({}))["code"],
        "NO_HANDLER"
    );

    // A field of the envelope that is not known is not needed: it is passed over.
    peer.write(b"{\"type\":\"req\",\"id\":\"n\",\"target\":\"\",\"method\":\"session.list\",\"params\":{},\"deadline\":5,\"extra\":{\"a\":[1]}}\n").expect("a line");
    let frame = peer.frame().expect("an answer");
    assert_eq!(
        (&frame["id"], &frame["ok"]),
        (&json!("n"), &json!(true)),
        "{frame}"
    );

    peer.write(b"{\"type\":\"stream\",\"id\":\"s\",\"method\":\"session.list\"}\n")
        .expect("a line");
    let frame = peer.frame().expect("an answer");
    assert_eq!(
        frame["error"]["code"], "PARSE_ERROR",
        "an unknown kind of frame: {frame}"
    );

    let bearer = format!("Authorization: Bearer {}", rig.token());
    let reply = http::post(
        rig.port(),
        "/api/rpc/session.create",
        &[&bearer, "Content-Type: application/json"],
        r#"{"colour":"red"}"#,
    );
    let reply = reply.expect("an answer");
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (400, &json!("INVALID_PARAMS")),
        "{reply:?}"
    );
    6
}

/// The other way round: this client finds a daemon of another version, by its state file and, when
/// that says nothing, by its first answer.
fn our_client_meets_another_daemon(rig: &mut Rig) -> usize {
    let refuses = |rig: &Rig| {
        let ended = rig.hob(&["session", "list"]);
        assert!(!ended.status.success(), "it did not notice");
        assert!(
            ended.stderr.contains("99"),
            "it names the version: {}",
            ended.stderr
        );
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    };
    let mut state = rig.state();
    let path = rig.home().join("run/daemon.json");
    state["protocol"] = json!(99);
    std::fs::write(&path, state.to_string()).expect("the state file");
    refuses(rig);

    // The lock stays with the daemon, so that somebody is at home.
    state["protocol"] = json!(1);
    let socket = rig.scratch().join("other.sock");
    state["socket"] = json!(socket);
    std::fs::write(&path, state.to_string()).expect("the state file");
    let listener = UnixListener::bind(&socket).expect("a socket");
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let _ = welcome_in_another_version(stream);
        }
    });
    refuses(rig);
    2
}

fn welcome_in_another_version(mut stream: UnixStream) -> std::io::Result<()> {
    let mut line = String::new();
    BufReader::new(stream.try_clone()?).read_line(&mut line)?;
    let id = serde_json::from_str::<Value>(&line)?["id"].take();
    let payload = json!({ "name": "owner", "scopes": ["admin"], "protocol": 99 });
    let answer = json!({ "type": "res", "id": id, "ok": true, "payload": payload });
    writeln!(stream, "{answer}")
}
