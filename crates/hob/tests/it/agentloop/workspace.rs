//! What needs a folder, a person or a second connection: files of the workspace, questions, and an
//! answer that goes on while its client is away.

use super::{client, content, send, story, tokens, until, until_type};
use crate::support::{House, wait_until};
use hob_sim::{Answer, Dialect, Gate, Sim, SimRequest};
use serde_json::{Value, json};

fn house_with(sim: &Sim, more: &str) -> House {
    let url = sim.url(Dialect::OpenaiChat);
    let config = format!(
        "{more}\n\n[model]\ndefault = [\"sim/one\"]\n\n[models.sim]\nkind = \"openai\"\nurl = \"{url}\"\n"
    );
    House::builder().config(&config).build()
}

const LISTEN: &str = "[listen]\nagentloop = \"127.0.0.1:0\"\n\n[dialect.agentloop]\nspeech = \"\"";

/// A model that reads a file, or writes one, if it is told to.
fn model() -> Sim {
    Sim::start(|asked: &SimRequest| {
        let results = asked.results_of_task();
        let read = json!({ "path": "notes.txt" });
        let write = json!({ "path": "new.txt", "content": "made" });
        match (asked.last_user(), results.first()) {
            (words, None) if words.starts_with("read") => Answer::asks("read", read),
            (words, None) if words.starts_with("implement") => Answer::asks("write", write),
            (_, Some(result)) => Answer::words(format!("It says: {}", result.text)),
            (words, None) => Answer::words(format!("You said: {words}.")),
        }
    })
}

/// The folder in which the listener is opened is the one that the sessions work in.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_work_in_the_folder_in_which_the_listener_was_opened() {
    let sim = model();
    let mut house = house_with(&sim, "[dialect.agentloop]\nspeech = \"\"");
    std::fs::write(house.work().join("notes.txt"), "buy milk").expect("a file");
    let agents = house.work().join(".agentloop/agents");
    std::fs::create_dir_all(&agents).expect("a folder");
    std::fs::write(agents.join("poet.md"), "---\nname: poet\n---\nRhyme.").expect("a file");
    let told = house.shell("hob config set listen.agentloop 127.0.0.1:0");
    let told = told.success();
    let folder = std::fs::canonicalize(house.work()).expect("a folder");
    let folder = folder.display().to_string();
    assert!(
        told.contains(&format!("dialect.agentloop.workspace = {folder}")),
        "{told}"
    );
    // Once it is set it stays, wherever the next command is run.
    house
        .hob(&["config", "set", "listen.agentloop", "127.0.0.1:0"])
        .success();
    let kept = house
        .hob(&["config", "get", "dialect.agentloop.workspace"])
        .success();
    assert_eq!(kept.trim(), folder);

    house.start_daemon();
    let mut peer = client(&house).await;
    super::command(&mut peer, "agent.list", json!({})).await;
    let listed = until_type(&mut peer, "agent.list").await;
    let agents = listed["agents"].as_array().expect("a list");
    assert!(
        agents.iter().any(|agent| agent["name"] == "poet"),
        "{listed}"
    );
    send(&mut peer, "s", "read the file").await;
    let events = until(&mut peer, "s", "Ready").await;
    let result = events.iter().find(|event| event["type"] == "tool.result");
    assert_eq!(
        result.expect("a result")["result"]["ok"],
        true,
        "{events:#?}"
    );
    assert!(content(&events, "s").contains("buy milk"), "{events:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_shown_as_text_and_its_command_answers_it() {
    let sim = model();
    let mut house = house_with(&sim, LISTEN);
    let set = format!(
        "hob config set dialect.agentloop.workspace '{}'",
        house.work().display()
    );
    house.shell(&set).success();
    house.start_daemon();
    let mut peer = client(&house).await;
    send(&mut peer, "s", "implement it").await;
    let asked = until_type(&mut peer, "assistant.message").await;
    let text = asked["content"].as_str().expect("words").to_owned();
    let start = "hob permission answer ";
    let line = text
        .lines()
        .find(|line| line.contains(start) && line.ends_with(" y"));
    let line = line.unwrap_or_else(|| panic!("a command in {text}")).trim();
    assert!(text.contains("new.txt"), "{text}");
    assert!(
        !house.work().join("new.txt").exists(),
        "nobody has said yes"
    );
    house.shell(line).success();
    let events = until(&mut peer, "s", "Ready").await;
    assert!(story(&events).contains(&"tool.result"), "{events:#?}");
    let made = std::fs::read_to_string(house.work().join("new.txt"));
    assert_eq!(made.expect("it was written"), "made");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_goes_on_on_a_new_connection() {
    let gate = Gate::new();
    let held = gate.clone();
    let sim = Sim::start(move |_: &SimRequest| Answer::tokens(40).held_after(20, &held));
    let mut house = house_with(&sim, LISTEN);
    house.start_daemon();
    let mut peer = client(&house).await;
    send(&mut peer, "s", "count").await;
    until_type(&mut peer, "assistant.token").await;
    wait_until("the model is held", || gate.waiting() == 1);
    drop(peer);

    let mut peer = client(&house).await;
    super::command(&mut peer, "session.create", json!({ "sessionId": "s" })).await;
    until_type(&mut peer, "session.created").await;
    let status = until_type(&mut peer, "session.status").await;
    assert!(
        status["status"] == "streaming" || status["status"] == "thinking",
        "{status}"
    );
    until_type(&mut peer, "assistant.token").await;
    gate.open();
    let mut events = until(&mut peer, "s", "Ready").await;
    let whole = content(&events, "s");
    // The first token of this connection was taken above.
    events.retain(|event: &Value| event["type"] == "assistant.token");
    assert!(whole.ends_with(&tokens(&events, "s")), "{whole}");
    let history = house.hob(&["--json", "session", "history", "s"]).success();
    assert!(history.contains(&whole), "{history}");
}
