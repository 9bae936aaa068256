//! Blocks through the built binary: a client that knows only the wire, and a daemon that is killed
//! at any moment of an answer.

mod asking;
mod raw_client;

use crate::conformance::wire::Peer;
use crate::mind::house_with;
use crate::support::House;
use crate::support::RandomKills;
use hob_sim::{Answer, Sim, SimRequest};
use raw_client::RawClient;
use serde_json::{Value, json};
use std::time::Duration;

/// Kills of one test; `HOB_KILLS` sets another number.
const KILLS: u64 = 4;
/// The most changes before a kill: about as many as the whole answer makes.
const CHANGES_MAX: u64 = 90;

/// Two steps: a call, then a long answer in several Markdown blocks with wide characters.
fn model() -> Sim {
    let answer = |asked: &SimRequest| {
        if asked.results_of_task().is_empty() {
            return Answer::words("I look at the *clock* first: größer, 時計.\n\nNow.")
                .thinking("What time is it?")
                .call("time", json!({}));
        }
        let items: Vec<String> = (1..=12).map(|n| format!("- point {n} – ü\n")).collect();
        let items = items.concat();
        Answer::words(format!("# It is late\n\n{items}\nThe *end* of it. 終わり"))
    };
    Sim::start(move |asked| answer(asked).pace(1, Duration::from_millis(3)))
}

/// The text of all answers as they are stored.
async fn stored_answers(peer: &mut Peer, session: &str) -> String {
    let params = json!({ "sessionKey": session });
    let page = peer.call("session.export", params).await;
    let messages = page["messages"].as_array().expect("messages").clone();
    let answers = messages
        .iter()
        .filter(|message| message["role"] == "assistant");
    answers
        .map(|message| text_of(&message["content"]))
        .collect()
}

fn text_of(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.as_array().expect("parts");
    let texts = parts.iter().filter_map(|part| match &part["type"] {
        kind if kind == "text" => part["text"].as_str(),
        _ => None,
    });
    texts.collect()
}

async fn is_done(peer: &mut Peer, session: &str) -> bool {
    let status = peer.call("agent.status", json!({ "sessionKey": session }));
    status.await["state"] == "done"
}

/// Follows until the run has ended and everything is closed, or until this many changes came.
async fn follow(
    client: &mut RawClient,
    peer: &mut Peer,
    session: &str,
    changes_max: Option<usize>,
) -> bool {
    let mut ended = is_done(peer, session).await;
    loop {
        if changes_max.is_some_and(|most| client.changes >= most) {
            return false;
        }
        if ended && client.is_closed() && client.answers() == stored_answers(peer, session).await {
            return true;
        }
        let event = peer.event().await;
        ended |= event["event"] == "run.completed";
        if event["event"] == "session.block" && client.apply(&event["payload"]) {
            client.resync(peer).await;
        }
    }
}

/// Runs the task on a new session, with a kill after this many changes.
async fn survives_kill(house: &mut House, round: u64, changes: u64) {
    let session = format!("killed:{round}");
    let mut client = RawClient::new(&session);
    let mut peer = client.connect(house).await;
    let run = json!({ "sessionKey": session, "task": "What time is it?" });
    peer.call("agent.run", run).await;
    let changes = usize::try_from(changes).expect("few");
    if !follow(&mut client, &mut peer, &session, Some(changes)).await {
        house.kill();
        house.start_daemon();
        peer = client.connect(house).await;
        assert!(follow(&mut client, &mut peer, &session, None).await);
    }
    // Another client, which saw nothing of it.
    let mut fresh = RawClient::new(&session);
    fresh.resync(&mut peer).await;
    assert_eq!(client.shown(), fresh.shown());
    assert!(client.answers().ends_with("終わり"), "{}", client.answers());
}

#[tokio::test]
async fn a_raw_client_has_the_stored_text_whenever_the_daemon_is_killed() {
    let kills = RandomKills::new(KILLS);
    let sim = model();
    let mut house = house_with(&sim);
    for round in 0..kills.count {
        let changes = 1 + kills.randomness.below(CHANGES_MAX);
        eprintln!("round {round}: killed after {changes} changes");
        survives_kill(&mut house, round, changes).await;
    }
}
