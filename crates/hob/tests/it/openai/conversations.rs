//! What the surface promises beyond its form: what the model is given, what is kept, how far tools
//! reach, and that a client which goes away takes its run with it.

use super::{answer, ask, chat_token, house_with, model, open, says};
use crate::support::wait_until;
use hob_sim::{Answer, Sim};
use serde_json::{Value, json};
use std::io::Read;

#[test]
fn a_named_model_gets_the_conversation_and_nothing_else() {
    let sim = model();
    let house = house_with(&sim);
    let body = json!({
        "model": "sim/one", "temperature": 0.5, "top_p": 0.25, "max_tokens": 9, "stop": ["END"],
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "one" },
            { "role": "assistant", "content": "two" },
            { "role": "user", "content": [
                { "type": "text", "text": "three" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } },
            ] },
        ],
    });
    answer(&house, &chat_token(&house), &body);
    let asked = sim.asked().pop().expect("it was asked");
    assert_eq!((asked.system.as_str(), asked.tools.len()), ("Be brief.", 0));
    let words: Vec<&str> = asked
        .messages
        .iter()
        .map(|said| said.text.as_str())
        .collect();
    assert_eq!(words, ["one", "two", "three"]);
    assert_eq!(asked.messages[2].images, ["image/png"]);
    assert_eq!(asked.body["temperature"], 0.5);
    assert_eq!(asked.body["top_p"], 0.25);
    assert_eq!(asked.body["stop"], json!(["END"]));
    let listed = house.hob(&["--json", "session", "list"]).success();
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed["sessions"], json!([]));
    let stats = house.hob(&["--json", "agent", "stats"]).success();
    let stats: Value = serde_json::from_str(&stats).expect("JSON");
    assert_eq!(stats["runs"], 0);
    // The ledger has it.
    let cost = house.hob(&["--json", "rpc", "cost.summary"]).success();
    let cost: Value = serde_json::from_str(&cost).expect("JSON");
    assert_eq!(cost["total"]["calls"], 1);
}

#[test]
fn hob_uses_its_own_tools_below_the_ceiling() {
    let sim = Sim::start(|asked| match asked.results_of_task().first() {
        None => Answer::asks("time", json!({})),
        Some(result) if result.is_error => Answer::words("It failed."),
        Some(_) => Answer::words("I looked at the clock."),
    });
    let house = house_with(&sim);
    for stream in [false, true] {
        let body =
            json!({ "model": "hob", "messages": says("what time is it?"), "stream": stream });
        let (status, text) = ask(&house, &chat_token_named(&house, stream), &body);
        assert_eq!(status, 200, "{text}");
        let said: String = text
            .split('"')
            .filter(|word| {
                "I looked at the clock.".contains(word.trim()) && !word.trim().is_empty()
            })
            .collect();
        assert!(said.contains("clock"), "{text}");
        let offered = &sim.asked()[0].tools;
        assert!(offered.contains(&"time".to_owned()), "{offered:?}");
        assert!(!offered.contains(&"write".to_owned()), "{offered:?}");
    }
}

fn chat_token_named(house: &crate::support::House, stream: bool) -> String {
    let name = format!("client-{stream}");
    let line = ["token", "create", "--name", &name, "--scope", "chat"];
    house.hob(&line).success().trim().to_owned()
}

#[test]
fn hanging_up_reaches_the_provider() {
    let sim = model();
    let house = house_with(&sim);
    let token = chat_token(&house);
    for (cut, session) in [(1, None), (2, Some("kept"))] {
        let mut body = json!({ "model": "sim/one", "messages": says("endless"), "stream": true });
        if let Some(session) = session {
            body["metadata"] = json!({ "session": session });
        }
        let mut client = open(&house, &token, &body);
        let mut seen = Vec::new();
        let mut piece = [0; 4_096];
        while seen
            .windows(9)
            .filter(|nine| nine == b"\"content\"")
            .count()
            < 3
        {
            let read = client.read(&mut piece).expect("the stream goes on");
            assert_ne!(read, 0, "it ended: {}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&piece[..read]);
        }
        drop(client);
        wait_until("the provider's stream is closed", || {
            sim.cut_streams() == cut
        });
        assert_eq!(sim.open_streams(), 0);
    }
    let show = house.hob(&["--json", "rpc", "agent.status", r#"{"sessionKey":"kept"}"#]);
    let run: Value = serde_json::from_str(&show.success()).expect("JSON");
    assert_eq!(run["cause"], "aborted");
}

#[test]
fn a_spent_budget_is_no_reason_to_retry() {
    let sim = model();
    let url = sim.url(hob_sim::Dialect::OpenaiChat);
    let config = format!(
        "[model]\ndefault = [\"sim/one\"]\n\n[models.sim]\nkind = \"openai\"\nurl = \"{url}\"\nprice_input = \"100\"\nprice_output = \"100\"\n\n[cost]\nday_max = \"0.000001\"\n"
    );
    let house = crate::support::House::builder().config(&config).start();
    let body = json!({ "model": "hob", "messages": says("hi") });
    let (status, text) = ask(&house, &chat_token(&house), &body);
    let error: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        (status, &error["error"]["code"]),
        (429, &json!("insufficient_quota")),
        "{text}"
    );
    assert_eq!(sim.asked_count(), 0);
}
