//! Services come and go while many call them, on several threads: each request gets exactly one
//! answer, and nothing is left behind.

use crate::fixture::{TestBus, TestPeer};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const CALLERS: usize = 8;
const CALLS: usize = 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_request_gets_one_answer() {
    let fixture = Arc::new(TestBus::new());
    let over = Arc::new(AtomicBool::new(false));
    let answered = Arc::new(AtomicU64::new(0));
    let mut services = tokio::task::JoinSet::new();
    for name in ["left", "right"] {
        let (fixture, over) = (fixture.clone(), over.clone());
        services.spawn(async move {
            while !over.load(Ordering::Relaxed) {
                serve_for_a_while(&fixture, name).await;
            }
        });
    }
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CALLERS {
        let (fixture, answered) = (fixture.clone(), answered.clone());
        callers.spawn(async move {
            let mut wire = fixture.owner();
            for n in 0..CALLS {
                let method = if n % 2 == 0 { "left.do" } else { "right.do" };
                let outcome = wire.call(method, json!(n)).await;
                match outcome {
                    Ok(payload) => {
                        assert_eq!(payload, json!(n));
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(error) => {
                        let code = error["code"].as_str().expect("a code");
                        assert!(
                            ["NO_HANDLER", "SERVICE_UNAVAILABLE"].contains(&code),
                            "{error}"
                        );
                        tokio::task::yield_now().await;
                    }
                }
            }
            assert!(wire.is_silent().await, "one answer each");
        });
    }
    while let Some(done) = callers.join_next().await {
        done.expect("the caller agrees");
    }
    over.store(true, Ordering::Relaxed);
    while let Some(done) = services.join_next().await {
        done.expect("the service agrees");
    }
    assert!(answered.load(Ordering::Relaxed) > 0, "some got through");
    let counters = fixture.bus.counters();
    assert_eq!(counters.pending_requests, 0);
    assert_eq!(counters.stray_answers_total, 0);
    assert_eq!(counters.connections, 0);
    assert_eq!(counters.services, 1);
}

/// Answers some requests, then leaves: by hanging up, or by being replaced.
async fn serve_for_a_while(fixture: &TestBus, name: &str) {
    let method = format!("{name}.do");
    let mut first = fixture.service(name, &[&method]).await;
    answer_some(&mut first, 20).await;
    let mut second = fixture.service(name, &[&method]).await;
    answer_some(&mut second, 20).await;
}

async fn answer_some(wire: &mut TestPeer, most: usize) {
    for _ in 0..most {
        let Some(request) = wire.poll_request().await else {
            return;
        };
        let params: Value = request["params"].clone();
        wire.reply(&request, params).await;
    }
}
