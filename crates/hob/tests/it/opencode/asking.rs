//! `OpenCode` with hob's `/v1` as its provider, configured as docs/opencode.md says.

use super::opencode;
use crate::support::House;
use hob_sim::{Answer, Dialect, Sim, SimRequest};
use serde_json::{Value, json};

const DOC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/opencode.md");

/// Asks for its shell once, then says what that printed. Titles are asked for without tools.
fn model() -> Sim {
    Sim::start(|asked: &SimRequest| {
        let told = asked.results_of_task();
        match (asked.last_user().contains("use the shell"), told.first()) {
            _ if asked.tools.is_empty() => Answer::words("A title"),
            (_, Some(result)) => Answer::words(format!("It printed {}.", result.text.trim())),
            (true, None) => {
                let args = json!({ "command": "echo $((40 + 2))", "description": "adds" });
                Answer::asks("bash", args)
            }
            (false, None) => Answer::words("Hello from the model."),
        }
    })
}

/// A house with that model, and a folder in which `OpenCode` is configured to ask it.
fn house_with(sim: &Sim) -> House {
    let url = sim.url(Dialect::OpenaiChat);
    let config = format!(
        "[model]\ndefault = [\"sim/one\"]\n\n[models.sim]\nkind = \"openai\"\nurl = \"{url}\"\n"
    );
    let house = House::builder().config(&config).start();
    let page = std::fs::read_to_string(DOC).expect("the page is there");
    let block = page.split("```json\n").nth(1);
    let block = block.and_then(|rest| rest.split("```").next());
    let text = block.expect("it shows the configuration").replace(
        "http://127.0.0.1:7717/v1",
        &format!("http://{}/v1", house.address()),
    );
    assert!(text.contains(house.address()), "{text}");
    std::fs::write(house.work().join("opencode.json"), text).expect("a file");
    house
}

/// The events of one `opencode run`.
fn run(house: &House, words: &str) -> Vec<Value> {
    let line = ["token", "create", "--name", words, "--scope", "chat"];
    let token = house.hob(&line).success();
    let program = opencode().display().to_string();
    let output = house
        .command_of(&program, &["run", "--format", "json", words])
        .current_dir(house.work())
        .env("HOB_TOKEN", token.trim())
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    let events = said
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    events.collect()
}

fn text(events: &[Value]) -> String {
    let texts = events.iter().filter(|event| event["type"] == "text");
    let texts = texts.filter_map(|event| event["part"]["text"].as_str());
    texts.collect()
}

#[test]
fn it_is_answered_by_hob_in_a_stream() {
    let sim = model();
    let house = house_with(&sim);
    let events = run(&house, "hello");
    assert_eq!(text(&events), "Hello from the model.");
    let asked = sim.asked();
    let question = asked.iter().find(|it| !it.tools.is_empty());
    let question = question.expect("it was asked");
    assert!(question.stream);
    assert!(question.system.contains("opencode"), "its own words lead");
    assert!(question.tools.iter().any(|name| name == "bash"));
    assert_eq!(sim.refused(), Vec::<String>::new());
}

#[test]
fn its_own_tools_run_at_its_own_place_and_their_results_come_back() {
    let sim = model();
    let house = house_with(&sim);
    let events = run(&house, "use the shell");
    let used = events.iter().find(|event| event["type"] == "tool_use");
    let used = used.unwrap_or_else(|| panic!("{events:?}"));
    assert_eq!(used["part"]["tool"], "bash");
    assert_eq!(used["part"]["state"]["status"], "completed", "{used}");
    assert!(text(&events).ends_with("It printed 42."), "{events:?}");
    assert_eq!(sim.refused(), Vec::<String>::new());
}
