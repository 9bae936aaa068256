//! Tools that ask other rooms, through the bus.

use super::{House, house, words};
use crate::fixture::serve_models;
use hob_kit::host_environment::EnvVars;
use hob_sim::{Answer, Dialect, Sim};
use hob_wire::rooms::session::{Create, History, SessionCreateParams, SessionHistoryParams};
use serde_json::{Value, json};

/// A key of the environment. It looks like nothing in particular: only who is told it knows it.
const KEY: &str = "canary.of.the.lab";

async fn with_sessions() -> House {
    let house = house();
    for key in ["chat:own", "chat:other"] {
        let params = SessionCreateParams {
            session_key: Some(key.to_owned()),
            label: Some(format!("about {key}")),
            ..SessionCreateParams::default()
        };
        let made = house.fixture.caller().call::<Create>(&params).await;
        made.expect("is made");
    }
    house
}

/// A house with the rooms of settings and models, over this file.
fn with_models(text: &str) -> House {
    let house = house();
    let env = EnvVars::from_pairs([("LAB_KEY", KEY)]);
    let keys = [hob_models::KEYS, hob_daemon::agent::KEYS];
    serve_models(&house.fixture.context, env, &keys, text);
    house
}

/// What a tool says, as a person's own act in `chat:own`.
async fn say(house: &House, name: &str, args: Value) -> (String, bool) {
    let mut call = house.call("c", name, args);
    call.context.run_id = None;
    call.context.session_key = Some("chat:own".to_owned());
    let answer = house.execute(&call).await.expect("answers");
    (words(&answer).to_owned(), answer.is_error)
}

#[tokio::test]
async fn sessions_are_listed_read_and_written_to() {
    let house = with_sessions().await;
    let (text, failed) = say(&house, "sessions_list", json!({})).await;
    assert!(!failed && text.lines().count() == 2, "{text}");
    assert!(
        text.contains("chat:own\tmain\t0 messages\tabout chat:own (this one)"),
        "{text}"
    );
    let args = json!({ "sessionKey": "chat:other", "message": "hello" });
    // The same call again adds nothing.
    for _ in 0..2 {
        let (text, failed) = say(&house, "sessions_send", args.clone()).await;
        assert!(
            !failed && text == "It is message 1 of chat:other.",
            "{text}"
        );
    }
    let params = SessionHistoryParams {
        session_key: "chat:other".to_owned(),
        limit: None,
        before: None,
    };
    let history = house.fixture.caller().call::<History>(&params).await;
    assert_eq!(history.expect("is there").messages.len(), 1);
    let (text, _) = say(
        &house,
        "sessions_history",
        json!({ "sessionKey": "chat:other" }),
    )
    .await;
    assert_eq!(text, "[1] user: [chat:own] hello");
    let (text, _) = say(&house, "sessions_history", json!({})).await;
    assert_eq!(text, "There are no messages yet.");
    let (text, failed) = say(
        &house,
        "sessions_history",
        json!({ "sessionKey": "nobody" }),
    )
    .await;
    assert!(failed && text.contains("nobody"), "{text}");
    house.fixture.close().await;
}

#[tokio::test]
async fn a_room_that_is_not_there_is_told() {
    let house = house();
    for name in ["agent_status", "model_list", "service_status"] {
        let (text, failed) = say(&house, name, json!({})).await;
        assert!(failed && !text.is_empty(), "{name}: {text}");
    }
    house.fixture.close().await;
}

#[tokio::test]
async fn another_session_is_deleted_and_the_own_one_never() {
    let house = with_sessions().await;
    let (text, failed) = say(
        &house,
        "sessions_delete",
        json!({ "sessionKey": "chat:own" }),
    )
    .await;
    assert!(failed && text.contains("you work in"), "{text}");
    let other = json!({ "sessionKey": "chat:other" });
    let (text, failed) = say(&house, "sessions_delete", other.clone()).await;
    assert!(
        !failed && text == "The session chat:other is deleted.",
        "{text}"
    );
    // A repeat after a crash comes here.
    let (text, failed) = say(&house, "sessions_delete", other).await;
    assert!(!failed && text.contains("any more"), "{text}");
    let (text, _) = say(&house, "sessions_list", json!({})).await;
    assert!(text.contains("chat:own") && !text.contains("chat:other"));
    house.fixture.close().await;
}

#[tokio::test]
async fn only_a_run_starts_a_sub_agent() {
    let house = with_sessions().await;
    let (text, failed) = say(&house, "sessions_spawn", json!({ "task": "Go." })).await;
    assert!(failed && text.contains("Only a run"), "{text}");
    house.fixture.close().await;
}

#[tokio::test]
async fn models_are_listed_by_name() {
    let sim = Sim::start(|_| Answer::words("ready"));
    let house = with_models(&format!(
        "[model]\nfast = [\"lab/sim-small\"]\n[models.lab]\nurl = \"{}\"\nkey_env = \"LAB_KEY\"\n\
         [models.dark]\nurl = \"http://127.0.0.1:9/v1\"\nkey_env = \"NO_SUCH_KEY\"\n",
        sim.url(Dialect::OpenaiChat)
    ));
    let (text, failed) = say(&house, "model_list", json!({})).await;
    assert!(!failed, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines.starts_with(&["lab/sim-small", "lab/sim-large"]),
        "{text}"
    );
    assert!(lines.contains(&"fast = lab/sim-small"), "{text}");
    assert!(!text.contains("dark/") && !text.contains(KEY), "{text}");
    house.fixture.close().await;
}

#[tokio::test]
async fn settings_are_told_without_secrets() {
    let house = with_models(&format!(
        "[agent]\ntokens = 5000\n\
         [model]\nfast = [\"lab/{KEY}\"]\n\
         [models.lab]\nurl = \"http://me:door-word@127.0.0.1:9/v1?k=query-word\"\nkey_env = \"LAB_KEY\"\n\
         [models.odd]\nurl = \"http://127.0.0.1:9/v1\"\nkey_env = \"pasted-key\"\n"
    ));
    // Asking for the models makes the key known, as it does in a house that runs.
    say(&house, "model_list", json!({})).await;
    for args in [
        json!({}),
        json!({ "key": "models" }),
        json!({ "key": "models.lab" }),
        json!({ "key": "models.lab.url" }),
        json!({ "key": "models.odd.key_env" }),
        json!({ "key": "model.fast" }),
        json!({ "key": "agent.tokens" }),
    ] {
        let mut call = house.call("c", "config_read", args.clone());
        call.context.run_id = None;
        let answer = house.execute(&call).await.expect("answers");
        assert!(!answer.is_error, "{args}: {answer:?}");
        let whole = serde_json::to_string(&answer).expect("is JSON");
        for secret in [KEY, "door-word", "query-word", "pasted-key"] {
            assert!(!whole.contains(secret), "{args}: {whole}");
        }
    }
    let (text, _) = say(&house, "config_read", json!({})).await;
    for line in [
        "agent.tokens = 5000",
        "model.fast = [\"lab/[masked]\"]",
        "models.lab.key_env = \"LAB_KEY\"",
        "models.lab.url = \"http://[masked]@127.0.0.1:9/v1?[masked]\"",
        "models.odd.key_env = \"(not shown)\"",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}: {text}");
    }
    let (text, failed) = say(&house, "config_read", json!({ "key": "nothing.here" })).await;
    assert!(failed && text.contains("nothing.here"), "{text}");
    house.fixture.close().await;
}
