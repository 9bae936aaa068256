//! Faults 97 and 43 at `POST /hooks/NAME`: calls that are forged, calls that are played again with
//! other headers, and strangers who hold on to their places.

use crate::faults::http::{self, Reply};
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use hob_core::webhook;
use serde_json::json;
use sha2::Sha256;
use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const BODY: &str = r#"{"result":"green"}"#;
/// More than there are places.
const STRANGERS: usize = 64;
/// Far less than the ten seconds that a body may take.
const AT_ONCE: Duration = Duration::from_secs(4);

#[test]
fn f97_webhooks_forged_and_replayed() {
    let trial = Trial::begin(97);
    let mut rig = Rig::new();
    rig.start();
    let secret = job(&rig);
    let (mut forged, mut replayed) = (0, 0);
    for line in forgeries(&secret) {
        let reply = call(&rig, &[&line], BODY);
        assert_eq!(reply.status, 401, "{line}: {reply:?}");
        forged += 1;
    }
    assert_eq!(slots(&rig), 0);

    let signed = signature(&secret, BODY.as_bytes());
    let line = format!("X-Hub-Signature-256: sha256={signed}");
    let first = slot(&rig, &[&line, "X-GitHub-Delivery: d-1"], BODY, false);
    for again in replays(&signed) {
        let again: Vec<&str> = again.iter().map(String::as_str).collect();
        assert_eq!(slot(&rig, &again, BODY, true), first, "{again:?}");
        replayed += 1;
    }
    let at = now_s();
    let timed_body = format!("{at}.{BODY}");
    let timed_line = format!(
        "X-Hob-Signature: {}",
        webhook::sign_body(&secret, at, BODY.as_bytes())
    );
    let second = slot(&rig, &[&timed_line], BODY, false);
    assert_eq!(slot(&rig, &[&timed_line], BODY, true), second);
    // What was signed with a time is a signature of the body `TIME.BODY` too.
    let stolen = signature(&secret, timed_body.as_bytes());
    let stolen = format!("X-Hub-Signature-256: sha256={stolen}");
    assert_eq!(slot(&rig, &[&stolen], &timed_body, true), second);
    replayed += 2;
    // The next daemon remembers.
    rig.kill();
    rig.start();
    let fresh = [line.as_str(), "X-GitHub-Delivery: d-after"];
    assert_eq!(slot(&rig, &fresh, BODY, true), first);
    replayed += 1;

    // What is another call counts: another body, and the secret itself each time.
    let other = r#"{"result":"red"}"#;
    let signed = signature(&secret, other.as_bytes());
    let line = format!("X-Hub-Signature-256: sha256={signed}");
    slot(&rig, &[&line, "X-GitHub-Delivery: d-1"], other, false);
    let bearer = format!("Authorization: Bearer {secret}");
    slot(&rig, &[&bearer], BODY, false);
    slot(&rig, &[&bearer], BODY, false);
    assert_eq!(slots(&rig), 5);
    trial.figure("forged_accepted", format_args!("0/{forged}"));
    trial.figure("replays_run", format_args!("0/{replayed}"));
}

#[test]
fn f43_strangers_at_the_hooks() {
    let trial = Trial::begin(43);
    let mut rig = Rig::new();
    rig.start();
    let secret = job(&rig);
    let forged = "X-Hub-Signature-256: sha256=00";
    let strangers: Vec<TcpStream> = (0..STRANGERS).map(|_| half(&rig, forged)).collect();
    let bearer = format!("Authorization: Bearer {secret}");
    let mut slowest = Duration::ZERO;
    for number in 0..10 {
        let body = format!("{{\"number\":{number}}}");
        let signed = signature(&secret, body.as_bytes());
        let signed = format!("X-Hub-Signature-256: sha256={signed}");
        for line in [&signed, &bearer] {
            let begun = Instant::now();
            slot(&rig, &[line], &body, false);
            slowest = slowest.max(begun.elapsed());
        }
    }
    assert!(slowest < AT_ONCE, "{slowest:?}");
    // A wrong secret is refused before its body comes, so it holds no place at all.
    let mut wrong = half(&rig, "Authorization: Bearer hobhook_wrong");
    let begun = Instant::now();
    let reply = http::read_reply(&mut wrong).expect("an answer");
    assert!([401, 429].contains(&reply.status), "{reply:?}");
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    drop(strangers);
    trial.figure("strangers", STRANGERS);
    trial.figure("slowest_right_call_ms", slowest.as_millis());
}

/// Adds a job that others may call, and gives its secret.
fn job(rig: &Rig) -> String {
    let mut peer = rig.peer();
    let job = json!({
        "name": "build", "schedule": "webhook", "command": "true", "overlap": "queue",
    });
    peer.must("cron.add", &job);
    let shown = peer.must("cron.secret", &json!({ "id": "build" }));
    shown["secret"].as_str().expect("a secret").to_owned()
}

fn slots(rig: &Rig) -> usize {
    let params = json!({ "id": "build", "limit": 100 });
    let history = rig.peer().must("cron.history", &params);
    history["slots"].as_array().map_or(0, Vec::len)
}

fn call(rig: &Rig, headers: &[&str], body: &str) -> Reply {
    http::post(rig.port(), "/hooks/build", headers, body).expect("an answer")
}

/// The slot of a call that is taken, and whether it is one that came before.
fn slot(rig: &Rig, headers: &[&str], body: &str, repeated: bool) -> u64 {
    let reply = call(rig, headers, body);
    assert_eq!(reply.status, 202, "{headers:?}: {reply:?}");
    let told = reply.json();
    assert_eq!(told["repeated"] == true, repeated, "{headers:?}: {told}");
    told["slot"].as_u64().expect("a slot")
}

/// Promises a body and sends half of it.
fn half(rig: &Rig, line: &str) -> TcpStream {
    let request = http::request("POST", rig.port(), "/hooks/build", &[line], "0123456789");
    let mut stream = http::connect(rig.port()).expect("connects");
    stream
        .write_all(&request[..request.len() - 5])
        .expect("writes");
    stream
}

fn forgeries(secret: &str) -> Vec<String> {
    let other = signature(secret, b"another body");
    let wrong = signature("wrong", BODY.as_bytes());
    vec![
        "X-GitHub-Delivery: d-1".to_owned(),
        "X-Hub-Signature-256: sha256=".to_owned(),
        "X-Hub-Signature-256: sha256=00".to_owned(),
        format!("X-Hub-Signature-256: sha256={other}"),
        format!("X-Hub-Signature-256: sha256={wrong}"),
        format!("X-Hub-Signature: sha1={other}"),
        format!("Authorization: Bearer {other}"),
    ]
}

/// The same signature beside headers that nobody signed.
fn replays(signed: &str) -> Vec<Vec<String>> {
    let line = format!("X-Hub-Signature-256: sha256={signed}");
    let mut replays = vec![
        vec![line.clone()],
        vec![format!("X-Hub-Signature-256: {signed}")],
        vec![format!(
            "X-Hub-Signature-256: sha256={}",
            signed.to_uppercase()
        )],
    ];
    for more in [
        "X-GitHub-Delivery: d-1",
        "X-GitHub-Delivery: d-2",
        "X-Gitea-Delivery: d-3",
        "X-Request-Id: d-4",
        "Idempotency-Key: d-5",
        "Authorization: Bearer nonsense",
        "Content-Type: text/plain",
    ] {
        replays.push(vec![line.clone(), more.to_owned()]);
    }
    replays
}

fn signature(secret: &str, body: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes());
    let mut mac = mac.expect("any key is taken");
    mac.update(body);
    HEXLOWER.encode(&mac.finalize().into_bytes())
}

fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("it is after 1970").as_secs()
}
