//! Whatever bytes come, the daemon answers the next honest request and no code of it panics. The
//! garbage is seeded: the seed is printed, and `HOB_JUDGE_SEED` repeats it.

use super::http;
use super::wire::{Peer, SURFACES, Surface, number};
use crate::support::House;
use serde_json::json;
use std::hash::{BuildHasher, Hasher, RandomState};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const ROUNDS: usize = 12;
const TEXTS_A_ROUND: usize = 80;

/// `SplitMix64`, so that a seed means the same everywhere.
struct SeededBytes(u64);

impl SeededBytes {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.roll() % bound as u64).expect("below a usize")
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let length = self.below(most);
        (0..length).map(|_| self.roll().to_le_bytes()[0]).collect()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a tester repeats a seed by the environment"
)]
fn seeded() -> SeededBytes {
    let told = std::env::var("HOB_JUDGE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = told.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    println!("HOB_JUDGE_SEED={seed}");
    SeededBytes(seed)
}

#[tokio::test]
async fn garbage_on_the_wire_is_survived() {
    let house = House::start();
    let mut randomness = seeded();
    let mut owner = Peer::owner(&house).await;
    for surface in SURFACES {
        for _ in 0..ROUNDS {
            throw(surface, &house, &mut randomness).await;
            owner.settled().await;
        }
    }
    assert_unharmed(&house, &mut owner).await;
}

/// One connection's worth of garbage, ended by an honest request unless the daemon hung up.
async fn throw(surface: Surface, house: &House, randomness: &mut SeededBytes) {
    let mut peer = Peer::on(surface, house, &house.token()).await;
    for _ in 0..TEXTS_A_ROUND {
        let sent = match randomness.below(12) {
            0 => peer.send_bytes(&randomness.bytes(200)).await,
            _ => peer.try_send_text(&garbage(randomness)).await,
        };
        if !sent {
            return;
        }
    }
    if surface == Surface::Unix {
        // Ends what a raw write may have left open.
        peer.send_bytes(b"\n").await;
    }
    let honest = super::wire::request("honest", "gateway.stats", json!({}));
    if !peer.try_send_text(&honest.to_string()).await {
        return;
    }
    while let Ok(text) = peer.arrival().await {
        let frame: serde_json::Value = serde_json::from_str(&text).expect("answers are JSON");
        if frame["id"] == "honest" {
            assert_eq!(frame["ok"], true);
            break;
        }
    }
}

/// A text that is a frame, nearly a frame, or nothing like one.
fn garbage(randomness: &mut SeededBytes) -> String {
    match randomness.below(6) {
        0 => String::from_utf8_lossy(&randomness.bytes(300)).replace('\n', " "),
        1 => confused(randomness),
        2 => "[{\""
            .chars()
            .cycle()
            .take(randomness.below(2_000))
            .collect(),
        3 => randomness.pick(ODDITIES).to_owned(),
        _ => mutated(randomness),
    }
}

const ODDITIES: &[&str] = &[
    "",
    " ",
    "null",
    "[]",
    "{}",
    "\"\"",
    "{\"type\":\"req\"}",
    "{\"type\":\"res\",\"id\":\"1\",\"ok\":true}",
    "{\"type\":\"res\",\"id\":\"1\",\"ok\":false}",
    "{\"type\":\"event\",\"event\":\"session.message\"}",
    "{\"type\":\"req\",\"id\":\"1\",\"method\":\"session.list\",\"params\":1e400}",
    "{\"type\":\"req\",\"id\":\"1\",\"id\":\"2\",\"method\":\"session.list\",\"type\":\"res\"}",
    "{\"type\":\"req\",\"id\":\"\\ud800\",\"method\":\"session.list\"}",
    "{\"type\":\"req\",\"id\":\"1\",\"method\":\"session.history\",\"params\":{\"sessionKey\":\"x\",\"limit\":-1}}",
    "{\"type\":\"req\",\"id\":\"1\",\"method\":\"session.history\",\"params\":{\"sessionKey\":\"x\",\"before\":18446744073709551615}}",
    "{\"type\":\"req\",\"id\":\"1\",\"method\":\"gateway.subscribe\",\"params\":{\"events\":[\"\",\".\",\"*.*\",\"**\"],\"since\":18446744073709551615}}",
    "{\"type\":\"req\",\"id\":\"1\",\"method\":\"session.list\",\"params\":{\"before\":\"\\u0000%00'; --\"}}",
];

/// A frame whose fields have values of any type.
fn confused(randomness: &mut SeededBytes) -> String {
    const VALUES: &[&str] = &[
        "null",
        "true",
        "-1",
        "1.5",
        "1e99",
        "\"\"",
        "\"req\"",
        "\"res\"",
        "\"event\"",
        "\"1\"",
        "[]",
        "{}",
        "[[[]]]",
        "{\"a\":{}}",
        "\"session.send\"",
        "\"gateway.register\"",
        "\"\\u0000\"",
        "99999999999999999999",
    ];
    const FIELDS: &[&str] = &[
        "type", "id", "target", "method", "params", "trace", "ok", "payload", "error", "source",
        "event", "seq", "prev", "sub",
    ];
    let members: Vec<String> = (0..randomness.below(10))
        .map(|_| {
            format!(
                "\"{}\":{}",
                randomness.pick(FIELDS),
                randomness.pick(VALUES)
            )
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

/// An honest frame with some bytes changed, taken out or put in.
fn mutated(randomness: &mut SeededBytes) -> String {
    let honest = randomness.pick(&[
        r#"{"type":"req","id":"7","target":"","method":"session.create","params":{"sessionKey":"chat:fuzz","kind":"main","metadata":{"a":1}}}"#,
        r#"{"type":"req","id":"7","target":"sessions","method":"session.send","params":{"sessionKey":"chat:fuzz","content":[{"type":"text","text":"hi"}],"role":"user"}}"#,
        r#"{"type":"req","id":"7","method":"session.history","params":{"sessionKey":"chat:fuzz","limit":5,"before":9}}"#,
        r#"{"type":"req","id":"7","method":"gateway.subscribe","params":{"events":["session.*"],"since":0}}"#,
        r#"{"type":"req","id":"7","method":"gateway.register","params":{"service":"fuzz","methods":["fuzz.a"],"events":["fuzz.b"],"volatile":["fuzz.b"]}}"#,
        r#"{"type":"event","source":"fuzz","event":"fuzz.b","payload":{"sessionKey":"chat:fuzz"}}"#,
        r#"{"type":"res","id":"3","ok":false,"error":{"code":"INTERNAL","message":"no"}}"#,
    ]);
    let mut bytes = honest.as_bytes().to_vec();
    for _ in 0..=randomness.below(4) {
        let at = randomness.below(bytes.len());
        match randomness.below(3) {
            0 => bytes[at] = randomness.roll().to_le_bytes()[0],
            1 => drop(bytes.remove(at)),
            _ => bytes.insert(at, b"{}[]\",:\\0"[randomness.below(9)]),
        }
    }
    String::from_utf8_lossy(&bytes).replace(['\n', '\r'], " ")
}

#[tokio::test]
async fn garbage_on_the_port_and_before_authentication_is_survived() {
    let house = House::start();
    let mut randomness = seeded();
    let mut owner = Peer::owner(&house).await;
    for round in 0..ROUNDS * 4 {
        let mut stream = TcpStream::connect(house.address())
            .await
            .expect("the port accepts");
        let mut bytes = match round % 4 {
            0 => randomness.bytes(2_000),
            1 => b"GET /ws HTTP/1.1\r\n".to_vec(),
            2 => format!(
                "POST /api/rpc/session.list HTTP/1.1\r\nHost: {}\r\n",
                house.address()
            )
            .into_bytes(),
            _ => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        };
        bytes.extend(randomness.bytes(500));
        let _ = stream.write_all(&bytes).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let _ = tokio::time::timeout(super::wire::DEADLINE, stream.read_to_end(&mut answer))
            .await
            .expect("a peer that sends no more is not kept");
        assert!(
            !answer.starts_with(b"HTTP/1.1 2"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
        let mut peer = Peer::unix_unknown(&house).await;
        peer.send_bytes(&randomness.bytes(500)).await;
        peer.send_bytes(b"\n").await;
        let (frames, _) = peer.until_closed().await;
        assert!(
            frames.iter().all(|frame| frame["ok"] == false),
            "{frames:?}"
        );
    }
    assert_unharmed(&house, &mut owner).await;
}

#[tokio::test]
async fn what_is_no_frame_is_answered_as_such() {
    let house = House::start();
    for surface in SURFACES {
        let mut peer = Peer::on(surface, &house, &house.token()).await;
        for (text, id) in [
            ("garbage", "unknown"),
            ("[1,2]", "unknown"),
            ("{}", "unknown"),
            (r#"{"type":"nothing","id":"a"}"#, "a"),
            (r#"{"type":"req","id":"b"}"#, "b"),
            (r#"{"type":"req","id":"c","method":7}"#, "c"),
            (
                r#"{"type":"req","id":5,"method":"session.list"}"#,
                "unknown",
            ),
            (
                r#"{"type":"req","id":"d","method":"session.list"} {}"#,
                "unknown",
            ),
        ] {
            peer.send_text(text).await;
            let answer = peer.frame().await;
            assert_eq!(answer["type"], "res", "{text}");
            assert_eq!(answer["error"]["code"], "PARSE_ERROR", "{text}: {answer}");
            assert_eq!(answer["id"], id, "{text}");
        }
        peer.settled().await;
    }
    let mut peer = Peer::owner(&house).await;
    peer.send_bytes(br#"{"type":"req","id":"1","method":"session.list"}"#)
        .await;
    let answer = peer.frame().await;
    assert_eq!(
        answer["error"]["code"], "PARSE_ERROR",
        "frames are text: {answer}"
    );
    peer.settled().await;
}

#[tokio::test]
async fn odd_json_gets_a_typed_answer() {
    let house = House::start();
    let token = house.token();
    let many: Vec<String> = (0..100_000).map(|n| format!("\"f{n}\":{n}")).collect();
    let many = format!("{{{}}}", many.join(","));
    for params in [
        "1e400",
        r#"{"sessionKey":"a","sessionKey":"b"}"#,
        r#"{"limit":1e400}"#,
        r#"{"limit":99999999999999999999}"#,
        &many,
    ] {
        for surface in SURFACES {
            let mut peer = Peer::on(surface, &house, &token).await;
            let frame =
                format!(r#"{{"type":"req","id":"odd","method":"session.list","params":{params}}}"#);
            peer.send_text(&frame).await;
            let answer = peer.answer("odd").await;
            let code = answer["error"]["code"].as_str();
            assert!(
                matches!(code, Some("INVALID_PARAMS" | "PARSE_ERROR")),
                "{answer}"
            );
        }
        let answer = http::rpc(&house, &token, "session.list", params).await;
        assert_eq!(answer.status, 400, "{answer:?}");
    }
}

async fn assert_unharmed(house: &House, owner: &mut Peer) {
    let stats = owner.call("gateway.stats", json!({})).await;
    assert_eq!(number(&stats, "handlerPanicsTotal"), 0, "{stats}");
    assert!(!house.stderr().contains("panicked"), "a task panicked");
    owner
        .call("session.create", json!({ "sessionKey": "chat:after" }))
        .await;
    let params = json!({ "sessionKey": "chat:after", "content": "still here" });
    owner.call("session.send", params).await;
    assert_eq!(http::get(house, "/health", "").await.body, "ok");
}
