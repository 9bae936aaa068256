//! The typed client against real daemons that crash under it.

use crate::support::House;
use hob_client::{Client, ClientError, DaemonTarget, EventStream, StreamItem, SubscribeOptions};
use hob_kit::home::Home;
use hob_wire::rooms::session::{
    Create, Send, SessionCreateParams, SessionMessage, SessionMessagePayload, SessionSendParams,
};
use std::time::Duration;

/// Generous, because test machines are noisy; nothing waits that long unless it is broken.
const PATIENCE: Duration = Duration::from_mins(1);

async fn connect(house: &House) -> Client {
    let target = DaemonTarget::home(&Home::at(house.home()));
    Client::connect(target).await.expect("the daemon answers")
}

async fn create(client: &Client, key: &str) {
    let params = SessionCreateParams {
        session_key: Some(key.to_owned()),
        ..SessionCreateParams::default()
    };
    let created = client.call::<Create>(&params).await;
    assert!(created.expect("created").created);
}

/// Sends one message, again and again until it is acknowledged, as its key allows.
async fn send(client: &Client, number: u64) {
    let params = SessionSendParams {
        session_key: "k".to_owned(),
        content: number.to_string().as_str().into(),
        role: None,
        idempotency_key: Some(format!("message {number}")),
    };
    loop {
        match client.call::<Send>(&params).await {
            Ok(sent) => {
                assert_eq!(sent.seq, number, "one message per key, in order");
                return;
            }
            Err(ClientError::ConnectionLost { repeatable, .. }) => assert!(repeatable),
            // A daemon that is just going down refuses work.
            Err(error) if error.code().is_some() => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => assert!(error.is_daemon_absent(), "{error:?}"),
        }
    }
}

async fn next_message(stream: &mut EventStream) -> SessionMessagePayload {
    let item = tokio::time::timeout(PATIENCE, stream.next()).await;
    match item.expect("an event comes") {
        Some(Ok(StreamItem::Event(event))) => event.read::<SessionMessage>().expect("a message"),
        other => panic!("no event: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_repeated_while_daemons_crash() {
    const MESSAGES: u64 = 300;
    const CRASHES: u32 = 4;
    let mut house = House::start();
    let client = connect(&house).await;
    create(&client, "k").await;
    let stream = client
        .subscribe(SubscribeOptions::to(["session.message"]))
        .await;
    let mut stream = stream.expect("subscribes");
    let chaos = tokio::task::spawn_blocking(move || {
        for _ in 0..CRASHES {
            std::thread::sleep(Duration::from_millis(150));
            house.kill();
            house.start_daemon();
        }
        house
    });
    let write = async {
        for number in 1..=MESSAGES {
            send(&client, number).await;
            // Spread over the crashes.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let read = async {
        for number in 1..=MESSAGES {
            let payload = next_message(&mut stream).await;
            assert_eq!(payload.message.seq, number);
            assert_eq!(payload.message.content, number.to_string().as_str().into());
        }
    };
    tokio::join!(write, read);
    let house = chaos.await.expect("the house stands");
    let exported = house.hob(&["session", "export", "k"]).success();
    assert_eq!(exported.lines().count() as u64, MESSAGES);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_consumer_still_gets_everything() {
    const MESSAGES: u64 = 40;
    let house = House::start();
    let client = connect(&house).await;
    create(&client, "k").await;
    let subscription = SubscribeOptions {
        since: Some(0),
        ..SubscribeOptions::to(["session.message"])
    };
    let mut stream = client.subscribe(subscription).await.expect("subscribes");
    // Far more than the daemon keeps for one connection (16 MiB) and the sockets hold.
    let big = "x".repeat(1024 * 1024);
    for _ in 0..MESSAGES {
        let params = SessionSendParams {
            session_key: "k".to_owned(),
            content: big.as_str().into(),
            role: None,
            idempotency_key: None,
        };
        client.call::<Send>(&params).await.expect("sent");
    }
    for number in 1..=MESSAGES {
        assert_eq!(next_message(&mut stream).await.message.seq, number);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_handles_leave_no_connection() {
    let house = House::start();
    let client = connect(&house).await;
    let stream = client.subscribe(SubscribeOptions::to(["*"])).await;
    let other = connect(&house).await;
    drop((client, stream));
    let counters = || async {
        let params = hob_wire::rooms::gateway::GatewayStatsParams {};
        let counters = other.call::<hob_wire::rooms::gateway::Stats>(&params).await;
        counters.expect("answers").connections
    };
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while counters().await > 1 {
        assert!(
            tokio::time::Instant::now() < deadline,
            "connections stayed open"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
