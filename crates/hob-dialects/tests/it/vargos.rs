//! The listener for Vargos clients.

use crate::house::{House, Socket, exchange};
use serde_json::json;

async fn open_house() -> (House, String) {
    let config = "listen.vargos = \"127.0.0.1:0\"";
    let house = House::with(config, Some("127.0.0.1:0")).await.unwrap();
    let listeners = house.gateway.listeners();
    let address = listeners
        .iter()
        .find_map(|line| line.strip_prefix("vargos "));
    let address = address.expect("it is opened").to_owned();
    (house, address)
}

#[tokio::test]
async fn a_client_without_token_or_path_is_served() {
    let (house, address) = open_house().await;
    let mut service = Socket::open(&address, "/", &[]).await.unwrap();
    let registration = json!({
        "service": "agent", "version": "1", "methods": ["agent.run", "tool.list"], "events": [], "subscriptions": [],
    });
    let answer = service.call("1", "gateway.register", registration).await;
    assert_eq!(answer["ok"], true, "{answer}");
    let mut caller = Socket::open(&address, "/", &[]).await.unwrap();
    caller
        .send(&json!({"type": "req", "id": "c", "target": "agent", "method": "tool.list"}))
        .await;
    let request = service.next().await;
    assert_eq!(request["method"], "tool.list");
    service
        .send(&json!({"type": "res", "id": request["id"], "ok": true, "payload": []}))
        .await;
    assert_eq!(caller.next().await["payload"], json!([]));
    let answer = caller
        .call("d", "session.create", json!({"sessionKey": "cli:chat"}))
        .await;
    assert_eq!(answer["ok"], true, "{answer}");
    house.stop().await;
}

#[tokio::test]
async fn it_grants_control_and_no_more() {
    let (house, address) = open_house().await;
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    let answer = socket.call("1", "token.list", json!({})).await;
    assert_eq!(answer["error"]["code"], "FORBIDDEN");
    let taken = json!({"service": "sessions", "version": "1", "methods": ["session.create"], "events": [], "subscriptions": []});
    let answer = socket.call("2", "gateway.register", taken).await;
    assert_eq!(answer["error"]["code"], "REGISTER_FAILED");
    house.stop().await;
}

#[tokio::test]
async fn pages_of_other_origins_and_names_are_refused() {
    let (house, address) = open_house().await;
    let open = async |headers: &[(&str, &str)]| Socket::open(&address, "/", headers).await.err();
    assert_eq!(open(&[("Origin", "http://evil.test")]).await, Some(403));
    assert_eq!(open(&[("Origin", "null")]).await, Some(403));
    assert_eq!(open(&[("Host", "evil.test")]).await, Some(403));
    let own = format!("http://{address}");
    assert_eq!(open(&[("Origin", &own)]).await, None);
    house.stop().await;
}

#[tokio::test]
async fn it_has_only_its_dialect() {
    let (house, address) = open_house().await;
    for path in ["/ws", "/health", "/metrics", "/api/openapi.json"] {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        assert_eq!(
            exchange(&address, head.as_bytes()).await.status,
            404,
            "{path}"
        );
    }
    let post = format!(
        "POST /api/rpc/session.create HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    );
    assert_eq!(exchange(&address, post.as_bytes()).await.status, 404);
    house.stop().await;
}

#[tokio::test]
async fn it_is_closed_unless_opened() {
    let house = House::new().await;
    assert_eq!(house.gateway.listeners().len(), 2);
    house.stop().await;
}

/// Only root can become another user; elsewhere the fault test 46 reports itself as not run.
#[tokio::test]
async fn another_user_is_turned_away() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (house, address) = open_house().await;
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let knock = move || {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    };
    let ours = tokio::task::spawn_blocking(knock.clone()).await.unwrap();
    assert!(
        ours.starts_with(b"HTTP/1.1 426"),
        "our own user is answered"
    );
    let theirs = tokio::task::spawn_blocking(|| as_nobody(knock))
        .await
        .unwrap();
    assert!(theirs.is_empty(), "{}", String::from_utf8_lossy(&theirs));
    house.stop().await;
}

/// Runs `act` on a thread of its own that has become another user.
pub(crate) fn as_nobody<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    use rustix::process::Uid;
    let thread = std::thread::spawn(move || {
        let nobody = Uid::from_raw(65_534);
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        act()
    });
    thread.join().unwrap()
}
