//! Reading Vargos's folder: the documented files, and files that are damaged, foreign or too large.

use super::super::import_config::active_hours;
use super::IMPORTER;
use crate::import_folder::SourceFolder;
use crate::import_plan::ImportPlan;
use hob_wire::Role;
use serde_json::json;
use std::path::Path;

const KEY: &str = "sk-test-0123456789";

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn read(root: &Path) -> ImportPlan {
    IMPORTER.read(&SourceFolder::open(root).unwrap())
}

fn session(key: &str, messages: &[(&str, &str)]) -> String {
    let head = json!({
        "sessionKey": key, "kind": "main", "label": format!("The talk {key}"), "metadata": {},
        "createdAt": "2026-02-01T10:00:00.000Z", "updatedAt": "2026-02-01T10:00:00.000Z",
    });
    let mut lines = vec![head.to_string()];
    for (index, (role, content)) in messages.iter().enumerate() {
        let line = json!({
            "id": format!("{index}-abc"), "sessionKey": key, "role": role, "content": content,
            "timestamp": "2026-02-01T10:00:01.000Z",
        });
        lines.push(line.to_string());
    }
    lines.join("\n") + "\n"
}

fn reason<'p>(plan: &'p ImportPlan, what: &str) -> &'p str {
    let found = plan.skipped.iter().find(|item| item.what.contains(what));
    &found
        .unwrap_or_else(|| panic!("{what:?} in {:#?}", plan.skipped))
        .reason
}

#[test]
fn sessions_are_read_in_both_layouts() {
    let root = tempfile::tempdir().unwrap();
    let talk = [
        ("user", "hello"),
        ("assistant", "Hello."),
        ("system", "A child ended."),
    ];
    write(
        root.path(),
        "sessions/Y2xpOmNoYXQ.jsonl",
        &session("cli:chat", &talk),
    );
    let child = session("cli:chat:subagent:1-x", &[("user", "do it")]);
    write(root.path(), "sessions/cli-chat/subagent-1-x.jsonl", &child);
    let plan = read(root.path());
    assert_eq!(plan.skipped, []);
    let keys: Vec<_> = plan
        .sessions
        .iter()
        .map(|it| it.session_key.as_str())
        .collect();
    assert_eq!(keys[0], "import:vargos:cli:chat");
    assert!(
        keys[1].starts_with("import:vargos:cli:chat-subagent-1-x~"),
        "{keys:?}"
    );
    let first = &plan.sessions[0];
    assert_eq!(first.label, "The talk cli:chat");
    assert_eq!(first.metadata["imported"]["kind"], "main");
    let messages = first.messages.iter().map(|it| (it.role, it.text.as_str()));
    assert_eq!(
        messages.collect::<Vec<_>>(),
        [
            (Role::User, "hello"),
            (Role::Assistant, "Hello."),
            (Role::User, "[system] A child ended."),
        ]
    );
}

#[test]
fn a_damaged_session_is_left_out_whole_with_its_line() {
    let root = tempfile::tempdir().unwrap();
    let whole = session("a", &[("user", "one"), ("assistant", "two")]);
    let torn = &whole[..whole.len() - 20];
    write(root.path(), "sessions/torn.jsonl", torn);
    write(
        root.path(),
        "sessions/other.jsonl",
        "{\"type\":\"session\",\"version\":3}\n",
    );
    write(root.path(), "sessions/empty.jsonl", "\n");
    write(
        root.path(),
        "sessions/twice.jsonl",
        &session("b", &[("user", "x")]),
    );
    write(
        root.path(),
        "sessions/twice2.jsonl",
        &session("b", &[("user", "y")]),
    );
    write(root.path(), "sessions/none.jsonl", &session("c", &[]));
    write(
        root.path(),
        "sessions/tools.jsonl",
        &session("d", &[("user", "x"), ("tool", "y")]),
    );
    std::fs::write(root.path().join("sessions/bytes.jsonl"), [0xff, b'\n']).unwrap();
    let plan = read(root.path());
    let keys: Vec<_> = plan
        .sessions
        .iter()
        .map(|it| it.session_key.as_str())
        .collect();
    assert_eq!(keys, ["import:vargos:d", "import:vargos:b"]);
    assert!(reason(&plan, "torn.jsonl").starts_with("line 3 is damaged"));
    assert!(reason(&plan, "other.jsonl").contains("no sessionKey"));
    assert_eq!(reason(&plan, "empty.jsonl"), "it is empty");
    assert!(reason(&plan, "session b").contains("same key"));
    assert!(reason(&plan, "session c").contains("no messages"));
    assert!(reason(&plan, "tools.jsonl: 1 lines").contains("no message of a known author"));
    assert!(reason(&plan, "bytes.jsonl").contains("UTF-8"));
}

#[test]
fn files_outside_and_huge_files_are_told_and_not_read() {
    let outside = tempfile::tempdir().unwrap();
    write(
        outside.path(),
        "s.jsonl",
        &session("secret", &[("user", "private")]),
    );
    write(outside.path(), "SOUL.md", "private");
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        "sessions/own.jsonl",
        &session("a", &[("user", "x")]),
    );
    let link = std::os::unix::fs::symlink::<std::path::PathBuf, std::path::PathBuf>;
    link(
        outside.path().join("s.jsonl"),
        root.path().join("sessions/s.jsonl"),
    )
    .unwrap();
    link(outside.path().into(), root.path().join("sessions/folder")).unwrap();
    link(outside.path().into(), root.path().join("workspace")).unwrap();
    let huge = std::fs::File::create(root.path().join("sessions/huge.jsonl")).unwrap();
    huge.set_len(super::SESSION_FILE_BYTES_MAX + 1).unwrap();
    let plan = read(root.path());
    assert_eq!(plan.sessions.len(), 1);
    assert!(plan.persona.is_none());
    for what in ["sessions/s.jsonl", "sessions/folder", "workspace/SOUL.md"] {
        assert!(reason(&plan, what).contains("link"), "{what}");
    }
    assert!(reason(&plan, "huge.jsonl").contains("at most"));
    assert!(!format!("{plan:?}").contains("private"));
}

#[test]
fn models_tasks_and_sections_of_the_config() {
    let root = tempfile::tempdir().unwrap();
    let config = json!({
        "models": {
            "main": { "provider": "google", "model": "gemini-2.5-pro", "apiKey": KEY },
            "own": { "provider": "openai", "model": "x", "apiKey": KEY, "baseUrl": "http://10.0.0.1/v1" },
            "local": { "provider": "ollama", "model": "llama3", "apiKey": "dummy-key-of-ollama" },
        },
        "agent": { "primary": "main", "fallback": "local" },
        "cron": { "tasks": [
            { "name": "Daily news", "schedule": "0 9 * * *", "task": "Tell.", "notify": ["telegram:1"] },
            { "name": "Off", "schedule": "@daily", "task": "Rest.", "enabled": false },
            { "name": "Wrong", "schedule": "often", "task": "?" },
        ] },
        "channels": { "telegram": { "botToken": "12345:secret-token" } },
        "webhooks": { "hooks": [{ "id": "ci", "token": "hook-secret" }] },
        "gateway": { "port": 9000 },
        "somethingNew": 1,
    });
    write(root.path(), "config.json", &config.to_string());
    let plan = read(root.path());
    assert_eq!(plan.default_model.as_deref(), Some("gemini/gemini-2.5-pro"));
    let keys: Vec<_> = plan.keys.iter().map(|it| it.provider.as_str()).collect();
    assert_eq!(keys, ["ollama", "gemini"]);
    assert!(reason(&plan, "models.own").contains("address of its own"));
    let jobs: Vec<_> = plan
        .jobs
        .iter()
        .map(|job| (job.name.as_str(), job.was_enabled))
        .collect();
    assert_eq!(jobs, [("vargos-daily-news", true), ("vargos-off", false)]);
    assert_eq!(plan.jobs[0].zone.as_deref(), Some("UTC"));
    assert!(reason(&plan, "job Wrong").contains("'often'"));
    for (what, words) in [
        ("Daily news: notify", "channels"),
        ("config.json: channels", "channels"),
        ("config.json: webhooks", "hob cron add"),
        ("config.json: gateway", "hob config"),
        ("config.json: somethingNew", "does not know"),
        ("fallback model local", "hob model set"),
    ] {
        assert!(reason(&plan, what).contains(words), "{what}");
    }
    let shown = format!("{plan:?}{}", serde_json::to_string(&plan).unwrap());
    for secret in [KEY, "secret-token", "hook-secret", "dummy-key-of-ollama"] {
        assert!(!shown.contains(secret), "{secret}");
    }
}

#[test]
fn the_older_form_of_the_config_has_one_model() {
    let root = tempfile::tempdir().unwrap();
    let config =
        json!({ "agent": { "provider": "anthropic", "model": "claude-x", "apiKey": KEY } });
    write(root.path(), "config.json", &config.to_string());
    let plan = read(root.path());
    assert_eq!(plan.default_model.as_deref(), Some("anthropic/claude-x"));
    assert_eq!(plan.keys.len(), 1);
    let secret = format!("{{\"models\":\"{KEY}\"}}");
    for damaged in [
        secret.as_str(),
        "{",
        "[]",
        "{\"cron\":{\"tasks\":[{\"name\":1}]}}",
        "{\"models\":3}",
    ] {
        write(root.path(), "config.json", damaged);
        let plan = read(root.path());
        assert!(
            reason(&plan, "config.json").contains("damaged"),
            "{damaged}"
        );
        assert!(plan.keys.is_empty() && plan.jobs.is_empty());
        assert!(!format!("{plan:?}").contains(KEY));
    }
}

#[test]
fn task_files_have_settings_in_front() {
    let root = tempfile::tempdir().unwrap();
    let front = |rest: &str| {
        format!(
            "---\nid: x\nname: Review\nschedule: \"0 22 * * *\"\n{rest}---\n\nLook at ${{DATA_DIR}}.\n"
        )
    };
    write(
        root.path(),
        "cron/review.md",
        &front("enabled: false\nnotify: []\nactiveHours: [8, 22]\n"),
    );
    write(
        root.path(),
        "cron/heartbeat.md",
        "---\nid: heartbeat\nname: H\nschedule: \"* * * * *\"\n---\nx\n",
    );
    write(
        root.path(),
        "cron/zone.md",
        "---\nname: Zone\nschedule: \"0 1 * * *\"\nactiveHours: [8, 22]\nactiveHoursTimezone: \"Australia/Sydney\"\n---\nx\n",
    );
    write(root.path(), "cron/none.md", "no settings");
    write(root.path(), "cron/notes.txt", "x");
    let plan = read(root.path());
    let jobs: Vec<_> = plan.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(jobs, ["vargos-review", "vargos-zone"]);
    assert_eq!(plan.jobs[0].active_hours.as_deref(), Some("08:00-22:00"));
    assert!(!plan.jobs[0].was_enabled);
    assert_eq!(plan.jobs[1].active_hours, None);
    assert!(reason(&plan, "names such as").contains("hob cron update"));
    assert!(reason(&plan, "job H").contains("HEARTBEAT.md"));
    assert!(reason(&plan, "activeHours in Australia/Sydney").contains("UTC"));
    assert!(reason(&plan, "none.md").contains("---"));
    assert!(reason(&plan, "notes.txt").contains("no task file"));
}

#[test]
fn hours_are_those_of_a_day() {
    assert_eq!(active_hours("[8, 22]").as_deref(), Some("08:00-22:00"));
    assert_eq!(active_hours("[22,6]").as_deref(), Some("22:00-06:00"));
    for wrong in ["[8]", "8, 22", "[8, 25]", "[24, 6]", "[8, 8]", "[a, b]"] {
        assert_eq!(active_hours(wrong), None, "{wrong}");
    }
}

#[test]
fn the_character_becomes_the_persona_and_notes_are_told() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "workspace/SOUL.md", "Be kind.");
    write(root.path(), "workspace/AGENTS.md", "x");
    write(root.path(), "workspace/MEMORY.md", "x");
    write(root.path(), "workspace/memory/2026-02-01.md", "x");
    write(root.path(), "odd-file", "x");
    let plan = read(root.path());
    let persona = plan.persona.as_ref().unwrap();
    assert_eq!(
        (persona.found_in.as_str(), persona.text.as_str()),
        ("workspace/SOUL.md", "Be kind.")
    );
    for (what, words) in [
        ("workspace/AGENTS.md", "folder in which it works"),
        ("workspace/MEMORY.md", "no memory"),
        ("workspace/memory", "no memory"),
        ("odd-file", "does not know"),
    ] {
        assert!(reason(&plan, what).contains(words), "{what}");
    }
    write(root.path(), "workspace/SOUL.md", &"x".repeat(40_000));
    let plan = read(root.path());
    assert!(plan.persona.is_none());
    assert!(reason(&plan, "SOUL.md").contains("at most"));
}
