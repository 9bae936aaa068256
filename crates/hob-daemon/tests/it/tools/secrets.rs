//! What tools say is masked before anybody sees it: exact secrets only, whole or in pieces.

use super::exec::{LEVELS, exec, house_at, metadata};
use super::processes::{process, until};
use super::{House, house, spec, start, words};
use crate::outside::{Outside, Reply, answers, said};
use hob_exec::SandboxLevel;
use hob_wire::rooms::tool::{Preview, Probe, ToolProbeResult};
use serde_json::json;
use std::path::Path;

/// The key of a provider, which the house knows.
const KEY: &str = "sk-live-0123456789abcdefXYZ";
/// A token of hob that the house need not know.
const TOKEN: &str = "hob_1a2b3c4d_00112233445566778899aabbccddeeff0011223344556677";

fn plant(house: &House) {
    house.mask.add(KEY);
    let text = format!("key={KEY}\ntoken={TOKEN}\n");
    std::fs::write(house.workspace.path().join("keys.txt"), text).expect("writes");
}

/// Whether a file below `folder` holds the key.
fn holds_key(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return holds_key(&path);
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes())
    })
}

#[tokio::test]
async fn what_a_command_prints_is_masked() {
    for level in LEVELS {
        let house = house_at(level, "").await;
        plant(&house);
        let command = "cat keys.txt; cat keys.txt >&2";
        let done = exec(&house, "c1", json!({ "command": command })).await;
        let masked = "key=[masked]\ntoken=hob_1a2b3c4d_[masked]\n";
        assert_eq!(words(&done), format!("{masked}[stderr]\n{masked}"));
        let lock = include_str!("../../../../../Cargo.lock");
        let lock = &lock[..lock.floor_char_boundary(30_000)];
        std::fs::write(house.workspace.path().join("Cargo.lock"), lock).expect("writes");
        let done = exec(&house, "c2", json!({ "command": "cat Cargo.lock" })).await;
        assert_eq!(words(&done).trim_end(), lock.trim_end(), "byte for byte");
        assert_eq!(metadata(&done, "bytes"), lock.len());
        house.fixture.close().await;
    }
}

#[tokio::test]
async fn watchers_see_no_half_of_a_secret_that_comes_in_pieces() {
    let house = house_at(SandboxLevel::Bubblewrap, "").await;
    plant(&house);
    let command = "for n in 1 7 13 26; do head -c $((4 + n)) keys.txt; sleep 0.2; \
                   tail -c +$((5 + n)) keys.txt | head -1; sleep 0.2; done; \
                   printf 'sk-live-0'; sleep 0.2; echo .; echo end >&2";
    let args = json!({ "command": command });
    let running = start(&house, house.approved(house.call("c1", "exec", args)).await);
    let (mut out, mut err) = (String::new(), String::new());
    while err != "end\n" {
        let (_, piece) = house.fixture.heard("tool.output").await;
        let text = piece["text"].as_str().expect("is a text");
        assert!(piece["dropped"].is_null());
        match piece["stream"].as_str() {
            Some("stdout") => out.push_str(text),
            _ => err.push_str(text),
        }
    }
    let expected = format!("{}sk-live-0.\n", "key=[masked]\n".repeat(4));
    assert_eq!(out, expected);
    let done = running.await.expect("ends").expect("is answered");
    assert_eq!(words(&done), format!("{expected}[stderr]\nend\n"));
    house.fixture.close().await;
}

#[tokio::test]
async fn what_is_kept_of_a_long_output_is_masked() {
    let house = house_at(SandboxLevel::Bubblewrap, "").await;
    plant(&house);
    // The secret is in the middle, and on every border of what is shown.
    let command = "for n in $(seq 20000); do cat keys.txt; done";
    let done = exec(&house, "c1", json!({ "command": command })).await;
    assert!(!words(&done).contains("sk-"), "{}", words(&done));
    let id = metadata(&done, "outputId").clone();
    let args = json!({ "id": id, "line": 20_001, "lines": 2 });
    let read = house.approved(house.call("c2", "output", args)).await;
    let page = house.execute(&read).await.expect("is answered");
    let masked = "key=[masked]\ntoken=hob_1a2b3c4d_[masked]\n";
    assert!(words(&page).starts_with(masked), "{}", words(&page));
    assert!(!holds_key(house.fixture.home.root()), "it is in hob's home");
    house.fixture.close().await;
}

#[tokio::test]
async fn what_a_process_prints_in_pieces_is_masked_for_every_poll() {
    let house = house_at(SandboxLevel::Bubblewrap, "").await;
    plant(&house);
    let command = "head -c 15 keys.txt; echo waits >&2; read line; tail -c +16 keys.txt; echo end";
    let args = json!({ "action": "start", "command": command });
    let started = process(&house, "chat:main", args).await;
    let id = metadata(&started, "id").clone();
    let first = until(&house, &id, "waits").await;
    assert!(first.contains("key=") && !first.contains("sk-"), "{first}");
    let write = json!({ "action": "write", "id": id, "text": "go\n" });
    process(&house, "chat:main", write).await;
    let rest = until(&house, &id, "exit code 0").await;
    let masked = "[masked]\ntoken=hob_1a2b3c4d_[masked]\n";
    assert!(rest.starts_with(masked) && rest.contains("end\n"), "{rest}");
    assert!(!rest.contains(&KEY[11..]), "{rest}");
    house.fixture.close().await;
}

#[tokio::test]
async fn what_a_service_says_is_masked() {
    let house = house();
    plant(&house);
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers([
            ("tool_execute", |params| {
                match params["args"]["n"].as_i64() {
                    Some(1) => Reply::Payload(json!({
                        "content": [{ "type": "text", "text": format!("key {KEY}") }],
                        "metadata": { "at": [KEY] },
                    })),
                    Some(2) => Reply::Error(json!({ "code": "METHOD_ERROR", "message": KEY })),
                    // Too long for an answer, so that the whole is kept.
                    _ => said(&format!("{KEY}\n").repeat(20_000)),
                }
            }),
            ("tool_probe", |_| {
                Reply::Payload(json!({ "happened": "unknown", "known": KEY }))
            }),
        ]),
    )
    .await;
    let offer = json!({ "service": "lab", "tools": [spec("tell", "opaque")] });
    service.call("tool.offer", offer).await.expect("is taken");
    for (n, told) in [(1, "key [masked]"), (2, "'tell' failed: [masked]")] {
        let call = house.call("c1", "tell", json!({ "n": n }));
        let call = house.approved(call).await;
        let done = house.execute(&call).await.expect("is answered");
        assert_eq!(words(&done), told);
        assert!(!json!(done).to_string().contains(KEY));
    }
    let call = house
        .approved(house.call("c1", "tell", json!({ "n": 3 })))
        .await;
    let done = house.execute(&call).await.expect("is answered");
    assert!(!words(&done).contains("sk-"), "{}", words(&done));
    let call = house.call("c1", "tell", json!({}));
    let probed = house.fixture.caller().call::<Probe>(&call).await;
    match probed.expect("is answered") {
        ToolProbeResult::Unknown { known } => assert!(!known.contains(KEY), "{known}"),
        other => panic!("nobody knows: {other:?}"),
    }
    assert!(!holds_key(house.fixture.home.root()), "it is in hob's home");
    service.leave().await;
    house.fixture.close().await;
}

#[tokio::test]
async fn files_are_shown_without_secrets_and_the_question_has_none() {
    let house = house();
    plant(&house);
    let read = house.call("c1", "read", json!({ "path": "keys.txt" }));
    let read = house.approved(read).await;
    let done = house.execute(&read).await.expect("is answered");
    assert_eq!(words(&done), "key=[masked]\ntoken=hob_1a2b3c4d_[masked]\n");
    let args = json!({ "path": "keys.txt", "oldText": "token=", "newText": "mine=" });
    let edit = house.call("c2", "edit", args);
    let seen = house.fixture.caller().call::<Preview>(&edit).await;
    let text = seen.expect("is shown").text.expect("is shown");
    assert!(
        text.contains("key=[masked]") && text.contains("+mine="),
        "{text}"
    );
    let edit = house.approved(edit).await;
    let done = house.execute(&edit).await.expect("is answered");
    assert!(!done.is_error, "{}", words(&done));
    let file = std::fs::read_to_string(house.workspace.path().join("keys.txt"));
    assert_eq!(file.expect("reads"), format!("key={KEY}\nmine={TOKEN}\n"));
    house.fixture.close().await;
}
