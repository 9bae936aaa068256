//! Reading Pryx's folder: its database, its settings and its keychain.

use super::IMPORTER;
use crate::import_folder::SourceFolder;
use crate::import_plan::ImportPlan;
use hob_wire::Role;
use rusqlite::Connection;
use std::path::Path;

const KEY: &str = "sk-test-0123456789";
const TABLES: &str = "
    CREATE TABLE sessions (id TEXT PRIMARY KEY, title TEXT NOT NULL, user_id TEXT,
        created_at DATETIME DEFAULT CURRENT_TIMESTAMP, updated_at DATETIME);
    CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
        content TEXT NOT NULL, created_at DATETIME DEFAULT CURRENT_TIMESTAMP);
    CREATE TABLE memory_entries (id TEXT PRIMARY KEY, type TEXT NOT NULL, content TEXT NOT NULL);
    CREATE TABLE scheduled_tasks (id TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT,
        cron_expression TEXT NOT NULL, task_type TEXT NOT NULL, payload TEXT,
        timezone TEXT DEFAULT 'UTC', enabled BOOLEAN NOT NULL DEFAULT 1);";

#[expect(clippy::disallowed_methods, reason = "a test plays the other program")]
fn database(root: &Path, statements: &str) {
    let sql = Connection::open(root.join("pryx.db")).unwrap();
    sql.execute_batch(statements).unwrap();
}

fn read(root: &Path) -> ImportPlan {
    IMPORTER.read(&SourceFolder::open(root).unwrap())
}

fn reason<'p>(plan: &'p ImportPlan, what: &str) -> &'p str {
    let found = plan.skipped.iter().find(|item| item.what.contains(what));
    &found
        .unwrap_or_else(|| panic!("{what:?} in {:#?}", plan.skipped))
        .reason
}

#[test]
fn sessions_come_with_their_messages_in_order() {
    let root = tempfile::tempdir().unwrap();
    database(root.path(), TABLES);
    database(
        root.path(),
        "INSERT INTO sessions (id, title, created_at) VALUES ('s1', 'Holiday plans', '2026-02-01 10:00:00');
         INSERT INTO sessions (id, title) VALUES ('s2', 'Damaged'), ('s3', 'Empty');
         INSERT INTO messages (id, session_id, role, content) VALUES
            ('z', 's1', 'user', 'Where to?'), ('a', 's1', 'assistant', 'To the sea.'),
            ('m', 's1', 'system', 'note'), ('x', 's2', 'user', 'fine'), ('y', 's2', 'robot', 'odd'),
            ('w', 'gone', 'user', 'nobody knows');
         INSERT INTO memory_entries VALUES ('1', 'daily', 'x'), ('2', 'longterm', 'y');",
    );
    let plan = read(root.path());
    assert_eq!(plan.sessions.len(), 1);
    let session = &plan.sessions[0];
    assert_eq!(session.session_key, "import:pryx:s1");
    assert_eq!(session.label, "Holiday plans");
    assert_eq!(
        session.metadata["imported"]["createdAt"],
        "2026-02-01 10:00:00"
    );
    let messages = session
        .messages
        .iter()
        .map(|it| (it.role, it.text.as_str()));
    assert_eq!(
        messages.collect::<Vec<_>>(),
        [
            (Role::User, "Where to?"),
            (Role::Assistant, "To the sea."),
            (Role::User, "[system] note"),
        ]
    );
    assert!(reason(&plan, "session s2").contains("message 2 has an unknown role"));
    assert!(reason(&plan, "session s3").contains("no messages"));
    assert!(reason(&plan, "1 messages of session gone").contains("not in the database"));
    assert!(reason(&plan, "2 memories").contains("no memory"));
}

#[test]
fn tasks_that_ask_a_model_become_jobs() {
    let root = tempfile::tempdir().unwrap();
    database(root.path(), TABLES);
    database(
        root.path(),
        r#"INSERT INTO scheduled_tasks VALUES
            ('1', 'News', 'Each morning', '0 9 * * 1-5', 'message', 'Tell the news.', 'Europe/Berlin', 1),
            ('2', 'Tea', NULL, '@every 1h', 'reminder', '{"message":"Tea time"}', '', 0),
            ('3', 'Push', '', 'event:git.push', 'message', 'x', 'UTC', 1),
            ('4', 'Flow', '', '@daily', 'workflow', '{}', 'UTC', 1),
            ('5', 'Odd', '', '@daily', 'message', '{"a":"1","b":"2"}', 'UTC', 1),
            ('6', 'Moon', '', '@daily', 'message', 'x', 'Moon/Base', 1);"#,
    );
    let plan = read(root.path());
    let jobs = plan.jobs.iter().map(|job| {
        (
            job.name.as_str(),
            job.schedule.as_str(),
            job.zone.as_deref(),
            job.task.as_str(),
            job.was_enabled,
        )
    });
    let jobs: Vec<_> = jobs.collect();
    assert_eq!(
        jobs,
        [
            (
                "pryx-news",
                "0 9 * * 1-5",
                Some("Europe/Berlin"),
                "Tell the news.",
                true
            ),
            ("pryx-tea", "@every 1h", None, "Tea time", false),
        ]
    );
    for (what, words) in [
        ("job Push", "event:git.push"),
        ("job Flow", "'workflow'"),
        ("job Odd", "not one text"),
        ("job Moon", "time zone"),
    ] {
        assert!(reason(&plan, what).contains(words), "{what}");
    }
}

#[test]
fn a_database_of_another_version_or_a_damaged_one_is_told() {
    let root = tempfile::tempdir().unwrap();
    // An unknown version: other columns.
    database(root.path(), "CREATE TABLE sessions (id TEXT, name TEXT);");
    assert!(reason(&read(root.path()), "pryx.db").contains("no column title"));
    std::fs::write(root.path().join("pryx.db"), "not a database").unwrap();
    assert!(reason(&read(root.path()), "pryx.db").contains("not an SQLite database"));
    let outside = tempfile::tempdir().unwrap();
    database(outside.path(), TABLES);
    std::fs::remove_file(root.path().join("pryx.db")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("pryx.db"), root.path().join("pryx.db"))
        .unwrap();
    assert!(reason(&read(root.path()), "pryx.db").contains("link"));
}

#[test]
fn settings_keys_and_files_of_the_folder() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
    write(
        "config.yaml",
        "listen_addr: \":0\"\nmodel_provider: anthropic\nmodel_name: claude-x\nollama_endpoint: http://localhost:11434\ntelegram_token: 123:secret-token\ntelegram_enabled: true\nmemory_enabled: true\n",
    );
    let keychain = serde_json::json!({
        "pryx:provider:anthropic": KEY, "provider:glm": "glm-key-0123456789", "pryx:device_id": "d-1",
        "pryx:cloud_access_token": "cloud-secret",
    });
    write("keychain.json", &keychain.to_string());
    write("SOUL.md", "Be brief.");
    write("AGENTS.md", "x");
    write("runtime.port", "1234");
    write("odd", "x");
    std::fs::create_dir(root.path().join("skills")).unwrap();
    let plan = read(root.path());
    assert_eq!(plan.default_model.as_deref(), Some("anthropic/claude-x"));
    let keys: Vec<_> = plan.keys.iter().map(|key| key.provider.as_str()).collect();
    assert_eq!(keys, ["glm", "anthropic"]);
    assert_eq!(plan.persona.as_ref().unwrap().text, "Be brief.");
    for (what, words) in [
        ("config.yaml: telegram_token", "channels"),
        ("config.yaml: ollama_endpoint", "by itself"),
        ("config.yaml: listen_addr, memory_enabled", "of its own"),
        ("keychain.json: device_id", "no key"),
        ("keychain.json: cloud_access_token", "no key"),
        ("AGENTS.md", "folder in which it works"),
        ("skills", "no skills"),
        ("odd", "does not know"),
    ] {
        assert!(reason(&plan, what).contains(words), "{what}");
    }
    let shown = format!("{plan:?}{}", serde_json::to_string(&plan).unwrap());
    for secret in [KEY, "secret-token", "cloud-secret", "glm-key"] {
        assert!(!shown.contains(secret), "{secret}");
    }
    write(
        "keychain.json",
        "{\"pryx:provider:openai\": \"sk-half-a-key",
    );
    let plan = read(root.path());
    assert_eq!(reason(&plan, "keychain.json"), "it is damaged");
    std::fs::remove_file(root.path().join("keychain.json")).unwrap();
    assert!(reason(&read(root.path()), "system's keychain").contains("hob onboard"));
}
