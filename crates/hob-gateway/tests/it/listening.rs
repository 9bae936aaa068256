//! Listen addresses, connection limits and slow peers.

use crate::house::{House, PATIENCE, exchange};
use hob_gateway::GatewayError;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn an_address_others_can_reach_is_refused_with_the_way_out() {
    for address in ["0.0.0.0:0", "[::]:0", "192.168.0.7:7717"] {
        let refused = House::with("", Some(address)).await.err().unwrap();
        assert!(matches!(refused, GatewayError::Address(_)));
        assert!(refused.to_string().contains("ssh -L"), "{refused}");
    }
}

#[tokio::test]
async fn the_default_port_gives_way_and_a_chosen_one_does_not() {
    // Taken by us now, or by someone else already: either way it is not free.
    let _taken = tokio::net::TcpListener::bind("127.0.0.1:7717").await;
    let house = House::with("", None).await.unwrap();
    assert_ne!(house.gateway.address().port(), 7717);
    assert!(house.gateway.address().ip().is_loopback());
    let chosen = "listen.address = \"127.0.0.1:7717\"";
    let refused = House::with(chosen, None).await.err().unwrap();
    assert!(matches!(refused, GatewayError::Bind { .. }), "{refused}");
    let flag = House::with("", Some("127.0.0.1:7717")).await.err().unwrap();
    assert!(matches!(flag, GatewayError::Bind { .. }), "{flag}");
    house.stop().await;
}

#[tokio::test]
async fn files_are_private() {
    let house = House::new().await;
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let socket = house.home.socket();
    assert_eq!(mode(&socket), 0o600);
    assert_eq!(mode(socket.parent().unwrap()), 0o700);
    assert_eq!(mode(&house.home.owner_token()), 0o600);
    house.stop().await;
    assert!(!socket.exists(), "the socket is taken away");
}

#[tokio::test]
async fn a_head_that_dawdles_is_cut_off() {
    let house = House::new().await;
    let mut stream = TcpStream::connect(house.host()).await.unwrap();
    let since = Instant::now();
    let head = format!("GET /health HTTP/1.1\r\nHost: {}\r\nX-Slow: ", house.host());
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.into_split();
    let drip = async {
        while writing.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let wait = async {
        let mut bytes = Vec::new();
        let _ = reading.read_to_end(&mut bytes).await;
    };
    tokio::time::timeout(PATIENCE, async {
        tokio::select! { () = drip => (), () = wait => () }
    })
    .await
    .expect("it is cut off");
    assert!(
        since.elapsed() > Duration::from_secs(5),
        "not before its time"
    );
    house.stop().await;
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let house = House::new().await;
    let mut request = format!("GET /health HTTP/1.1\r\nHost: {}\r\nX-Big: ", house.host());
    request.push_str(&"x".repeat(1_000_000));
    assert_eq!(house.send(&request).await.status, 431);
    let many = "X-A: 1\r\n".repeat(1_000);
    let request = format!(
        "GET /health HTTP/1.1\r\nHost: {}\r\n{many}\r\n",
        house.host()
    );
    assert_eq!(house.send(&request).await.status, 431);
    house.stop().await;
}

#[tokio::test]
async fn a_body_before_authentication_is_not_read() {
    let house = House::new().await;
    let mut stream = TcpStream::connect(house.host()).await.unwrap();
    let head = format!(
        "POST /api/rpc/session.create HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 8000000\r\n\r\n",
        house.host()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut bytes = [0; 12];
    let read = tokio::time::timeout(PATIENCE, stream.read_exact(&mut bytes)).await;
    read.expect("answered without the body").unwrap();
    assert_eq!(&bytes, b"HTTP/1.1 401");
    house.stop().await;
}

#[tokio::test]
async fn beyond_the_last_seat_one_is_told_so() {
    let config = "gateway.max_connections = 2";
    let house = House::with(config, Some("127.0.0.1:0")).await.unwrap();
    let first = house.socket(&house.owner()).await;
    let _second = house.socket(&house.owner()).await;
    let answer = exchange(&house.host(), b"").await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "OVERLOADED"));
    drop(first);
    let until = Instant::now() + PATIENCE;
    while house.get("/health", &[]).await.status != 200 {
        assert!(Instant::now() < until, "the seat is not freed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    house.stop().await;
}

#[tokio::test]
async fn a_stopping_gateway_says_so_and_takes_nobody_new() {
    let house = House::new().await;
    let mut stream = TcpStream::connect(house.host()).await.unwrap();
    let request = format!(
        "GET /ready HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        house.host(),
        house.owner()
    );
    let mut ask = async || {
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = vec![0; 4_096];
        let count = stream.read(&mut bytes).await.unwrap();
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    assert!(ask().await.starts_with("HTTP/1.1 200"));
    house.gateway.stop_accepting();
    let answer = ask().await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("hob is stopping"), "{answer}");
    let until = Instant::now() + PATIENCE;
    while TcpStream::connect(house.host()).await.is_ok() {
        assert!(Instant::now() < until, "the listener is still open");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    house.stop().await;
}
