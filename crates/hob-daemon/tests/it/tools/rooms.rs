//! Tools that ask other rooms, through the bus.

use super::{House, house, words};
use hob_wire::rooms::session::{Create, CreateParams, History, HistoryParams};
use serde_json::{Value, json};

async fn with_sessions() -> House {
    let house = house();
    for key in ["chat:own", "chat:other"] {
        let params = CreateParams {
            session_key: Some(key.to_owned()),
            label: Some(format!("about {key}")),
            ..CreateParams::default()
        };
        let made = house.fixture.caller().call::<Create>(&params).await;
        made.expect("is made");
    }
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
    let params = HistoryParams {
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
    assert_eq!(text, "Nothing was said there yet.");
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
    for name in ["agent_status", "model_list"] {
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
