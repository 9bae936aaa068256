//! Other systems call a job: by its secret, by both signatures, again, wrongly, and with too much.

use crate::faults::http::{self, Reply};
use crate::looprunner::{house_with, model};
use crate::support::{House, wait_until};
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use hob_core::webhook;
use hob_sim::Answer;
use serde_json::{Value, json};
use sha2::Sha256;
use std::time::{SystemTime, UNIX_EPOCH};

struct Hook<'h> {
    house: &'h House,
    port: u16,
    secret: String,
}

impl Hook<'_> {
    fn call(&self, headers: &[&str], body: &str) -> Reply {
        let request = http::request("POST", self.port, "/hooks/build?branch=main", headers, body);
        http::exchange(self.port, &request).expect("an answer")
    }

    /// The slot of a call that must be taken.
    fn slot(&self, headers: &[&str], body: &str) -> u64 {
        let reply = self.call(headers, body);
        assert_eq!(reply.status, 202, "{headers:?}: {reply:?}");
        assert_eq!(reply.json()["ok"], true);
        reply.json()["slot"].as_u64().expect("a slot")
    }

    fn slots(&self) -> Vec<Value> {
        let answer = rpc(self.house, "cron.history", &json!({ "id": "build" }));
        answer["slots"].as_array().expect("slots").clone()
    }
}

fn rpc(house: &House, method: &str, params: &Value) -> Value {
    let port = port(house);
    let bearer = format!("Authorization: Bearer {}", house.token());
    let lines = [bearer.as_str(), "Content-Type: application/json"];
    let path = format!("/api/rpc/{method}");
    let reply = http::post(port, &path, &lines, &params.to_string()).expect("an answer");
    assert_eq!(reply.status, 200, "{method}: {reply:?}");
    reply.json()
}

fn port(house: &House) -> u16 {
    let port = house.address().rsplit(':').next();
    port.and_then(|port| port.parse().ok()).expect("a port")
}

#[expect(clippy::disallowed_methods, reason = "a caller has a clock of its own")]
fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("it is after 1970").as_secs()
}

/// `X-Hub-Signature-256` of a body.
fn signed(secret: &str, body: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes());
    let mut mac = mac.expect("any key is taken");
    mac.update(body.as_bytes());
    let made = HEXLOWER.encode(&mac.finalize().into_bytes());
    format!("X-Hub-Signature-256: sha256={made}")
}

#[test]
fn a_job_is_called_by_another_system() {
    let sim = model(|_, _| Answer::words("Seen."));
    let house = house_with(&sim);
    let job = json!({
        "name": "build", "schedule": "webhook",
        "task": "The build of {{query.branch}} says: {{body.result}}", "overlap": "queue",
    });
    rpc(&house, "cron.add", &job);
    let shown = rpc(&house, "cron.secret", &json!({ "id": "build" }));
    assert_eq!(shown["path"], "/hooks/build");
    let secret = shown["secret"].as_str().expect("a secret").to_owned();
    let hook = Hook {
        house: &house,
        port: port(&house),
        secret,
    };
    let body = r#"{"result":"green"}"#;

    let bearer = format!("Authorization: Bearer {}", hook.secret);
    let one = hook.slot(&[&bearer], body);
    wait_until("its run has ended", || {
        hook.slots()
            .iter()
            .any(|slot| slot["number"] == one && slot["state"] == "ran")
    });
    let asked = sim.asked().pop().expect("the model was asked");
    let task = asked.last_user();
    assert!(task.contains("main") && task.contains("green"), "{task}");

    // Signed with the time, and sent again: the same slot.
    let timed = format!(
        "X-Hob-Signature: {}",
        webhook::sign_body(&hook.secret, now_s(), body.as_bytes())
    );
    let two = hook.slot(&[&timed], body);
    assert_eq!(
        hook.slot(&[&timed], body),
        two,
        "replayed it is the same slot"
    );
    assert_ne!(one, two);

    // As many other systems sign: the body alone. The name of a delivery is not signed, so that
    // the same body under another name is the same call.
    let first = signed(&hook.secret, body);
    let three = hook.slot(&[&first, "X-GitHub-Delivery: d-1"], body);
    assert_eq!(hook.slot(&[&first, "X-GitHub-Delivery: d-1"], body), three);
    assert_eq!(hook.slot(&[&first, "X-GitHub-Delivery: d-2"], body), three);
    let body_after = r#"{"result":"red"}"#;
    let second = signed(&hook.secret, body_after);
    let four = hook.slot(&[&second, "X-GitHub-Delivery: d-1"], body_after);
    assert_eq!([one, two, three, four].len(), hook.slots().len());

    wrong(&hook, body);
    assert_eq!(hook.slots().len(), 4, "{:#?}", hook.slots());
    // A new secret ends the old one.
    let renewed = rpc(
        &house,
        "cron.secret",
        &json!({ "id": "build", "renew": true }),
    );
    assert_ne!(renewed["secret"], hook.secret.as_str());
    assert_eq!(hook.call(&[&bearer], body).status, 401);
}

/// What is not taken, and is answered alike.
fn wrong(hook: &Hook<'_>, body: &str) {
    let sign = |secret: &str, at_s, body: &str| {
        format!(
            "X-Hob-Signature: {}",
            webhook::sign_body(secret, at_s, body.as_bytes())
        )
    };
    let calls = [
        "Authorization: Bearer hobhook_wrong".to_owned(),
        format!("Authorization: Bearer {}", hook.house.token()),
        format!("Authorization: Basic {}", hook.secret),
        sign("wrong", now_s(), body),
        sign(&hook.secret, now_s() - 3_600, body),
        sign(&hook.secret, now_s() + 3_600, body),
        sign(&hook.secret, now_s(), "another body"),
        "X-Hob-Signature: nonsense".to_owned(),
        "X-Hub-Signature-256: sha256=00".to_owned(),
    ];
    let mut told = Vec::new();
    for line in &calls {
        let reply = hook.call(&[line], body);
        assert_eq!(reply.status, 401, "{line}: {reply:?}");
        told.push(reply.json()["error"]["message"].clone());
    }
    let bearer = format!("Authorization: Bearer {}", hook.secret);
    let unknown = http::post(hook.port, "/hooks/nobody", &[&bearer], body).expect("an answer");
    assert_eq!(unknown.status, 401);
    told.push(unknown.json()["error"]["message"].clone());
    assert!(told.iter().all(|message| *message == told[0]), "{told:#?}");
    assert_eq!(hook.call(&[], body).status, 401);
    let large = "x".repeat(1024 * 1024 + 1);
    assert_eq!(hook.call(&[&bearer], &large).status, 413);
}
