//! Where nobody is asked: no terminal, or `--yes`.

use super::{ids, newcomer, ollama, options, provider, python};
use crate::support::{House, Tty};
use serde_json::Value;

#[test]
fn without_a_terminal_what_is_found_is_used() {
    let sim = provider();
    let address = ollama("From the machine.");
    let (_bin, house) = newcomer(&sim, &[address]);
    let answered = house.hob(&["ask", "good morning"]);
    assert_eq!(answered.success(), "From the machine.\n");
    // Nothing was chosen by that.
    assert_eq!(options(&house)["offer"], true);
    let (code, seen) = Tty::start(&house, "ask --yes good morning").end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains("Which one?"), "{seen}");
}

#[test]
fn without_anything_the_demo_is_installed_and_said_before() {
    let sim = provider();
    let (_bin, house) = newcomer(&sim, &[]);
    // Its pip fails, so the installation does.
    let failed = house.hob(&["ask", "good morning"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(
        failed.stderr.contains("installing a demo model"),
        "{failed:?}"
    );
    assert!(
        failed.stderr.contains("llm was not installed."),
        "{failed:?}"
    );
    // Plain words need tools, so nothing is fetched for them.
    let refused = house.hob(&["what is my uptime?"]);
    assert_eq!(refused.code, Some(6), "{refused:?}");
    assert!(refused.stderr.contains("uses no tools"), "{refused:?}");
    // And a no holds in scripts.
    house.hob(&["onboard", "none"]).success();
    let refused = house.hob(&["ask", "good morning"]);
    assert_eq!(refused.code, Some(6), "{refused:?}");
    assert!(refused.stderr.contains("hob onboard"), "{refused:?}");
}

#[test]
fn onboard_lists_takes_the_best_and_names_what_there_is() {
    let sim = provider();
    let (first, second) = (ollama("One."), ollama("Two."));
    let (_bin, house) = newcomer(&sim, &[first.clone(), second.clone()]);
    let (first, second) = (format!("server:{first}"), format!("server:{second}"));
    let found = ids(&house);
    assert_eq!(found[..2], [first.clone(), second.clone()]);
    assert_eq!(found.last().map(String::as_str), Some("paste"));
    let unknown = house.hob(&["onboard", "pull:nothing"]);
    assert_eq!(unknown.code, Some(5), "{unknown:?}");
    assert!(unknown.stderr.contains(&second), "{unknown:?}");
    let taken = house.hob(&["onboard", "--yes"]).success();
    assert!(taken.contains("llm/llama3:8b"), "{taken}");
    assert_eq!(house.hob(&["ask", "hello"]).success(), "One.\n");

    // Another model of another server.
    let line = ["--json", "onboard", &second, "--model", "qwen3:4b"];
    let done: Value = serde_json::from_str(&house.hob(&line).success()).expect("one document");
    assert_eq!(
        (&done["outcome"], &done["model"]),
        (&"ready".into(), &"llm/qwen3:4b".into())
    );
    crate::support::wait_until("the other server answers", || {
        house.hob(&["ask", "hello"]).success() == "Two.\n"
    });
}

#[test]
fn a_local_model_that_repeats_itself_ends_with_a_note_and_its_exit_code() {
    let sim = provider();
    let line = "The capital of Italy is Rome.\n";
    let address = ollama(
        "The capital of Italy is Rome.\nThe capital of Italy is Rome.\nThe capital of Italy is Rome.\nThe capital of Italy is Rome.\n",
    );
    let (_bin, house) = newcomer(&sim, &[address]);
    let ended = house.hob(&["ask", "what is the capital of Italy?"]);
    assert_eq!(ended.code, Some(8), "{ended:?}");
    assert_eq!(ended.stdout, line.repeat(2));
    assert!(ended.stderr.contains("repeat"), "{ended:?}");
    let body = serde_json::json!({
        "model": "local",
        "messages": [{ "role": "user", "content": "what is the capital of Italy?" }],
    });
    let mut stream = house.post("/v1/chat/completions", &house.token(), &body);
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).expect("an answer");
    let json = answer.split("\r\n\r\n").nth(1).expect("a body");
    let json: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(json["choices"][0]["finish_reason"], "length", "{json}");
    let codes = house.hob(&["help", "exit-codes"]).success();
    assert!(
        codes.contains('8') && codes.contains("repeated itself"),
        "{codes}"
    );
}

#[test]
fn a_configured_model_leaves_nothing_to_choose() {
    let (_bin, builder) = python();
    let config =
        "[llm]\nservers = []\n[models.mine]\nkind = \"openai\"\nurl = \"http://127.0.0.1:9/v1\"\n";
    let house: House = builder.config(config).start();
    assert_eq!(options(&house)["offer"], false);
}
