//! hob with `OpenCode` as an agent backend: a managed service behind a password, a session per
//! prompt, whose own provider is the scripted model.

use super::opencode;
use crate::conformance::wire::Peer;
use crate::support::{House, wait_until};
use hob_sim::{Answer, Dialect, Gate, Sim, SimRequest};
use serde_json::{Value, json};
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const MODEL: &str = "opencode/loop/fake";
/// It starts in seven seconds on a busy machine; CI runs many tests at once.
const START_WAIT: Duration = Duration::from_mins(3);
/// A call that is dropped ends at the provider within a second; a busy machine may be slower.
const ABORT_WAIT: Duration = Duration::from_secs(10);

/// A house whose `OpenCode` has this model and, being the person's own, may do everything.
fn house_with(sim: &Sim, more: &str) -> House {
    let program = opencode().display().to_string();
    let config = format!("[llm]\nservers = []\n\n{more}");
    let mut house = House::builder()
        .env("OPENCODE_EXECUTABLE", &program)
        .config(&config)
        .build();
    let folder = house.home().join(".config/opencode");
    std::fs::create_dir_all(&folder).expect("a folder");
    let theirs = json!({
        "permission": { "*": "allow", "bash": "allow" },
        "provider": { "loop": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": sim.url(Dialect::OpenaiChat), "apiKey": "k" },
            "models": { "fake": {
                "tool_call": true,
                "limit": { "context": 100_000, "output": 4_000 },
                "cost": { "input": 1, "output": 2 },
            } },
        } },
    });
    std::fs::write(folder.join("opencode.json"), theirs.to_string()).expect("a file");
    house.start_daemon();
    house
}

async fn start(peer: &mut Peer) -> Value {
    let begun = Instant::now();
    loop {
        let asked = json!({ "name": "opencode", "wait": true });
        if let Ok(status) = peer.ask("service.start", asked).await
            && status["state"] == "running"
        {
            return status;
        }
        assert!(begun.elapsed() < START_WAIT, "it does not start");
    }
}

/// The status of its list of sessions, and the list.
fn sessions(house: &House, url: &str, password: Option<&str>) -> (String, String) {
    let login = password.map(|password| format!("-u opencode:{password}"));
    let login = login.unwrap_or_default();
    let line = format!("curl -s -m 60 -w '\\n%{{http_code}}' {login} {url}/session");
    let answer = house.shell(&line).success();
    let (body, status) = answer.rsplit_once('\n').expect("a status");
    (status.trim().to_owned(), body.to_owned())
}

/// Its models, once this one is among them: that it runs is known a moment after it does.
async fn models_with(peer: &mut Peer, wanted: &str) -> Vec<Value> {
    let begun = Instant::now();
    loop {
        let asked = json!({ "provider": "opencode" });
        let listed = peer.call("model.list", asked).await;
        let models = listed["models"].as_array().expect("models");
        if models.iter().any(|model| model["id"] == wanted) {
            return models.clone();
        }
        assert!(begun.elapsed() < START_WAIT, "{listed}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn ask(house: &House, more: &[&str], words: &str) -> String {
    let line = [&["ask", "--model", MODEL], more, &[words]].concat();
    house.hob(&line).success()
}

#[tokio::test]
async fn it_answers_for_hob_in_a_fresh_session_each_time() {
    let sim = Sim::start(|asked: &SimRequest| {
        Answer::words(format!("You said {}.", asked.last_user())).usage(120, 7)
    });
    let house = house_with(&sim, "");
    let mut peer = Peer::owner(&house).await;
    start(&mut peer).await;

    // It needs its password, which is made anew at each start and shown to nobody.
    let reached = peer
        .call("service.reach", json!({ "name": "opencode" }))
        .await;
    let url = reached["url"].as_str().expect("a url");
    let password = reached["password"].as_str().expect("a password");
    assert_eq!(sessions(&house, url, None).0, "401");
    assert_eq!(sessions(&house, url, Some("guess")).0, "401");
    assert_eq!(sessions(&house, url, Some(password)).0, "200");

    let models = models_with(&mut peer, MODEL).await;
    let found = models.iter().find(|model| model["id"] == MODEL);
    let found = found.expect("it was waited for");
    assert_eq!(found["contextTokens"], 100_000);
    assert!(models.iter().any(|model| model["id"] == "opencode/default"));

    assert_eq!(
        ask(&house, &["--no-tools"], "apples").trim(),
        "You said apples."
    );
    assert_eq!(
        ask(&house, &["--no-tools"], "pears").trim(),
        "You said pears."
    );
    let asked = sim.asked();
    let [apples, pears] = &asked[..] else {
        panic!("one request each: {asked:?}");
    };
    assert!(!pears.body.to_string().contains("apples"), "nothing leaks");
    // The person's own rules allow everything; as a service it has no tools at all.
    assert!(apples.tools.is_empty(), "{:?}", apples.tools);
    assert_eq!(apples.header("authorization"), Some("Bearer k"));

    // What was said before goes along when it is the same conversation.
    ask(&house, &["--no-tools", "--session", "s"], "My name is Ada");
    ask(&house, &["--no-tools", "--session", "s"], "Who am I");
    let last = sim.asked().pop().expect("it was asked");
    assert!(last.body.to_string().contains("You said My name is Ada."));

    wait_until("its sessions are gone", || {
        sessions(&house, url, Some(password)).1 == "[]"
    });
    let log = std::fs::read_to_string(house.home().join("logs/hob.log")).unwrap_or_default();
    assert!(!log.contains(password));
    assert_eq!(sim.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn a_run_that_is_stopped_stops_it_at_its_provider() {
    let gate = Gate::new();
    let sim = Sim::start({
        let gate = gate.clone();
        move |_: &SimRequest| Answer::tokens(40).held_after(5, &gate)
    });
    let house = house_with(&sim, "");
    let mut peer = Peer::owner(&house).await;
    start(&mut peer).await;
    let params = json!({ "sessionKey": "s", "task": "go on", "model": MODEL, "tools": [] });
    let run = peer.call("agent.run", params).await;
    wait_until("it answers", || sim.open_streams() == 1);
    let begun = Instant::now();
    peer.call("agent.abort", json!({ "runId": run["runId"] }))
        .await;
    while sim.open_streams() > 0 {
        assert!(begun.elapsed() < ABORT_WAIT, "it goes on at the provider");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    eprintln!("stopped at the provider after {:?}", begun.elapsed());
    assert_eq!(sim.cut_streams(), 1);
}

#[tokio::test]
async fn killed_in_the_middle_of_an_answer_it_is_started_again_and_answers_whole() {
    let gate = Gate::new();
    let first = AtomicBool::new(true);
    let sim = Sim::start({
        let gate = gate.clone();
        move |_: &SimRequest| {
            if first.swap(false, Ordering::SeqCst) {
                return Answer::tokens(40).held_after(5, &gate);
            }
            Answer::words("Here I am again.")
        }
    });
    let house = house_with(&sim, "");
    let mut peer = Peer::owner(&house).await;
    let status = start(&mut peer).await;
    let mut asking = house
        .command(&["ask", "--no-tools", "--model", MODEL, "go on"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    wait_until("it answers", || sim.open_streams() == 1);
    let pid = status["pid"].as_u64().expect("a pid").to_string();
    house.shell(&format!("kill -9 {pid}")).success();
    let mut text = String::new();
    let mut stdout = asking.stdout.take().expect("piped");
    stdout.read_to_string(&mut text).expect("text");
    let ended = asking.wait_with_output().expect("it ends");
    let complained = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{text}\n{complained}");
    assert!(
        text.trim().ends_with("Here I am again."),
        "{text}\n{complained}"
    );
}
