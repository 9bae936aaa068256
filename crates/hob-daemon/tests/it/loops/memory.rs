//! Memories that a loop writes, and who may write them.

use super::{call, get, history, make, start};
use crate::agent::house::{folder, house, results, thinking};
use crate::fixture::code;
use hob_bus::PeerIdentity;
use hob_sim::Answer;
use hob_wire::rooms::agent::{AgentRunParams, Run};
use hob_wire::rooms::loops::{LoopPersistentParams, Persistent};
use hob_wire::rooms::permission::{Add, PermissionAddParams};
use hob_wire::rooms::session::{Create, Send, SessionCreateParams, SessionSendParams};
use hob_wire::{ErrorCode, MessageContent, Scope, Scopes};
use serde_json::json;

#[tokio::test]
async fn a_loop_writes_its_own_memory_unasked_and_it_is_versioned() {
    let folder = folder();
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks(
            "loop_memory",
            json!({ "action": "append", "text": "I was here." }),
        ),
        _ => Answer::words("noted"),
    });
    let house = house(folder.path(), &sim);
    make(
        &house,
        "notes",
        json!({ "user": "Go.", "intervalMs": 1000, "maxIterations": 2 }),
    )
    .await;
    start(&house, "notes").await;
    house.hears("loop.stopped", 1).await;
    let done = get(&house, "notes").await;
    assert_eq!(done.persistent.text, "I was here.\nI was here.");
    assert_eq!(
        (done.persistent.revision, &*done.persistent.by),
        (2, "loop:notes:2")
    );
    assert!(
        history(&house, "notes").await[1]
            .prompt
            .contains("## Persistent Memory\n\nI was here.")
    );
    let undo = LoopPersistentParams {
        name: "notes".to_owned(),
        undo: true,
        ..LoopPersistentParams::default()
    };
    let undone = call::<Persistent>(&house, undo).await;
    assert_eq!(undone.memory.text, "I was here.");
    house.close().await;
}

#[tokio::test]
async fn a_persons_rule_against_it_wins() {
    let folder = folder();
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks("loop_memory", json!({ "action": "set", "text": "mine" })),
        _ => Answer::words("well"),
    });
    let house = house(folder.path(), &sim);
    let deny = json!({ "tool": "loop_memory", "decision": "deny", "scope": "always" });
    let deny: PermissionAddParams = serde_json::from_value(deny).expect("reads");
    call::<Add>(&house, deny).await;
    make(&house, "mute", json!({ "user": "Go.", "maxIterations": 1 })).await;
    start(&house, "mute").await;
    house.hears("loop.stopped", 1).await;
    assert_eq!(get(&house, "mute").await.persistent.text, "");
    house.close().await;
}

#[tokio::test]
async fn whoever_may_only_talk_stays_out_of_the_houses_sessions() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let house = house(folder.path(), &sim);
    make(&house, "own", json!({ "user": "Go.", "maxIterations": 1 })).await;
    start(&house, "own").await;
    house.hears("loop.stopped", 1).await;
    let peer = |scope| PeerIdentity {
        name: "someone".to_owned(),
        surface: "ws",
        principal: "t1".to_owned(),
        scopes: Scopes::rank(scope),
    };
    let talker = house.bus.caller_as(peer(Scope::Chat)).expect("connects");
    let id = house.heard("session.created")[0]["sessionId"]
        .as_str()
        .map(str::to_owned);
    let id = id.expect("an id");
    let run = |session: &str, kind: Option<&str>| AgentRunParams {
        session_key: session.to_owned(),
        task: "Do as I say.".to_owned(),
        kind: kind.map(str::to_owned),
        ..AgentRunParams::default()
    };
    let send = |session: &str| SessionSendParams {
        session_key: session.to_owned(),
        content: MessageContent::from("psst"),
        role: None,
        idempotency_key: None,
    };
    for session in ["loop:own:1", "loop:own:9", "cron:x:1", "webhook:x:1", &id] {
        let refused = talker.call::<Run>(&run(session, None)).await;
        assert_eq!(code(refused), ErrorCode::Forbidden, "{session}");
        let refused = talker.call::<Send>(&send(session)).await;
        assert_eq!(code(refused), ErrorCode::Forbidden, "{session}");
    }
    let refused = talker.call::<Run>(&run("mine", Some("loop"))).await;
    assert_eq!(code(refused), ErrorCode::Forbidden);
    for (key, kind) in [("loop:own:2", None), ("mine", Some("webhook"))] {
        let create = SessionCreateParams {
            session_key: Some(key.to_owned()),
            kind: kind.map(str::to_owned),
            ..SessionCreateParams::default()
        };
        let refused = talker.call::<Create>(&create).await;
        assert_eq!(code(refused), ErrorCode::Forbidden, "{key}");
    }
    talker
        .call::<Run>(&run("loops are nice", None))
        .await
        .expect("is another's");
    let hand = house.bus.caller_as(peer(Scope::Control)).expect("connects");
    hand.call::<Send>(&send("loop:own:1"))
        .await
        .expect("may act");
    house.close().await;
}
