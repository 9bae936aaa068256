//! Runs that use tools.

use super::bench::{self, World};
use super::house::{folder, house, results, thinking, waiting};
use hob_sim::Answer;
use hob_wire::Role;
use hob_wire::rooms::agent::{AgentRunParams, RunEndCause, ToolCallState};
use hob_wire::rooms::session::SessionHistoryParams;
use serde_json::json;

#[tokio::test]
async fn a_tool_is_asked_for_run_and_its_result_told_to_the_model() {
    let (folder, workspace) = (folder(), folder());
    std::fs::write(workspace.path().join("a.txt"), "the word is mist").expect("writes");
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::words("Let me see.").call("read", json!({ "path": "a.txt" })),
        _ => Answer::words("The word is mist."),
    });
    let house = house(folder.path(), &sim);
    let reply = house
        .run(AgentRunParams {
            workspace: Some(workspace.path().display().to_string()),
            ..waiting("chat:main", "What is the word?")
        })
        .await;
    assert_eq!(reply.response.as_deref(), Some("The word is mist."));
    house.hears("run.completed", 1).await;
    assert_eq!(
        house.topics(),
        [
            "run.queued",
            "run.started",
            "run.step",
            "run.tool",
            "run.tool",
            "run.step",
            "run.completed"
        ]
    );
    let asked = sim.asked();
    let told = &asked[1].messages.last().expect("a message").tool_results[0];
    assert!(told.text.contains("the word is mist"), "{}", told.text);
    let view = house.status(&reply).await;
    assert_eq!(view.calls.len(), 1);
    assert_eq!(view.calls[0].state, ToolCallState::Done);
    assert_eq!(view.step, 2);
    let history = house.store.history(SessionHistoryParams {
        session_key: "chat:main".to_owned(),
        limit: None,
        before: None,
    });
    let history = history.await.expect("reads").messages;
    let roles: Vec<Role> = history.iter().map(|message| message.role).collect();
    let expected = [Role::User, Role::Assistant, Role::Tool, Role::Assistant];
    assert_eq!(roles, expected);
    house.close().await;
}

#[tokio::test]
async fn of_calls_with_one_id_the_first_runs_and_the_others_are_told_so() {
    let (folder, world) = (folder(), World::default());
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::default()
            .call_raw(Some("one"), "pure", "{\"n\": 1}")
            .call_raw(Some("two"), "pure", "{\"n\": 2}")
            .call_raw(Some("one"), "pure", "{\"n\": 1}")
            .call_raw(Some("one"), "pure", "{\"n\": 3}"),
        _ => Answer::words("Done."),
    });
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    let reply = house.run(waiting("chat:main", "Do it.")).await;
    assert_eq!(reply.response.as_deref(), Some("Done."));
    // The simulated provider refuses a conversation in which a call has no result of its own.
    let told = sim.asked()[1].messages.clone();
    let told: Vec<_> = told.iter().flat_map(|said| &said.tool_results).collect();
    let refused = |text: &str| text.contains("repeated call id");
    let texts: Vec<bool> = told.iter().map(|it| refused(&it.text)).collect();
    assert_eq!(texts, [false, false, true, true], "{told:?}");
    let view = house.status(&reply).await;
    let states: Vec<ToolCallState> = view.calls.iter().map(|call| call.state).collect();
    let (done, denied) = (ToolCallState::Done, ToolCallState::Denied);
    assert_eq!(states, [done, done, denied, denied]);
    house.close().await;
}

#[tokio::test]
async fn parallel_calls_are_answered_together_whatever_goes_wrong_with_one() {
    let (folder, world) = (folder(), World::default());
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::default()
            .call("pure", json!({ "n": 1 }))
            .call("nonsense", json!({}))
            .call_raw(None, "pure", "{\"n\": ")
            .call("pure", json!({ "fail": true })),
        _ => Answer::words("Done."),
    });
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    let reply = house.run(waiting("chat:main", "Do it.")).await;
    assert_eq!(reply.response.as_deref(), Some("Done."));
    let told = sim.asked()[1].messages.clone();
    let told: Vec<_> = told.iter().flat_map(|said| &said.tool_results).collect();
    assert_eq!(told.len(), 4);
    assert!(told[0].text.contains("pure is done"), "{}", told[0].text);
    assert!(
        told[1].text.contains("no tool 'nonsense'"),
        "{}",
        told[1].text
    );
    assert!(
        told[2].text.contains("not a JSON object"),
        "{}",
        told[2].text
    );
    assert!(told[3].text.contains("no"), "{}", told[3].text);
    assert_eq!(world.runs("pure"), 2, "a half-parsed call never runs");
    assert!(sim.refused().is_empty(), "{:?}", sim.refused());
    house.close().await;
}

#[tokio::test]
async fn a_denied_call_is_told_to_the_model_and_never_runs() {
    let (folder, world) = (folder(), World::default());
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks("opaque", json!({})),
        _ => Answer::words("Then not."),
    });
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    let reply = house
        .run(AgentRunParams {
            ceiling: Some(hob_wire::work::Tier::Read),
            ..waiting("chat:main", "Do it.")
        })
        .await;
    assert_eq!(reply.response.as_deref(), Some("Then not."));
    assert_eq!(world.runs("opaque"), 0);
    assert!(!sim.asked()[0].tools.contains(&"opaque".to_owned()));
    let view = house.status(&reply).await;
    assert_eq!(view.calls[0].state, ToolCallState::Denied);
    house.close().await;
}

#[tokio::test]
async fn the_same_call_again_and_again_ends_the_run() {
    let (folder, world) = (folder(), World::default());
    let sim = thinking(|_| Answer::asks("pure", json!({ "same": 1 })));
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    let reply = house.run(waiting("chat:main", "Loop.")).await;
    assert_eq!(reply.cause, Some(RunEndCause::RepeatedCall));
    assert_eq!(reply.success, Some(false));
    assert_eq!(world.runs("pure"), 4);
    // The next run must find a conversation that every provider takes.
    let reply = house.run(waiting("chat:main", "Again.")).await;
    assert_eq!(reply.cause, Some(RunEndCause::RepeatedCall));
    assert!(sim.refused().is_empty(), "{:?}", sim.refused());
    house.close().await;
}

#[tokio::test]
async fn a_run_is_told_how_it_stands() {
    let folder = folder();
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks("agent_status", json!({})),
        _ => Answer::words(asked.results()[0].text.clone()),
    });
    let house = house(folder.path(), &sim);
    let reply = house.run(waiting("chat:main", "How is it going?")).await;
    let said = reply.response.expect("an answer");
    let own = format!("This run: {} of chat:main, step 1", reply.run_id);
    assert!(said.contains(&own), "{said}");
    assert!(
        said.contains("Runs: 1 active, 0 waiting, 1 in all."),
        "{said}"
    );
    house.close().await;
}
