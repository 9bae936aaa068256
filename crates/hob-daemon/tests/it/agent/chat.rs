//! `agent.chat`: conversations that their callers keep.

use super::bench::{self, World};
use super::house::{House, folder, house, in_time, results, thinking, until};
use hob_sim::{Answer, Gate};
use hob_wire::rooms::agent::{
    Abort, Cause, Chat, ChatMessage, ChatParams, ChatReply, ClientTool, ListParams, RunSelector,
    Sampling,
};
use hob_wire::{Content, Part, Role, RunId};
use serde_json::json;

fn asking(number: u8, words: &str) -> ChatParams {
    let id = format!("00000000-0000-7000-8000-0000000000{number:02x}");
    ChatParams {
        chat_id: id.parse::<RunId>().expect("is an id"),
        messages: vec![ChatMessage {
            role: Role::User,
            content: Content::from(words),
        }],
        model: None,
        client_tools: Vec::new(),
        tool_choice: None,
        tools: Vec::new(),
        ceiling: None,
        schema: None,
        budget: None,
        options: Sampling::default(),
    }
}

async fn chat(house: &House, params: ChatParams) -> ChatReply {
    let answered = house.caller();
    in_time(answered.call::<Chat>(&params))
        .await
        .expect("is answered")
}

fn text(reply: &ChatReply) -> String {
    let texts = reply.content.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn a_conversation_is_answered_and_nothing_kept_but_the_ledger() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("Good day.").usage(1_000, 500));
    let house = house(folder.path(), &sim);
    let reply = chat(&house, asking(1, "Hello")).await;
    assert_eq!(text(&reply), "Good day.");
    assert_eq!(reply.cause, Cause::Answered);
    assert_eq!(reply.model.as_deref(), Some("sim/small"));
    let runs = house.store.list_runs(ListParams::default()).await;
    assert!(runs.expect("lists").runs.is_empty());
    assert_eq!(house.store.session_count().await.expect("counts"), 0);
    let stats = house.store.run_stats().await.expect("counts");
    assert_eq!(stats.cost.micro_dollars, Some(2_000));
    let deltas = house.heard("run.delta");
    assert!(
        deltas[0]["sessionKey"]
            .as_str()
            .is_some_and(|key| key.starts_with("chat:"))
    );
    house.close().await;
}

#[tokio::test]
async fn a_clients_tool_ends_the_answer_and_ours_is_run_here() {
    let (folder, world) = (folder(), World::default());
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks("pure", json!({})),
        _ => Answer::words("Your turn.").call("theirs", json!({ "a": 1 })),
    });
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    let params = ChatParams {
        tools: vec!["pure".to_owned()],
        client_tools: vec![ClientTool {
            name: "theirs".to_owned(),
            description: "Theirs.".to_owned(),
            parameters: json!({ "type": "object" }),
        }],
        ..asking(1, "Go")
    };
    let reply = chat(&house, params).await;
    assert_eq!(world.runs("pure"), 1);
    assert_eq!(text(&reply), "Your turn.");
    let calls = reply.content.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.name.as_str()),
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), ["theirs"]);
    assert!(reply.success);
    house.close().await;
}

#[tokio::test]
async fn a_conversation_is_stopped_by_its_id() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("one two three").held_after(1, &held));
    let house = house(folder.path(), &sim);
    let params = asking(7, "Count.");
    let selector = RunSelector {
        run_id: Some(params.chat_id),
        session_key: None,
    };
    let stop = async {
        house.hears("run.delta", 1).await;
        house
            .caller()
            .call::<Abort>(&selector)
            .await
            .expect("stops");
    };
    let (reply, ()) = tokio::join!(chat(&house, params), stop);
    assert_eq!(reply.cause, Cause::Aborted);
    assert_eq!(text(&reply), "one ");
    until(|| sim.cut_streams() == 1).await;
    house.close().await;
}
