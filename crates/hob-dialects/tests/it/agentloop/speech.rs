//! Speech where AgentLoop's clients look for their speech server.

use crate::house::{Answer, House, exchange};
use data_encoding::BASE64;
use hob_bus::Room;
use hob_core::speech::wav;
use hob_wire::rooms::speech::{Say, SpeechSayResult};
use serde_json::json;
use std::sync::{Arc, Mutex};

const JSON: &str = "Content-Type: application/json";

async fn house(config: &str) -> House {
    House::with(config, Some("127.0.0.1:0")).await.unwrap()
}

fn listener(house: &House) -> Option<String> {
    let listeners = house.gateway.listeners();
    let found = listeners
        .iter()
        .find_map(|line| line.strip_prefix("agentloop-speech "));
    found.map(str::to_owned)
}

/// A speech room that remembers what it was to say.
fn speech(house: &House) -> Arc<Mutex<Vec<String>>> {
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&said);
    let room = Room::new("speech").method::<Say, _, _>(move |_, params| {
        kept.lock().unwrap().push(params.text);
        async move {
            Ok(SpeechSayResult {
                wav: BASE64.encode(&sound()),
                duration_ms: 1,
                service: "tts".to_owned(),
            })
        }
    });
    house.bus.serve(room).unwrap();
    said
}

/// The shortest sound there is.
fn sound() -> Vec<u8> {
    let mut bytes = b"RIFF".to_vec();
    bytes.extend(40_u32.to_le_bytes());
    bytes.extend(b"WAVEfmt ");
    bytes.extend(16_u32.to_le_bytes());
    for half in [1_u16, 1] {
        bytes.extend(half.to_le_bytes());
    }
    bytes.extend(8_000_u32.to_le_bytes());
    bytes.extend(16_000_u32.to_le_bytes());
    for half in [2_u16, 16] {
        bytes.extend(half.to_le_bytes());
    }
    bytes.extend(b"data");
    bytes.extend(4_u32.to_le_bytes());
    bytes.extend([0; 4]);
    bytes
}

async fn ask(address: &str, method: &str, path: &str, lines: &[&str], body: &str) -> Answer {
    let length = format!("Content-Length: {}", body.len());
    let host = format!("Host: {address}");
    let is_named = lines.iter().any(|line| line.starts_with("Host"));
    let mut all = vec![length.as_str(), "Connection: close"];
    all.extend((!is_named).then_some(host.as_str()));
    all.extend(lines);
    let head = all.join("\r\n");
    let head = format!("{method} {path} HTTP/1.1\r\n{head}\r\n\r\n{body}");
    exchange(address, head.as_bytes()).await
}

#[tokio::test]
async fn a_text_is_spoken_where_their_clients_ask_for_it() {
    let house =
        house("listen.agentloop = \"127.0.0.1:0\"\ndialect.agentloop.speech = \"127.0.0.1:0\"")
            .await;
    let said = speech(&house);
    let address = listener(&house).unwrap();
    let health = ask(&address, "GET", "/health", &[], "").await;
    assert_eq!((health.status, health.text().as_str()), (200, "ok"));
    assert_eq!(health.header("server"), Some("hob"));
    // As their client sends it.
    let body = json!({ "text": "Good morning.", "model": "mlx-community/Kokoro-82M-bf16" });
    let spoken = ask(&address, "POST", "/tts", &[JSON], &body.to_string()).await;
    assert_eq!(spoken.status, 200, "{}", spoken.text());
    assert_eq!(spoken.header("content-type"), Some("audio/wav"));
    assert_eq!(wav::join(&[sound()]).unwrap(), spoken.body);
    assert_eq!(*said.lock().unwrap(), ["Good morning."]);

    for (method, path, lines, body, status) in [
        ("POST", "/tts", vec![JSON], "{}", 400),
        ("POST", "/tts", vec![JSON], "{", 400),
        (
            "POST",
            "/tts",
            vec!["Content-Type: text/plain"],
            r#"{"text":"x"}"#,
            415,
        ),
        (
            "POST",
            "/tts",
            vec![JSON, "Origin: http://evil.test"],
            r#"{"text":"x"}"#,
            403,
        ),
        (
            "POST",
            "/tts",
            vec![JSON, "Host: evil.test"],
            r#"{"text":"x"}"#,
            403,
        ),
        ("GET", "/tts", vec![], "", 405),
        ("POST", "/api/rpc/session.list", vec![JSON], "{}", 404),
        ("GET", "/ws", vec![], "", 404),
        (
            "POST",
            "/v1/audio/speech",
            vec![JSON],
            r#"{"input":"x"}"#,
            404,
        ),
    ] {
        let answer = ask(&address, method, path, &lines, body).await;
        assert_eq!(answer.status, status, "{method} {path} {lines:?} {body}");
    }
    assert_eq!(said.lock().unwrap().len(), 1);
    house.stop().await;
}

/// The port of another speech server is that server's.
#[tokio::test]
async fn a_taken_address_is_left_alone_and_told() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap();
    let config =
        format!("listen.agentloop = \"127.0.0.1:0\"\ndialect.agentloop.speech = \"{taken}\"");
    let house = house(&config).await;
    let told = listener(&house).unwrap();
    assert!(
        told.starts_with("not open: ") && told.contains(&taken.to_string()),
        "{told}"
    );
    let lines = house.gateway.listeners();
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("agentloop 127.0.0.1:"))
    );
    house.stop().await;
    drop(other);
}

#[tokio::test]
async fn it_is_open_only_beside_their_listener() {
    for config in [
        "",
        "dialect.agentloop.speech = \"127.0.0.1:0\"",
        "listen.agentloop = \"127.0.0.1:0\"\ndialect.agentloop.speech = \"\"",
    ] {
        let house = house(config).await;
        assert_eq!(listener(&house), None, "{config}");
        house.stop().await;
    }
}
