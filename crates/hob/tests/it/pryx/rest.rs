//! Each shape of the REST API, and its errors.

use super::client::Client;
use super::{answer_all, house_with, model};
use serde_json::{Value, json};

#[test]
fn providers_models_and_config_are_shown_and_never_a_key() {
    let sim = model();
    let house = house_with(&sim, false, "key_env = \"SIM_KEY\"\n");
    let client = Client::of(&house);
    let provider = &client.get("/api/v1/providers")["providers"][0];
    assert_eq!(
        (&provider["id"], &provider["requires_api_key"]),
        (&json!("sim"), &json!(true))
    );
    let key = client.get("/api/v1/providers/sim/key");
    assert_eq!(key.as_object().expect("an object").len(), 1, "{key}");
    assert!(key["configured"].is_boolean());
    for method in ["POST", "DELETE"] {
        let body = json!({ "api_key": "sk-secret" });
        let why = client.refused(403, method, "/api/v1/providers/sim/key", &body);
        assert!(why.contains("hob onboard paste --provider sim"), "{why}");
        assert!(!why.contains("sk-secret"), "{why}");
    }
    let config = client.get("/api/v1/config");
    assert_eq!(
        config,
        json!({ "model_provider": "sim", "model_name": "one", "ollama_endpoint": "" })
    );
    let body = json!({ "model_name": "two" });
    let why = client.refused(403, "PATCH", "/api/v1/config", &body);
    assert!(why.contains("hob model set default"), "{why}");
    assert!(client.get("/api/v1/models")["models"].is_array());
    client.refused(404, "GET", "/api/v1/providers/nobody/models", &Value::Null);
    client.refused(404, "GET", "/api/v1/providers/nobody/key", &Value::Null);
}

#[test]
fn sessions_are_made_renamed_forked_and_deleted() {
    let sim = model();
    let house = house_with(&sim, false, "");
    let client = Client::of(&house);
    let reply = client.json("POST", "/api/v1/sessions", &json!({ "name": "First" }));
    assert_eq!(reply.status, 201, "{reply:?}");
    let made = reply.json();
    let id = made["id"].as_str().expect("an id");
    assert!(
        made["createdAt"]
            .as_str()
            .is_some_and(|at| at.ends_with('Z'))
    );
    let path = format!("/api/v1/sessions/{id}");
    let renamed = client.json("PUT", &path, &json!({ "title": "Second" }));
    assert_eq!(renamed.json()["title"], "Second");

    let mut socket = client.socket("");
    socket.send(&json!({ "event": "chat.send", "session_id": id, "payload": { "content": "hi" } }));
    socket.until_end();
    let shown = client.get(&path);
    assert_eq!(
        (&shown["title"], &shown["messageCount"]),
        (&json!("Second"), &json!(2))
    );
    let fork = client.json(
        "POST",
        "/api/v1/sessions/fork",
        &json!({ "source_session_id": id }),
    );
    assert_eq!(fork.status, 201, "{fork:?}");
    let fork = fork.json();
    assert_eq!(fork["messages_copied"], 2);
    let other = fork["new_session_id"].as_str().expect("an id");
    socket.send(&json!({ "event": "session.resume", "payload": { "session_id": other } }));
    let resumed = socket.event("session.resume");
    let messages = resumed["payload"]["messages"].as_array().expect("a list");
    assert_eq!(messages[0]["content"], "hi");
    assert_eq!(messages[1]["role"], "assistant");
    assert_eq!(resumed["payload"]["session"]["parent_id"], *id);

    let listed = client.get("/api/v1/sessions");
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(2));
    let reply = client.json("DELETE", &path, &Value::Null);
    assert_eq!((reply.status, reply.body.as_str()), (204, ""));
    client.refused(404, "GET", &path, &Value::Null);
    client.refused(404, "DELETE", &path, &Value::Null);
    let gone = json!({ "source_session_id": id });
    client.refused(404, "POST", "/api/v1/sessions/fork", &gone);
    client.refused(400, "POST", "/api/v1/sessions/fork", &json!({}));
    client.refused(400, "POST", "/api/v1/sessions", &Value::Null);
    let plain_text = ["Content-Type: text/plain"];
    let reply = client.send("POST", "/api/v1/sessions", &plain_text, "{}");
    assert_eq!(reply.status, 415, "{reply:?}");
}

#[test]
fn agents_are_runs() {
    let sim = model();
    let house = house_with(&sim, false, "");
    let client = Client::of(&house);
    let mut socket = client.socket("");
    let reply = client.json("POST", "/api/v1/agents/spawn", &json!({ "task": "hello" }));
    assert_eq!(reply.status, 201, "{reply:?}");
    let id = reply.json()["agent_id"].as_str().expect("an id").to_owned();
    socket.until_end();
    let shown = client.get(&format!("/api/v1/agents/{id}"));
    assert_eq!(shown["status"], "completed");
    assert!(
        shown["result"]
            .as_str()
            .is_some_and(|it| it.contains("hello"))
    );
    assert_eq!(client.get("/api/v1/agents")["agents"][0]["id"], *id);
    assert_eq!(client.get("/api/agents")["agents"][0]["status"], "stopped");

    let spawned = client.post("/api/agents", &json!({ "name": "n", "prompt": "write" }));
    let id = spawned["id"].as_str().expect("an id").to_owned();
    socket.event("approval.needed");
    let status = &client.get(&format!("/api/v1/agents/{id}"))["status"];
    // The question is shown before the run is stored as waiting.
    assert!(["running", "waiting"].contains(&status.as_str().expect("a word")));
    let cancelled = client.post(&format!("/api/v1/agents/{id}/cancel"), &Value::Null);
    assert_eq!(cancelled["status"], "cancelled");
    socket.until_end();
    assert_eq!(
        client.get(&format!("/api/v1/agents/{id}"))["status"],
        "cancelled"
    );
    client.refused(404, "GET", "/api/v1/agents/nobody", &Value::Null);
    client.refused(400, "POST", "/api/v1/agents/spawn", &json!({ "task": " " }));
    client.refused(
        501,
        "POST",
        &format!("/api/agents/{id}/restart"),
        &Value::Null,
    );
    let lost = json!({ "task": "x", "session_id": "nobody" });
    client.refused(404, "POST", "/api/v1/agents/spawn", &lost);
}

#[test]
fn tasks_are_jobs() {
    let sim = model();
    let house = house_with(&sim, false, "");
    let client = Client::of(&house);
    let task = json!({
        "name": "Morning News", "cron_expression": "0 9 * * *", "task_type": "message",
        "payload": "What is new?", "timezone": "UTC", "enabled": true,
    });
    let reply = client.json("POST", "/api/v1/tasks", &task);
    assert_eq!(reply.status, 201, "{reply:?}");
    let made = reply.json();
    assert_eq!(made["name"], "morning-news");
    assert_eq!(made["description"], "Morning News");
    assert!(
        made["next_run_at"]
            .as_str()
            .is_some_and(|at| at.contains("T09:00:00"))
    );
    let id = made["id"].as_str().expect("an id");
    let path = format!("/api/v1/tasks/{id}");
    let changed = client.json("PUT", &path, &json!({ "payload": "Say hello" }));
    assert_eq!(changed.json()["payload"], "Say hello");
    let off = client.post(&format!("{path}/disable"), &Value::Null);
    assert_eq!(off["enabled"], false);
    let on = client.post(&format!("{path}/enable"), &Value::Null);
    assert_eq!(on["enabled"], true);
    house.hob(&["cron", "run", "morning-news"]).success();
    let runs_path = format!("{path}/runs?limit=5");
    crate::support::wait_until("the run ends", || {
        client.get(&runs_path)[0]["status"] == "completed"
    });
    let runs = client.get(&runs_path);
    assert!(
        runs[0]["output"]
            .as_str()
            .is_some_and(|it| it.contains("Say hello")),
        "{runs}"
    );
    assert_eq!(client.get(&path)["last_run_status"], "completed");
    assert_eq!(
        client.get("/api/v1/tasks").as_array().map(Vec::len),
        Some(1)
    );
    // It is a job of hob's like any other.
    assert!(
        house
            .hob(&["cron", "list"])
            .success()
            .contains("morning-news")
    );

    let valid = client.post(
        "/api/v1/tasks/validate",
        &json!({ "cron_expression": "@every 10m" }),
    );
    assert_eq!(valid["valid"], true);
    assert_eq!(valid["next_runs"].as_array().map(Vec::len), Some(5));
    let invalid = client.post(
        "/api/v1/tasks/validate",
        &json!({ "cron_expression": "soon" }),
    );
    assert_eq!(invalid["valid"], false);
    for absent in [
        json!({ "name": "x", "cron_expression": "event:push", "payload": "x" }),
        json!({ "name": "x", "cron_expression": "@daily", "payload": "x", "task_type": "webhook" }),
    ] {
        client.refused(501, "POST", "/api/v1/tasks", &absent);
    }
    for wrong in [
        json!({ "name": "x", "cron_expression": "soon", "payload": "x" }),
        json!({ "name": "x", "payload": "x" }),
        json!([1]),
    ] {
        client.refused(400, "POST", "/api/v1/tasks", &wrong);
    }
    let reply = client.json("DELETE", &path, &Value::Null);
    assert_eq!(reply.status, 204);
    client.refused(404, "GET", &path, &Value::Null);
    client.refused(404, "PUT", &path, &json!({ "payload": "x" }));
    client.refused(501, "POST", "/api/v1/tasks/events/push/trigger", &json!({}));
}

#[test]
fn tools_run_only_if_nobody_has_to_be_asked() {
    let sim = model();
    let house = house_with(&sim, false, "");
    let client = Client::of(&house);
    let listed = client.get("/mcp/tools?refresh=1");
    let tools = listed["tools"].as_array().expect("a list");
    assert!(
        tools.iter().any(|tool| tool["full_name"] == "hob:time"),
        "{tools:?}"
    );
    let time = json!({ "tool": "hob:time", "arguments": {} });
    let told = client.post("/mcp/tools/call", &time);
    assert_eq!(told["isError"], false);
    assert!(!told["text"].as_str().expect("a text").is_empty());
    let file = house.work().join("mine.txt");
    let write = json!({ "tool": "write", "arguments": { "path": "mine.txt", "content": "x" } });
    let exec = json!({ "tool": "hob:exec", "arguments": { "command": format!("touch {}", file.display()) } });
    for call in [write, exec] {
        let why = client.refused(403, "POST", "/mcp/tools/call", &call);
        assert!(why.contains("hob permission add"), "{why}");
    }
    assert!(!file.exists());
    client.refused(
        404,
        "POST",
        "/mcp/tools/call",
        &json!({ "tool": "hob:nothing" }),
    );
    client.refused(
        400,
        "POST",
        "/mcp/tools/call",
        &json!({ "tool": "files:read" }),
    );
    client.refused(400, "POST", "/mcp/tools/call", &json!({}));
}

#[test]
fn costs_and_policies_are_those_of_the_house() {
    let sim = model();
    let house = house_with(&sim, false, "");
    let client = Client::of(&house);
    let mut socket = client.socket("");
    socket.send(&json!({ "event": "chat.message", "payload": { "message": "hi" } }));
    socket.until_end();
    let cost = client.get("/api/cost");
    assert!(
        cost["totalTokens"]
            .as_u64()
            .is_some_and(|tokens| tokens > 0),
        "{cost}"
    );
    // The price of this model is not known, and that is no zero.
    assert_eq!(cost["totalCost"], Value::Null);
    assert_eq!(cost["models"][0]["provider"], "sim");
    let month = client.get("/api/cost/monthly");
    assert_eq!(month["costs"][0]["tokens"], cost["totalTokens"]);
    assert_eq!(month["costs"][0]["date"].as_str().map(str::len), Some(7));
    client.refused(501, "GET", "/api/cost/budget", &Value::Null);

    assert_eq!(client.get("/api/policies")["default"], "ask");
    let line = [
        "permission",
        "add",
        "--tool",
        "write",
        "--decision",
        "deny",
        "--scope",
        "always",
    ];
    house.hob(&line).success();
    let policy = &client.get("/api/policies")["policies"][0];
    assert_eq!(
        (&policy["tool"], &policy["action"]),
        (&json!("write"), &json!("deny"))
    );
    let path = format!("/api/policies/{}", policy["id"].as_str().expect("an id"));
    assert_eq!(client.get(&path)["decision"], "deny");
    for (method, path) in [
        ("POST", "/api/policies".to_owned()),
        ("PUT", path.clone()),
        ("DELETE", path.clone()),
        ("POST", format!("{path}/toggle")),
    ] {
        let why = client.refused(403, method, &path, &json!({}));
        assert!(why.contains("hob permission"), "{why}");
    }
    client.refused(404, "GET", "/api/policies/none", &Value::Null);
    assert_eq!(client.get("/api/approvals")["requests"], json!([]));
    answer_all(&house, client);
}

#[test]
fn what_hob_does_not_have_is_empty_or_refused_by_name() {
    let sim = model();
    let house = house_with(&sim, false, "");
    let client = Client::of(&house);
    for (path, list) in [
        ("/api/v1/memory", "entries"),
        ("/api/v1/channels", "channels"),
        ("/api/v1/channels/types", "types"),
        ("/skills", "skills"),
        ("/mcp/discovery/curated", "servers"),
        ("/mcp/discovery/categories", "categories"),
        ("/mcp/discovery/custom", "servers"),
        ("/api/mesh/devices", "devices"),
        ("/api/mesh/events", "events"),
    ] {
        assert_eq!(client.get(path)[list], json!([]), "{path}");
    }
    assert_eq!(client.get("/api/channels"), json!([]));
    assert_eq!(
        client.get("/api/v1/cloud/status"),
        json!({ "logged_in": false })
    );
    let search = client.post("/api/v1/memory/search", &json!({ "query": "x" }));
    assert_eq!(search["count"], 0);
    for path in [
        "/skills/x",
        "/skills/x/body",
        "/api/v1/channels/x",
        "/api/v1/channels/x/health",
    ] {
        client.refused(404, "GET", path, &Value::Null);
    }
    for path in [
        "/api/v1/memory",
        "/api/v1/channels",
        "/skills/enable",
        "/skills/install",
        "/mcp/discovery/validate",
        "/api/mesh/pair",
        "/api/v1/cloud/login/start",
        "/api/admin/telemetry/config",
    ] {
        let why = client.refused(501, "POST", path, &json!({ "id": "x" }));
        assert!(why.contains("hob"), "{path}: {why}");
    }
    client.refused(404, "GET", "/nothing", &Value::Null);
    client.refused(405, "DELETE", "/health", &Value::Null);
}
