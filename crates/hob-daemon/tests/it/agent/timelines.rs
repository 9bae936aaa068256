//! `run.timeline` through the bus: its rows, its pages, and what is refused.

use super::house::{folder, house, results, saying, thinking, waiting};
use crate::fixture::code;
use hob_bus::PeerIdentity;
use hob_sim::Answer;
use hob_wire::rooms::agent::AgentRunParams;
use hob_wire::rooms::timeline::{RunTimelineParams, Timeline, TimelineKind, TimelineState};
use hob_wire::{ErrorCode, RunId, Scope, Scopes};
use serde_json::json;

fn timeline_of(run_id: RunId) -> RunTimelineParams {
    RunTimelineParams {
        run_id,
        after: None,
        limit: None,
    }
}

#[tokio::test]
async fn a_timeline_has_calls_with_model_tokens_and_permission_in_order() {
    let (folder, workspace) = (folder(), folder());
    std::fs::write(workspace.path().join("a.txt"), "the word is mist").expect("writes");
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::default()
            .call("read", json!({ "path": "a.txt" }))
            .usage(100, 10),
        _ => Answer::words("The word is mist.").usage(200, 20),
    });
    let house = house(folder.path(), &sim);
    let reply = house
        .run(AgentRunParams {
            workspace: Some(workspace.path().display().to_string()),
            ..waiting("chat:main", "What is the word?")
        })
        .await;
    let reader = PeerIdentity {
        name: "reader".to_owned(),
        surface: "http",
        principal: "t1".to_owned(),
        scopes: Scopes::rank(Scope::Read),
    };
    let reader = house.bus.caller_as(reader).expect("connects");
    let whole = reader.call::<Timeline>(&timeline_of(reply.run_id)).await;
    let whole = whole.expect("reads");
    assert_eq!(whole.session_key, "chat:main");
    assert_eq!(whole.next, None);
    let kinds: Vec<TimelineKind> = whole.rows.iter().map(|row| row.kind).collect();
    let expected = [
        TimelineKind::Queue,
        TimelineKind::Model,
        TimelineKind::Call,
        TimelineKind::Model,
        TimelineKind::End,
    ];
    assert_eq!(kinds, expected);
    assert!(
        whole
            .rows
            .iter()
            .all(|row| row.state == TimelineState::Done)
    );
    assert!(whole.rows.is_sorted_by_key(|row| row.at));
    let (model, call) = (&whole.rows[1], &whole.rows[2]);
    let usage = model.usage.as_ref().expect("is in the ledger");
    assert_eq!((usage.input_tokens, usage.output_tokens), (100, 10));
    assert!(model.model.is_some());
    assert_eq!(call.tool.as_deref(), Some("read"));
    assert!(
        call.text
            .as_deref()
            .is_some_and(|text| text.contains("a.txt"))
    );
    assert!(
        call.result
            .as_deref()
            .is_some_and(|text| text.contains("mist"))
    );
    let approval = call.approval.as_ref().expect("was decided");
    assert_eq!(approval.allowed, Some(true));
    assert!(!approval.person && approval.by.is_some(), "{approval:?}");

    // Pages have each row once.
    let (mut after, mut paged) = (None, Vec::new());
    loop {
        let params = RunTimelineParams {
            after,
            limit: Some(2),
            ..timeline_of(reply.run_id)
        };
        let page = reader.call::<Timeline>(&params).await.expect("reads");
        assert!(page.rows.len() <= 2);
        paged.extend(page.rows);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(paged, whole.rows);
    house.close().await;
}

#[tokio::test]
async fn a_timeline_of_nothing_is_refused() {
    let folder = folder();
    let house = house(folder.path(), &saying("Well."));
    let reply = house.run(waiting("a", "How are you?")).await;
    let caller = house.caller();
    let missing = timeline_of(
        "0190163d-8694-739b-aea5-966c26f8ad00"
            .parse()
            .expect("an id"),
    );
    let refused = caller.call::<Timeline>(&missing).await;
    assert_eq!(code(refused), ErrorCode::NotFound);
    let none = RunTimelineParams {
        limit: Some(0),
        ..timeline_of(reply.run_id)
    };
    let refused = caller.call::<Timeline>(&none).await;
    assert_eq!(code(refused), ErrorCode::InvalidParams);
    let behind = RunTimelineParams {
        after: Some(1_000),
        ..timeline_of(reply.run_id)
    };
    let page = caller.call::<Timeline>(&behind).await.expect("reads");
    assert_eq!((page.rows.len(), page.next), (0, None));
    house.close().await;
}
