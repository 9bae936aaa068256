//! Connections: requests of all sizes, alone, pipelined and incomplete.

use super::{DEADLINE, Stage, ask, failed, read_all, said};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

fn request(action: &str, data: &Value) -> String {
    json!({ "action": action, "data": data }).to_string()
}

#[tokio::test]
async fn what_is_no_request_is_told_at_once_and_does_no_harm() {
    let stage = Stage::new().await;
    let long = format!(
        "{{\"action\":\"execute\",\"data\":{{\"command\":\"{}\"}}}}",
        "x".repeat(17_000)
    );
    let deep = "[".repeat(5_000);
    let deep_data = format!("{{\"action\":\"capture\",\"data\":{deep}");
    let starts: [(&[u8], &str); 18] = [
        (b"", "Empty request received"),
        (b" \r\n\t ", "Empty request received"),
        (b"hello", "Invalid JSON: "),
        (b"x", "Invalid JSON: "),
        (b"\x00\xff\xfe", "Invalid JSON: "),
        (b"{]", "Invalid JSON: "),
        (b"[1,2]", "Invalid JSON: "),
        (b"[\"capture\",{}]", "Invalid JSON: a request is an object"),
        (b"7", "Invalid JSON: "),
        (b"{}", "Invalid JSON: missing field `action`"),
        (
            b"{\"action\":\"capture\"}",
            "Invalid JSON: missing field `data`",
        ),
        (b"{\"action\":7,\"data\":{}}", "Invalid JSON: invalid type"),
        (
            b"{\"action\":null,\"data\":{}}",
            "Invalid JSON: invalid type",
        ),
        (
            b"{\"action\":\"a\",\"action\":\"b\",\"data\":{}}",
            "Invalid JSON: duplicate",
        ),
        (b"{\"action\":\"\xff\",\"data\":{}}", "Invalid JSON: "),
        (
            b"{\"action\":\"execute\",\"data\":{\"comm",
            "Invalid JSON: EOF",
        ),
        (long.as_bytes(), "Request too large"),
        (deep_data.as_bytes(), "Invalid JSON: recursion limit"),
    ];
    for (bytes, why) in starts {
        let text = stage.send(bytes).await;
        let answer: Value = serde_json::from_str(&text).unwrap();
        let error = answer["error"].as_str().unwrap();
        let sent = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]);
        assert!(error.starts_with(why), "{sent:?}: {answer}");
        assert_eq!(answer, failed(error), "{sent:?}");
    }
    assert_eq!(stage.rooms.calls(), Vec::<String>::new());
    assert_eq!(
        stage.ask("execute", json!({ "command": "ls" })).await,
        said("✓ Executed: ls")
    );
    stage.house.stop().await;
}

/// Garbage is not waited for: its sender has not said that it ends.
#[tokio::test]
async fn garbage_needs_no_end() {
    let stage = Stage::new().await;
    for bytes in ["x", "{]", "nonsense", "{\"action\": 7, "] {
        let mut stream = stage.connect().await;
        stream.write_all(bytes.as_bytes()).await.unwrap();
        let since = Instant::now();
        let text = read_all(&mut stream).await;
        assert!(text.contains("Invalid JSON: "), "{bytes}: {text}");
        assert!(since.elapsed() < Duration::from_secs(20), "{bytes}");
    }
    stage.house.stop().await;
}

#[tokio::test]
async fn a_huge_request_is_refused_without_being_kept_and_its_sender_reads_why() {
    let stage = Stage::new().await;
    let huge = format!(
        "{{\"action\":\"execute\",\"data\":\"{}",
        "x".repeat(4 << 20)
    );
    let text = stage.send(huge.as_bytes()).await;
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer, failed("Request too large"));
    // As large as a person allows.
    let letters = "y".repeat(20_000);
    let roomy = json!({ "command": "ls", "session": null, "more": letters });
    stage.house.set(&super::listening(
        &stage.socket,
        "archy.request_bytes = 32768",
    ));
    assert_eq!(stage.ask("execute", roomy).await, said("✓ Executed: ls"));
    stage.house.stop().await;
}

#[tokio::test]
async fn a_request_in_single_bytes_is_whole_when_it_is() {
    let stage = Stage::new().await;
    let mut stream = stage.connect().await;
    for byte in request("execute", &json!({ "command": "echo \"}{\" é" })).as_bytes() {
        stream.write_all(&[*byte]).await.unwrap();
        stream.flush().await.unwrap();
        tokio::task::yield_now().await;
    }
    let answer: Value = serde_json::from_str(&read_all(&mut stream).await).unwrap();
    assert_eq!(answer, said("✓ Executed: echo \"}{\" é"));
    stage.house.stop().await;
}

/// Both the silent and the slow have half a minute, however small their pieces.
#[tokio::test]
async fn the_silent_and_the_slow_are_ended() {
    let stage = Stage::new().await;
    let (mut silent, mut cut) = (stage.connect().await, stage.connect().await);
    let (mut slow, since) = (stage.connect().await, Instant::now());
    cut.write_all(b"{\"action\":\"capture\",").await.unwrap();
    let (mut reading, mut writing) = slow.split();
    let drip = async {
        let mut bytes = b"{\"action\":\"".iter().chain(std::iter::repeat(&b'x'));
        loop {
            let byte = bytes.next().copied().unwrap_or_default();
            if writing.write_all(&[byte]).await.is_err() {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let mut told = String::new();
    let told = tokio::select! {
        () = drip => String::new(),
        read = tokio::time::timeout(DEADLINE, reading.read_to_string(&mut told)) => {
            let _ = read.expect("the slow one is ended");
            told
        }
    };
    assert!(told.contains("Invalid JSON: EOF"), "{told:?}");
    assert!(read_all(&mut cut).await.contains("Invalid JSON: EOF"));
    assert!(read_all(&mut silent).await.contains("Connection timeout"));
    assert!(since.elapsed() >= Duration::from_secs(25));
    stage.house.stop().await;
}

#[tokio::test]
async fn one_request_is_answered_as_one_document_and_closed() {
    let stage = Stage::new().await;
    for end in ["", "\n", "\r\n  "] {
        let mut stream = stage.connect().await;
        let text = request("check_session", &json!({})) + end;
        stream.write_all(text.as_bytes()).await.unwrap();
        let text = read_all(&mut stream).await;
        assert!(!text.contains('\n'), "{text:?}");
        assert!(text.ends_with('}'));
    }
    stage.house.stop().await;
}

#[tokio::test]
async fn several_requests_on_one_connection_are_answered_in_their_order() {
    let stage = Stage::new().await;
    // All at once, with and without line breaks between them.
    let commands = ["one", "exit 3", "three"];
    let texts = commands.map(|it| request("execute", &json!({ "command": it })));
    for between in ["\n", "", "\r\n\r\n"] {
        let text = stage.send(texts.join(between).as_bytes()).await;
        let answers: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let expected = commands.map(|it| said(&format!("✓ Executed: {it}")));
        assert_eq!(answers, expected, "{between:?}");
    }
    assert_eq!(stage.rooms.typed("archy_session").len(), 9);

    // More than one read takes.
    let many = 400;
    let text =
        (0..many).map(|number| request("execute", &json!({ "command": format!("n{number}") })));
    let text = stage
        .send(text.collect::<Vec<_>>().join("\n").as_bytes())
        .await;
    let answers: Vec<&str> = text.lines().collect();
    assert_eq!(answers.len(), many);
    assert!(answers[many - 1].contains(&format!("n{}", many - 1)));

    // A wrong one ends it, after what came before.
    let text = stage
        .send(format!("{}\nnonsense\n{}", texts[0], texts[2]).as_bytes())
        .await;
    let answers: Vec<&str> = text.lines().collect();
    assert_eq!(answers.len(), 2, "{text}");
    assert!(answers[1].contains("Invalid JSON"), "{text}");
    stage.house.stop().await;
}

#[tokio::test]
async fn a_client_that_keeps_its_connection_asks_again_and_again() {
    let stage = Stage::new().await;
    let stream = stage.connect().await;
    let (reading, mut writing) = stream.into_split();
    let mut lines = BufReader::new(reading).lines();
    for number in 0..50 {
        let keep = number < 49;
        let request = json!({ "action": "check_session", "data": {}, "keep": keep });
        writing
            .write_all(request.to_string().as_bytes())
            .await
            .unwrap();
        let line = tokio::time::timeout(DEADLINE, lines.next_line())
            .await
            .unwrap();
        let answer: Value = serde_json::from_str(&line.unwrap().unwrap()).unwrap();
        assert_eq!(answer["exists"], false);
    }
    let end = tokio::time::timeout(DEADLINE, lines.next_line())
        .await
        .unwrap();
    assert_eq!(end.unwrap(), None, "it is closed");
    stage.house.stop().await;
}

#[tokio::test]
async fn a_client_that_waits_keeps_none_of_ten_others_waiting() {
    let stage = Stage::new().await;
    let waiting = stage.ask("execute_and_wait", json!({ "command": "hold" }));
    let others = (0..10).map(async |number| {
        for round in 0..20 {
            let command = format!("c{number}.{round}");
            let data = json!({ "command": command, "session": format!("s{number}") });
            let answer = stage.ask("execute_and_wait", data).await;
            assert_eq!(answer["raw_output"], format!("ran {command}\n"));
        }
    });
    let others = async {
        stage.rooms.until_held().await;
        futures_util::future::join_all(others).await;
        stage.rooms.release();
    };
    let (answer, ()) = tokio::join!(waiting, others);
    assert_eq!(
        (&answer["success"], &answer["exit_code"]),
        (&json!(true), &json!(0))
    );
    for number in 0..10 {
        let typed = stage.rooms.typed(&format!("s{number}"));
        let expected: Vec<_> = (0..20).map(|round| format!("c{number}.{round}")).collect();
        assert_eq!(typed, expected);
    }
    stage.house.stop().await;
}

/// A client that has only said its last word still waits; one that closed does not.
#[tokio::test]
async fn waiting_ends_with_its_client_and_not_with_its_last_word() {
    let stage = Stage::new().await;
    let asked = request("execute_and_wait", &json!({ "command": "hold" }));
    let mut half = stage.connect().await;
    half.write_all(asked.as_bytes()).await.unwrap();
    half.shutdown().await.unwrap();
    stage.rooms.until_held().await;
    let gone = stage.connect().await;
    gone.try_write(asked.as_bytes()).unwrap();
    let until = Instant::now() + DEADLINE;
    while stage.rooms.typed("archy_session").len() < 2 {
        assert!(Instant::now() < until);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let tasks = stage.house.tasks.running();
    drop(gone);
    while stage.house.tasks.running() >= tasks {
        assert!(Instant::now() < until, "the wait goes on for nobody");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stage.rooms.release();
    let answer: Value = serde_json::from_str(&read_all(&mut half).await).unwrap();
    assert_eq!(answer["status"], "success");
    stage.house.stop().await;
}

/// A command takes longer than the bus waits for any answer.
#[tokio::test]
async fn waiting_is_longer_than_the_bus_allows_silence() {
    let stage = Stage::with("gateway.request_timeout = \"200ms\"").await;
    let since = Instant::now();
    let held = json!({ "command": "hold", "max_wait": 60 });
    let release = async {
        stage.rooms.until_held().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        stage.rooms.release();
    };
    let (answer, ()) = tokio::join!(stage.ask("execute_and_wait", held), release);
    assert_eq!(answer["status"], "success", "{answer}");
    assert!(since.elapsed() >= Duration::from_secs(1));

    let timeout = stage
        .ask(
            "execute_and_wait",
            json!({ "command": "hold", "max_wait": 1 }),
        )
        .await;
    assert_eq!(timeout["status"], "timeout");
    assert_eq!(timeout["error"], "Command timeout - may still be running");
    assert_eq!(timeout["raw_output"], "ran hold\n");
    stage.house.stop().await;
}

#[tokio::test]
async fn those_who_wait_are_told_when_hob_stops() {
    let stage = Stage::new().await;
    let Stage {
        house,
        rooms,
        socket,
        _folder,
    } = stage;
    let stop = async {
        rooms.until_held().await;
        let idle = UnixStream::connect(&socket).await.unwrap();
        house.stop().await;
        drop(idle);
    };
    let held = json!({ "command": "hold" });
    let (answer, ()) = tokio::join!(ask(&socket, "execute_and_wait", held), stop);
    let error = answer["error"].as_str().unwrap();
    assert!(error.contains("hob is stopping"), "{answer}");
    assert!(!socket.exists(), "the socket is taken away");
}
