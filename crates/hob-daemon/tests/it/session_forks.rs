//! `session.fork` through the bus: who may fork what, and what a fork does not inherit.

use crate::fixture::{Fixture, code};
use hob_bus::{Caller, PeerIdentity};
use hob_wire::rooms::session::{
    BlockKind, BlockStatus, Blocks, Create, Fork, Send, SessionBlocksParams, SessionCreateParams,
    SessionForkParams, SessionSendParams,
};
use hob_wire::{ContentPart, ErrorCode, MessageContent, Role, Scope, Scopes, ToolCall};

fn house() -> Fixture {
    let fixture = Fixture::new();
    hob_daemon::session::serve(&fixture.context).expect("is served");
    fixture
}

fn client(house: &Fixture, scope: Scope) -> Caller {
    let peer = PeerIdentity {
        name: "client".to_owned(),
        surface: "http",
        principal: "t1".to_owned(),
        scopes: Scopes::rank(scope),
    };
    house.bus.caller_as(peer).expect("connects")
}

fn fork_of(key: &str) -> SessionForkParams {
    SessionForkParams {
        session_key: key.to_owned(),
        ..SessionForkParams::default()
    }
}

/// Creates a session with two messages.
async fn fill(house: &Fixture, key: &str, kind: Option<&str>) {
    let create = SessionCreateParams {
        session_key: Some(key.to_owned()),
        kind: kind.map(str::to_owned),
        ..SessionCreateParams::default()
    };
    // The daemon itself, because a client may not make sessions of every kind.
    let caller = house.bus.caller("test");
    caller.call::<Create>(&create).await.expect("creates");
    for text in ["How are you?", "And now?"] {
        let message = SessionSendParams {
            session_key: key.to_owned(),
            content: MessageContent::Text(text.to_owned()),
            role: None,
            idempotency_key: None,
        };
        caller.call::<Send>(&message).await.expect("sends");
    }
}

#[tokio::test]
async fn a_fork_is_announced_and_shown_as_blocks() {
    let house = house();
    fill(&house, "chat:main", None).await;
    house.heard("session.created").await;
    let chat = client(&house, Scope::Chat);
    let params = SessionForkParams {
        at: Some(1),
        new_key: Some("chat:other".to_owned()),
        ..fork_of("chat:main")
    };
    let made = chat.call::<Fork>(&params).await.expect("forks");
    assert_eq!(made.session.kind, "main");
    assert_eq!(made.session.title.as_deref(), Some("How are you?"));
    assert_eq!(made.session.label.as_deref(), Some("How are you? (fork)"));
    let (_, payload) = house.heard("session.created").await;
    assert_eq!(payload["sessionKey"], "chat:other");
    let blocks = SessionBlocksParams {
        session_key: "chat:other".to_owned(),
        ..SessionBlocksParams::default()
    };
    let page = chat.call::<Blocks>(&blocks).await.expect("reads");
    assert_eq!(page.blocks.len(), 1, "{:?}", page.blocks);
    assert_eq!(page.settled, 1);
    house.close().await;
}

#[tokio::test]
async fn a_fork_of_a_reserved_session_needs_control_and_is_a_persons_own() {
    let house = house();
    for (key, kind) in [
        ("cron:tidy", "cron"),
        ("loop:watch", "loop"),
        ("webhook:push", "webhook"),
        ("chat:main:subagent:1", "subagent"),
    ] {
        fill(&house, key, Some(kind)).await;
        let chat = client(&house, Scope::Chat);
        let refused = chat.call::<Fork>(&fork_of(key)).await;
        assert_eq!(code(refused), ErrorCode::Forbidden, "{key}");
        let control = client(&house, Scope::Control);
        let made = control.call::<Fork>(&fork_of(key)).await.expect("forks");
        assert_eq!(made.session.kind, "main", "{key}");
    }
    fill(&house, "chat:own", Some("project")).await;
    let chat = client(&house, Scope::Chat);
    let made = chat
        .call::<Fork>(&fork_of("chat:own"))
        .await
        .expect("forks");
    assert_eq!(made.session.kind, "project");
    for new_key in ["cron:mine", "loop:mine", "chat:own:subagent:9"] {
        let params = SessionForkParams {
            new_key: Some(new_key.to_owned()),
            ..fork_of("chat:own")
        };
        let refused = chat.call::<Fork>(&params).await;
        assert_eq!(code(refused), ErrorCode::Forbidden, "{new_key}");
    }
    house.close().await;
}

#[tokio::test]
async fn a_fork_in_the_middle_of_a_step_shows_its_calls_as_ended() {
    let house = house();
    fill(&house, "chat:main", None).await;
    let call = ContentPart::ToolCall(ToolCall {
        id: "c1".to_owned(),
        name: "read".to_owned(),
        args: serde_json::json!({}),
    });
    let caller = house.caller();
    let asks = SessionSendParams {
        session_key: "chat:main".to_owned(),
        content: MessageContent::Parts(vec![call]),
        role: Some(Role::Assistant),
        idempotency_key: None,
    };
    caller.call::<Send>(&asks).await.expect("sends");
    let made = caller.call::<Fork>(&fork_of("chat:main")).await;
    let blocks = SessionBlocksParams {
        session_key: made.expect("forks").session.session_key,
        ..SessionBlocksParams::default()
    };
    let page = caller.call::<Blocks>(&blocks).await.expect("reads");
    let of_call = page.blocks.iter().find(|it| it.kind == BlockKind::ToolCall);
    let of_call = of_call.expect("is shown");
    assert_eq!(of_call.status, BlockStatus::Closed, "{of_call:?}");
    house.close().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_fork_is_told_by_its_code() {
    let house = house();
    fill(&house, "chat:main", None).await;
    let reader = client(&house, Scope::Read);
    let refused = reader.call::<Fork>(&fork_of("chat:main")).await;
    assert_eq!(code(refused), ErrorCode::Forbidden);
    let chat = client(&house, Scope::Chat);
    let refused = chat.call::<Fork>(&fork_of("none")).await;
    assert_eq!(code(refused), ErrorCode::NotFound);
    let too_far = SessionForkParams {
        at: Some(3),
        ..fork_of("chat:main")
    };
    let refused = chat.call::<Fork>(&too_far).await;
    assert_eq!(code(refused), ErrorCode::InvalidParams);
    let taken = SessionForkParams {
        new_key: Some("chat:main".to_owned()),
        ..fork_of("chat:main")
    };
    assert_eq!(code(chat.call::<Fork>(&taken).await), ErrorCode::Conflict);
    house.close().await;
}
