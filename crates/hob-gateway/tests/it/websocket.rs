//! The WebSocket: handshake, versions, limits, closing.

use crate::house::{House, PATIENCE, Socket};
use futures_util::SinkExt;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

#[tokio::test]
async fn a_program_uses_a_header() {
    let house = House::new().await;
    let mut socket = house.socket(&house.owner()).await;
    assert_eq!(socket.protocol, None);
    let answer = socket.call("7", "gateway.stats", json!({})).await;
    assert_eq!(answer["ok"], true);
    house.stop().await;
}

#[tokio::test]
async fn a_browser_uses_subprotocols() {
    let house = House::new().await;
    let offered = format!("hob.v1, hob.token.{}", house.owner());
    let origin = format!("http://{}", house.host());
    let headers = [
        ("Sec-WebSocket-Protocol", offered.as_str()),
        ("Origin", &origin),
    ];
    let mut socket = Socket::open(&house.host(), "/ws", &headers).await.unwrap();
    assert_eq!(socket.protocol.as_deref(), Some("hob.v1"));
    let answer = socket.call("7", "gateway.stats", json!({})).await;
    assert_eq!(answer["ok"], true);
    house.stop().await;
}

#[tokio::test]
async fn a_wrong_token_other_origin_or_host_opens_nothing() {
    let house = House::new().await;
    let host = house.host();
    let bearer = format!("Bearer {}", house.owner());
    let open = async |headers: &[(&str, &str)]| Socket::open(&host, "/ws", headers).await.err();
    assert_eq!(open(&[]).await, Some(401));
    assert_eq!(open(&[("Authorization", "Bearer x")]).await, Some(401));
    let offered = ("Sec-WebSocket-Protocol", "hob.v1, hob.token.x");
    assert_eq!(open(&[offered]).await, Some(401));
    let good = ("Authorization", bearer.as_str());
    assert_eq!(
        open(&[good, ("Origin", "http://evil.test")]).await,
        Some(403)
    );
    assert_eq!(open(&[good, ("Origin", "null")]).await, Some(403));
    assert_eq!(open(&[good, ("Host", "evil.test")]).await, Some(403));
    let with_query = format!("/ws?token={}", house.owner());
    assert_eq!(
        Socket::open(&host, &with_query, &[good]).await.err(),
        Some(400)
    );
    house.stop().await;
}

#[tokio::test]
async fn an_unknown_version_is_refused_by_name() {
    let house = House::new().await;
    let lines = [
        format!("Authorization: Bearer {}", house.owner()),
        "Sec-WebSocket-Protocol: hob.v2, hob.v3".to_owned(),
        "Upgrade: websocket".to_owned(),
        "Sec-WebSocket-Version: 13".to_owned(),
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==".to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let answer = house.get("/ws", &lines).await;
    assert_eq!(answer.status, 400);
    let error = &answer.json()["error"];
    assert!(error["message"].as_str().unwrap().contains("hob.v1"));
    assert_eq!(error["details"]["supported"], json!(["hob.v1"]));
    house.stop().await;
}

#[tokio::test]
async fn a_plain_get_is_told_to_upgrade() {
    let house = House::new().await;
    let bearer = format!("Authorization: Bearer {}", house.owner());
    let answer = house.get("/ws", &[&bearer]).await;
    assert_eq!(answer.status, 426);
    assert_eq!(answer.header("upgrade"), Some("websocket"));
    house.stop().await;
}

#[tokio::test]
async fn frames_that_came_with_the_handshake_are_read() {
    let house = House::new().await;
    let mut stream = TcpStream::connect(house.host()).await.unwrap();
    let mut bytes = handshake(&house);
    let frame = json!({"type": "req", "id": "early", "target": "", "method": "gateway.stats"});
    bytes.extend(masked_text(frame.to_string().as_bytes()));
    stream.write_all(&bytes).await.unwrap();
    let text = read_until(&mut stream, "\"early\"").await;
    assert!(text.contains("\"ok\":true"), "{text}");
    house.stop().await;
}

#[tokio::test]
async fn binary_messages_and_garbage_are_answered_not_obeyed() {
    let house = House::new().await;
    let mut socket = house.socket(&house.owner()).await;
    let frame = json!({"type": "req", "id": "1", "target": "", "method": "gateway.stats"});
    let binary = Message::binary(frame.to_string().into_bytes());
    socket.inner.send(binary).await.unwrap();
    for garbage in ["", "[", "{}", "[[[[", "\"text\""] {
        socket.send_text(garbage).await;
    }
    for _ in 0..6 {
        let answer = socket.next().await;
        assert_eq!(answer["id"], "unknown");
        assert_eq!(answer["error"]["code"], "PARSE_ERROR");
    }
    let answer = socket.call("2", "gateway.stats", json!({})).await;
    assert_eq!(answer["ok"], true, "the socket lives on");
    house.stop().await;
}

#[tokio::test]
async fn a_huge_frame_is_refused_at_its_head() {
    let house = House::new().await;
    let mut stream = TcpStream::connect(house.host()).await.unwrap();
    stream.write_all(&handshake(&house)).await.unwrap();
    read_until(&mut stream, "\r\n\r\n").await;
    let before = resident_kib();
    // A text frame that claims 1 GiB, and some of it.
    let mut head = vec![0x81, 0x80 | 0x7F];
    head.extend(0x4000_0000_u64.to_be_bytes());
    head.extend([0; 4]);
    stream.write_all(&head).await.unwrap();
    let _ = stream.write_all(&[b'x'; 4_096]).await;
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    read.expect("the socket is closed").unwrap();
    assert_eq!(answer[0], 0x88, "a close frame");
    assert_eq!(u16::from_be_bytes([answer[2], answer[3]]), 1009);
    let grown = resident_kib().saturating_sub(before);
    assert!(
        grown < 100 * 1024,
        "{grown} KiB more for a frame that was only claimed"
    );
    house.stop().await;
}

#[tokio::test]
async fn many_fragments_do_not_add_up_beyond_the_limit() {
    let house = House::new().await;
    let mut stream = TcpStream::connect(house.host()).await.unwrap();
    stream.write_all(&handshake(&house)).await.unwrap();
    read_until(&mut stream, "\r\n\r\n").await;
    let (mut reading, mut writing) = stream.into_split();
    let write = async move {
        let payload = vec![b'x'; 60_000];
        for at in 0..200 {
            let opcode = u8::from(at == 0);
            let mut frame = vec![opcode, 0x80 | 0x7E];
            frame.extend(60_000_u16.to_be_bytes());
            frame.extend([0; 4]);
            frame.extend(&payload);
            if writing.write_all(&frame).await.is_err() {
                return at;
            }
        }
        200
    };
    let read = async {
        let mut answer = Vec::new();
        let _ = reading.read_to_end(&mut answer).await;
        answer
    };
    let both = async { tokio::join!(write, read) };
    let (_, answer) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    assert_eq!(answer[0], 0x88, "a close frame");
    assert_eq!(u16::from_be_bytes([answer[2], answer[3]]), 1009);
    house.stop().await;
}

#[tokio::test]
async fn a_frame_of_exactly_the_limit_passes_and_one_byte_more_does_not() {
    let house = House::new().await;
    let max = hob_wire::limits::FRAME_BYTES_MAX;
    let mut socket = house.socket(&house.owner()).await;
    let frame = |length: usize| {
        let head = r#"{"type":"req","id":"big","target":"","method":"no.such","params":""#;
        let tail = r#""}"#;
        format!(
            "{head}{}{tail}",
            "x".repeat(length - head.len() - tail.len())
        )
    };
    socket.send_text(&frame(max)).await;
    assert_eq!(socket.next().await["error"]["code"], "NO_HANDLER");
    let _ = socket.inner.send(Message::text(frame(max + 1))).await;
    assert_eq!(
        socket.closed().await.map(|frame| frame.code),
        Some(CloseCode::Size)
    );
    house.stop().await;
}

#[tokio::test]
async fn a_peer_that_answers_no_ping_is_closed() {
    let house = House::with("gateway.ping_interval = \"200ms\"", Some("127.0.0.1:0"));
    let house = house.await.unwrap();
    let mut silent = TcpStream::connect(house.host()).await.unwrap();
    silent.write_all(&handshake(&house)).await.unwrap();
    let mut alive = house.socket(&house.owner()).await;
    let wait = async {
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(PATIENCE, silent.read_to_end(&mut bytes)).await;
        read.expect("the silent peer is closed").unwrap();
        bytes
    };
    // This client answers pings while it waits for its answers.
    let talk = async {
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            let answer = alive.call("1", "gateway.stats", json!({})).await;
            assert_eq!(answer["ok"], true);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let (bytes, ()) = tokio::join!(wait, talk);
    let pinged = bytes.windows(2).any(|two| two == [0x89, 0x00]);
    assert!(pinged, "the silent peer was pinged");
    house.stop().await;
}

#[tokio::test]
async fn a_changed_ping_interval_holds_for_live_sockets() {
    let house = House::new().await;
    let mut socket = house.socket(&house.owner()).await;
    socket.call("1", "gateway.stats", json!({})).await;
    house.set("gateway.ping_interval = \"100ms\"");
    let message = socket.message().await.unwrap().unwrap();
    assert!(message.is_ping(), "{message:?}");
    house.stop().await;
}

#[tokio::test]
async fn stopping_says_so() {
    let house = House::new().await;
    let mut socket = house.socket(&house.owner()).await;
    socket.call("1", "gateway.stats", json!({})).await;
    let (frame, _home) = tokio::join!(socket.closed(), house.stop());
    assert_eq!(frame.unwrap().code, CloseCode::Away);
}

#[tokio::test]
async fn a_peers_close_is_answered_and_its_seat_freed() {
    let house = House::with("gateway.max_connections = 1", Some("127.0.0.1:0"));
    let house = house.await.unwrap();
    for _ in 0..3 {
        let mut socket = house.socket(&house.owner()).await;
        socket.call("1", "gateway.stats", json!({})).await;
        socket.inner.close(None).await.unwrap();
        assert!(socket.closed().await.is_some() || socket.message().await.is_none());
        wait_for_seat(&house).await;
    }
    house.stop().await;
}

async fn wait_for_seat(house: &House) {
    let until = Instant::now() + PATIENCE;
    while house.get("/health", &[]).await.status != 200 {
        assert!(Instant::now() < until, "the seat is not freed");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn handshake(house: &House) -> Vec<u8> {
    format!(
        "GET /ws HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        house.host(),
        house.owner()
    )
    .into_bytes()
}

fn masked_text(text: &[u8]) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap();
    assert!(length < 126);
    let mut frame = vec![0x81, 0x80 | length, 0, 0, 0, 0];
    frame.extend(text);
    frame
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut bytes = Vec::new();
    let read = async {
        let mut chunk = [0; 4_096];
        while !String::from_utf8_lossy(&bytes).contains(end) {
            let count = stream.read(&mut chunk).await.unwrap();
            assert_ne!(
                count,
                0,
                "closed early: {}",
                String::from_utf8_lossy(&bytes)
            );
            bytes.extend_from_slice(&chunk[..count]);
        }
    };
    tokio::time::timeout(PATIENCE, read)
        .await
        .expect("it comes in time");
    String::from_utf8_lossy(&bytes).into_owned()
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap()
}
