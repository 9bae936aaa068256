//! Tokens: revocation, expiry, guessing.

use crate::house::{House, PATIENCE};
use hob_kit::clock::Clock;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

#[tokio::test]
async fn revoking_closes_live_sockets_within_a_second() {
    let house = House::new().await;
    let (id, token) = house.token("control", None).await;
    let mut socket = house.socket(&token).await;
    let mut other = house.socket(&house.owner()).await;
    socket.call("1", "gateway.stats", json!({})).await;
    let since = Instant::now();
    let revoked = house
        .rpc(&house.owner(), "token.revoke", &json!({"token": id}))
        .await;
    assert_eq!(revoked.status, 200, "{}", revoked.text());
    let frame = socket.closed().await.expect("a close frame");
    assert!(
        since.elapsed() < Duration::from_secs(1),
        "{:?}",
        since.elapsed()
    );
    assert_eq!(frame.code, CloseCode::Policy);
    assert!(frame.reason.contains("revoked"), "{}", frame.reason);
    assert_eq!(
        house.rpc(&token, "gateway.stats", &json!({})).await.status,
        401
    );
    let answer = other.call("2", "gateway.stats", json!({})).await;
    assert_eq!(answer["ok"], true, "the others live on");
    house.stop().await;
}

#[tokio::test]
async fn revoking_closes_a_socket_that_reads_nothing() {
    let house = House::with("gateway.max_connections = 2", Some("127.0.0.1:0"));
    let house = house.await.unwrap();
    let (id, token) = house.token("control", None).await;
    let mut socket = house.socket(&token).await;
    // More answers than the socket's buffers hold, none of which is read.
    for at in 0..200 {
        let frame = json!({"type": "req", "id": at.to_string(), "target": "", "method": "gateway.describe"});
        socket.send(&frame).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let revoked = house
        .rpc(&house.owner(), "token.revoke", &json!({"token": id}))
        .await;
    assert_eq!(revoked.status, 200);
    let until = Instant::now() + PATIENCE;
    loop {
        let page = metrics(&house).await;
        if page.contains("\nhob_connections 1\n") {
            break;
        }
        assert!(Instant::now() < until, "the seat is still taken:\n{page}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(socket);
    house.stop().await;
}

#[tokio::test]
async fn an_expired_token_ends_with_its_sockets() {
    let clock = Clock::manual(1_700_000_000_000);
    let house = House::build("", Some("127.0.0.1:0"), clock).await.unwrap();
    let (_, token) = house.token("read", Some(60_000)).await;
    let mut socket = house.socket(&token).await;
    socket.call("1", "gateway.stats", json!({})).await;
    house.clock.advance(59_999);
    assert_eq!(
        house.rpc(&token, "gateway.stats", &json!({})).await.status,
        200
    );
    house.clock.advance(1);
    assert_eq!(
        house.rpc(&token, "gateway.stats", &json!({})).await.status,
        401
    );
    let frame = socket.closed().await.expect("a close frame");
    assert_eq!(frame.code, CloseCode::Policy);
    assert!(frame.reason.contains("expired"), "{}", frame.reason);
    house.stop().await;
}

#[tokio::test]
async fn removing_the_owners_file_makes_a_new_token() {
    let house = House::new().await;
    let old = house.owner();
    let mut socket = house.socket(&old).await;
    socket.call("1", "gateway.stats", json!({})).await;
    std::fs::remove_file(house.home.owner_token()).unwrap();
    let frame = socket.closed().await.expect("a close frame");
    assert_eq!(frame.code, CloseCode::Policy);
    assert_ne!(house.owner(), old);
    assert_eq!(
        house.rpc(&old, "gateway.stats", &json!({})).await.status,
        401
    );
    assert_eq!(
        house
            .rpc(&house.owner(), "gateway.stats", &json!({}))
            .await
            .status,
        200
    );
    house.stop().await;
}

#[tokio::test]
async fn guesses_are_limited_and_right_tokens_are_not() {
    let house = House::new().await;
    let owner = format!("Authorization: Bearer {}", house.owner());
    let (_, made) = house.token("read", None).await;
    let made = format!("Authorization: Bearer {made}");
    let mut told = 0;
    let mut limited = 0;
    for guess in 0..200 {
        let wrong = if guess % 2 == 0 {
            format!("Authorization: Bearer {guess:064x}")
        } else {
            format!("Authorization: Bearer hob_{guess:08x}_{guess:048x}")
        };
        let answer = house.get("/ready", &[&wrong]).await;
        match answer.status {
            401 => told += 1,
            429 => {
                limited += 1;
                assert!(answer.header("retry-after").is_some());
                assert_eq!(answer.json()["error"]["retryable"], true);
            }
            other => panic!("{other}"),
        }
        if guess % 20 == 19 {
            assert_eq!(house.get("/ready", &[&owner]).await.status, 200);
            assert_eq!(house.get("/ready", &[&made]).await.status, 200);
        }
    }
    assert!(told >= 20, "{told}");
    assert!(limited > 100, "{limited} of 200 limited, {told} told");
    assert!(
        metrics(&house)
            .await
            .contains("hob_auth_failures_total{listener=\"ws\"} 200")
    );
    house.stop().await;
}

#[tokio::test]
async fn tokens_are_listed_without_their_texts_and_survive_a_restart() {
    let house = House::new().await;
    let (id, token) = house.token("chat,service:mail", None).await;
    let list = house.rpc(&house.owner(), "token.list", &json!({})).await;
    assert!(!list.text().contains(&token));
    let info = &list.json()["tokens"][0];
    assert_eq!(info["id"], id);
    assert_eq!(info["scopes"], json!(["chat", "service:mail"]));
    let rows = house.store.list_tokens().await.unwrap().rows;
    assert_eq!(rows[0].secret_hash, hob_gateway::credential::digest(&token));
    let name = info["name"].as_str().unwrap();
    let again = json!({"name": name, "scopes": ["read"]});
    let conflict = house.rpc(&house.owner(), "token.create", &again).await;
    assert_eq!(conflict.code(), "CONFLICT");
    let unknown = json!({"token": "nobody"});
    let missing = house.rpc(&house.owner(), "token.revoke", &unknown).await;
    assert_eq!(missing.code(), "NOT_FOUND");
    let (revoked, ended) = house.token("read", None).await;
    house
        .rpc(&house.owner(), "token.revoke", &json!({"token": revoked}))
        .await;
    let owner = house.owner();
    let root = house.stop().await;
    let house = House::build_in(root, "", Some("127.0.0.1:0"), Clock::system());
    let house = house.await.unwrap();
    assert_eq!(house.owner(), owner);
    assert_eq!(
        house.rpc(&token, "gateway.stats", &json!({})).await.status,
        200
    );
    assert_eq!(
        house.rpc(&ended, "gateway.stats", &json!({})).await.status,
        401
    );
    house.stop().await;
}

async fn metrics(house: &House) -> String {
    let bearer = format!("Authorization: Bearer {}", house.owner());
    house.get("/metrics", &[&bearer]).await.text()
}
