//! For any subscriptions and any events, also concurrent ones: each link gets each matching event
//! once, in order, and `prev` names the one before it.

use crate::fixture::{TestBus, TestPeer};
use hob_bus::BusLimits;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Barrier;

const TOPICS: [&str; 5] = ["a.x", "a.y", "a.y.z", "b.x", "c"];
const PATTERNS: [&str; 7] = ["a.x", "a.*", "a.y.*", "b.*", "b.x", "c", "*"];
const SESSIONS: [&str; 2] = ["s1", "s2"];

#[derive(Clone, Debug)]
struct Plan {
    history: Vec<Emission>,
    live: Vec<Emission>,
    readers: Vec<Reader>,
}

#[derive(Clone, Debug)]
struct Emission {
    topic: &'static str,
    session: Option<&'static str>,
}

#[derive(Clone, Debug)]
struct Reader {
    /// Per mille of the history it has seen already; none begins with the present.
    since: Option<u64>,
    /// Asked for one after the other, each with its session filter.
    asks: Vec<(Vec<&'static str>, Option<&'static str>)>,
    /// Yields before each ask, so that events come between them.
    pause: usize,
}

fn emissions(most: usize) -> impl Strategy<Value = Vec<Emission>> {
    let one = (
        prop::sample::select(&TOPICS),
        prop::option::of(prop::sample::select(&SESSIONS)),
    );
    let one = one.prop_map(|(topic, session)| Emission { topic, session });
    prop::collection::vec(one, 0..most)
}

fn readers() -> impl Strategy<Value = Vec<Reader>> {
    let patterns = prop::collection::vec(prop::sample::select(&PATTERNS), 1..3);
    let session = prop::option::weighted(0.3, prop::sample::select(&SESSIONS));
    let asks = prop::collection::vec((patterns, session), 1..4);
    let reader = (prop::option::of(0..=1_000_u64), asks, 0..20_usize);
    let reader = reader.prop_map(|(since, asks, pause)| Reader { since, asks, pause });
    prop::collection::vec(reader, 1..5)
}

fn plans() -> impl Strategy<Value = Plan> {
    (emissions(300), emissions(200), readers()).prop_map(|(history, live, readers)| Plan {
        history,
        live,
        readers,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_event_asked_for_comes_once_and_in_an_unbroken_chain(plan in plans()) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .expect("a runtime");
        runtime.block_on(carry_out(plan));
    }
}

async fn carry_out(plan: Plan) {
    let fixture = TestBus::with(BusLimits::default(), 100_000);
    for emission in &plan.history {
        fixture
            .append(emission.topic, emission.session, json!({}))
            .await;
    }
    // A new bus: the history is in the log only.
    let fixture = Arc::new(fixture.reopen());
    let subscribed = Arc::new(Barrier::new(plan.readers.len() + 1));
    let all: Arc<Vec<Emission>> =
        Arc::new(plan.history.iter().chain(&plan.live).cloned().collect());
    let mut readers = tokio::task::JoinSet::new();
    for reader in plan.readers {
        let (fixture, all, subscribed) = (fixture.clone(), all.clone(), subscribed.clone());
        let since = reader
            .since
            .map(|share| plan.history.len() as u64 * share / 1_000);
        readers.spawn(async move {
            let mut wire = fixture.reader();
            let asked = ask_all(&mut wire, &reader, since).await;
            subscribed.wait().await;
            check(&mut wire, &asked, since, &all).await;
        });
    }
    for emission in &plan.live {
        fixture
            .append(emission.topic, emission.session, json!({}))
            .await;
        tokio::task::yield_now().await;
    }
    subscribed.wait().await;
    fixture.append("end", None, json!({})).await;
    while let Some(done) = readers.join_next().await {
        done.expect("the reader agrees");
    }
}

/// What a reader asked for, and after which event that began.
struct Asked {
    patterns: Vec<&'static str>,
    session: Option<&'static str>,
    after: u64,
}

async fn ask_all(wire: &mut TestPeer, reader: &Reader, since: Option<u64>) -> Vec<Asked> {
    let mut asked = Vec::new();
    let mut since = since;
    for (patterns, session) in &reader.asks {
        for _ in 0..reader.pause {
            tokio::task::yield_now().await;
        }
        let mut params = json!({ "events": patterns });
        if let Some(session) = session {
            params["sessionKey"] = json!(session);
        }
        if let Some(since) = since {
            params["since"] = json!(since);
        }
        let began = wire
            .call("gateway.subscribe", params)
            .await
            .expect("subscribed");
        let began = began["seq"].as_u64().expect("a seq");
        let after = since.take().unwrap_or(began);
        asked.push(Asked {
            patterns: patterns.clone(),
            session: *session,
            after,
        });
    }
    wire.subscribe(&["end"]).await;
    asked
}

async fn check(wire: &mut TestPeer, asked: &[Asked], since: Option<u64>, all: &[Emission]) {
    let wants = |seq: u64, emission: &Emission| {
        asked.iter().any(|it| {
            seq > it.after
                && (it.session.is_none() || it.session == emission.session)
                && it
                    .patterns
                    .iter()
                    .any(|pattern| matches(pattern, emission.topic))
        })
    };
    let numbered = (1..).zip(all);
    let wanted = numbered.filter(|(seq, emission)| wants(*seq, emission));
    let mut expected: Vec<u64> = wanted.map(|(seq, _)| seq).collect();
    expected.push(all.len() as u64 + 1);
    let mut prev = since.map_or(Value::Null, Value::from);
    for seq in expected {
        let event = wire.event().await;
        assert_eq!(event["seq"], seq, "{event}");
        assert_eq!(event["prev"], prev, "{event}");
        assert_eq!(event.get("sub"), None, "{event}");
        prev = event["seq"].clone();
    }
    assert!(wire.is_silent().await);
}

/// Written apart from the code it judges.
fn matches(pattern: &str, topic: &str) -> bool {
    match pattern {
        "*" => true,
        "a.*" => ["a.x", "a.y", "a.y.z"].contains(&topic),
        "a.y.*" => topic == "a.y.z",
        "b.*" => topic == "b.x",
        exact => exact == topic,
    }
}
