//! The unix socket: authentication, lines, limits.

use crate::house::{House, PATIENCE};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

struct Lines {
    reading: BufReader<OwnedReadHalf>,
    writing: OwnedWriteHalf,
}

impl Lines {
    async fn open(house: &House) -> Lines {
        let stream = UnixStream::connect(house.home.socket()).await.unwrap();
        let (reading, writing) = stream.into_split();
        Lines {
            reading: BufReader::new(reading),
            writing,
        }
    }

    async fn authenticated(house: &House, token: &str) -> Lines {
        let mut lines = Lines::open(house).await;
        let answer = lines
            .call("0", "gateway.auth", json!({"token": token}))
            .await;
        assert_eq!(answer["ok"], true, "{answer}");
        lines
    }

    async fn send(&mut self, text: &str) {
        // The other side may close before it has read everything.
        let _ = self.writing.write_all(text.as_bytes()).await;
        let _ = self.writing.write_all(b"\n").await;
    }

    async fn call(&mut self, id: &str, method: &str, params: Value) -> Value {
        let frame =
            json!({"type": "req", "id": id, "target": "", "method": method, "params": params});
        self.send(&frame.to_string()).await;
        self.next().await.expect("an answer")
    }

    /// The next line, or none when the other side closed.
    async fn next(&mut self) -> Option<Value> {
        let line = self.next_line().await?;
        Some(serde_json::from_str(&line).unwrap())
    }

    async fn next_line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.reading.read_line(&mut line)).await;
        match read.expect("a line comes in time") {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line),
        }
    }
}

#[tokio::test]
async fn the_first_line_presents_a_token() {
    let house = House::new().await;
    let mut lines = Lines::open(&house).await;
    let answer = lines
        .call("a", "gateway.auth", json!({"token": house.owner()}))
        .await;
    assert_eq!(answer["id"], "a");
    assert_eq!(answer["payload"]["name"], "owner");
    assert_eq!(answer["payload"]["scopes"], json!(["admin"]));
    assert_eq!(answer["payload"]["protocol"], 1);
    let answer = lines.call("b", "gateway.stats", json!({})).await;
    assert_eq!(answer["ok"], true);
    house.stop().await;
}

#[tokio::test]
async fn any_other_first_line_is_refused_and_ends_it() {
    let house = House::new().await;
    let long = format!("\"{}\"", "x".repeat(70_000));
    let stats = json!({"type": "req", "id": "s", "target": "", "method": "gateway.stats"});
    let wrong = json!({"type": "req", "id": "w", "target": "", "method": "gateway.auth", "params": {"token": "x"}});
    let newer = json!({"type": "req", "id": "n", "target": "", "method": "gateway.auth", "params": {"token": house.owner(), "protocol": 2}});
    let none = json!({"type": "req", "id": "p", "target": "", "method": "gateway.auth"});
    for (first, id, code) in [
        (stats.to_string(), "s", "UNAUTHORIZED"),
        (wrong.to_string(), "w", "UNAUTHORIZED"),
        (newer.to_string(), "n", "INVALID_PARAMS"),
        (none.to_string(), "p", "INVALID_PARAMS"),
        ("hello".to_owned(), "unknown", "PARSE_ERROR"),
        ("[".repeat(50_000), "unknown", "PARSE_ERROR"),
        (long, "unknown", "PARSE_ERROR"),
    ] {
        let mut lines = Lines::open(&house).await;
        lines.send(&first).await;
        let answer = lines.next().await.expect("an answer");
        assert_eq!(answer["id"], id, "{answer}");
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(lines.next().await.is_none(), "it is closed");
    }
    house.stop().await;
}

#[tokio::test]
async fn silence_is_ended() {
    let house = House::new().await;
    let mut lines = Lines::open(&house).await;
    let answer = lines.next().await.expect("told why");
    assert_eq!(answer["error"]["code"], "UNAUTHORIZED");
    assert!(lines.next().await.is_none());
    house.stop().await;
}

#[tokio::test]
async fn guesses_are_limited_here_too() {
    let house = House::new().await;
    let mut codes = Vec::new();
    for _ in 0..40 {
        let mut lines = Lines::open(&house).await;
        let answer = lines
            .call("g", "gateway.auth", json!({"token": "guess"}))
            .await;
        codes.push(answer["error"]["code"].as_str().unwrap().to_owned());
    }
    assert_eq!(codes[0], "UNAUTHORIZED");
    assert!(codes.iter().any(|code| code == "OVERLOADED"), "{codes:?}");
    let _right = Lines::authenticated(&house, &house.owner()).await;
    house.stop().await;
}

#[tokio::test]
async fn frames_stay_lines_whatever_is_in_them() {
    let house = House::new().await;
    let mut service = Lines::authenticated(&house, &house.owner()).await;
    let registration = json!({
        "service": "echo", "version": "1", "methods": ["echo.say"], "events": [], "subscriptions": [],
    });
    let answer = service.call("1", "gateway.register", registration).await;
    assert_eq!(answer["ok"], true, "{answer}");
    let mut caller = house.socket(&house.owner()).await;
    // Line breaks between tokens, and a whole frame as data inside a string and as an object.
    let inner = json!({"type": "res", "id": "9", "ok": true, "payload": "forged"});
    let params = serde_json::to_string_pretty(&json!({
        "text": format!("{inner}\n{inner}"), "frame": inner,
    }))
    .unwrap()
    .replace('\n', "\r\n");
    caller
        .send_text(&format!(
            "{{\r\n\"type\":\"req\",\n\"id\":\"9\",\"target\":\"\",\"method\":\"echo.say\",\"params\":{params}}}"
        ))
        .await;
    let line = service.next_line().await.unwrap();
    let request: Value = serde_json::from_str(&line).expect("one line is one frame");
    assert_eq!(request["method"], "echo.say");
    assert_eq!(request["params"]["frame"], inner);
    assert_eq!(request["params"]["text"], format!("{inner}\n{inner}"));
    let res = json!({"type": "res", "id": request["id"], "ok": true, "payload": request["params"]});
    service.send(&res.to_string()).await;
    let answer = caller.next().await;
    assert_eq!(answer["id"], "9");
    assert_eq!(
        answer["payload"]["frame"], inner,
        "the frame inside stayed data"
    );
    house.stop().await;
}

#[tokio::test]
async fn a_line_over_the_frame_limit_ends_it() {
    let house = House::new().await;
    let mut lines = Lines::authenticated(&house, &house.owner()).await;
    let chunk = "x".repeat(1024 * 1024);
    for _ in 0..9 {
        if lines.writing.write_all(chunk.as_bytes()).await.is_err() {
            break;
        }
    }
    let answer = lines.next().await.expect("told why");
    assert_eq!(answer["error"]["code"], "PARSE_ERROR");
    house.stop().await;
}

#[tokio::test]
async fn revoking_ends_it() {
    let house = House::new().await;
    let (id, token) = house.token("read", None).await;
    let mut lines = Lines::authenticated(&house, &token).await;
    house
        .rpc(&house.owner(), "token.revoke", &json!({"token": id}))
        .await;
    assert!(lines.next().await.is_none());
    house.stop().await;
}

#[tokio::test]
async fn a_stale_socket_is_replaced_and_anything_else_is_not() {
    let root = tempfile::tempdir().unwrap();
    let home = hob_kit::home::Home::at(root.path());
    home.ensure().unwrap();
    // What a daemon that was killed leaves behind.
    drop(std::os::unix::net::UnixListener::bind(home.socket()).unwrap());
    let start = async |root| {
        let clock = hob_kit::clock::Clock::system();
        House::build_in(root, "", Some("127.0.0.1:0"), clock).await
    };
    let house = start(root).await.unwrap();
    let _lines = Lines::authenticated(&house, &house.owner()).await;
    let root = house.stop().await;
    std::fs::write(home.socket(), "mine").unwrap();
    let refused = start(root).await.err().unwrap();
    assert!(
        matches!(refused, hob_gateway::GatewayError::Socket { .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn frames_near_the_limit_pass_both_ways() {
    let house = House::new().await;
    let registration = |name: &str| json!({"service": name, "version": "1", "methods": [format!("{name}.load")], "events": [], "subscriptions": []});
    let load = "x".repeat(hob_wire::limits::FRAME_BYTES_MAX - 16_384);
    let mut lines = Lines::authenticated(&house, &house.owner()).await;
    let mut socket = house.socket(&house.owner()).await;
    lines.call("1", "gateway.register", registration("a")).await;
    socket
        .call("1", "gateway.register", registration("b"))
        .await;
    let to_lines =
        json!({"type": "req", "id": "2", "target": "", "method": "a.load", "params": load});
    socket.send(&to_lines).await;
    let request = lines.next().await.unwrap();
    assert_eq!(request["params"], load);
    let answer = json!({"type": "res", "id": request["id"], "ok": true, "payload": load});
    lines.send(&answer.to_string()).await;
    assert_eq!(socket.next().await["payload"], load);
    let to_socket =
        json!({"type": "req", "id": "3", "target": "", "method": "b.load", "params": load});
    lines.send(&to_socket.to_string()).await;
    let request = socket.next().await;
    assert_eq!(request["params"], load);
    let answer = json!({"type": "res", "id": request["id"], "ok": true, "payload": load});
    socket.send(&answer).await;
    assert_eq!(lines.next().await.unwrap()["payload"], load);
    house.stop().await;
}
