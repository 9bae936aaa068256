//! Streams across restarts: every logged event once and in order, or reported as a gap.

use crate::fake::{Daemon, Peer, soon};
use hob_client::{Client, ClientError, DaemonTarget, EventStream, StreamItem, SubscribeOptions};
use hob_wire::rooms::gateway::GapRange;
use serde_json::{Value, json};

/// The client and its connection for calls, which stays open next to the stream's.
struct Calls {
    client: Client,
    _peer: Peer,
}

/// A daemon, its client, and the stream's own connection past its subscription.
async fn streaming(since: Option<u64>, last: u64) -> (Daemon, Calls, EventStream, Peer) {
    let daemon = Daemon::start();
    let (client, calls) = tokio::join!(
        Client::connect(DaemonTarget::home(daemon.home())),
        daemon.accept()
    );
    let client = client.expect("connects");
    let subscription = SubscribeOptions {
        since,
        ..SubscribeOptions::to(["a.*"])
    };
    let (stream, peer) = tokio::join!(
        client.subscribe(subscription),
        subscribed(&daemon, since, last)
    );
    let calls = Calls {
        client,
        _peer: calls,
    };
    (daemon, calls, stream.expect("subscribes"), peer)
}

/// Accepts a connection that subscribes after `since`.
async fn subscribed(daemon: &Daemon, since: Option<u64>, last: u64) -> Peer {
    let mut peer = daemon.accept().await;
    let (id, params) = peer.expect("gateway.subscribe").await;
    let mut expected = json!({ "events": ["a.*"] });
    if let Some(since) = since {
        expected["since"] = since.into();
    }
    assert_eq!(params, expected);
    peer.answer(&id, &json!({ "seq": last })).await;
    peer
}

async fn seq(stream: &mut EventStream) -> u64 {
    match soon(stream.next()).await {
        Some(Ok(StreamItem::Event(event))) => event.seq,
        other => panic!("no event: {other:?}"),
    }
}

fn gap(from: u64, to: u64) -> Value {
    json!({
        "type": "event", "source": "gateway", "event": "gateway.gap",
        "payload": { "from": from, "to": to },
    })
}

#[tokio::test]
async fn a_restart_is_resumed_after_the_last_event_seen() {
    let (mut daemon, _calls, mut stream, mut peer) = streaming(None, 4).await;
    assert_eq!(stream.start_seq(), 4);
    peer.logged(5, None).await;
    peer.logged(7, Some(5)).await;
    assert_eq!([seq(&mut stream).await, seq(&mut stream).await], [5, 7]);
    daemon.stop();
    drop(peer);
    daemon.listen();
    let mut peer = subscribed(&daemon, Some(7), 9).await;
    peer.logged(8, Some(7)).await;
    peer.logged(9, Some(8)).await;
    assert_eq!([seq(&mut stream).await, seq(&mut stream).await], [8, 9]);
}

#[tokio::test]
async fn a_restart_before_the_first_event_loses_none() {
    let (daemon, _calls, mut stream, peer) = streaming(None, 4).await;
    drop(peer);
    let mut peer = subscribed(&daemon, Some(4), 5).await;
    peer.logged(5, Some(4)).await;
    assert_eq!(seq(&mut stream).await, 5);
}

#[tokio::test]
async fn a_dropped_event_and_a_slow_close_are_fetched_again() {
    let (daemon, _calls, mut stream, mut peer) = streaming(Some(0), 0).await;
    peer.logged(1, Some(0)).await;
    assert_eq!(seq(&mut stream).await, 1);
    // Event 2 was lost; `prev` of its successor shows it.
    peer.logged(3, Some(2)).await;
    let mut peer = subscribed(&daemon, Some(1), 3).await;
    peer.logged(2, Some(1)).await;
    assert_eq!(seq(&mut stream).await, 2);
    // Too slow for this connection; the log still has them.
    peer.write(&gap(3, 9)).await;
    let mut peer = subscribed(&daemon, Some(2), 9).await;
    peer.logged(3, Some(2)).await;
    assert_eq!(seq(&mut stream).await, 3);
}

#[tokio::test]
async fn what_the_log_no_longer_has_is_named() {
    let (_daemon, _calls, mut stream, mut peer) = streaming(Some(10), 500).await;
    peer.write(&gap(11, 400)).await;
    peer.logged(401, Some(10)).await;
    let item = soon(stream.next()).await;
    let range = GapRange {
        from: 11,
        to: 400,
        reason: None,
    };
    assert_eq!(item, Some(Ok(StreamItem::Gap(range))));
    assert_eq!(seq(&mut stream).await, 401);
}

#[tokio::test]
async fn a_log_of_another_life_ends_the_stream() {
    let (daemon, _calls, mut stream, peer) = streaming(None, 50).await;
    drop(peer);
    let _peer = subscribed(&daemon, Some(50), 3).await;
    let expected = ClientError::CursorAhead { since: 50, last: 3 };
    assert_eq!(soon(stream.next()).await, Some(Err(expected)));
    assert_eq!(soon(stream.next()).await, None);
}

#[tokio::test]
async fn a_consumer_that_rests_loses_nothing() {
    const COUNT: u64 = 2_000;
    let (_daemon, _calls, mut stream, mut peer) = streaming(Some(0), 0).await;
    let feed = async {
        for seq in 1..=COUNT {
            peer.logged(seq, Some(seq - 1)).await;
        }
        peer
    };
    let read = async {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        for expected in 1..=COUNT {
            assert_eq!(seq(&mut stream).await, expected);
        }
    };
    soon(async { tokio::join!(feed, read) }).await;
}

#[tokio::test]
async fn dropping_a_stream_closes_its_connection_only() {
    let (_daemon, calls, stream, mut peer) = streaming(None, 0).await;
    drop(stream);
    assert_eq!(peer.next().await, None);
    assert_eq!(
        *calls.client.state().borrow(),
        hob_client::ConnectionState::Connected
    );
}
