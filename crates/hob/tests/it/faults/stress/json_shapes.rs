//! Fault 32: JSON that is deep, huge, doubled or not text at all.

use crate::faults::peer::Peer;
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use crate::faults::websocket::{BINARY, Heard, Socket, TEXT};
use serde_json::{Value, json};

/// A hostile frame and the codes that are a right answer to it.
struct Hostile {
    name: &'static str,
    frame: Vec<u8>,
    codes: &'static [&'static str],
}

#[test]
fn f32_hostile_json() {
    let trial = Trial::begin(32);
    let mut rig = Rig::new();
    rig.start();
    let shapes = shapes();
    for shape in &shapes {
        let mut peer = rig.peer();
        peer.write(&shape.frame).expect("a line");
        peer.write(b"\n").expect("a line's end");
        check(shape, &peer.frame().unwrap_or(Value::Null), "unix");
        still_answers(shape, &mut peer);

        let mut socket = Socket::authenticated(rig.port(), &rig.token());
        socket
            .send_frame(true, TEXT, &shape.frame)
            .expect("a message");
        if std::str::from_utf8(&shape.frame).is_ok() {
            check(shape, &socket.frame().unwrap_or(Value::Null), "ws");
        } else {
            // The WebSocket protocol itself forbids a text that is none.
            assert!(
                matches!(socket.hear(), Ok(Heard::Close(_)) | Err(_)),
                "{}",
                shape.name
            );
        }
        assert!(rig.lives(), "{}: the daemon lives", shape.name);
    }
    binary_is_refused(&rig);
    trial.figure("shapes", shapes.len() + 1);
    trial.figure("crashes", u8::from(!rig.lives()));
    rig.stop();
}

fn check(shape: &Hostile, frame: &Value, surface: &str) {
    let code = frame["error"]["code"].as_str().unwrap_or("none");
    let shown: String = frame.to_string().chars().take(300).collect();
    assert!(
        shape.codes.contains(&code),
        "{} over {surface}: {shown}",
        shape.name
    );
}

fn still_answers(shape: &Hostile, peer: &mut Peer) {
    let answer = peer.call("daemon.status", &json!({}));
    assert!(
        matches!(answer, Ok(Ok(_))),
        "{}: the connection stays",
        shape.name
    );
}

fn binary_is_refused(rig: &Rig) {
    let mut socket = Socket::authenticated(rig.port(), &rig.token());
    socket
        .send_frame(
            true,
            BINARY,
            br#"{"type":"req","id":"b","method":"session.list"}"#,
        )
        .expect("a message");
    let frame = socket.frame().expect("a binary message is answered");
    assert_eq!(frame["error"]["code"], "PARSE_ERROR", "{frame}");
}

fn shapes() -> Vec<Hostile> {
    let parse: &[&str] = &["PARSE_ERROR"];
    let either: &[&str] = &["PARSE_ERROR", "INVALID_PARAMS"];
    let call = |params: &str| {
        format!(
            r#"{{"type":"req","id":"h","target":"","method":"session.create","params":{params}}}"#
        )
        .into_bytes()
    };
    let metadata = |value: &str| {
        call(&format!(
            r#"{{"sessionKey":"h","metadata":{{"m":{value}}}}}"#
        ))
    };
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let shape = |name, frame, codes| Hostile { name, frame, codes };
    vec![
        shape("100,000 open brackets", "[".repeat(100_000).into_bytes(), parse),
        shape("100,000 open braces", r#"{"a":"#.repeat(100_000).into_bytes(), parse),
        shape("a million brackets in params", metadata(&nested(1_000_000)), parse),
        // The frame, params and metadata are three levels themselves.
        shape("one level too deep", metadata(&nested(126)), parse),
        shape("a number beyond every float", metadata("1e400"), either),
        shape("a number of a million digits", metadata(&"9".repeat(1_000_000)), either),
        shape("a doubled method", br#"{"type":"req","id":"h","method":"session.list","method":"session.create","params":{}}"#.to_vec(), parse),
        shape("a doubled id", br#"{"type":"req","id":"h","id":"i","method":"session.list"}"#.to_vec(), parse),
        shape("a doubled param", call(r#"{"sessionKey":"a","sessionKey":"b"}"#), either),
        shape("a million fields", call(&format!(r#"{{"sessionKey":"h","metadata":{{{}"z":0}}}}"#, r#""":0,"#.repeat(1_000_000))), either),
        shape("a million unknown params", call(&format!(r#"{{{}"z":0}}"#, r#""":0,"#.repeat(1_000_000))), either),
        shape("a million unknown frame fields with no type", format!(r#"{{{}"z":0}}"#, r#""":0,"#.repeat(1_000_000)).into_bytes(), parse),
        shape("invalid UTF-8", b"{\"type\":\"req\",\"id\":\"h\",\"method\":\"\xff\xfe\"}".to_vec(), parse),
        shape("an overlong slash", b"{\"type\":\"req\",\"id\":\"h\",\"method\":\"a\xc0\xaf\"}".to_vec(), parse),
        shape("a lone surrogate in the method", br#"{"type":"req","id":"h","method":"\ud800"}"#.to_vec(), parse),
        shape("a lone surrogate in params", call(r#"{"sessionKey":"\udfff"}"#), either),
        shape("a NUL in the key", call(r#"{"sessionKey":"a\u0000b"}"#), either),
        shape("not JSON", b"hello".to_vec(), parse),
        shape("a bare NaN", metadata("NaN"), either),
        shape("a method of a megabyte", format!(r#"{{"type":"req","id":"h","method":"{}"}}"#, "m".repeat(1 << 20)).into_bytes(), &["PARSE_ERROR", "NO_HANDLER"]),
        shape("an id of a megabyte", format!(r#"{{"type":"req","id":"{}","method":"session.list"}}"#, "i".repeat(1 << 20)).into_bytes(), parse),
        shape("an id that is a number", br#"{"type":"req","id":7,"method":"session.list"}"#.to_vec(), parse),
    ]
}
