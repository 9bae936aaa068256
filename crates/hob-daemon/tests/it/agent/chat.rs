//! `agent.chat`: conversations that their callers keep.

use super::bench::Hang;
use super::bench::{self, World};
use super::house::{
    DEADLINE, House, config, folder, house, in_time, results, thinking, until, waiting,
};
use super::resume::say_yes;
use hob_bus::PeerIdentity;
use hob_sim::{Answer, Gate};
use hob_wire::rooms::agent::{
    Abort, AgentChatParams, AgentChatResult, AgentListParams, Chat, ChatMessage, ClientTool,
    RunEndCause, RunSelector, SamplingParams,
};
use hob_wire::rooms::permission::{Pending, PermissionPendingParams};
use hob_wire::{ContentPart, ErrorCode, MessageContent, Role, RunId, Scopes};
use serde_json::json;
use std::time::{Duration, Instant};

fn asking(number: u8, words: &str) -> AgentChatParams {
    let id = format!("00000000-0000-7000-8000-0000000000{number:02x}");
    AgentChatParams {
        chat_id: id.parse::<RunId>().expect("is an id"),
        messages: vec![ChatMessage {
            role: Role::User,
            content: MessageContent::from(words),
        }],
        model: None,
        client_tools: Vec::new(),
        tool_choice: None,
        tools: Vec::new(),
        ceiling: None,
        schema: None,
        budget: None,
        options: SamplingParams::default(),
    }
}

async fn chat(house: &House, params: AgentChatParams) -> AgentChatResult {
    let answered = house.caller();
    in_time(answered.call::<Chat>(&params))
        .await
        .expect("is answered")
}

fn text(reply: &AgentChatResult) -> String {
    let texts = reply.content.iter().filter_map(|part| match part {
        ContentPart::Text { text } => Some(text.as_str()),
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
    assert_eq!(reply.cause, RunEndCause::Answered);
    assert_eq!(reply.model.as_deref(), Some("sim/small"));
    let runs = house.store.list_runs(AgentListParams::default()).await;
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
    let params = AgentChatParams {
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
        ContentPart::ToolCall(call) => Some(call.name.as_str()),
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), ["theirs"]);
    assert!(reply.success);
    house.close().await;
}

#[tokio::test]
async fn a_reply_has_the_texts_of_the_steps_before_it() {
    let (folder, world) = (folder(), World::default());
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::words("Let me look.").call("pure", json!({})),
        1 => Answer::asks("pure", json!({})),
        _ => Answer::words("Done."),
    });
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    let params = AgentChatParams {
        tools: vec!["pure".to_owned()],
        ..asking(1, "Go")
    };
    let reply = chat(&house, params).await;
    let earlier = reply.earlier.iter();
    let earlier: Vec<_> = earlier.map(|it| (it.step, &*it.text)).collect();
    assert_eq!(earlier, [(1, "Let me look."), (2, "")]);
    assert_eq!(text(&reply), "Done.");
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
    assert_eq!(reply.cause, RunEndCause::Aborted);
    assert_eq!(text(&reply), "one ");
    until(|| sim.cut_streams() == 1).await;
    house.close().await;
}

#[tokio::test]
async fn a_repeated_id_is_refused_and_the_first_one_can_still_be_stopped() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("one two three").held_after(1, &held));
    let house = house(folder.path(), &sim);
    let params = asking(7, "Count.");
    let selector = RunSelector {
        run_id: Some(params.chat_id),
        session_key: None,
    };
    let repeats = async {
        house.hears("run.delta", 1).await;
        for _ in 0..2 {
            let refused = house.caller().call::<Chat>(&params).await;
            assert_eq!(refused.expect_err("is refused").code, ErrorCode::Conflict);
        }
        let stopped = house.caller().call::<Abort>(&selector).await;
        stopped.expect("stops");
    };
    let (reply, ()) = tokio::join!(chat(&house, params.clone()), repeats);
    assert_eq!(reply.cause, RunEndCause::Aborted);
    gate.open();
    // Its id is free again, and the ledger has the calls of both answers.
    let again = chat(&house, params.clone()).await;
    assert_eq!(again.cause, RunEndCause::Answered);
    let spent = [&reply, &again].map(|reply| reply.cost.micro_dollars.expect("is priced"));
    let stats = house.store.run_stats().await.expect("counts");
    assert_eq!(stats.cost.micro_dollars, Some(spent.iter().sum()));
    house.close().await;
}

/// A conversation whose model uses this tool.
fn using(tool: &'static str) -> (hob_sim::Sim, AgentChatParams) {
    let sim = thinking(move |asked| match results(asked) {
        0 => Answer::asks(tool, json!({})),
        _ => Answer::words("Done."),
    });
    let params = AgentChatParams {
        tools: vec![tool.to_owned()],
        ..asking(3, "Go")
    };
    (sim, params)
}

async fn questions(house: &House) -> usize {
    let asked = house.caller();
    let pending = asked
        .call::<Pending>(&PermissionPendingParams::default())
        .await;
    pending.expect("lists").questions.len()
}

async fn until_questions(house: &House, count: usize) {
    in_time(async {
        while questions(house).await != count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a caller of a test has no Tasks")]
async fn a_caller_that_drops_its_call_stops_its_tools() {
    let (folder, world) = (folder(), World::default());
    world.hang(Some(("pure", Hang::Before)));
    let (sim, params) = using("pure");
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    let caller = house.caller();
    let talk = tokio::spawn(async move { caller.call::<Chat>(&params).await });
    until(|| world.runs("pure") == 1).await;
    let left = Instant::now();
    talk.abort();
    until(|| world.cancelled() >= 1).await;
    assert!(
        left.elapsed() < Duration::from_secs(1),
        "{:?}",
        left.elapsed()
    );
    // The hanging service would hold up a polite end.
    house.crash().await;
}

#[tokio::test]
async fn a_connection_that_closes_stops_its_conversation_and_its_questions() {
    for closes in [true, false] {
        let (folder, world) = (folder(), World::default());
        let (sim, params) = using("keyed");
        let house = house(folder.path(), &sim);
        bench::serve(&house, &world).await;
        let peer = PeerIdentity {
            name: "client".to_owned(),
            surface: "ws",
            principal: "client".to_owned(),
            scopes: Scopes::owner(),
        };
        let (link, outlet) = house.bus.connect(peer).expect("connects");
        let frame = json!({ "type": "req", "id": "1", "method": "agent.chat", "params": params });
        link.receive(frame.to_string().into()).await;
        until_questions(&house, 1).await;
        let closed = if closes {
            link.close();
            Some((link, outlet))
        } else {
            drop((link, outlet));
            None
        };
        until_questions(&house, 0).await;
        // Nothing of it is left: its id can be used again.
        let yes = say_yes(&house);
        let again = async {
            loop {
                match house.caller().call::<Chat>(&params).await {
                    Err(error) if error.code == ErrorCode::Conflict => {
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                    answered => return answered.expect("is answered"),
                }
            }
        };
        assert_eq!(in_time(again).await.cause, RunEndCause::Answered);
        yes.abort();
        // The bus drains once every outlet was emptied or dropped, as a transport does.
        drop(closed);
        house.close().await;
    }
}

#[tokio::test]
async fn no_slot_is_held_while_a_person_is_asked() {
    let (folder, world) = (folder(), World::default());
    let sim = thinking(|asked| match (asked.last_user(), results(asked)) {
        ("Go", 0) => Answer::asks("keyed", json!({})),
        _ => Answer::words("Done."),
    });
    let house = House::open(folder.path(), &config(&sim, "agent.concurrency = 1"));
    bench::serve(&house, &world).await;
    let params = AgentChatParams {
        tools: vec!["keyed".to_owned()],
        ..asking(3, "Go")
    };
    let meanwhile = async {
        until_questions(&house, 1).await;
        // The only slot is free for others.
        let reply = tokio::time::timeout(DEADLINE, house.run(waiting("a", "Well?"))).await;
        assert_eq!(reply.expect("gets its turn").success, Some(true));
        assert_eq!(questions(&house).await, 1);
        [say_yes(&house)]
    };
    let (reply, [person]) = tokio::join!(chat(&house, params), meanwhile);
    assert_eq!(reply.cause, RunEndCause::Answered);
    assert_eq!(world.runs("keyed"), 1);
    person.abort();
    house.close().await;
}
