//! The same client over a WebSocket.

use crate::fake::soon;
use futures_util::{SinkExt, StreamExt};
use hob_client::{CallOptions, Client, ClientError, DaemonTarget};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{
    Callback, ErrorResponse, Request, Response,
};
use tokio_tungstenite::tungstenite::http::HeaderValue;

async fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("ws://{}/ws", listener.local_addr().expect("bound"));
    (listener, url)
}

/// Accepts a WebSocket that presents `token` and speaks our version.
async fn accept(listener: &TcpListener, token: &str) -> WebSocketStream<TcpStream> {
    let (stream, _) = soon(listener.accept()).await.expect("a connection");
    let upgraded = tokio_tungstenite::accept_hdr_async(stream, Check(token)).await;
    upgraded.expect("a WebSocket")
}

struct Check<'a>(&'a str);

impl Callback for Check<'_> {
    fn on_request(
        self,
        request: &Request,
        mut response: Response,
    ) -> Result<Response, ErrorResponse> {
        let header = |name: &str| request.headers().get(name).map(HeaderValue::as_bytes);
        let bearer = format!("Bearer {}", self.0);
        assert_eq!(header("authorization"), Some(bearer.as_bytes()));
        assert_eq!(header("sec-websocket-protocol"), Some(&b"hob.v1"[..]));
        assert_eq!(request.uri().path(), "/ws");
        let headers = response.headers_mut();
        headers.insert("sec-websocket-protocol", HeaderValue::from_static("hob.v1"));
        Ok(response)
    }
}

#[tokio::test]
async fn calls_travel_as_text_messages_and_pings_are_answered() {
    let (listener, url) = listener().await;
    let target = DaemonTarget::url(&url, "secret").expect("a good url");
    let (client, mut peer) = tokio::join!(Client::connect(target), accept(&listener, "secret"));
    let client = client.expect("connects");
    let serve = async {
        let message = peer.next().await.expect("open").expect("a message");
        let text = message.into_text().expect("text");
        let frame: Value = serde_json::from_str(&text).expect("JSON");
        peer.send(Message::Ping("are you there".into()))
            .await
            .expect("open");
        let pong = peer.next().await.expect("open").expect("a message");
        assert_eq!(pong, Message::Pong("are you there".into()));
        let answer = json!({ "type": "res", "id": frame["id"], "ok": true, "payload": 42 });
        peer.send(Message::text(answer.to_string()))
            .await
            .expect("open");
    };
    let call = client.call_raw("a.b", None, CallOptions::default());
    let (answer, ()) = soon(async { tokio::join!(call, serve) }).await;
    assert_eq!(answer.expect("answered").as_deref(), Some(&b"42"[..]));
}

/// Answers the next connection's upgrade with an HTTP error.
async fn refuse(listener: &TcpListener, status: &str, error: &Value) {
    let (mut stream, _) = soon(listener.accept()).await.expect("a connection");
    let mut request = [0; 4_096];
    let read = stream.read(&mut request).await.expect("a request");
    assert!(read > 0);
    let body = json!({ "error": error }).to_string();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await.expect("open");
    stream.shutdown().await.expect("open");
}

#[tokio::test]
async fn a_refusal_says_why() {
    let (listener, url) = listener().await;
    let target = DaemonTarget::url(&url, "secret").expect("a good url");
    let error = json!({ "code": "UNAUTHORIZED", "message": "This token is not known." });
    let (refused, ()) = tokio::join!(
        Client::connect(target),
        refuse(&listener, "401 Unauthorized", &error)
    );
    let expected = ClientError::RefusedToken {
        message: "This token is not known.".to_owned(),
    };
    assert_eq!(refused.err(), Some(expected));
}

#[tokio::test]
async fn another_protocol_is_named_with_both_versions() {
    let (listener, url) = listener().await;
    let target = DaemonTarget::url(&url, "secret").expect("a good url");
    let details = json!({ "supported": ["hob.v3"] });
    let error = json!({ "code": "INVALID_PARAMS", "message": "No.", "details": details });
    let (refused, ()) = tokio::join!(
        Client::connect(target),
        refuse(&listener, "400 Bad Request", &error)
    );
    let text = refused.expect_err("refused").to_string();
    assert!(
        text.contains("protocol 1") && text.contains("protocol 3"),
        "{text}"
    );
}

#[tokio::test]
async fn nobody_behind_the_url_is_said_with_the_url() {
    let (listener, url) = listener().await;
    drop(listener);
    let target = DaemonTarget::url(&url, "secret").expect("a good url");
    let error = soon(Client::connect(target))
        .await
        .expect_err("nobody there");
    assert!(error.to_string().contains(&url), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
}
