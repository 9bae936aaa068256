//! The official OpenAI libraries, installed from their registries: each script lists, chats,
//! streams, runs tools of its own, keeps a session, meets errors and hangs up.

use super::{chat_token, house_with, model, not_run, program, tools};
use crate::support::{House, wait_until};
use hob_sim::Sim;
use std::path::Path;
use std::process::Command;

#[test]
fn the_official_python_library_works() {
    let library = tools().join("python/openai");
    if !library.join("openai").is_dir() {
        return not_run("needs the Python library: cargo xtask test installs it");
    }
    let mut python = program("python3");
    python.env("PYTHONPATH", library).arg(script("client.py"));
    works(python);
}

#[test]
fn the_official_javascript_library_works() {
    let library = tools().join("node_modules");
    if !library.join("openai").is_dir() {
        return not_run("needs the JavaScript library: cargo xtask test installs it");
    }
    let mut node = program("node");
    node.env("NODE_PATH", library).arg(script("client.cjs"));
    works(node);
}

fn works(mut client: Command) {
    let sim = model();
    let house = house_with(&sim);
    let output = client
        .env("HOB_URL", format!("http://{}/v1", house.address()))
        .env("HOB_KEY", chat_token(&house))
        .output()
        .expect("the client starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.ends_with("all well\n"), "{said}");
    nothing_goes_on(&sim);
    only_the_session_is_kept(&house, &sim);
    assert_eq!(sim.refused(), Vec::<String>::new());
}

/// The stream it hung up on has ended at the provider.
fn nothing_goes_on(sim: &Sim) {
    wait_until("the provider's stream is closed", || {
        sim.open_streams() == 0
    });
    assert_eq!(sim.cut_streams(), 1);
}

/// Of all those conversations only the one with a session is stored, with what was said in it.
fn only_the_session_is_kept(house: &House, sim: &Sim) {
    let listed = house.hob(&["--json", "session", "list"]).success();
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let sessions = listed["sessions"].as_array().expect("sessions");
    let keys: Vec<_> = sessions.iter().map(|it| &it["sessionKey"]).collect();
    assert_eq!(keys, ["from-the-client"]);
    let asked = sim.asked();
    let second = asked.iter().rfind(|asked| asked.last_user() == "second");
    let words: Vec<&str> = second
        .expect("it was asked")
        .messages
        .iter()
        .map(|said| said.text.as_str())
        .collect();
    assert_eq!(words, ["first", "Hello from the model.", "second"]);
}

fn script(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/openai")
        .join(name)
}
