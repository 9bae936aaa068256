//! The WebSocket's own rules: fragments, pings, close codes, the chosen subprotocol.

use super::http;
use super::wire::{DEADLINE, Ended, Peer, number, request, ws_request};
use crate::support::House;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

async fn socket(house: &House) -> WebSocketStream<TcpStream> {
    let stream = TcpStream::connect(house.address()).await;
    let stream = stream.expect("the port accepts");
    let upgraded =
        tokio_tungstenite::client_async(ws_request(house, &house.token()), stream).await;
    upgraded.expect("the token is good").0
}

async fn next(socket: &mut WebSocketStream<TcpStream>) -> Message {
    let next = tokio::time::timeout(DEADLINE, socket.next()).await;
    let next = next.expect("something arrives in time");
    next.expect("the socket is open").expect("a message")
}

#[tokio::test]
async fn a_frame_may_come_in_fragments() {
    let house = House::start();
    let mut socket = socket(&house).await;
    let text = request("split", "session.list", json!({})).to_string();
    let (head, rest) = text.as_bytes().split_at(7);
    let (middle, tail) = rest.split_at(20);
    for (part, code, is_last) in [
        (head, Data::Text, false),
        (middle, Data::Continue, false),
        (tail, Data::Continue, true),
    ] {
        let frame = Frame::message(part.to_vec(), OpCode::Data(code), is_last);
        socket.send(Message::Frame(frame)).await.expect("it is taken");
        if !is_last {
            // Control frames may stand between.
            let ping = Message::Ping(part.to_vec().into());
            socket.send(ping).await.expect("it is taken");
            let Message::Pong(echo) = next(&mut socket).await else {
                panic!("a ping is answered by a pong");
            };
            assert_eq!(echo, part);
        }
    }
    let answer = next(&mut socket).await.into_text().expect("text");
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!((&answer["id"], &answer["ok"]), (&json!("split"), &json!(true)));
}

#[tokio::test]
async fn the_close_code_says_why() {
    let mut house = House::start();
    let too_big = "x".repeat(8 * 1024 * 1024 + 1);
    let mut peer = Peer::owner(&house).await;
    peer.try_send_text(&too_big).await;
    assert_eq!(peer.until_closed().await.1, Ended(Some(1009)), "too big");

    let mut owner = Peer::owner(&house).await;
    let made = json!({ "name": "guest", "scopes": ["read"] });
    let made = owner.call("token.create", made).await;
    let token = made["token"].as_str().expect("a token").to_owned();
    let mut guest = Peer::ws(ws_request(&house, &token)).await.expect("it is good");
    owner
        .call("token.revoke", json!({ "token": "guest" }))
        .await;
    assert_eq!(guest.until_closed().await.1, Ended(Some(1008)), "policy");

    house.signal_terminate();
    assert_eq!(owner.until_closed().await.1, Ended(Some(1001)), "going away");
    house.wait_exit(std::time::Duration::from_secs(10));
}

#[tokio::test]
async fn closing_politely_is_answered() {
    let house = House::start();
    let mut watcher = Peer::owner(&house).await;
    let before = number(&watcher.call("gateway.stats", json!({})).await, "connections");
    let mut socket = socket(&house).await;
    socket.close(None).await.expect("the close is sent");
    let answer = tokio::time::timeout(DEADLINE, socket.next()).await;
    let answer = answer.expect("the close is answered");
    assert!(
        matches!(answer, Some(Ok(Message::Close(_))) | None),
        "{answer:?}"
    );
    let gone = async {
        while number(&watcher.call("gateway.stats", json!({})).await, "connections") > before {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(DEADLINE, gone)
        .await
        .expect("the connection is forgotten");
}

#[tokio::test]
async fn the_subprotocol_chosen_never_shows_the_token() {
    let house = House::start();
    let token = house.token();
    let offered = format!("hob.v1, hob.token.{token}");
    let head = http::head(
        &house,
        "GET",
        "/ws",
        &[
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("Sec-WebSocket-Protocol", &offered),
        ],
    );
    let head = head.replace("Connection: close", "Connection: Upgrade");
    let mut stream = TcpStream::connect(house.address())
        .await
        .expect("the port accepts");
    stream
        .write_all(head.as_bytes())
        .await
        .expect("the head is taken");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let byte = tokio::time::timeout(DEADLINE, stream.read_u8()).await;
        answer.push(byte.expect("an answer in time").expect("a whole head"));
    }
    let answer = String::from_utf8(answer).expect("ASCII").to_lowercase();
    assert!(answer.starts_with("http/1.1 101"), "{answer}");
    assert!(answer.contains("sec-websocket-protocol: hob.v1\r\n"), "{answer}");
    assert!(answer.contains("s3pplmbitxaq9kygzzhzrbk+xoo="), "{answer}");
    assert!(!answer.contains(&token), "the token is never repeated");
}
