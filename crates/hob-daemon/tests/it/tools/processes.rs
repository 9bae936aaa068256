//! What runs on in the background of a session.

use super::exec::{LEVELS, house_at, metadata};
use super::{House, words};
use hob_exec::SandboxLevel;
use hob_wire::rooms::tool::ToolExecuteResult;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_mins(1);

/// A call of `process` by a session, which a person approves if they are asked.
pub(super) async fn process(house: &House, session: &str, args: Value) -> ToolExecuteResult {
    let mut call = house.call("c1", "process", args);
    call.context.session_key = Some(session.to_owned());
    let call = house.approved(call).await;
    house.execute(&call).await.expect("is answered")
}

/// Polls until this was printed, and answers all that was.
pub(super) async fn until(house: &House, id: &Value, wanted: &str) -> String {
    let begun = Instant::now();
    let mut all = String::new();
    while !all.contains(wanted) {
        assert!(begun.elapsed() < PATIENCE, "never {wanted}: {all}");
        let args = json!({ "action": "poll", "id": id, "waitMs": 1_000 });
        let polled = process(house, "chat:main", args).await;
        assert!(!polled.is_error, "{}", words(&polled));
        all.push_str(words(&polled));
    }
    all
}

#[tokio::test]
async fn a_process_is_started_written_to_polled_and_ends() {
    for level in LEVELS {
        let house = house_at(level, "").await;
        let command = "echo ready; while read line; do echo got $line; done; echo bye; exit 4";
        let args = json!({ "action": "start", "command": command });
        let started = process(&house, "chat:main", args).await;
        assert_eq!(metadata(&started, "sandbox"), level.name());
        let id = metadata(&started, "id").clone();
        until(&house, &id, "ready").await;
        let write = json!({ "action": "write", "id": id, "text": "one\n" });
        process(&house, "chat:main", write).await;
        let all = until(&house, &id, "got one").await;
        assert!(!all.contains("ready"), "only what is new: {all}");
        let close = json!({ "action": "write", "id": id, "text": "two\n", "close": true });
        process(&house, "chat:main", close).await;
        let all = until(&house, &id, "exit code 4").await;
        assert!(all.contains("got two\nbye\n"), "{all}");
        let listed = process(&house, "chat:main", json!({ "action": "list" })).await;
        assert!(
            words(&listed).starts_with("Nothing runs"),
            "{}",
            words(&listed)
        );
        house.fixture.close().await;
    }
}

#[tokio::test]
async fn another_session_sees_nothing_of_it() {
    let house = house_at(SandboxLevel::Bubblewrap, "").await;
    let args = json!({ "action": "start", "command": "cat; sleep 1000" });
    let started = process(&house, "chat:main", args).await;
    let id = metadata(&started, "id").clone();
    for args in [
        json!({ "action": "poll", "id": id }),
        json!({ "action": "write", "id": id, "text": "x" }),
        json!({ "action": "kill", "id": id }),
    ] {
        let answer = process(&house, "chat:other", args).await;
        assert!(
            answer.is_error && words(&answer).contains("no process"),
            "{}",
            words(&answer)
        );
    }
    let listed = process(&house, "chat:other", json!({ "action": "list" })).await;
    assert!(
        words(&listed).starts_with("Nothing runs"),
        "{}",
        words(&listed)
    );
    let mine = process(&house, "chat:main", json!({ "action": "list" })).await;
    assert!(words(&mine).contains("sleep 1000"), "{}", words(&mine));
    let killed = process(&house, "chat:main", json!({ "action": "kill", "id": id })).await;
    assert!(words(&killed).contains("was ended"), "{}", words(&killed));
    assert_eq!(metadata(&killed, "cause"), "cancelled");
    house.fixture.close().await;
}

#[tokio::test]
async fn processes_end_with_the_house() {
    let house = house_at(SandboxLevel::Landlock, "").await;
    let mark = format!("1000.{}", std::process::id());
    let command = format!("trap '' TERM; echo up; sleep {mark}");
    let args = json!({ "action": "start", "command": command });
    let started = process(&house, "chat:main", args).await;
    until(&house, metadata(&started, "id"), "up").await;
    let begun = Instant::now();
    while alive(&mark) == 0 {
        assert!(begun.elapsed() < PATIENCE, "never begins");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    house.fixture.close().await;
    assert_eq!(alive(&mark), 0);
}

/// Living processes with the word among their arguments.
fn alive(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("readable").flatten();
    let carries = |entry: &std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline"));
        line.is_ok_and(|line| String::from_utf8_lossy(&line).contains(mark))
    };
    entries.filter(carries).count()
}
