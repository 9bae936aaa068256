//! Faults 19, 56 and 58: a model that always wants one more step, one that hardly speaks, and
//! one that lies about what it used. The bounds of a run hold all the same.

use super::house::{DIALECTS, House};
use crate::faults::trial::Trial;
use hob_sim::{Answer, Fault, Sim, SimRequest, UsageLie};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What a call of the runaway model claims to use.
const TOKENS_A_CALL: u64 = 400;
const STEPS: u64 = 6;
const WALL_MS: u64 = 4_000;
/// How much later than its bound a run may end on a busy machine.
const LATE_MS_MAX: u64 = 4_000;

#[test]
fn f19_runaway_loop() {
    let trial = Trial::begin(19);
    let sim = Sim::start(|asked| runaway(asked).usage(TOKENS_A_CALL - 50, 50));
    let house = House::start(&sim, "", true);
    let steps = loop_until(&house, "steps", &json!({ "steps": STEPS }));
    assert_eq!(steps["cause"], "step-limit", "{steps}");
    assert_eq!(calls_of(&steps), STEPS, "{steps}");

    let limit = 10 * TOKENS_A_CALL + 1;
    let tokens = loop_until(&house, "tokens", &json!({ "tokens": limit }));
    assert_eq!(tokens["cause"], "token-limit", "{tokens}");
    let used = ["inputTokens", "outputTokens"].map(|field| number(&tokens["cost"][field]));
    let tokens_over = used.iter().sum::<u64>().saturating_sub(limit);
    assert!(tokens_over <= TOKENS_A_CALL, "more than one call: {tokens}");

    // A token is a millionth of a dollar here.
    let money = loop_until(&house, "money", &json!({ "microDollars": limit }));
    assert_eq!(money["cause"], "money-limit", "{money}");
    let money_over = number(&money["cost"]["microDollars"]).saturating_sub(limit);
    assert!(money_over <= TOKENS_A_CALL, "more than one call: {money}");

    let begun = Instant::now();
    let wall = loop_until(
        &house,
        "wall",
        &json!({ "wallMs": WALL_MS, "steps": 10_000 }),
    );
    let wall_over = late(begun);
    assert_eq!(wall["cause"], "time-limit", "{wall}");
    assert!(wall_over <= LATE_MS_MAX, "{wall_over} ms late");
    trial.figure("steps_over", calls_of(&steps) - STEPS);
    trial.figure(
        "tokens_over",
        format_args!("{tokens_over} of {limit} (a call has {TOKENS_A_CALL})"),
    );
    trial.figure(
        "micro_dollars_over",
        format_args!("{money_over} of {limit}"),
    );
    trial.figure("wall_over_ms", format_args!("{wall_over} of {WALL_MS}"));
    house.close();
}

#[test]
fn f56_drip_feed() {
    let trial = Trial::begin(56);
    let every = Duration::from_millis(100);
    let sim = Sim::start(move |_| Answer::tokens(36_000).fault(Fault::Drip { every }));
    let house = House::start(&sim, "", true);
    let begun = Instant::now();
    let run = loop_until(&house, "drip", &json!({ "wallMs": WALL_MS }));
    let over = late(begun);
    assert_eq!(run["cause"], "time-limit", "{run}");
    assert!(over <= LATE_MS_MAX, "{over} ms late");
    let said = run["response"].as_str().unwrap_or_default().to_owned();
    assert!(
        said.starts_with("w0 w1 "),
        "what was said is kept: {said:?}"
    );
    crate::faults::rig::eventually("the connection is closed", || sim.open_streams() == 0);
    trial.figure("wall_over_ms", format_args!("{over} of {WALL_MS}"));
    trial.figure("tokens_kept", said.split(' ').count() - 1);
    house.close();
}

#[test]
fn f58_lying_usage() {
    let trial = Trial::begin(58);
    let lies = [
        UsageLie::Negative,
        UsageLie::NanString,
        UsageLie::Huge,
        UsageLie::Zero,
        UsageLie::Missing,
    ];
    let sim = Sim::start(move |asked| {
        let lie = asked
            .last_user()
            .rsplit(' ')
            .next()
            .and_then(|at| at.parse::<usize>().ok());
        runaway(asked).lying_usage(lies[lie.unwrap_or(0) % lies.len()])
    });
    let house = House::start(&sim, "", true);
    let (mut runs, mut overspend, mut dearest) = (0, 0, 0);
    for dialect in DIALECTS {
        for (lie, kind) in lies.iter().enumerate() {
            let params = json!({
                "sessionKey": format!("lie:{dialect}:{lie}"), "task": format!("Loop with lie {lie}"),
                "model": format!("{dialect}/sim-small"), "budget": { "microDollars": CAP, "steps": 200 },
            });
            let run = house.run(&params);
            let spent = number(&run["cost"]["microDollars"]);
            let calls = calls_of(&run);
            assert_eq!(run["cause"], "money-limit", "{dialect} {kind:?}: {run}");
            // Our own count: no call is free, and none costs what no call can.
            assert!((2..200).contains(&calls), "{dialect} {kind:?}: {run}");
            dearest = dearest.max(spent / calls);
            overspend = overspend.max(spent.saturating_sub(CAP));
            runs += 1;
        }
    }
    assert!(
        overspend <= 2 * dearest,
        "more than one call over: {overspend}, a call is {dearest}"
    );
    trial.figure("runs", runs);
    trial.figure(
        "overspend",
        format_args!("{overspend} of {CAP} (a call costs about {dearest})"),
    );
    house.close();
}

/// In millionths of a dollar: several calls of a small conversation.
const CAP: u64 = 20_000;

/// Always asks for one more thing, and never for the same.
fn runaway(asked: &SimRequest) -> Answer {
    let step = asked.results_of_task().len();
    Answer::words("Once more. ").call("look", json!({ "of": format!("round {step}") }))
}

fn loop_until(house: &House, name: &str, budget: &Value) -> Value {
    let params =
        json!({ "sessionKey": format!("loop:{name}"), "task": "Never stop", "budget": budget });
    house.run(&params)
}

fn calls_of(run: &Value) -> u64 {
    number(&run["cost"]["calls"])
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("a number, not {value}"))
}

fn late(begun: Instant) -> u64 {
    let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    took.saturating_sub(WALL_MS)
}
