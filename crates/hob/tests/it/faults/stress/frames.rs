//! Fault 31: a frame of a gibibyte, and a message of a million fragments.

use crate::faults::http;
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use crate::faults::websocket::{CONTINUATION, Heard, Socket, TEXT};
use hob_wire::limits::{FRAME_BYTES_MAX, UNAUTHENTICATED_BYTES_MAX};
use serde_json::json;
use std::io::{self, Read as _, Write as _};
use std::time::Duration;

const GIBIBYTE: u64 = 1 << 30;
/// What a claim alone may cost; the frame itself would cost a thousand times as much.
const CLAIM_KIB_MAX: u64 = 4 * 1024;
/// What a message may cost that grows to the limit: a few copies of it, and no more.
const GROWN_KIB_MAX: u64 = 5 * FRAME_BYTES_MAX as u64 / 1024;
const FRAGMENTS: usize = 1_000_000;

#[test]
fn f31_giant_frame_and_a_million_fragments() {
    let trial = Trial::begin(31);
    let mut rig = Rig::new();
    rig.start();
    rig.peer().must("gateway.describe", &json!({}));

    let claim = peak_delta(&rig, || {
        let sent = claimed_gibibyte(&rig);
        assert!(
            sent <= FRAME_BYTES_MAX as u64,
            "closed after {sent} bytes of a frame of a gibibyte"
        );
    });
    assert!(claim <= CLAIM_KIB_MAX, "a claim cost {claim} KiB");
    let body = peak_delta(&rig, || claimed_body(&rig));
    assert!(body <= CLAIM_KIB_MAX, "a claimed body cost {body} KiB");

    let fragments = peak_delta(&rig, || {
        let taken = fragments(&rig, &[b' '; 16]);
        assert!(
            taken * 16 <= 2 * FRAME_BYTES_MAX,
            "closed after {taken} fragments of 16 bytes"
        );
    });
    assert!(
        fragments <= GROWN_KIB_MAX,
        "growing fragments cost {fragments} KiB"
    );
    let empty = peak_delta(&rig, || {
        fragments_then_end(&rig);
    });
    assert!(empty <= CLAIM_KIB_MAX, "empty fragments cost {empty} KiB");

    let line = peak_delta(&rig, || {
        let token = rig.token();
        let sent = endless_line(&rig, Some(&token));
        assert!(
            sent <= FRAME_BYTES_MAX + (1 << 20),
            "closed after a line of {sent} bytes"
        );
    });
    assert!(line <= GROWN_KIB_MAX, "an endless line cost {line} KiB");
    let sent = endless_line(&rig, None);
    assert!(
        sent <= UNAUTHENTICATED_BYTES_MAX + (1 << 20),
        "a stranger's line was read for {sent} bytes"
    );

    rig.peer().must("daemon.status", &json!({}));
    trial.figure("claim_rss_kib", claim.max(body));
    trial.figure("peak_rss_kib", fragments.max(line).max(empty));
}

/// How much the peak of resident memory rose while `act` ran.
fn peak_delta(rig: &Rig, act: impl FnOnce()) -> u64 {
    let before = rig.memory_kib("VmRSS");
    rig.reset_peak_memory();
    act();
    rig.memory_kib("VmHWM").saturating_sub(before)
}

/// Claims a gibibyte and sends it slowly until closed; returns how much was sent by then.
fn claimed_gibibyte(rig: &Rig) -> u64 {
    let mut socket = Socket::authenticated(rig.port(), &rig.token());
    socket
        .send_head(true, TEXT, GIBIBYTE)
        .expect("the head of a frame");
    let mut sent = 0;
    let chunk = [b' '; 16 * 1024];
    socket.stream().set_nonblocking(true).expect("a socket");
    while sent < 2 * FRAME_BYTES_MAX as u64 {
        if closed(socket.stream()) {
            break;
        }
        if socket.stream().write_all(&chunk).is_err() {
            break;
        }
        sent += chunk.len() as u64;
        std::thread::sleep(Duration::from_millis(5));
    }
    sent
}

/// Whether the other side ended the connection or said that it will.
fn closed(stream: &mut std::net::TcpStream) -> bool {
    let said = stream.read(&mut [0; 64]).map_err(|error| error.kind());
    said != Err(io::ErrorKind::WouldBlock)
}

/// A body of a gibibyte, announced only, with and without a token.
fn claimed_body(rig: &Rig) {
    let bearer = format!("Authorization: Bearer {}\r\n", rig.token());
    for authorization in ["", bearer.as_str()] {
        let head = format!(
            "POST /api/rpc/session.list HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{authorization}Content-Type: application/json\r\nContent-Length: {GIBIBYTE}\r\n\r\n{{",
            rig.port()
        );
        let reply = http::exchange(rig.port(), head.as_bytes()).expect("an early answer");
        assert!((400..500).contains(&reply.status), "{reply:?}");
    }
}

/// Sends a message in fragments until closed; returns how many were taken.
fn fragments(rig: &Rig, payload: &[u8]) -> usize {
    let mut socket = Socket::authenticated(rig.port(), &rig.token());
    let mut sent = 0;
    if socket.send_frame(false, TEXT, payload).is_err() {
        return sent;
    }
    while sent < FRAGMENTS && socket.send_frame(false, CONTINUATION, payload).is_ok() {
        sent += 1;
    }
    assert!(
        sent < FRAGMENTS,
        "a million fragments of {} bytes were taken",
        payload.len()
    );
    sent
}

/// A million empty fragments hold nothing: the message may be taken or the connection closed.
fn fragments_then_end(rig: &Rig) {
    let mut socket = Socket::authenticated(rig.port(), &rig.token());
    let frame = br#"{"type":"req","id":"many","target":"","method":"session.list","params":{}}"#;
    let mut alive = socket.send_frame(false, TEXT, frame).is_ok();
    for _ in 0..FRAGMENTS {
        alive = alive && socket.send_frame(false, CONTINUATION, &[]).is_ok();
    }
    if alive && socket.send_frame(true, CONTINUATION, &[]).is_ok() {
        match socket.hear() {
            Ok(Heard::Text(text)) => assert!(text.contains("\"many\""), "{text}"),
            Ok(Heard::Close(_)) | Err(_) => {}
        }
    }
}

/// Writes a line without end until closed; returns how much was taken.
fn endless_line(rig: &Rig, token: Option<&str>) -> usize {
    let mut peer = match token {
        Some(_) => rig.peer(),
        None => {
            crate::faults::peer::Peer::open(rig.socket()).expect("the socket takes connections")
        }
    };
    let chunk = [b' '; 16 * 1024];
    let mut sent = 0;
    while sent < 4 * FRAME_BYTES_MAX && peer.write(&chunk).is_ok() {
        sent += chunk.len();
    }
    sent
}
