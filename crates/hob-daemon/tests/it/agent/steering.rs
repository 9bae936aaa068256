//! Words for a run under way: taken once, and never lost.

use super::bench::{self, Hang, World};
use super::house::{House, folder, house, results, task, thinking, until};
use hob_sim::{Answer, Gate};
use hob_wire::rooms::agent::{
    Abort, AgentListParams, AgentRunParams, Budget, QueueMode, RunSelector,
};
use hob_wire::rooms::session::{Export, SessionExportParams};
use serde_json::json;

fn words(key: &str) -> AgentRunParams {
    AgentRunParams {
        mode: Some(QueueMode::Steer),
        idempotency_key: Some(key.to_owned()),
        ..task("a", "in French")
    }
}

/// How often the session holds the words.
async fn kept(house: &House) -> usize {
    let params = SessionExportParams {
        session_key: "a".to_owned(),
        limit: None,
        after: None,
    };
    let page = house.caller().call::<Export>(&params).await.expect("reads");
    let text = serde_json::to_string(&page.messages).expect("is JSON");
    text.matches("in French").count()
}

#[tokio::test]
async fn words_that_no_step_saw_stay_in_the_conversation() {
    let (folder, world, gate) = (folder(), World::default(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |asked| {
        if asked.last_user() == "Next." {
            return Answer::words("Oui.");
        }
        Answer::asks("pure", json!({})).held(&held)
    });
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    let first = house
        .run(AgentRunParams {
            budget: Some(Budget {
                steps: Some(1),
                ..Budget::default()
            }),
            ..task("a", "Well?")
        })
        .await;
    until(|| gate.waiting() == 1).await;
    assert_eq!(house.run(words("k")).await.run_id, first.run_id);
    gate.open();
    let end = house.hears("run.completed", 1).await.remove(0);
    assert_eq!(end["cause"], "step-limit");
    let notes = end["notes"].to_string();
    assert!(notes.contains("is in the conversation"), "{notes}");
    assert_eq!(kept(&house).await, 1);
    house.run(task("a", "Next.")).await;
    house.hears("run.completed", 2).await;
    let last = sim.asked().pop().expect("was asked");
    assert!(
        last.messages
            .iter()
            .any(|said| said.text.contains("in French"))
    );
    house.close().await;
}

#[tokio::test]
async fn words_for_a_run_that_is_then_stopped_stay_too() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("Yes, of course.").held_after(1, &held));
    let house = house(folder.path(), &sim);
    let first = house.run(task("a", "Well?")).await;
    until(|| gate.waiting() == 1).await;
    house.run(words("k")).await;
    let selector = RunSelector {
        run_id: Some(first.run_id),
        session_key: None,
    };
    house
        .caller()
        .call::<Abort>(&selector)
        .await
        .expect("stops");
    assert_eq!(kept(&house).await, 1);
    house.close().await;
}

#[tokio::test]
async fn a_repeat_finds_the_run_that_took_the_words_also_after_its_end() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |asked| match asked.last_user() {
        "Well?" => Answer::words("Yes, of course.").held_after(1, &held),
        _ => Answer::words("Oui."),
    });
    let first_house = house(folder.path(), &sim);
    let first = first_house.run(task("a", "Well?")).await;
    until(|| gate.waiting() == 1).await;
    assert_eq!(first_house.run(words("k")).await.run_id, first.run_id);
    gate.open();
    first_house.hears("run.completed", 1).await;
    assert_eq!(first_house.run(words("k")).await.run_id, first.run_id);
    let path = first_house.stop().await;
    // Nor does a new daemon take them for new ones.
    let second = house(&path, &sim);
    assert_eq!(second.run(words("k")).await.run_id, first.run_id);
    let runs = second.store.list_runs(AgentListParams::default()).await;
    assert_eq!(runs.expect("lists").runs.len(), 1);
    assert_eq!(kept(&second).await, 1);
    second.close().await;
}

#[tokio::test]
async fn words_that_became_a_run_are_not_said_into_it_once_more() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("Oui.").held(&held));
    let house = house(folder.path(), &sim);
    // Nobody runs, so the words are a run of their own.
    let first = house.run(words("k")).await;
    until(|| gate.waiting() == 1).await;
    let again = house.run(words("k")).await;
    assert_eq!(again.run_id, first.run_id);
    gate.open();
    house.hears("run.completed", 1).await;
    assert_eq!(kept(&house).await, 1);
    assert_eq!(sim.asked_count(), 1, "one answer, to words said once");
    house.close().await;
}

#[tokio::test]
async fn words_come_in_while_a_tool_runs_and_are_seen_after_it() {
    let (folder, world) = (folder(), World::default());
    world.hang(Some(("pure", Hang::Before)));
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks("pure", json!({})),
        _ => Answer::words("Done."),
    });
    let first = house(folder.path(), &sim);
    bench::serve(&first, &world).await;
    let run = first.run(task("a", "Do it.")).await;
    until(|| world.runs("pure") == 1).await;
    assert_eq!(first.run(words("k")).await.run_id, run.run_id);
    let path = first.crash().await;
    // Acknowledged words survive a crash.
    world.hang(None);
    let second = house(&path, &sim);
    bench::serve(&second, &world).await;
    second.hears("run.completed", 1).await;
    assert_eq!(kept(&second).await, 1);
    second.close().await;
}
