//! Fault 43: request heads beyond 64 KiB, from a program that has shown no token, on every
//! listener that speaks HTTP.

use crate::faults::http::{self, Reply};
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use hob_wire::limits::UNAUTHENTICATED_BYTES_MAX;
use serde_json::json;
use std::io::{self, Write as _};
use std::time::Duration;

const KIB: usize = 1024;
/// Where AgentLoop's clients look for speech.
const SPEECH_PORT: u16 = 8880;
/// Between two pieces of a head that comes slowly.
const DRIP: Duration = Duration::from_millis(2);

#[test]
fn f43_request_heads_beyond_the_bound() {
    let trial = Trial::begin(43);
    let mut rig = Rig::new();
    for variable in [
        "HOB_LISTEN_VARGOS",
        "HOB_LISTEN_AGENTLOOP",
        "HOB_LISTEN_LOOPRUNNER",
        "HOB_LISTEN_PRYX",
    ] {
        rig.env(variable, "127.0.0.1:0");
    }
    rig.start();
    let ports = ports(&rig);
    // AgentLoop's listener opens a fixed port for speech too, unless another test has it.
    let speech = usize::from(ports.contains(&SPEECH_PORT));
    assert_eq!(ports.len(), 5 + speech, "{ports:?}");
    let (mut small, mut large) = (0, 0);
    for port in ports {
        for head in passing(port) {
            let reply = http::exchange(port, &head).expect("an answer");
            assert!(is_ours(&reply), "{} bytes: {reply:?}", head.len());
            small += 1;
        }
        for (what, head) in refused(port) {
            let answered = http::exchange(port, &head);
            assert!(is_refused(&answered), "{what}: {answered:?}");
            large += 1;
        }
        assert!(is_refused(&drip(port)), "a head that comes slowly");
        assert!(is_refused(&second(port)), "the second head of a connection");
        large += 2;
    }
    rig.peer().must("daemon.status", &json!({}));
    trial.figure("heads_within_answered", small);
    trial.figure("heads_beyond_accepted", format_args!("0/{large}"));
}

/// The ports of all listeners that speak HTTP.
fn ports(rig: &Rig) -> Vec<u16> {
    let status = rig.peer().must("daemon.status", &json!({}));
    let listeners = status["listeners"].as_array().expect("a list").clone();
    let port = |line: &str| line.rsplit_once(':')?.1.parse().ok();
    let texts = listeners.iter().filter_map(|line| line.as_str());
    texts.filter_map(port).collect()
}

/// Our own answer, which hyper's refusals are not.
fn is_ours(reply: &Reply) -> bool {
    http::header(&reply.head, "x-request-id").is_some()
}

/// A refusal, or a connection that was closed while the head still came.
fn is_refused(answered: &io::Result<Reply>) -> bool {
    match answered {
        Ok(reply) => [431, 414].contains(&reply.status),
        Err(_) => true,
    }
}

/// A request whose head has exactly this many bytes, most of them in one header line.
fn head_of(port: u16, bytes: usize) -> Vec<u8> {
    let empty = http::request("GET", port, "/", &["X-Padding: "], "");
    let padding = format!("X-Padding: {}", "x".repeat(bytes - empty.len()));
    let head = http::request("GET", port, "/", &[&padding], "");
    assert_eq!(head.len(), bytes);
    head
}

/// A request with so many header lines of this length.
fn lines(port: u16, count: usize, bytes: usize) -> Vec<u8> {
    let lines: Vec<String> = (0..count)
        .map(|number| format!("X-{number:03}: {}", "x".repeat(bytes - 7)))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    http::request("GET", port, "/", &lines, "")
}

fn passing(port: u16) -> Vec<Vec<u8>> {
    vec![
        head_of(port, KIB),
        head_of(port, 63 * KIB),
        head_of(port, UNAUTHENTICATED_BYTES_MAX),
        lines(port, 60, 1_000),
    ]
}

fn refused(port: u16) -> Vec<(&'static str, Vec<u8>)> {
    let spaces = format!("X-Padding: {}x", " ".repeat(100_000));
    let path = format!("/{}", "x".repeat(100_000));
    let name = format!("X-{}: 1", "x".repeat(100_000));
    vec![
        ("a byte more", head_of(port, UNAUTHENTICATED_BYTES_MAX + 1)),
        ("65 KiB", head_of(port, 65 * KIB)),
        ("100 kB", head_of(port, 100_000)),
        ("1 MB", head_of(port, 1_000_000)),
        ("many lines, together too long", lines(port, 60, 1_200)),
        ("too many short lines", lines(port, 200, 10)),
        ("spaces", http::request("GET", port, "/", &[&spaces], "")),
        ("a long path", http::request("GET", port, &path, &[], "")),
        ("a long name", http::request("GET", port, "/", &[&name], "")),
    ]
}

/// Sends 100 kB of a head in small pieces.
fn drip(port: u16) -> io::Result<Reply> {
    let mut stream = http::connect(port)?;
    for piece in head_of(port, 100_000).chunks(KIB) {
        if stream.write_all(piece).is_err() {
            break;
        }
        std::thread::sleep(DRIP);
    }
    http::read_reply(&mut stream)
}

/// A long head after a short one that was answered.
fn second(port: u16) -> io::Result<Reply> {
    let mut stream = http::connect(port)?;
    let first = String::from_utf8(head_of(port, KIB)).expect("text");
    stream.write_all(first.replace("Connection: close\r\n", "").as_bytes())?;
    let answered = http::read_reply(&mut stream)?;
    assert!(is_ours(&answered), "{answered:?}");
    let _ = stream.write_all(&head_of(port, 100_000));
    http::read_reply(&mut stream)
}
