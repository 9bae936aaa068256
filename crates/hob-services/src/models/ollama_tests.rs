//! A pull through a scripted Ollama, with the lines that the real one streams.

use super::*;
use hob_net::HttpOptions;
use std::io::{Read, Write};
use std::net::TcpListener;

/// Answers one request with these bytes; returns its address.
fn answer(head: &'static str, lines: Vec<String>) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = vec![0; 4_096];
        let length = stream.read(&mut asked).unwrap();
        let mut asked = String::from_utf8_lossy(&asked[..length]).into_owned();
        while !asked.ends_with('}') {
            let mut more = [0; 1_024];
            let length = stream.read(&mut more).unwrap();
            asked.push_str(&String::from_utf8_lossy(&more[..length]));
        }
        write!(stream, "HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").unwrap();
        for line in lines {
            // A client that has seen enough may be gone.
            let _ = stream.write_all(line.as_bytes());
        }
        asked
    });
    (url, thread)
}

fn empty() -> ModelDownload {
    ModelDownload {
        name: "q".to_owned(),
        source: "ollama:q".to_owned(),
        file: String::new(),
        state: DownloadState::Fetching,
        bytes_done: 0,
        bytes_total: 0,
        bytes_per_second: None,
        seconds_left: None,
        licence: None,
        path: None,
        local: false,
        message: None,
    }
}

async fn pull(url: &str) -> (Result<(), PullError>, ModelDownload) {
    let clock = Clock::system();
    let http = HttpClient::new(HttpOptions::new(clock.clone())).unwrap();
    let progress = watch::Sender::new(empty());
    let pull = OllamaPull {
        http: &http,
        url,
        name: "qwen3:4b",
        clock: &clock,
        progress: &progress,
    };
    let done = pull.run(&CancellationToken::new()).await;
    let last = progress.borrow().clone();
    (done, last)
}

#[tokio::test]
async fn the_layers_of_a_pull_are_added_up() {
    let lines = [
        r#"{"status":"pulling manifest"}"#,
        r#"{"status":"pulling aa","digest":"sha256:aa","total":1000}"#,
        r#"{"status":"pulling aa","digest":"sha256:aa","total":1000,"completed":400}"#,
        r#"{"status":"pulling bb","digest":"sha256:bb","total":50,"completed":50}"#,
        r#"{"status":"pulling aa","digest":"sha256:aa","total":1000,"completed":1000}"#,
        r#"{"status":"verifying sha256 digest"}"#,
        r#"{"status":"writing manifest"}"#,
        r#"{"status":"success"}"#,
    ];
    let lines = lines.iter().map(|line| format!("{line}\n")).collect();
    let (url, thread) = answer("200 OK\r\nContent-Type: application/x-ndjson", lines);
    let (done, last) = pull(&url).await;
    assert_eq!(done, Ok(()));
    assert_eq!((last.bytes_done, last.bytes_total), (1_050, 1_050));
    let asked = thread.join().unwrap();
    assert!(asked.starts_with("POST /api/pull "), "{asked}");
    assert!(asked.contains(r#""model":"qwen3:4b""#), "{asked}");
}

#[tokio::test]
async fn an_error_in_the_stream_a_missing_model_and_an_early_end_are_told_apart() {
    let error = r#"{"error":"pull model manifest: file does not exist"}"#.to_owned();
    let (url, _) = answer("200 OK", vec![error.clone()]);
    let (done, _) = pull(&url).await;
    assert!(matches!(done, Err(PullError::NotFound(_))), "{done:?}");
    let (url, _) = answer("500 Internal Server Error", vec![error]);
    let (done, _) = pull(&url).await;
    assert!(matches!(done, Err(PullError::NotFound(_))), "{done:?}");
    let (url, _) = answer(
        "200 OK",
        vec![r#"{"error":"no space left on device"}"#.to_owned()],
    );
    let (done, _) = pull(&url).await;
    let said = done.unwrap_err().to_string();
    assert!(said.contains("no space left on device"), "{said}");
    let (url, _) = answer(
        "200 OK",
        vec!["{\"status\":\"pulling manifest\"}\n".to_owned()],
    );
    let (done, _) = pull(&url).await;
    assert!(
        done.unwrap_err()
            .to_string()
            .contains("before it was complete")
    );
}

#[tokio::test]
async fn a_stream_without_line_breaks_is_bounded() {
    let lines = vec!["x".repeat(LINE_BYTES_MAX); 3];
    let (url, _) = answer("200 OK", lines);
    let (done, _) = pull(&url).await;
    assert!(done.unwrap_err().to_string().contains("something else"));
}
