//! Orderly stops: nothing that the stop itself causes is an outcome of a run.

use super::bench::{self, Hang, World};
use super::house::{
    House, config, folder, house, in_time, results, task, thinking, until, waiting,
};
use super::resume::say_yes;
use hob_sim::{Answer, Gate};
use hob_wire::ErrorCode;
use hob_wire::rooms::agent::{AgentListParams, RunState};
use serde_json::json;

#[tokio::test]
async fn runs_that_wait_for_their_turn_get_it_at_the_next_start() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("Done.").held(&held));
    let text = config(&sim, "agent.concurrency = 1");
    let first = House::open(folder.path(), &text);
    for number in 0..4 {
        first.run(task(&format!("s{number}"), "Go.")).await;
    }
    until(|| gate.waiting() == 1).await;
    let path = first.stop().await;
    until(|| gate.waiting() == 0).await;
    gate.open();
    let second = House::open(&path, &text);
    let ends = second.hears("run.completed", 4).await;
    assert!(
        ends.iter().all(|end| end["cause"] == "answered"),
        "{ends:?}"
    );
    second.close().await;
}

#[tokio::test]
async fn orderly_stops_are_no_tries_in_vain_however_many() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("At last.").held(&held));
    let mut path = folder.path().to_owned();
    for lives in 1..=6 {
        let house = House::open(&path, &config(&sim, ""));
        if lives == 1 {
            house.run(task("a", "Try.")).await;
        }
        until(|| sim.asked_count() == lives).await;
        path = house.stop().await;
    }
    gate.open();
    let house = House::open(&path, &config(&sim, ""));
    let end = house.hears("run.completed", 1).await.remove(0);
    assert_eq!(end["cause"], "answered", "{end}");
    house.close().await;
}

#[tokio::test]
async fn a_question_that_is_open_at_the_stop_is_asked_again_and_not_a_denial() {
    let (folder, world) = (folder(), World::default());
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks("keyed", json!({})),
        _ => Answer::words("Done."),
    });
    let first = house(folder.path(), &sim);
    bench::serve(&first, &world).await;
    first.run(task("a", "Do it.")).await;
    first.hears("permission.requested", 1).await;
    let path = first.stop().await;
    let second = House::open(&path, &config(&sim, ""));
    bench::serve(&second, &world).await;
    let yes = say_yes(&second);
    let end = second.hears("run.completed", 1).await.remove(0);
    assert_eq!(end["cause"], "answered", "{end}");
    assert_eq!(end["denied"].as_array().map_or(0, Vec::len), 0, "{end}");
    assert_eq!(world.runs("keyed"), 1);
    yes.abort();
    second.close().await;
}

#[tokio::test]
async fn a_tool_whose_service_leaves_with_the_stop_is_settled_at_the_next_start() {
    for (tool, hang) in [
        ("pure", Hang::Before),
        ("keyed", Hang::Before),
        ("keyed", Hang::After),
        ("probeable", Hang::Before),
        ("probeable", Hang::After),
    ] {
        let (folder, world) = (folder(), World::default());
        world.hang(Some((tool, hang)));
        let sim = thinking(move |asked| match results(asked) {
            0 => Answer::asks(tool, json!({})),
            _ => Answer::words("Done."),
        });
        let first = house(folder.path(), &sim);
        bench::serve(&first, &world).await;
        let yes = say_yes(&first);
        first.run(task("a", "Do it.")).await;
        until(|| world.runs(tool) == 1).await;
        yes.abort();
        let path = first.stop().await;
        world.hang(None);
        let second = House::open(&path, &config(&sim, ""));
        bench::serve(&second, &world).await;
        let yes = say_yes(&second);
        let end = second.hears("run.completed", 1).await.remove(0);
        assert_eq!(end["cause"], "answered", "{tool} {hang:?}: {end}");
        assert_eq!(second.heard("run.in_doubt").len(), 0, "{tool} {hang:?}");
        let told = sim.asked().pop().expect("was asked");
        let results: Vec<String> = told
            .messages
            .iter()
            .flat_map(|said| said.tool_results.iter().map(|result| result.text.clone()))
            .collect();
        assert_eq!(results, [format!("{tool} is done")], "{tool} {hang:?}");
        assert!(world.effects().iter().all(|times| *times <= 1) || tool == "pure");
        yes.abort();
        second.close().await;
    }
}

#[tokio::test]
async fn who_waits_for_a_run_is_told_that_it_goes_on_later() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("Done.").held(&held));
    let house = House::open(folder.path(), &config(&sim, "agent.concurrency = 1"));
    let at_work = house.begin(waiting("a", "Go."));
    until(|| gate.waiting() == 1).await;
    let queued = house.begin(waiting("b", "Go."));
    let listed = || async {
        let page = house.store.list_runs(AgentListParams::default()).await;
        page.expect("lists").runs.len()
    };
    in_time(async {
        while listed().await < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let path = house.stop().await;
    for waiter in [at_work, queued] {
        let told = in_time(waiter).await.expect("ends");
        let refusal = told.expect_err("has not ended");
        assert_eq!(refusal.code, ErrorCode::ServiceUnavailable, "{refusal:?}");
    }
    gate.open();
    let house = House::open(&path, &config(&sim, ""));
    house.hears("run.completed", 2).await;
    let page = house.store.list_runs(AgentListParams::default()).await;
    let all = page.expect("lists").runs;
    assert!(
        all.iter()
            .all(|run| run.summary.state == RunState::Done && run.summary.success)
    );
    house.close().await;
}
