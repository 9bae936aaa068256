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

const MILLION: usize = 1_000_000;
const PARSE: &[&str] = &["PARSE_ERROR"];
const PARSE_OR_PARAMS: &[&str] = &["PARSE_ERROR", "INVALID_PARAMS"];

fn shapes() -> Vec<Hostile> {
    let mut shapes = envelopes();
    shapes.extend(params());
    shapes
}

fn shape(name: &'static str, frame: impl Into<Vec<u8>>, codes: &'static [&'static str]) -> Hostile {
    let frame = frame.into();
    Hostile { name, frame, codes }
}

/// A request with these members beside its type and id.
fn request(members: &str) -> String {
    format!(r#"{{"type":"req","id":"h",{members}}}"#)
}

fn envelopes() -> Vec<Hostile> {
    let repeated = r#""":0,"#.repeat(MILLION);
    let long = "m".repeat(1 << 20);
    vec![
        shape("not JSON", "hello", PARSE),
        shape("100,000 open brackets", "[".repeat(100_000), PARSE),
        shape("100,000 open braces", r#"{"a":"#.repeat(100_000), PARSE),
        shape(
            "a doubled method",
            request(r#""method":"session.list","method":"session.create""#),
            PARSE,
        ),
        shape(
            "a doubled id",
            request(r#""id":"i","method":"session.list""#),
            PARSE,
        ),
        shape(
            "an id that is a number",
            r#"{"type":"req","id":7,"method":"session.list"}"#,
            PARSE,
        ),
        shape(
            "an id of a megabyte",
            format!(r#"{{"type":"req","id":"{long}","method":"session.list"}}"#),
            PARSE,
        ),
        shape(
            "a method of a megabyte",
            request(&format!(r#""method":"{long}""#)),
            &["PARSE_ERROR", "NO_HANDLER"],
        ),
        shape(
            "a million fields and no type",
            format!(r#"{{{repeated}"z":0}}"#),
            PARSE,
        ),
        shape(
            "invalid UTF-8",
            &b"{\"type\":\"req\",\"id\":\"h\",\"method\":\"\xff\xfe\"}"[..],
            PARSE,
        ),
        shape(
            "an overlong slash",
            &b"{\"type\":\"req\",\"id\":\"h\",\"method\":\"a\xc0\xaf\"}"[..],
            PARSE,
        ),
        shape(
            "a lone surrogate in the method",
            request(r#""method":"\ud800""#),
            PARSE,
        ),
    ]
}

fn params() -> Vec<Hostile> {
    let call = |params: &str| request(&format!(r#""method":"session.create","params":{params}"#));
    let metadata = |inner: &str| {
        call(&format!(
            r#"{{"sessionKey":"h","metadata":{{"m":{inner}}}}}"#
        ))
    };
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let repeated = r#""":0,"#.repeat(MILLION);
    vec![
        shape("a million brackets", metadata(&nested(MILLION)), PARSE),
        // The frame, params and metadata are three levels themselves.
        shape("one level too deep", metadata(&nested(126)), PARSE),
        shape(
            "a number beyond every float",
            metadata("1e400"),
            PARSE_OR_PARAMS,
        ),
        shape(
            "a million digits",
            metadata(&"9".repeat(MILLION)),
            PARSE_OR_PARAMS,
        ),
        shape("a bare NaN", metadata("NaN"), PARSE_OR_PARAMS),
        shape(
            "a doubled param",
            call(r#"{"sessionKey":"a","sessionKey":"b"}"#),
            PARSE_OR_PARAMS,
        ),
        shape(
            "a million unknown params",
            call(&format!(r#"{{{repeated}"z":0}}"#)),
            PARSE_OR_PARAMS,
        ),
        shape(
            "as many fields as a frame holds",
            metadata(&format!(r#"{{{}"z":0}}"#, distinct_fields())),
            PARSE_OR_PARAMS,
        ),
        // Legal JSON whose last value counts: taken or refused, but never more than it is.
        shape(
            "one field a million times",
            metadata(&format!(r#"{{{repeated}"z":0}}"#)),
            &["none", "PARSE_ERROR", "INVALID_PARAMS"],
        ),
        shape(
            "a lone surrogate",
            call(r#"{"sessionKey":"\udfff"}"#),
            PARSE_OR_PARAMS,
        ),
        shape(
            "a NUL in the key",
            call(r#"{"sessionKey":"a\u0000b"}"#),
            PARSE_OR_PARAMS,
        ),
    ]
}

/// Every name of three printable characters: 778,688 fields in six mebibytes.
fn distinct_fields() -> String {
    let plain = || {
        let signs = (b'!'..=b'~').map(char::from);
        signs.filter(|sign| !matches!(sign, '"' | '\\'))
    };
    let mut fields = String::new();
    for one in plain() {
        for two in plain() {
            for three in plain() {
                fields.extend(['"', one, two, three, '"', ':', '0', ',']);
            }
        }
    }
    fields
}
