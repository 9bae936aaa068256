//! The workspace of the sessions, and the agents that it has.

use super::{command, ready, refused, until, with_token};
use crate::fake_agent::Agent;
use crate::house::{House, Socket};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use tempfile::TempDir;

async fn open_house(workspace: &Path) -> (House, String) {
    let config = format!(
        "listen.agentloop = \"127.0.0.1:0\"\ndialect.agentloop.speech = \"\"\ndialect.agentloop.workspace = {workspace:?}"
    );
    let house = House::with(&config, Some("127.0.0.1:0")).await.unwrap();
    let listeners = house.gateway.listeners();
    let found = listeners
        .iter()
        .find_map(|line| line.strip_prefix("agentloop "));
    let address = found.expect("it is opened").to_owned();
    (house, address)
}

fn workspace(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let agents = folder.path().join(".agentloop/agents");
    fs::create_dir_all(&agents).unwrap();
    for (name, text) in files {
        fs::write(agents.join(name), text).unwrap();
    }
    folder
}

async fn agents(socket: &mut Socket) -> Vec<Value> {
    command(socket, "agent.list", json!({})).await;
    let listed = socket.next().await;
    listed["agents"].as_array().unwrap().clone()
}

async fn send(socket: &mut Socket, content: &str) -> Vec<Value> {
    let message = json!({ "sessionId": "s", "content": content });
    command(socket, "session.send", message).await;
    let events = until(socket, &ready("s")).await;
    assert_eq!(socket.next().await["type"], "perf.metric");
    events
}

#[tokio::test]
async fn runs_work_in_the_workspace_with_its_agents() {
    let folder = workspace(&[
        ("quick.md", "---\nname: chat.quick\n---\nSpeak Latin."),
        (
            "notes.md",
            "---\nname: notes\ndescription: Takes notes.\ntools: write, time, logo.fetch\n---\nWrite it down.",
        ),
    ]);
    let (house, address) = open_house(folder.path()).await;
    let agent = Agent::move_in(&house);
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    let listed = agents(&mut socket).await;
    assert_eq!(listed.len(), 6);
    assert_eq!(
        listed[5],
        json!({
            "name": "notes", "description": "Takes notes.",
            "tools": ["write", "time", "logo.fetch"],
        })
    );
    send(&mut socket, "Hello").await;
    let asked = agent.runs.lock().unwrap().last().unwrap().clone();
    assert_eq!(asked.workspace.as_deref(), folder.path().to_str());
    assert_eq!(asked.system.as_deref(), Some("Speak Latin."));

    let pin = json!({ "sessionId": "s", "routingMode": "pinned", "agent": "notes" });
    command(&mut socket, "session.configure", pin).await;
    assert_eq!(socket.next().await["detail"], "Configured (pinned: notes)");
    let events = send(&mut socket, "Hello").await;
    assert_eq!(events[0]["agent"], "notes");
    // A tool that nobody has is left out.
    assert_eq!(events[0]["toolsAllowed"], json!(["write", "time"]));
    let asked = agent.runs.lock().unwrap().last().unwrap().clone();
    assert_eq!(asked.system.as_deref(), Some("Write it down."));

    // Files are read anew. A pinned agent that is gone leaves the choice to the router.
    fs::remove_file(folder.path().join(".agentloop/agents/notes.md")).unwrap();
    let events = send(&mut socket, "Hello").await;
    assert_eq!(
        (&events[0]["routingMode"], &events[0]["agent"]),
        (&json!("auto"), &json!("chat.quick"))
    );
    let pin = json!({ "sessionId": "s", "agent": "notes" });
    command(&mut socket, "session.configure", pin).await;
    assert!(refused(&mut socket).await.contains("notes"));
    house.stop().await;
}

#[tokio::test]
async fn links_are_told_and_a_token_without_control_has_neither() {
    let folder = workspace(&[("mine.md", "Go.")]);
    let secret = folder.path().join("secret");
    fs::write(&secret, "the key").unwrap();
    symlink(&secret, folder.path().join(".agentloop/agents/link.md")).unwrap();
    let (house, address) = open_house(folder.path()).await;
    let agent = Agent::move_in(&house);
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    assert_eq!(agents(&mut socket).await.len(), 6);
    let told = socket.next().await;
    let why = told["error"].as_str().unwrap();
    assert!(why.contains("link.md is a link"), "{why}");

    let (_, token) = house.token("chat", None).await;
    let mut socket = with_token(&house, &token).await;
    assert_eq!(agents(&mut socket).await.len(), 5);
    send(&mut socket, "Hello").await;
    let asked = agent.runs.lock().unwrap().last().unwrap().clone();
    assert_eq!(asked.workspace, None);
    house.stop().await;
}

/// A changed setting counts from the next message on.
#[tokio::test]
async fn without_a_workspace_there_is_none() {
    let folder = workspace(&[("mine.md", "Go.")]);
    let (house, address) = open_house(folder.path()).await;
    let agent = Agent::move_in(&house);
    house.set("dialect.agentloop.workspace = \"\"");
    let mut socket = Socket::open(&address, "/", &[]).await.unwrap();
    assert_eq!(agents(&mut socket).await.len(), 5);
    send(&mut socket, "Hello").await;
    assert_eq!(agent.runs.lock().unwrap()[0].workspace, None);
    house.stop().await;
}
