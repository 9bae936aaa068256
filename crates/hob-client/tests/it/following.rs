//! The follower of a session against a scripted daemon: pages, changes, losses and reconnects.

use crate::fake::{Daemon, Peer, soon};
use hob_client::{Client, DaemonTarget, FollowItem, FollowOptions, SessionFollower};
use serde_json::{Value, json};

/// A daemon, the connection for calls, the follower, and its stream past the subscription.
async fn following() -> (Daemon, Peer, SessionFollower, Peer) {
    let daemon = Daemon::start();
    let (client, calls) = tokio::join!(
        Client::connect(DaemonTarget::home(daemon.home())),
        daemon.accept()
    );
    let client = client.expect("connects");
    let (follower, stream) = tokio::join!(
        client.follow(FollowOptions::to("chat:main")),
        subscribed(&daemon, None)
    );
    (daemon, calls, follower.expect("follows"), stream)
}

async fn subscribed(daemon: &Daemon, since: Option<u64>) -> Peer {
    let mut peer = daemon.accept().await;
    let (id, params) = peer.expect("gateway.subscribe").await;
    let mut expected = json!({
        "events": ["session.block", "run.completed"], "sessionKey": "chat:main",
    });
    if let Some(since) = since {
        expected["since"] = since.into();
    }
    assert_eq!(params, expected);
    peer.answer(&id, &json!({ "seq": 7 })).await;
    peer
}

fn block(id: &str, text: &str, status: &str, seq: Option<u64>) -> Value {
    let mut block = json!({
        "id": id, "revision": 1, "kind": "text", "status": status, "text": text,
    });
    if let Some(seq) = seq {
        block["seq"] = seq.into();
    }
    block
}

fn page(blocks: &[Value], settled: u64, position: u64) -> Value {
    json!({ "blocks": blocks, "settled": settled, "position": position })
}

/// A delta of the block `t`.
async fn delta(peer: &mut Peer, position: u64, offset: u64, text: &str) {
    let payload = json!({
        "sessionKey": "chat:main", "sessionId": "01932c07-a000-7000-8000-000000000001",
        "position": position, "op": "delta", "id": "t", "revision": 1, "kind": "text",
        "offset": offset, "text": text,
    });
    let frame = json!({
        "type": "event", "source": "sessions", "event": "session.block",
        "seq": 7, "sub": position, "payload": payload,
    });
    peer.write(&frame).await;
}

/// Waits until the last block has this text.
async fn until_text(follower: &mut SessionFollower, text: &str) {
    while follower
        .blocks()
        .last()
        .is_none_or(|block| block.text != text)
    {
        soon(follower.next())
            .await
            .expect("an item")
            .expect("no error");
    }
}

/// Answers the next request, which must have these params beside the session.
async fn answer(calls: &mut Peer, mut params: Value, page: &Value) {
    params["sessionKey"] = "chat:main".into();
    let (id, got) = calls.expect("session.blocks").await;
    assert_eq!(got, params);
    calls.answer(&id, page).await;
}

#[tokio::test]
async fn a_page_and_its_changes_are_the_blocks() {
    let (_daemon, mut calls, mut follower, mut stream) = following().await;
    // It came before the page was made, so the page has it.
    delta(&mut stream, 4, 0, "one").await;
    let first = page(
        &[
            block("m1/t1", "Hello", "closed", Some(1)),
            block("t", "one", "open", None),
        ],
        1,
        4,
    );
    tokio::join!(
        answer(&mut calls, json!({}), &first),
        until_text(&mut follower, "one")
    );
    delta(&mut stream, 5, 3, " two").await;
    until_text(&mut follower, "one two").await;
    assert_eq!(follower.blocks().len(), 2);
    assert!(follower.is_current());
}

#[tokio::test]
async fn a_lost_change_is_asked_for() {
    let (_daemon, mut calls, mut follower, mut stream) = following().await;
    let first = page(
        &[
            block("m1/t1", "Hello", "closed", Some(1)),
            block("t", "one", "open", None),
        ],
        1,
        4,
    );
    tokio::join!(
        answer(&mut calls, json!({}), &first),
        until_text(&mut follower, "one")
    );
    delta(&mut stream, 6, 7, " three").await;
    let rest = page(&[block("t", "one two three", "open", None)], 1, 6);
    tokio::join!(
        answer(&mut calls, json!({ "after": 1 }), &rest),
        until_text(&mut follower, "one two three")
    );
    delta(&mut stream, 7, 13, "!").await;
    until_text(&mut follower, "one two three!").await;
}

#[tokio::test]
async fn a_reconnect_resumes_behind_what_is_final() {
    let (daemon, mut calls, mut follower, mut stream) = following().await;
    let first = page(
        &[
            block("m1/t1", "Hello", "closed", Some(1)),
            block("t", "one", "open", None),
        ],
        1,
        90,
    );
    tokio::join!(
        answer(&mut calls, json!({}), &first),
        until_text(&mut follower, "one")
    );
    delta(&mut stream, 91, 3, " lost at the end").await;
    until_text(&mut follower, "one lost at the end").await;
    drop(stream);
    // Another daemon counts anew and asked the model again.
    let again = page(&[block("u", "again", "open", None)], 1, 3);
    let back = async {
        let stream = subscribed(&daemon, Some(7)).await;
        answer(&mut calls, json!({ "after": 1 }), &again).await;
        stream
    };
    let (_stream, ()) = tokio::join!(back, until_text(&mut follower, "again"));
    let ids: Vec<&str> = follower
        .blocks()
        .iter()
        .map(|block| block.id.as_str())
        .collect();
    assert_eq!(ids, ["m1/t1", "u"]);
}

#[tokio::test]
async fn the_end_of_a_run_shows_what_was_lost_at_last() {
    let (_daemon, mut calls, mut follower, mut stream) = following().await;
    let first = page(&[block("t", "one", "open", None)], 0, 4);
    tokio::join!(
        answer(&mut calls, json!({}), &first),
        until_text(&mut follower, "one")
    );
    let payload = json!({
        "sessionKey": "chat:main", "runId": "01932c07-a000-7000-8000-000000000001",
        "response": "one two", "success": true, "cause": "answered",
        "cost": { "inputTokens": 1, "outputTokens": 1, "calls": 1 },
    });
    let frame = json!({
        "type": "event", "source": "agent", "event": "run.completed", "seq": 8, "prev": 7,
        "payload": payload,
    });
    stream.write(&frame).await;
    let item = soon(follower.next())
        .await
        .expect("an item")
        .expect("no error");
    assert!(matches!(item, FollowItem::Event(_)), "{item:?}");
    let last = page(&[block("t", "one two", "closed", Some(2))], 2, 5);
    tokio::join!(
        answer(&mut calls, json!({ "after": 0 }), &last),
        until_text(&mut follower, "one two")
    );
}

#[tokio::test]
async fn a_session_may_not_exist_yet() {
    let (_daemon, mut calls, mut follower, mut stream) = following().await;
    let first = async {
        let (id, _) = calls.expect("session.blocks").await;
        calls
            .refuse(&id, "NOT_FOUND", "There is no such session.")
            .await;
        delta(&mut stream, 41, 0, "one").await;
        let rest = page(&[block("t", "one", "open", None)], 0, 41);
        answer(&mut calls, json!({}), &rest).await;
    };
    tokio::join!(first, until_text(&mut follower, "one"));
}
