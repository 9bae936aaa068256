//! Fault 15: the daemon ends after a tool did its work and before that is written down.

use super::house::{House, accept};
use super::workshop::said;
use crate::faults::fault_build::fault_binary;
use crate::faults::rig::{PATIENCE, eventually};
use crate::faults::trial::Trial;
use hob_sim::{Answer, Sim, SimRequest};
use serde_json::{Value, json};

const TOOLS: [&str; 4] = ["look", "post", "put", "ring"];

#[test]
fn f15_crash_between_effect_and_record() {
    let trial = Trial::begin(15);
    if fault_binary().is_none() {
        return trial
            .not_run("needs the fault build: run `cargo xtask test` or `cargo xtask faults`");
    }
    let sim = Sim::start(one_call);
    let mut house = House::start(&sim, "", false);
    let mut duplicates = 0;
    let mut asked = 0;
    for tool in TOOLS {
        let run = cut_after_effect(&mut house, tool);
        let doubt = || house.status(&run)["state"] == "in-doubt";
        if tool == "ring" {
            eventually("an unkeyed effect is asked about", doubt);
            asked += 1;
            resolve(&house, &run, "happened", tool);
        }
        let over = || house.person.saw_end(&run);
        eventually("the run goes on to its end", over);
        let view = house.status(&run);
        assert_eq!(view["cause"], "answered", "{view}");
        assert_eq!(view["text"], words(tool), "{view}");
        let deed = house.workshop.world.deed(tool, &format!("cut-{tool}"));
        let wanted = u64::from(tool != "look");
        assert!(deed.effects >= wanted, "{tool} happened: {deed:?}");
        duplicates += deed.effects - wanted;
        assert_eq!(deed.keys.len(), 1, "{tool} has one key for ever: {deed:?}");
    }
    assert_eq!(duplicates, 0, "no effect happened twice");
    // Only a person's word lets an opaque call happen again.
    let run = cut_after_effect(&mut house, "ring");
    eventually("it is asked about", || {
        house.status(&run)["state"] == "in-doubt"
    });
    let deed = || house.workshop.world.deed("ring", "cut-ring").effects;
    assert_eq!(deed(), 2, "nothing happens before the person's answer");
    resolve(&house, &run, "did-not", "ring");
    eventually("it ends", || house.person.saw_end(&run));
    assert_eq!(deed(), 3, "it was run again, as the person said");
    trial.figure("classes", TOOLS.len());
    trial.figure("duplicate_effects", duplicates);
    trial.figure("asked", asked + 1);
    house.close();
}

/// Runs one call and lets the daemon end between its effect and the record of it.
fn cut_after_effect(house: &mut House, tool: &str) -> String {
    house.rig.env("HOB_FAILPOINT", "run.tool.after=1*abort");
    house.restart();
    house.served();
    let params = json!({ "sessionKey": "cut", "task": format!("Use {tool}"), "context": "fresh" });
    let run = accept(&mut house.rig.peer(), &params).expect("the daemon lives until the tool ran");
    let ended = house.rig.wait(PATIENCE);
    assert!(ended.is_some(), "the daemon ends at its failpoint");
    house.rig.without_env("HOB_FAILPOINT");
    house.restart();
    run
}

fn resolve(house: &House, run: &str, answer: &str, tool: &str) {
    let view = house.status(run);
    let calls = view["calls"].as_array().expect("calls").clone();
    let in_doubt = |call: &&Value| call["state"] == "in-doubt";
    let call = calls.iter().find(in_doubt).expect("a call in doubt");
    let mut params = json!({ "runId": run, "callId": call["call"]["id"], "answer": answer });
    if answer == "happened" {
        params["result"] = said(tool, &format!("cut-{tool}")).into();
    }
    house.rig.peer().must("agent.resolve", &params);
}

fn one_call(asked: &SimRequest) -> Answer {
    let tool = asked.last_user().rsplit(' ').next().unwrap_or_default();
    let results = asked.results_of_task();
    match results.last() {
        None => Answer::asks(tool, json!({ "of": format!("cut-{tool}") })),
        Some(result) if result.text.contains(&said(tool, &format!("cut-{tool}"))) => {
            Answer::words(words(tool))
        }
        Some(result) => Answer::words(format!("This is wrong: {result:?}")),
    }
}

fn words(tool: &str) -> String {
    format!("The work of {tool} is done.")
}
