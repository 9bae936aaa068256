//! The HTTP client: bounds, lost connections, timeouts, secrets and redirects.

use crate::server::{LONG, Script, Server, events};
use hob_kit::clock::Clock;
use hob_kit::secret::Secret;
use hob_net::{HttpClient, HttpOptions, HttpRequest, NetError, SseReader, StreamBounds};
use std::time::Duration;

const CANARY: &str = "canary-5c4b3a";

fn http() -> HttpClient {
    HttpClient::new(HttpOptions::new(Clock::system())).expect("starts")
}

async fn reader(script: Script, idle: Duration, total_bytes_max: usize) -> (Server, SseReader) {
    let server = Server::start(script);
    let sent = http().send(HttpRequest::post(server.url(), "{}")).await;
    let bounds = StreamBounds {
        idle,
        total_bytes_max,
    };
    (server, sent.expect("answers").events(bounds))
}

#[tokio::test]
async fn events_come_and_end() {
    let script = events("data: one\n\nevent: x\r\ndata: two\r\n\r\ndata: half");
    let (_server, mut reader) = reader(script, LONG, 1_000).await;
    assert_eq!(
        reader.next().await.expect("comes").expect("is one").data,
        "one"
    );
    let second = reader.next().await.expect("comes").expect("is one");
    assert_eq!((second.event.as_str(), second.data.as_str()), ("x", "two"));
    assert_eq!(reader.next().await, Ok(None));
    assert_eq!(reader.next().await, Ok(None));
    assert_eq!(reader.received_bytes(), 44);
}

#[tokio::test]
async fn a_cut_within_a_chunk_is_a_cut_and_events_before_it_stand() {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let script = Script {
        writes: vec![
            head.into(),
            b"b\r\ndata: one\n\n\r\n".to_vec(),
            b"ff\r\ndata: tw".to_vec(),
        ],
        stays: false,
    };
    let (_server, mut reader) = reader(script, LONG, 1_000).await;
    assert!(reader.next().await.expect("comes").is_some());
    let cut = reader.next().await.expect_err("was cut");
    assert!(matches!(cut, NetError::Cut { .. }), "{cut:?}");
    assert_eq!(reader.next().await, Err(cut));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_garbage_and_size_are_told_apart() {
    let mut silent = events("data: one\n\n");
    silent.stays = true;
    let (server, mut quiet) = reader(silent, Duration::from_millis(200), 1_000).await;
    assert!(quiet.next().await.expect("comes").is_some());
    let error = quiet.next().await.expect_err("is silent");
    assert!(
        matches!(error, NetError::Silent { waited_ms: 200, .. }),
        "{error:?}"
    );
    drop(quiet);
    assert!(server.seen().starts_with("POST /x"));
    assert_eq!(server.seen(), "hung up");

    let (_server, mut garbage) = reader(events("<html>\n"), LONG, 1_000).await;
    let error = garbage.next().await.expect_err("is garbage");
    assert!(matches!(error, NetError::Garbage { .. }), "{error:?}");

    let many = "data: x\n\n".repeat(200);
    let (_server, mut large) = reader(events(&many), LONG, 1_000).await;
    let error = loop {
        match large.next().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("took more than its bound"),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(
            error,
            NetError::TooLarge {
                bytes_max: 1_000,
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_line_without_end_is_bounded() {
    let endless = format!("data: {}", "a".repeat(hob_net::LINE_BYTES_MAX + 1));
    let (_server, mut reader) = reader(events(&endless), LONG, usize::MAX).await;
    let error = reader.next().await.expect_err("is too long");
    assert!(matches!(error, NetError::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_a_body_is_bounded() {
    let script = Script {
        writes: vec![
            b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 5\r\n\r\nhello".to_vec(),
        ],
        stays: false,
    };
    let server = Server::start(script.clone());
    let response = http()
        .send(HttpRequest::get(server.url()))
        .await
        .expect("answers");
    assert_eq!(response.status(), 302);
    assert_eq!(response.text(LONG, 5).await.expect("reads"), "hello");
    let server = Server::start(script);
    let response = http()
        .send(HttpRequest::get(server.url()))
        .await
        .expect("answers");
    let error = response.text(LONG, 4).await.expect_err("is too large");
    assert!(matches!(error, NetError::TooLarge { .. }));
}

#[tokio::test]
async fn a_dead_port_and_a_head_that_never_comes() {
    let error = http().send(HttpRequest::get("http://127.0.0.1:1/")).await;
    let error = error.expect_err("nobody is there");
    assert!(
        matches!(&error, NetError::Connect { host, .. } if host == "127.0.0.1:1"),
        "{error:?}"
    );

    let server = Server::start(Script {
        writes: Vec::new(),
        stays: true,
    });
    let request = HttpRequest::get(server.url()).head_timeout(Duration::from_millis(200));
    let error = http().send(request).await.expect_err("is silent");
    assert!(matches!(error, NetError::Silent { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_a_waiting_request_closes_its_connection() {
    let server = Server::start(Script {
        writes: Vec::new(),
        stays: true,
    });
    let client = http();
    let waiting = client.send(HttpRequest::get(server.url()));
    let gave_up = tokio::time::timeout(Duration::from_millis(200), waiting).await;
    assert!(gave_up.is_err());
    assert!(server.seen().starts_with("GET /x"));
    assert_eq!(server.seen(), "hung up");
}

#[tokio::test]
async fn tls_is_ready_and_no_error_shows_what_was_sent() {
    // A server that speaks no TLS: the handshake fails, which it only can if there are ciphers.
    let server = Server::start(Script {
        writes: vec![b"HTTP/1.1 400 no\r\n\r\n".to_vec()],
        stays: false,
    });
    let url = format!("https://{}/{CANARY}", server.address);
    let request = HttpRequest::post(url, CANARY)
        .header("x-plain", CANARY)
        .secret_header("authorization", Secret::new(CANARY))
        .head_timeout(Duration::from_secs(5));
    let shown = format!("{request:?}");
    assert!(
        !shown.contains(CANARY) && shown.contains("authorization"),
        "{shown}"
    );
    let error = http().send(request).await.expect_err("is no TLS");
    let shown_error = format!("{error} {error:?}");
    assert!(!shown_error.contains(CANARY), "{shown_error}");
}

#[tokio::test]
async fn a_secret_that_no_header_may_hold_is_refused_and_not_shown() {
    let broken = format!("{CANARY}\nx: y");
    let request =
        HttpRequest::get("http://127.0.0.1:1/").secret_header("authorization", Secret::new(broken));
    let error = http().send(request).await.expect_err("is refused");
    assert!(matches!(error, NetError::Refused(_)));
    assert!(!format!("{error:?}").contains(CANARY));
}

#[tokio::test]
async fn waits_are_read_from_heads() {
    for (head, expected) in [
        ("retry-after: 3\r\n", Some(3_000)),
        ("retry-after-ms: 250\r\nretry-after: 3\r\n", Some(250)),
        (
            "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:49:40 GMT\r\n",
            Some(3_000),
        ),
        ("retry-after: soon\r\n", None),
        ("", None),
    ] {
        let server = Server::start(Script {
            writes: vec![format!("HTTP/1.1 429 x\r\n{head}content-length: 0\r\n\r\n").into_bytes()],
            stays: false,
        });
        let response = http()
            .send(HttpRequest::get(server.url()))
            .await
            .expect("answers");
        assert_eq!(response.retry_after_ms(), expected, "{head}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settled_stream_leaves_its_connection_to_the_next_request() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nb\r\ndata: one\n\n\r\n";
    let server = Server::start(Script {
        writes: vec![answer.into(), Vec::new(), b"0\r\n\r\n".to_vec()],
        stays: true,
    });
    let client = http();
    let response = client
        .send(HttpRequest::get(server.url()))
        .await
        .expect("answers");
    let mut reader = response.events(StreamBounds {
        idle: LONG,
        total_bytes_max: 1_000,
    });
    assert!(reader.next().await.expect("comes").is_some());
    reader.drain(LONG).await;
    let again = HttpRequest::get(format!("{}/again", server.url()));
    let again = again.head_timeout(Duration::from_millis(300));
    assert!(client.send(again).await.is_err(), "it is never answered");
    assert!(server.seen().starts_with("GET /x "));
    assert!(
        server.seen().starts_with("GET /x/again "),
        "on the same connection"
    );
}
