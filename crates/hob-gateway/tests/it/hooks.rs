//! Webhook calls, with a fake scheduler that knows one secret.

use crate::house::{Answer, House, exchange};
use data_encoding::BASE64;
use hob_bus::Room;
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::cron::{
    CheckCaller, CronCheckCallerResult, CronDeliverParams, CronDeliverResult, Deliver, JobSlot,
    SlotOrigin, SlotState,
};
use hob_wire::{ErrorCode, WireError};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

type Calls = Arc<Mutex<Vec<(String, CronDeliverParams)>>>;

fn scheduler(house: &House) -> Calls {
    let calls = Calls::default();
    let kept = Arc::clone(&calls);
    let wrong = || WireError::new(ErrorCode::Unauthorized, "Wrong for 'build'.");
    let unknown = || WireError::new(ErrorCode::NotFound, "There is no job 'x'.");
    let room = Room::new("cron")
        .method::<CheckCaller, _, _>(move |_, params| async move {
            if params.headers.contains_key("x-hub-signature-256") {
                return Ok(CronCheckCallerResult { proven: false });
            }
            if !["build", "full"].contains(&params.id.as_str()) {
                return Err(unknown());
            }
            match params.headers.get("authorization").map(String::as_str) {
                Some("Bearer right") => Ok(CronCheckCallerResult { proven: true }),
                _ => Err(wrong()),
            }
        })
        .method::<Deliver, _, _>(move |call, params| {
            let kept = Arc::clone(&kept);
            async move {
                let shown = params.headers.get("authorization").cloned();
                let signed = params.headers.get("x-hub-signature-256").cloned();
                let id = params.id.clone();
                kept.lock().unwrap().push((call.caller.clone(), params));
                if id == "full" {
                    let error = WireError::new(ErrorCode::Overloaded, "Too many wait.");
                    return Err(error.retry_after(2_000));
                }
                if id != "build" {
                    return Err(unknown());
                }
                let bearer = shown.as_deref() == Some("Bearer right");
                let signature = signed.as_deref() == Some("sha256=right");
                if !bearer && !signature {
                    return Err(wrong());
                }
                Ok(CronDeliverResult {
                    slot: slot(id),
                    repeated: signature,
                })
            }
        });
    house.bus.serve(room).unwrap();
    calls
}

fn slot(name: String) -> JobSlot {
    JobSlot {
        number: 41,
        task_id: "id".to_owned(),
        name,
        due_at: 1,
        origin: SlotOrigin::Webhook,
        state: SlotState::Due,
        reason: None,
        stands_for: 0,
        session_key: None,
        run_id: None,
        exit_code: None,
        output: Some("of the job".to_owned()),
        cost: Cost::default(),
        denied_calls: 0,
        failed_calls: 0,
        attempt: 0,
        started_at: None,
        ended_at: None,
    }
}

async fn call(house: &House, target: &str, headers: &[&str], body: &[u8]) -> Answer {
    let mut lines = vec![
        format!("Host: {}", house.host()),
        "Connection: close".to_owned(),
    ];
    lines.extend(headers.iter().map(|&line| line.to_owned()));
    lines.push(format!("Content-Length: {}", body.len()));
    let mut request =
        format!("POST {target} HTTP/1.1\r\n{}\r\n\r\n", lines.join("\r\n")).into_bytes();
    request.extend_from_slice(body);
    exchange(&house.host(), &request).await
}

const RIGHT: &str = "Authorization: Bearer right";
const WRONG: &str = "Authorization: Bearer wrong";
const SIGNED: &str = "X-Hub-Signature-256: sha256=right";
const FORGED: &str = "X-Hub-Signature-256: sha256=00";
/// More than there are places of any kind.
const STRANGERS: usize = 64;
/// Far less than a body may take to arrive.
const AT_ONCE: Duration = Duration::from_secs(4);
const SHORTLY: Duration = Duration::from_millis(200);

#[tokio::test]
async fn a_call_is_handed_over_as_it_came() {
    let house = House::new().await;
    let calls = scheduler(&house);
    let lines = [RIGHT, "X-Kind: push", "Content-Type: text/plain"];
    let body = b"\x00\xffany bytes";
    let answer = call(&house, "/hooks/build?branch=main&x=a%20b", &lines, body).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert_eq!(answer.json(), json!({ "ok": true, "slot": 41 }));
    let (caller, params) = calls.lock().unwrap().pop().unwrap();
    assert_eq!((caller.as_str(), params.id.as_str()), ("hooks", "build"));
    assert_eq!(BASE64.decode(params.body.as_bytes()).unwrap(), body);
    assert_eq!(
        (
            params.headers["x-kind"].as_str(),
            params.query["x"].as_str()
        ),
        ("push", "a b")
    );
    let whole = vec![b'x'; 1024 * 1024];
    let answer = call(&house, "/hooks/build", &[RIGHT], &whole).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert_eq!(
        call(&house, "/hooks/build", &[RIGHT], b"").await.status,
        202
    );
    house.stop().await;
}

#[tokio::test]
async fn unknown_and_wrong_are_told_alike_and_counted() {
    let house = House::new().await;
    let calls = scheduler(&house);
    let unknown = call(&house, "/hooks/nobody", &[RIGHT], b"").await;
    let wrong = call(&house, "/hooks/build", &[WRONG], b"").await;
    for answer in [&unknown, &wrong] {
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (401, "UNAUTHORIZED")
        );
        assert!(answer.header("www-authenticate").is_some());
    }
    assert_eq!(
        unknown.json()["error"]["message"],
        wrong.json()["error"]["message"]
    );
    assert!(!wrong.text().contains("build"), "{}", wrong.text());
    // Nothing shown: nothing is asked.
    calls.lock().unwrap().clear();
    assert_eq!(call(&house, "/hooks/build", &[], b"{}").await.status, 401);
    assert!(calls.lock().unwrap().is_empty());
    let mut limited = None;
    for _ in 0..200 {
        let answer = call(&house, "/hooks/build", &[WRONG], b"").await;
        if answer.status == 429 {
            limited = Some(answer);
            break;
        }
    }
    let limited = limited.expect("guessing is limited");
    assert!(limited.header("retry-after").is_some());
    let right = call(&house, "/hooks/build", &[RIGHT], b"").await;
    assert_eq!(right.status, 202, "a right secret always passes");
    let token = house.rpc("hob_wrong", "gateway.stats", &json!({})).await;
    assert_eq!(
        token.status, 429,
        "one limiter for every kind of credential"
    );
    house.stop().await;
}

#[tokio::test]
async fn what_is_too_large_or_not_a_call_is_refused() {
    let house = House::new().await;
    let calls = scheduler(&house);
    let large = vec![b'x'; 1024 * 1024 + 1];
    assert_eq!(
        call(&house, "/hooks/build", &[RIGHT], &large).await.status,
        413
    );
    let host = house.host();
    let mut chunked = format!(
        "POST /hooks/build HTTP/1.1\r\nHost: {host}\r\n{RIGHT}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    .into_bytes();
    for _ in 0..33 {
        chunked.extend_from_slice(b"8000\r\n");
        chunked.extend_from_slice(&vec![b'x'; 0x8000]);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    assert_eq!(exchange(&host, &chunked).await.status, 413);
    assert!(calls.lock().unwrap().is_empty());
    for method in ["GET", "PUT", "OPTIONS"] {
        let request =
            format!("{method} /hooks/build HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(house.send(&request).await.status, 405, "{method}");
    }
    assert_eq!(call(&house, "/hooks/", &[RIGHT], b"").await.status, 404);
    assert_eq!(
        call(&house, "/hooks/build?token=x", &[RIGHT], b"")
            .await
            .status,
        400
    );
    let full = call(&house, "/hooks/full", &[RIGHT], b"").await;
    assert_eq!((full.status, full.header("retry-after")), (429, Some("2")));
    let other = "Origin: http://evil.test";
    assert_eq!(
        call(&house, "/hooks/build", &[RIGHT, other], b"")
            .await
            .status,
        403
    );
    house.stop().await;
}

/// Callers that send half a body take seats; beyond them one is told to come later.
#[tokio::test]
async fn seats_are_bounded() {
    let house = House::new().await;
    let _calls = scheduler(&house);
    let mut halves = Vec::new();
    for _ in 0..32 {
        let mut stream = TcpStream::connect(house.host()).await.unwrap();
        let head = format!(
            "POST /hooks/build HTTP/1.1\r\nHost: {}\r\n{RIGHT}\r\nContent-Length: 10\r\n\r\nhalf",
            house.host()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        halves.push(stream);
    }
    let mut statuses = Vec::new();
    let limited = loop {
        let answer = call(&house, "/hooks/build", &[RIGHT], b"").await;
        statuses.push(answer.status);
        if answer.status == 429 {
            break answer;
        }
        assert!(statuses.len() < 500, "{statuses:?}");
    };
    assert!(limited.header("retry-after").is_some());
    drop(halves);
    while call(&house, "/hooks/build", &[RIGHT], b"").await.status != 202 {}
    house.stop().await;
}

/// Opens calls that promise a body and send half of it.
async fn half_calls(house: &House, count: usize, line: &str) -> Vec<TcpStream> {
    let mut halves = Vec::new();
    for _ in 0..count {
        let mut stream = TcpStream::connect(house.host()).await.unwrap();
        let head = format!(
            "POST /hooks/build HTTP/1.1\r\nHost: {}\r\n{line}\r\nContent-Length: 10\r\n\r\nhalf",
            house.host()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        halves.push(stream);
    }
    halves
}

/// The status a half call is answered with; none while it is still waited for.
async fn answered(stream: &mut TcpStream, wait: Duration) -> Option<String> {
    let mut head = [0; 12];
    let read = stream.read_exact(&mut head);
    let read = tokio::time::timeout(wait, read).await;
    read.ok()?.ok()?;
    Some(String::from_utf8_lossy(&head[9..]).into_owned())
}

#[tokio::test]
async fn strangers_who_hold_on_keep_nobody_out() {
    let house = House::new().await;
    let _calls = scheduler(&house);
    let mut strangers = half_calls(&house, STRANGERS, FORGED).await;
    let begun = Instant::now();
    for line in [SIGNED, RIGHT, SIGNED] {
        let answer = call(&house, "/hooks/build", &[line], b"{}").await;
        assert_eq!(answer.status, 202, "{line}: {}", answer.text());
        let repeated = (line == SIGNED).then_some(true);
        assert_eq!(answer.json()["repeated"].as_bool(), repeated);
    }
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    // The first of them lost their places and are told so, the last still wait.
    assert_eq!(
        answered(&mut strangers[0], AT_ONCE).await.as_deref(),
        Some("429")
    );
    assert_eq!(answered(&mut strangers[STRANGERS - 1], SHORTLY).await, None);
    // Those who know the secret have places of their own, which no stranger can take.
    let mut known = half_calls(&house, 1, RIGHT).await;
    let more = half_calls(&house, STRANGERS, FORGED).await;
    known[0].write_all(b"-whole").await.unwrap();
    assert_eq!(
        answered(&mut known[0], AT_ONCE).await.as_deref(),
        Some("202")
    );
    drop((strangers, more));
    house.stop().await;
}

#[tokio::test]
async fn a_wrong_secret_is_refused_before_its_body_comes() {
    let house = House::new().await;
    let calls = scheduler(&house);
    for mut stranger in half_calls(&house, 8, WRONG).await {
        assert_eq!(
            answered(&mut stranger, AT_ONCE).await.as_deref(),
            Some("401")
        );
    }
    assert!(calls.lock().unwrap().is_empty(), "nothing was handed over");
    house.stop().await;
}
