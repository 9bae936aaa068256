//! Models that fail, limits that are hit, money that runs out.

use super::bench::{self, World};
use super::house::{House, config, folder, house, results, task, thinking, waiting};
use hob_sim::{Answer, Fault, RetryAfter};
use hob_wire::rooms::agent::{
    AgentAllowParams, AgentRunParams, Allow, Budget, RunEndCause, RunSelector, RunState, Status,
};
use hob_wire::rooms::cost::{CostSummaryParams, Summary};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const QUICK: &str = "agent.retry_wait = \"1ms\"";

#[tokio::test]
async fn the_next_model_answers_when_the_first_cannot_and_is_named() {
    let folder = folder();
    let sim = thinking(|asked| match asked.model.as_str() {
        "broken" => Answer::status(401),
        _ => Answer::words("Here."),
    });
    let text = config(&sim, QUICK).replace("[\"sim/small\"]", "[\"sim/broken\", \"sim/large\"]");
    let house = House::open(folder.path(), &text);
    let reply = house.run(waiting("a", "Anybody?")).await;
    assert_eq!(reply.response.as_deref(), Some("Here."));
    assert_eq!(reply.model.as_deref(), Some("sim/large"));
    let view = house.status(&reply).await;
    assert!(
        view.notes[0].contains("sim/broken could not answer"),
        "{:?}",
        view.notes
    );
    house.close().await;
}

#[tokio::test]
async fn a_provider_that_asks_for_time_gets_it() {
    let folder = folder();
    let times = AtomicUsize::new(0);
    let sim = thinking(move |_| match times.fetch_add(1, Ordering::SeqCst) {
        0 => Answer::status_retry(429, RetryAfter::Millis(700)),
        _ => Answer::words("Now."),
    });
    let house = House::open(folder.path(), &config(&sim, QUICK));
    let began = Instant::now();
    let reply = house.run(waiting("a", "Please.")).await;
    assert!(began.elapsed() >= Duration::from_millis(700));
    assert_eq!(reply.response.as_deref(), Some("Now."));
    let step = &house.hears("run.step", 1).await[0];
    assert_eq!((&step["step"], &step["attempt"]), (&json!(1), &json!(2)));
    house.close().await;
}

#[tokio::test]
async fn a_cut_answer_is_tried_again_from_its_beginning() {
    let folder = folder();
    let times = AtomicUsize::new(0);
    let sim = thinking(move |_| {
        let answer = Answer::words("one two three");
        match times.fetch_add(1, Ordering::SeqCst) {
            0 => answer.fault(Fault::ErrorAfter(2)),
            _ => answer,
        }
    });
    let house = House::open(folder.path(), &config(&sim, QUICK));
    let reply = house.run(waiting("a", "Count.")).await;
    assert_eq!(reply.response.as_deref(), Some("one two three"));
    let deltas = house.heard("run.delta");
    let of = |attempt: u64| {
        let deltas = deltas
            .iter()
            .filter(move |it| it["attempt"] == json!(attempt));
        deltas.collect::<Vec<_>>()
    };
    assert_eq!(of(1)[0]["offset"], 0);
    assert_eq!(of(2)[0]["offset"], 0);
    let whole: String = of(2).iter().filter_map(|it| it["delta"].as_str()).collect();
    assert_eq!(whole, "one two three");
    house.close().await;
}

#[tokio::test]
async fn no_model_at_all_ends_the_run_and_says_why() {
    let folder = folder();
    let sim = thinking(|_| Answer::status(500));
    let house = House::open(folder.path(), &config(&sim, QUICK));
    let reply = house.run(waiting("a", "Hello?")).await;
    assert_eq!(reply.cause, Some(RunEndCause::ModelFailed));
    assert_eq!(sim.asked_count(), 3, "as often as the settings say");
    let completed = &house.hears("run.completed", 1).await[0];
    let message = completed["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("No model could answer."), "{message}");
    house.close().await;
}

#[tokio::test]
async fn every_limit_ends_the_run_with_its_cause() {
    let (folder, world) = (folder(), World::default());
    let turns = AtomicUsize::new(0);
    let sim = thinking(move |_| {
        let turn = turns.fetch_add(1, Ordering::SeqCst);
        Answer::asks("pure", json!({ "n": turn })).usage(1_000, 500)
    });
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    let limited = |budget| AgentRunParams {
        budget: Some(budget),
        ..waiting("a", "Go on for ever.")
    };
    let cases = [
        (
            Budget {
                steps: Some(2),
                ..Budget::default()
            },
            RunEndCause::StepLimit,
            2,
        ),
        (
            Budget {
                tokens: Some(2_000),
                ..Budget::default()
            },
            RunEndCause::TokenLimit,
            2,
        ),
        // A thousand tokens in and five hundred out cost 2,000 millionths here.
        (
            Budget {
                micro_dollars: Some(3_000),
                ..Budget::default()
            },
            RunEndCause::MoneyLimit,
            2,
        ),
    ];
    for (budget, cause, calls) in cases {
        let reply = house.run(limited(budget)).await;
        assert_eq!(reply.cause, Some(cause));
        let cost = reply.cost.expect("has a cost");
        assert_eq!(
            (cost.calls, cost.micro_dollars),
            (calls, Some(u64::from(calls) * 2_000))
        );
    }
    let timed = Budget {
        wall_ms: Some(1),
        ..Budget::default()
    };
    let reply = house.run(limited(timed)).await;
    assert_eq!(reply.cause, Some(RunEndCause::TimeLimit));
    assert!(sim.refused().is_empty(), "{:?}", sim.refused());
    house.close().await;
}

#[tokio::test]
async fn a_model_that_never_ends_is_stopped_at_the_wall() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("and on ").fault(Fault::Endless));
    let house = house(folder.path(), &sim);
    let reply = house
        .run(AgentRunParams {
            budget: Some(Budget {
                wall_ms: Some(300),
                ..Budget::default()
            }),
            ..waiting("a", "Talk.")
        })
        .await;
    assert_eq!(reply.cause, Some(RunEndCause::TimeLimit));
    assert!(reply.response.expect("has words").starts_with("and on"));
    house.close().await;
}

#[tokio::test]
async fn failures_in_a_row_end_the_run() {
    let (folder, world) = (folder(), World::default());
    let turns = AtomicUsize::new(0);
    let sim = thinking(move |_| {
        let turn = turns.fetch_add(1, Ordering::SeqCst);
        Answer::asks("pure", json!({ "n": turn, "fail": true }))
    });
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    let reply = house.run(waiting("a", "Try.")).await;
    assert_eq!(reply.cause, Some(RunEndCause::ErrorStreak));
    assert_eq!(world.runs("pure"), 8);
    house.close().await;
}

#[tokio::test]
async fn a_budget_that_does_not_cover_the_next_call_pauses_until_more_is_allowed() {
    let (folder, world) = (folder(), World::default());
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks("pure", json!({})).usage(1_000, 500),
        _ => Answer::words("Done.").usage(1_000, 500),
    });
    // The first call is reserved at most for the answer's longest, 8,192 tokens at 2 dollars.
    let house = House::open(folder.path(), &config(&sim, "cost.session_max = \"0.018\""));
    bench::serve(&house, &world).await;
    // One tool only: what the others declare would cost more than the question.
    let reply = house
        .run(AgentRunParams {
            tools: Some(vec!["pure".to_owned()]),
            ..task("a", "Do it.")
        })
        .await;
    let paused = house.hears("run.paused", 1).await;
    let message = paused[0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("session's budget of $0.018"), "{message}");
    assert_eq!(
        sim.asked_count(),
        1,
        "the call that was not covered was not made"
    );
    let view = house.status(&reply).await;
    assert_eq!(view.state, RunState::Paused);
    let allow = AgentAllowParams {
        run_id: reply.run_id,
        micro_dollars: 10_000,
    };
    let allowed = house.caller().call::<Allow>(&allow).await;
    assert_eq!(allowed.expect("is taken").state, RunState::Running);
    let completed = house.hears("run.completed", 1).await;
    assert_eq!(completed[0]["response"], "Done.");
    house.close().await;
}

#[tokio::test]
async fn the_ledger_has_every_call_at_its_price() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("Yes.").usage(1_000, 500));
    let house = house(folder.path(), &sim);
    for _ in 0..3 {
        house.run(waiting("a", "Well?")).await;
    }
    hob_daemon::cost::serve(&house.context).expect("is served");
    let all = CostSummaryParams::default();
    let summary = house.caller().call::<Summary>(&all).await.expect("sums");
    assert_eq!(summary.total.calls, 3);
    assert_eq!(summary.total.micro_dollars, Some(6_000));
    assert_eq!(summary.models[0].name, "sim/small");
    let selector = RunSelector {
        session_key: Some("a".to_owned()),
        run_id: None,
    };
    let latest = house.caller().call::<Status>(&selector).await;
    assert_eq!(latest.expect("is there").cost.micro_dollars, Some(2_000));
    house.close().await;
}

#[tokio::test]
async fn older_turns_are_left_out_when_the_window_is_full_and_the_run_says_so() {
    let folder = folder();
    let sim =
        thinking(|asked| Answer::words(format!("{} {}", asked.messages.len(), "w ".repeat(900))));
    let text = format!("{}context_tokens = 4000\n", config(&sim, ""));
    let house = House::open(folder.path(), &text);
    for _ in 0..6 {
        house.run(waiting("a", "Go on.")).await;
    }
    let reply = house.run(waiting("a", "Go on.")).await;
    let view = house.status(&reply).await;
    assert!(
        view.notes.iter().any(|note| note.contains("were left out")),
        "{:?}",
        view.notes
    );
    let last = sim.asked().pop().expect("was asked");
    assert!(last.messages.len() < 13, "{}", last.messages.len());
    assert!(last.system.contains("left out"));
    house.close().await;
}

#[tokio::test]
async fn an_answer_must_fit_the_schema_and_is_asked_for_once_more() {
    let folder = folder();
    let sim = thinking(|asked| {
        let told = asked
            .messages
            .iter()
            .any(|said| said.text.contains("does not fit"));
        match (told, asked.messages[0].text.as_str()) {
            (true, "stubborn") => Answer::words("never"),
            (true, _) => Answer::words("{\"n\": 4}"),
            (false, _) => Answer::words("four"),
        }
    });
    let house = house(folder.path(), &sim);
    let schema = json!({
        "type": "object",
        "properties": { "n": { "type": "integer" } },
        "required": ["n"],
        "additionalProperties": false,
    });
    let asking = |session: &str, words: &str| AgentRunParams {
        schema: Some(schema.clone()),
        ..waiting(session, words)
    };
    let reply = house.run(asking("a", "How many?")).await;
    assert_eq!(reply.response.as_deref(), Some("{\"n\": 4}"));
    assert_eq!(reply.success, Some(true));
    let stubborn = house.run(asking("b", "stubborn")).await;
    assert_eq!(stubborn.cause, Some(RunEndCause::ModelFailed));
    assert_eq!(sim.asked_count(), 4);
    house.close().await;
}
