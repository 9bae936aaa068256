//! Creating, changing and deleting loops, and refusals.

use super::{call, change, get, history, make, named, start, stop};
use crate::agent::house::{folder, house, thinking};
use crate::fixture::code;
use hob_bus::PeerIdentity;
use hob_sim::Answer;
use hob_wire::rooms::loops::{
    Create, Delete, Get, List, LoopCreateParams, LoopListParams, LoopPersistentParams,
    LoopUpdateParams, Persistent, Start, Stop, Update,
};
use hob_wire::rooms::permission::{List as Rules, PermissionListParams as RulesParams};
use hob_wire::rooms::session::{Get as Session, SessionGetParams};
use hob_wire::{ErrorCode, Scope, Scopes};
use serde_json::{Value, json};

fn creating(name: &str, config: Value) -> LoopCreateParams {
    LoopCreateParams {
        name: name.to_owned(),
        config: change(config),
        ..LoopCreateParams::default()
    }
}

#[tokio::test]
async fn wrong_settings_are_refused_with_a_sentence_and_change_nothing() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let house = house(folder.path(), &sim);
    let caller = house.caller();
    for (name, config) in [
        ("Loud", json!({})),
        ("a", json!({ "intervalMs": 999 })),
        ("a", json!({ "model": "nobody/knows" })),
        ("a", json!({ "monitor": { "command": " " } })),
        (
            "a",
            json!({ "monitor": { "command": "x", "timeoutMs": 0 } }),
        ),
        ("a", json!({ "grants": [{ "tool": "" }] })),
    ] {
        let refused = caller.call::<Create>(&creating(name, config.clone())).await;
        assert_eq!(code(refused), ErrorCode::InvalidParams, "{config}");
    }
    let missing = caller.call::<Get>(&named("a")).await;
    assert_eq!(code(missing), ErrorCode::NotFound);
    let missing = caller.call::<Start>(&named("a")).await;
    assert_eq!(code(missing), ErrorCode::NotFound);
    make(&house, "a", json!({ "model": "sim/small" })).await;
    let twice = caller.call::<Create>(&creating("a", json!({}))).await;
    assert_eq!(code(twice), ErrorCode::Conflict);
    let session = LoopPersistentParams {
        name: "a".to_owned(),
        session_key: Some("loop:b:1".to_owned()),
        ..LoopPersistentParams::default()
    };
    let other = caller.call::<Persistent>(&session).await;
    assert_eq!(code(other), ErrorCode::Forbidden);
    house.close().await;
}

#[tokio::test]
async fn the_default_loop_is_always_there() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let house = house(folder.path(), &sim);
    let unmade = get(&house, "default").await;
    assert_eq!(
        (unmade.config.interval_ms, unmade.state.running),
        (5_000, false)
    );
    assert!(history(&house, "default").await.is_empty());
    assert!(!call::<Stop>(&house, named("default")).await.state.running);
    assert!(
        call::<List>(&house, LoopListParams::default())
            .await
            .loops
            .is_empty()
    );
    let update = LoopUpdateParams {
        name: "default".to_owned(),
        config: change(json!({ "user": "Go.", "maxIterations": 1 })),
    };
    call::<Update>(&house, update).await;
    start(&house, "default").await;
    house.hears("loop.stopped", 1).await;
    let running = LoopListParams {
        running: Some(true),
    };
    assert!(call::<List>(&house, running).await.loops.is_empty());
    assert_eq!(
        call::<List>(&house, LoopListParams::default())
            .await
            .loops
            .len(),
        1
    );
    house.close().await;
}

#[tokio::test]
async fn grants_need_admin_come_with_the_loop_and_go_with_it() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let house = house(folder.path(), &sim);
    let peer = PeerIdentity {
        name: "hand".to_owned(),
        surface: "ws",
        principal: "t1".to_owned(),
        scopes: Scopes::rank(Scope::Control),
    };
    let hand = house.bus.caller_as(peer).expect("connects");
    let granting = || {
        creating(
            "grant",
            json!({ "user": "Go.", "grants": [{ "tool": "write", "path": "/srv" }], "maxIterations": 1 }),
        )
    };
    let refused = hand.call::<Create>(&granting()).await;
    assert_eq!(code(refused), ErrorCode::Forbidden);
    call::<Create>(&house, granting()).await;
    let rules = async || call::<Rules>(&house, RulesParams::default()).await.rules;
    let kept = rules().await;
    assert_eq!(
        (kept.len(), kept[0].terms.sessions.as_deref()),
        (1, Some("loop:grant:*"))
    );
    let changing = |config| LoopUpdateParams {
        name: "grant".to_owned(),
        config: change(config),
    };
    hand.call::<Update>(&changing(json!({ "user": "On." })))
        .await
        .expect("grants nothing");
    assert_eq!(rules().await.len(), 1);
    let widened = hand
        .call::<Update>(&changing(json!({ "grants": [{ "tool": "*" }] })))
        .await;
    assert_eq!(code(widened), ErrorCode::Forbidden);
    start(&house, "grant").await;
    house.hears("loop.stopped", 1).await;
    call::<Delete>(&house, named("grant")).await;
    assert!(rules().await.is_empty());
    let gone = house.caller().call::<Get>(&named("grant")).await;
    assert_eq!(code(gone), ErrorCode::NotFound);
    let session = SessionGetParams {
        session_key: "loop:grant:1".to_owned(),
    };
    let gone = house.caller().call::<Session>(&session).await;
    assert_eq!(code(gone), ErrorCode::NotFound);
    house.hears("loop.deleted", 1).await;
    house.close().await;
}

#[tokio::test]
async fn a_loop_that_runs_is_not_deleted() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let house = house(folder.path(), &sim);
    make(
        &house,
        "busy",
        json!({ "user": "Go.", "intervalMs": 600_000 }),
    )
    .await;
    start(&house, "busy").await;
    let refused = house.caller().call::<Delete>(&named("busy")).await;
    assert_eq!(code(refused), ErrorCode::Conflict);
    stop(&house, "busy").await;
    call::<Delete>(&house, named("busy")).await;
    house.close().await;
}

#[tokio::test]
async fn old_iterations_go_with_their_sessions() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let text = crate::agent::house::config(&sim, "[loop]\nhistory = 10\n");
    let house = crate::agent::house::House::open(folder.path(), &text);
    make(&house, "old", json!({ "user": "Go." })).await;
    for number in 1..=12 {
        let once = hob_wire::rooms::loops::LoopOnceParams {
            name: "old".to_owned(),
            idempotency_key: None,
        };
        call::<hob_wire::rooms::loops::Once>(&house, once).await;
        house.hears("loop.stopped", number).await;
        house
            .hears("session.deleted", number.saturating_sub(10))
            .await;
    }
    let numbers: Vec<u32> = history(&house, "old")
        .await
        .iter()
        .map(|it| it.iteration)
        .collect();
    assert_eq!(numbers, (3..=12).collect::<Vec<_>>());
    let deleted = house.heard("session.deleted");
    assert_eq!(deleted[0]["sessionKey"], "loop:old:1");
    house.close().await;
}
