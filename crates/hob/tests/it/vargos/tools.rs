//! `tool.*`, as the bridge for tools calls it.

use super::{client, house_with, model};
use crate::support::House;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn words(result: &Value) -> String {
    let parts = result["content"].as_array().expect("a list of parts");
    parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect()
}

/// A house whose Vargos clients work in a folder, which it returns too.
fn house_with_workspace(setting: &str) -> (House, hob_sim::Sim, tempfile::TempDir) {
    let sim = model();
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("note.txt"), "seven\n").expect("written");
    let path = folder.path().display();
    let house = house_with(&sim, &setting.replace("FOLDER", &path.to_string()));
    (house, sim, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_a_list_with_their_schemas() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut bridge = client(&house, "mcp", &[]).await;
    let tools = bridge.call("tool.list", json!({})).await;
    let tools = tools.as_array().expect("an array");
    let read = tools.iter().find(|tool| tool["name"] == "read");
    let read = read.expect("it is there");
    assert!(read["description"].is_string());
    assert_eq!(read["parameters"]["type"], "object");
    let described = bridge
        .call("tool.describe", json!({ "name": "read" }))
        .await;
    assert_eq!(described["parameters"], read["parameters"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_a_folder_uses_the_configured_one() {
    for setting in [
        "dialect.vargos.workspace = \"FOLDER\"",
        "agent.workspaces = [\"FOLDER\"]",
    ] {
        let (house, _sim, _folder) = house_with_workspace(setting);
        let mut bridge = client(&house, "mcp", &[]).await;
        bridge
            .call("session.create", json!({ "sessionKey": "mcp:default" }))
            .await;
        for context in [
            json!({ "sessionKey": "mcp:default" }),
            json!({}),
            Value::Null,
        ] {
            let params =
                json!({ "name": "read", "args": { "path": "note.txt" }, "context": context });
            let result = bridge.call("tool.execute", params).await;
            assert!(words(&result).contains("seven"), "{setting}: {result}");
            assert_ne!(result["isError"], true, "{setting}: {result}");
        }
        // A run of such a client works there too.
        let params = json!({ "sessionKey": "cli:run", "task": "read note.txt" });
        let ran = bridge.call("agent.run", params).await;
        assert!(ran["response"].to_string().contains("seven"), "{ran}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_working_folder_of_a_call_comes_first() {
    let (house, _sim, _folder) = house_with_workspace("dialect.vargos.workspace = \"FOLDER\"");
    std::fs::write(house.work().join("note.txt"), "eight\n").expect("written");
    let mut bridge = client(&house, "mcp", &[]).await;
    let params = json!({
        "name": "read", "args": { "path": "note.txt", "sessionKey": "mcp:default" },
        "context": { "sessionKey": "mcp:default", "workingDir": house.work() },
    });
    let result = bridge.call("tool.execute", params).await;
    assert!(words(&result).contains("eight"), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_ends_at_its_timeout() {
    let (house, _sim, _folder) = house_with_workspace("dialect.vargos.workspace = \"FOLDER\"");
    let mut bridge = client(&house, "mcp", &[]).await;
    let begun = Instant::now();
    let params = json!({ "name": "exec", "args": { "command": "sleep 60", "timeout": 300 } });
    let result = bridge.call("tool.execute", params).await;
    assert_eq!(result["isError"], true, "{result}");
    assert!(begun.elapsed() < Duration::from_secs(15), "{result}");
    let params = json!({ "name": "exec", "args": { "command": "cat note.txt", "timeout": 9000 } });
    let result = bridge.call("tool.execute", params).await;
    assert!(words(&result).contains("seven"), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_tool_is_an_error_and_a_wrong_argument_a_result() {
    let (house, _sim, _folder) = house_with_workspace("dialect.vargos.workspace = \"FOLDER\"");
    let mut bridge = client(&house, "mcp", &[]).await;
    let params = json!({ "name": "teleport", "args": {}, "context": {} });
    let message = bridge.refused("NOT_FOUND", "tool.execute", params).await;
    assert!(message.contains("teleport"), "{message}");
    bridge
        .refused("NOT_FOUND", "tool.describe", json!({ "name": "teleport" }))
        .await;
    let params = json!({ "name": "read", "args": { "file": "note.txt" } });
    let result = bridge.call("tool.execute", params).await;
    assert_eq!(result["isError"], true, "{result}");
    let params = json!({ "name": "read", "args": { "path": "/etc/passwd" } });
    let result = bridge.call("tool.execute", params).await;
    assert_eq!(result["isError"], true, "{result}");
    for params in [
        json!({}),
        json!({ "name": "read", "args": "note.txt" }),
        json!({ "name": "read", "context": { "env": { "A": "1" } } }),
        json!({ "name": "read", "context": { "colour": "red" } }),
        json!({ "name": "read", "colour": "red" }),
    ] {
        bridge
            .refused("INVALID_PARAMS", "tool.execute", params)
            .await;
    }
}
