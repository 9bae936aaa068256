//! Calls: answers, errors, and lost connections.

use crate::fake::{Daemon, soon};
use hob_client::{CallOptions, Client, ClientError, ConnectionState, DaemonTarget};
use hob_wire::ErrorCode;
use hob_wire::rooms::gateway::{GatewayStatsParams, Stats};
use hob_wire::rooms::session::{Get, Send, SessionGetParams, SessionSendParams};
use serde_json::json;
use std::time::Duration;

async fn connected() -> (Daemon, Client, crate::fake::Peer) {
    let daemon = Daemon::start();
    let (client, peer) = tokio::join!(
        Client::connect(DaemonTarget::home(daemon.home())),
        daemon.accept()
    );
    (daemon, client.expect("connects"), peer)
}

fn get() -> SessionGetParams {
    SessionGetParams {
        session_key: "k".into(),
    }
}

#[tokio::test]
async fn answers_find_their_callers_in_any_order() {
    let (_daemon, client, mut peer) = connected().await;
    let call = |name: &'static str| {
        let client = client.clone();
        async move { client.call_raw(name, None, CallOptions::default()).await }
    };
    let serve = async {
        let (first, second) = (peer.next().await, peer.next().await);
        for frame in [second, first].into_iter().flatten() {
            let id = frame["id"].as_str().expect("an id");
            peer.answer(id, &frame["method"]).await;
        }
    };
    let (one, two, ()) = soon(async { tokio::join!(call("a.one"), call("a.two"), serve) }).await;
    assert_eq!(one.expect("answered").as_deref(), Some(&b"\"a.one\""[..]));
    assert_eq!(two.expect("answered").as_deref(), Some(&b"\"a.two\""[..]));
}

#[tokio::test]
async fn an_error_keeps_its_code_and_an_unknown_one_its_words() {
    let (_daemon, client, mut peer) = connected().await;
    let serve = async {
        let (id, _) = peer.expect("session.get").await;
        peer.refuse(&id, "NOT_FOUND", "No such session.").await;
        let (id, _) = peer.expect("session.get").await;
        peer.refuse(&id, "TIRED", "Not now.").await;
    };
    let params = get();
    let ask = async {
        (
            client.call::<Get>(&params).await.expect_err("refused"),
            client.call::<Get>(&params).await.expect_err("refused"),
        )
    };
    let ((known, unknown), ()) = soon(async { tokio::join!(ask, serve) }).await;
    assert_eq!(known.code(), Some(ErrorCode::NotFound));
    assert_eq!(known.to_string(), "No such session.");
    assert_eq!(unknown.to_string(), "Not now. (TIRED)");
}

#[tokio::test]
async fn a_call_cut_off_says_whether_it_may_be_repeated() {
    let send = |key: Option<&str>| SessionSendParams {
        session_key: "k".into(),
        content: "hi".into(),
        role: None,
        idempotency_key: key.map(str::to_owned),
    };
    for (params, repeatable) in [(send(None), false), (send(Some("once")), true)] {
        let (_daemon, client, mut peer) = connected().await;
        let cut = async {
            peer.expect("session.send").await;
            drop(peer);
        };
        let (lost, ()) = soon(async { tokio::join!(client.call::<Send>(&params), cut) }).await;
        let expected = ClientError::ConnectionLost {
            method: "session.send".to_owned(),
            repeatable,
        };
        assert_eq!(lost.err(), Some(expected));
    }
}

#[tokio::test]
async fn a_call_made_while_the_daemon_is_away_waits_for_it() {
    let (mut daemon, client, peer) = connected().await;
    let mut state = client.state();
    daemon.stop();
    drop(peer);
    soon(state.wait_for(|state| *state == ConnectionState::Searching))
        .await
        .expect("alive");
    let restart = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        daemon.listen();
        let mut peer = daemon.accept().await;
        let (id, _) = peer.expect("gateway.stats").await;
        peer.answer(
            &id,
            &json!({
                "uptime": 1, "services": 2, "connections": 3, "pendingRequests": 0, "seq": 9,
                "requestsTotal": 0, "errorsTotal": 0, "eventsTotal": 0, "coalescedTotal": 0,
                "slowClosedTotal": 0, "strayAnswersTotal": 0, "panicsTotal": 0,
                "handlerPanicsTotal": 0,
            }),
        )
        .await;
        peer
    };
    let params = GatewayStatsParams {};
    let (counters, _peer) =
        soon(async { tokio::join!(client.call::<Stats>(&params), restart) }).await;
    assert_eq!(counters.expect("answered").seq, 9);
}

#[tokio::test]
async fn a_silent_method_times_out_and_the_connection_goes_on() {
    let (_daemon, client, mut peer) = connected().await;
    let options = CallOptions {
        timeout: Some(Duration::from_millis(50)),
        ..CallOptions::default()
    };
    let error = client.call_raw("a.slow", None, options).await.err();
    assert!(
        matches!(error, Some(ClientError::TimedOut { after_ms: 50, .. })),
        "{error:?}"
    );
    let serve = async {
        let (late, _) = peer.expect("a.slow").await;
        peer.answer(&late, &json!("too late")).await;
        let (id, _) = peer.expect("a.next").await;
        peer.answer(&id, &json!("in time")).await;
    };
    let call = client.call_raw("a.next", None, CallOptions::default());
    let (next, ()) = soon(async { tokio::join!(call, serve) }).await;
    assert_eq!(
        next.expect("answered").as_deref(),
        Some(&b"\"in time\""[..])
    );
}

#[tokio::test]
async fn nobody_there_is_said_at_once() {
    let mut daemon = Daemon::start();
    daemon.stop();
    let error = soon(Client::connect(DaemonTarget::home(daemon.home())))
        .await
        .err();
    assert!(
        matches!(error, Some(ClientError::NotRunning { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_refused_token_and_another_protocol_are_final() {
    let daemon = Daemon::start();
    let refuse = async {
        let mut peer = daemon.accept_raw().await;
        let (id, _) = peer.expect("gateway.auth").await;
        peer.refuse(&id, "UNAUTHORIZED", "This token is not known.")
            .await;
    };
    let connect = Client::connect(DaemonTarget::home(daemon.home()).with_token("wrong"));
    let (refused, ()) = soon(async { tokio::join!(connect, refuse) }).await;
    assert!(
        matches!(refused, Err(ClientError::RefusedToken { .. })),
        "{refused:?}"
    );

    let newer = async {
        let mut peer = daemon.accept_raw().await;
        let (id, _) = peer.expect("gateway.auth").await;
        peer.answer(
            &id,
            &json!({ "name": "owner", "scopes": [], "protocol": 2 }),
        )
        .await;
    };
    let connect = Client::connect(DaemonTarget::home(daemon.home()));
    let (skewed, ()) = soon(async { tokio::join!(connect, newer) }).await;
    let text = skewed.expect_err("refused").to_string();
    assert!(
        text.contains("protocol 1") && text.contains("protocol 2"),
        "{text}"
    );
}

#[tokio::test]
async fn dropping_the_last_handle_closes_the_connection() {
    let (_daemon, client, mut peer) = connected().await;
    let other = client.clone();
    drop(client);
    let serve = async {
        let (id, _) = peer.expect("a.b").await;
        peer.answer(&id, &json!(1)).await;
    };
    let call = other.call_raw("a.b", None, CallOptions::default());
    let (answered, ()) = soon(async { tokio::join!(call, serve) }).await;
    assert!(answered.is_ok(), "a clone keeps it open");
    drop(other);
    assert_eq!(peer.next().await, None);
}

#[tokio::test]
async fn params_larger_than_a_frame_are_refused_here() {
    let (_daemon, client, _peer) = connected().await;
    let params = serde_json::to_vec(&"x".repeat(9 * 1024 * 1024)).expect("text");
    let call = client.call_raw("a.b", Some(params.into()), CallOptions::default());
    let error = soon(call).await.err();
    assert!(
        matches!(error, Some(ClientError::TooLarge { .. })),
        "{error:?}"
    );
}
