//! `hob ask` without a terminal: what goes in, what comes out, and where.

use super::{house_with, json_lines};
use crate::services::without_model;
use hob_sim::{Answer, Sim};
use serde_json::json;

fn greeter() -> Sim {
    Sim::start(|asked| match asked.results_of_task().first() {
        _ if !asked.last_user().contains("time") => {
            Answer::words("Good morning to you.").thinking("They greet.")
        }
        None => Answer::words("Let me see.").call("time", json!({})),
        Some(_) => Answer::words("It is early."),
    })
}

#[test]
fn words_go_to_stdout_and_everything_about_them_beside_it() {
    let sim = greeter();
    let house = house_with(&sim);
    let greeted = house.hob(&["ask", "good", "morning"]);
    assert_eq!(
        (
            greeted.code,
            greeted.stdout.as_str(),
            greeted.stderr.as_str()
        ),
        (Some(0), "Good morning to you.\n", "")
    );
    let asked = house.hob(&["ask", "what time is it?"]);
    assert_eq!(asked.code, Some(0), "{asked:?}");
    assert_eq!(asked.stdout, "Let me see.\nIt is early.\n");
    assert_eq!(asked.stderr, "→ time\n");
}

#[test]
fn a_single_argument_can_be_the_question_and_a_mistyped_command_is_none() {
    let sim = greeter();
    let house = house_with(&sim);
    assert_eq!(
        house.hob(&["good morning"]).success(),
        "Good morning to you.\n"
    );
    assert_eq!(sim.asked()[0].last_user(), "good morning");
    let mistyped = house.hob(&["sesion"]);
    assert_eq!(mistyped.code, Some(2));
    assert!(
        mistyped.stderr.contains("Did you mean 'session'?"),
        "{mistyped:?}"
    );
    assert_eq!(sim.asked_count(), 1);
}

#[test]
fn stdin_is_context_or_the_question_itself() {
    let sim = greeter();
    let house = house_with(&sim);
    house
        .hob_with_input(&["ask", "explain"], "one\ntwo\n")
        .success();
    house.hob_with_input(&["ask"], "just this\n").success();
    let asked = sim.asked();
    assert_eq!(
        asked[0].last_user(),
        "explain\n\n<stdin>\none\ntwo\n</stdin>"
    );
    assert_eq!(asked[1].last_user(), "just this");
    let nothing = house.hob(&["ask"]);
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
}

#[test]
fn questions_stand_alone_unless_a_session_is_named() {
    let sim = greeter();
    let house = house_with(&sim);
    for line in [
        &["ask", "one"][..],
        &["ask", "--session", "work", "two"],
        &["ask", "--session", "work", "three"],
        &["ask", "--session", "work", "--fresh", "four"],
    ] {
        house.hob(line).success();
    }
    let seen: Vec<usize> = sim
        .asked()
        .iter()
        .map(|asked| asked.messages.len())
        .collect();
    assert_eq!(seen, [1, 1, 3, 1]);
}

#[test]
fn flags_reach_the_model() {
    let sim = Sim::start(|asked| match &asked.schema {
        Some(_) => Answer::words(r#"{"rivers":["Avon"]}"#),
        None => Answer::words("Fine."),
    });
    let house = house_with(&sim);
    house.hob(&["ask", "--no-tools", "hello you"]).success();
    house
        .hob(&["ask", "--tools", "time", "hello you"])
        .success();
    let picture = house.home().join("cat.png");
    std::fs::write(&picture, b"\x89PNG\r\n\x1a\nrest").expect("writable");
    let picture = picture.display().to_string();
    house
        .hob(&["ask", "--image", &picture, "what is it?"])
        .success();
    let schema = house.home().join("schema.json");
    let text = r#"{"type":"object","properties":{"rivers":{"type":"array","items":{"type":"string"}}},"required":["rivers"],"additionalProperties":false}"#;
    std::fs::write(&schema, text).expect("writable");
    let schema = schema.display().to_string();
    let fitted = house.hob(&["ask", "--schema", &schema, "name a river"]);
    assert_eq!(fitted.success(), "{\"rivers\":[\"Avon\"]}\n");
    house
        .hob(&["ask", "--model", "sim/sim-large", "hello you"])
        .success();
    let asked = sim.asked();
    assert_eq!(asked[0].tools, Vec::<String>::new());
    assert_eq!(asked[1].tools, ["time"]);
    assert_eq!(asked[2].messages[0].images.len(), 1);
    assert!(asked[3].schema.is_some());
    assert_eq!(asked[4].model, "sim-large");
}

#[test]
fn json_is_one_event_per_line_and_ends_with_the_last() {
    let sim = greeter();
    let house = house_with(&sim);
    let lines = json_lines(&house, &["ask", "what time is it?"]);
    let topics: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["event"].as_str())
        .collect();
    for topic in [
        "run.queued",
        "run.started",
        "run.delta",
        "run.tool",
        "run.step",
    ] {
        assert!(topics.contains(&topic), "{topic} in {topics:?}");
    }
    let last = lines.last().expect("events");
    assert_eq!(last["event"], "run.completed");
    assert_eq!(last["payload"]["response"], "It is early.");
    assert_eq!(last["payload"]["success"], true);
    let run = &last["payload"]["runId"];
    assert!(lines.iter().all(|line| line["payload"]["runId"] == *run));
    let second = lines.iter().filter(|line| {
        let payload = &line["payload"];
        line["event"] == "run.delta" && payload["kind"] == "text" && payload["step"] == 2
    });
    let text: String = second
        .filter_map(|line| line["payload"]["delta"].as_str())
        .collect();
    assert_eq!(text, "It is early.");
}

#[test]
fn without_a_model_the_first_steps_are_named() {
    let (_bin, builder) = without_model("");
    let house = builder.start();
    // A person who wants no model gets none installed.
    house.hob(&["onboard", "none"]).success();
    let refused = house.hob(&["ask", "good morning"]);
    assert_eq!(
        (refused.code, refused.stdout.as_str()),
        (Some(6), ""),
        "{refused:?}"
    );
    for words in [
        "No model",
        "hob ask --yes",
        "API_KEY",
        "Ollama",
        "hob model add",
    ] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert!(
        refused
            .stderr
            .lines()
            .all(|line| line.chars().count() <= 80),
        "{}",
        refused.stderr
    );
}
