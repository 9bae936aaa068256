//! Each of the five systems from an empty home: what the plan says, what is there afterwards, and
//! that a repeat changes nothing.

use super::{KEY, counts, import_json, rpc, session_file, state, texts, write};
use crate::support::House;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Imports twice: the first report is returned, and the second one must have added nothing.
fn import_twice(house: &House, arguments: &[&str]) -> Value {
    let first = import_json(house, &[arguments, &["--yes"]].concat());
    let before = state(house);
    let second = import_json(house, &[arguments, &["--yes"]].concat());
    for part in [
        "sessions", "messages", "jobs", "loops", "settings", "keys", "persona",
    ] {
        let (added, present) = counts(&first, part);
        assert_eq!(
            counts(&second, part),
            (0, added + present),
            "{part}: {second}"
        );
    }
    assert_eq!(state(house), before);
    first
}

fn mode(path: &Path) -> u32 {
    let found = std::fs::metadata(path).expect("it is there");
    found.permissions().mode() & 0o777
}

fn skipped(report: &Value, what: &str) -> String {
    let items = report["skipped"].as_array().expect("a list");
    let found = items
        .iter()
        .find(|it| it["what"].as_str().is_some_and(|it| it.contains(what)));
    let found = found.unwrap_or_else(|| panic!("{what:?} in {report:#}"));
    found["reason"].as_str().expect("a text").to_owned()
}

#[test]
fn vargos_brings_sessions_jobs_the_model_its_key_and_the_persona() {
    let house = House::start();
    let root = house.work().join("vargos");
    let talk = ["hello", "Hello.", "and now?"].map(str::to_owned);
    write(&root, "sessions/a.jsonl", &session_file("cli:chat", &talk));
    write(
        &root,
        "sessions/b.jsonl",
        "{\"sessionKey\":\"b\"}\n{\"role\":\"us",
    );
    write(&root, "workspace/SOUL.md", "Be kind.");
    let config = json!({
        "models": { "main": { "provider": "anthropic", "model": "claude-x", "apiKey": KEY } },
        "agent": { "primary": "main" },
        "cron": { "tasks": [
            { "name": "Daily news", "schedule": "0 9 * * *", "task": "Tell the news." },
            { "name": "Off", "schedule": "0 8 * * *", "task": "Rest.", "enabled": false },
        ] },
    });
    write(&root, "config.json", &config.to_string());
    let path = root.display().to_string();
    let report = import_twice(&house, &["vargos", &path]);
    assert_eq!(counts(&report, "messages"), (3, 0));
    assert_eq!(texts(&house, "import:vargos:cli:chat"), talk);
    assert!(skipped(&report, "sessions/b.jsonl").contains("line 2"));
    let session = rpc(
        &house,
        "session.get",
        &json!({ "sessionKey": "import:vargos:cli:chat" }),
    );
    assert_eq!(session["kind"], "imported");
    assert_eq!(session["metadata"]["imported"]["key"], "cli:chat");

    let jobs = rpc(&house, "cron.list", &json!({}));
    let jobs = jobs["jobs"].as_array().expect("a list");
    assert_eq!(jobs.len(), 2);
    for job in jobs {
        assert_eq!(
            (&job["enabled"], &job["zone"]),
            (&json!(false), &json!("UTC")),
            "{job}"
        );
        assert_eq!(job["grants"].as_array().map_or(0, Vec::len), 0, "{job}");
    }
    assert_eq!(jobs[0]["work"]["task"], "Tell the news.");
    let default = rpc(&house, "config.get", &json!({ "key": "model.default" }));
    assert_eq!(
        default["settings"][0]["value"],
        json!(["anthropic/claude-x"])
    );
    let key = house.home().join("keys/anthropic");
    assert_eq!(
        std::fs::read_to_string(&key).expect("kept"),
        format!("{KEY}\n")
    );
    assert_eq!(
        (mode(&key), mode(&house.home().join("keys"))),
        (0o600, 0o700)
    );
    let persona = std::fs::read_to_string(house.home().join("persona.md"));
    assert_eq!(persona.expect("written"), "Be kind.");
    let log = std::fs::read_to_string(house.home().join("logs/hob.log")).expect("a log");
    assert!(!log.contains(KEY) && !report.to_string().contains(KEY));

    // The daemon uses the key at once: the provider is ready without a restart.
    let models = rpc(&house, "model.list", &json!({ "namesOnly": true }));
    let providers = models["providers"].as_array().expect("a list");
    let anthropic = providers
        .iter()
        .find(|it| it["name"] == "anthropic")
        .expect("it is there");
    assert_eq!(anthropic["ready"], true, "{anthropic}");
}

#[expect(clippy::disallowed_methods, reason = "a test plays the other program")]
fn pryx_database(root: &Path) {
    std::fs::create_dir_all(root).expect("it can be made");
    let sql = Connection::open(root.join("pryx.db")).expect("it opens");
    sql.execute_batch(
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, title TEXT NOT NULL, created_at DATETIME);
         CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, content TEXT);
         CREATE TABLE scheduled_tasks (id TEXT PRIMARY KEY, name TEXT, description TEXT,
            cron_expression TEXT, task_type TEXT, payload TEXT, timezone TEXT, enabled BOOLEAN);
         INSERT INTO sessions VALUES ('6f1c', 'Holiday', '2026-02-01 10:00:00');
         INSERT INTO messages VALUES ('1', '6f1c', 'user', 'Where to?'),
            ('2', '6f1c', 'assistant', 'To the sea.');
         INSERT INTO scheduled_tasks VALUES
            ('1', 'News', '', '0 9 * * *', 'message', 'Tell.', 'Europe/Berlin', 1),
            ('2', 'Off', '', '0 8 * * *', 'message', 'Rest.', 'UTC', 0);",
    )
    .expect("it is written");
}

#[test]
fn pryx_brings_its_database_and_enables_jobs_when_told() {
    let house = House::start();
    let root = house.work().join("pryx");
    pryx_database(&root);
    write(
        &root,
        "config.yaml",
        "model_provider: openai\nmodel_name: gpt-x\nslack_enabled: false\n",
    );
    write(
        &root,
        "keychain.json",
        &json!({ "pryx:provider:openai": KEY }).to_string(),
    );
    let before = std::fs::read(root.join("pryx.db")).expect("it is there");
    let path = root.display().to_string();
    let report = import_twice(&house, &["pryx", &path, "--enable-jobs"]);
    assert_eq!(
        texts(&house, "import:pryx:6f1c"),
        ["Where to?", "To the sea."]
    );
    let jobs = rpc(&house, "cron.list", &json!({}));
    let enabled: Vec<_> = jobs["jobs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|job| {
            (
                job["name"].as_str().unwrap_or_default(),
                job["enabled"].as_bool().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(enabled, [("pryx-news", true), ("pryx-off", false)]);
    assert_eq!(report["disabledJobs"], json!(["pryx-off"]));
    assert!(house.home().join("keys/openai").exists());
    assert_eq!(
        std::fs::read(root.join("pryx.db")).expect("it is there"),
        before
    );
    let names: Vec<_> = std::fs::read_dir(&root)
        .expect("a folder")
        .flatten()
        .collect();
    assert_eq!(
        names.len(),
        3,
        "nothing was written beside the database: {names:?}"
    );
}

#[test]
fn looprunner_brings_its_loop_with_memories_and_history() {
    let house = House::start();
    let root = house.work().join("looprunner");
    let state = json!({
        "state": { "running": true, "iteration": 1 },
        "config": {
            "model": { "providerID": "nowhere", "modelID": "m" }, "system": "Be brief.",
            "user": "What changed?", "working": "look at A", "persistent": "B is known",
            "monitor": { "command": "tail -n 5 log" }, "interval": 60_000, "maxIterations": 0,
        },
    });
    write(&root, "state.json", &state.to_string());
    let history = json!([{ "iteration": 1, "prompt": "p", "response": "r", "timestamp": 1 }]);
    write(&root, "history.json", &history.to_string());
    // Without PATH the folder below the working folder is found.
    let report = house.shell("hob import looprunner --json --yes").success();
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(counts(&report, "loops"), (1, 0));
    let one = rpc(&house, "loop.get", &json!({ "name": "looprunner" }));
    assert_eq!(one["state"]["running"], false);
    assert_eq!(
        (&one["persistent"]["text"], &one["working"]["text"]),
        (&json!("B is known"), &json!("look at A"))
    );
    assert_eq!(one["config"]["monitor"]["command"], "tail -n 5 log");
    assert_eq!(one["config"]["grants"], json!([]));
    assert_eq!(texts(&house, "import:looprunner:history"), ["p", "r"]);
    // What a person changed since stays.
    let memory = json!({ "name": "looprunner", "text": "C is known" });
    rpc(&house, "loop.persistent", &memory);
    let path = root.display().to_string();
    let again = import_json(&house, &["looprunner", &path, "--yes"]);
    assert_eq!(counts(&again, "loops"), (0, 1));
    let one = rpc(&house, "loop.get", &json!({ "name": "looprunner" }));
    assert_eq!(one["persistent"]["text"], "C is known");
}

#[test]
fn agentloop_brings_its_model_server_and_prompt() {
    let house = House::start();
    let root = house.work().join("al");
    write(
        &root,
        "env",
        "AGENTLOOP_MLX_URL=http://127.0.0.1:12345\nAGENTLOOP_SYSTEM_PROMPT='Be kind.'\n",
    );
    write(&root, "agents/review.md", "---\nname: review\n---\nReview.");
    let path = root.display().to_string();
    let report = import_twice(&house, &["agentloop", &path]);
    assert!(skipped(&report, "agents/review.md").contains("no other named agents"));
    let servers = rpc(&house, "config.get", &json!({ "key": "llm.servers" }));
    let servers = servers["settings"][0]["value"].as_array().expect("a list");
    assert_eq!(servers[0], "127.0.0.1:12345");
    assert!(servers.len() > 1, "the servers of before stay: {servers:?}");
    assert!(house.home().join("persona.md").exists());
}

#[test]
fn archy_brings_its_key_model_and_settings() {
    let house = House::start();
    let root = house.work().join("archy");
    write(
        &root,
        ".env",
        &format!(
            "GEMINI_API_KEY={KEY}\nGEMINI_MODEL=gemini-x\nARCHY_CAPTURE_LINES=250\nARCHY_SOCKET=/tmp/archy.sock\n"
        ),
    );
    let path = root.display().to_string();
    let report = import_twice(&house, &["archy", &path]);
    assert!(skipped(&report, "ARCHY_SOCKET").contains("grant"));
    let lines = rpc(
        &house,
        "config.get",
        &json!({ "key": "archy.capture_lines" }),
    );
    assert_eq!(lines["settings"][0]["value"], 250);
    let socket = rpc(&house, "config.get", &json!({ "key": "listen.archy" }));
    assert_eq!(socket["settings"][0]["value"], "");
    let default = rpc(&house, "config.get", &json!({ "key": "model.default" }));
    assert_eq!(default["settings"][0]["value"], json!(["gemini/gemini-x"]));
    assert!(house.home().join("keys/gemini").exists());
}

#[test]
fn what_hob_has_already_stays() {
    let house = House::start();
    write(house.home(), "persona.md", "My own.");
    let root = house.work().join("vargos");
    let config = json!({
        "models": { "main": { "provider": "anthropic", "model": "new", "apiKey": KEY } },
        "agent": { "primary": "main" },
        "cron": { "tasks": [{ "name": "news", "schedule": "0 9 * * *", "task": "Theirs." }] },
    });
    write(&root, "config.json", &config.to_string());
    write(&root, "workspace/SOUL.md", "Theirs.");
    let mine = "sk-mine-0123456789";
    let keep = |key: &str| {
        rpc(
            &house,
            "model.keep_key",
            &json!({ "provider": "anthropic", "key": key }),
        )
    };
    assert_eq!(keep(mine)["outcome"], "kept");
    assert_eq!(keep(mine)["outcome"], "present");
    rpc(
        &house,
        "model.set",
        &json!({ "alias": "default", "models": ["anthropic/mine"] }),
    );
    let job = json!({ "name": "vargos-news", "schedule": "@daily", "task": "Mine." });
    rpc(&house, "cron.add", &job);
    let before = state(&house);
    let path = root.display().to_string();
    let report = import_json(&house, &["vargos", &path, "--yes"]);
    assert_eq!(state(&house), before);
    assert_eq!(counts(&report, "jobs"), (0, 1));
    for (what, words) in [
        ("the key of anthropic", "another key"),
        ("the model anthropic/new", "default model"),
        ("workspace/SOUL.md", "persona already"),
    ] {
        assert!(skipped(&report, what).contains(words), "{what}: {report}");
    }
    let kept = std::fs::read_to_string(house.home().join("keys/anthropic"));
    assert_eq!(kept.expect("kept"), format!("{mine}\n"));
    let persona = std::fs::read_to_string(house.home().join("persona.md"));
    assert_eq!(persona.expect("there"), "My own.");
    // A key of an unknown provider, and a text that is no key.
    for (provider, key) in [("nowhere", KEY), ("anthropic", "tiny-k"), ("../x", KEY)] {
        let params = json!({ "provider": provider, "key": key }).to_string();
        let refused = house.hob(&["rpc", "model.keep_key", &params]);
        assert_ne!(refused.code, Some(0), "{provider}");
        assert!(!refused.stderr.contains(key), "{refused:?}");
    }
}
