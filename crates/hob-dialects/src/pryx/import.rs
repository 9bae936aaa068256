//! Reads `~/.pryx`: conversations and scheduled tasks in its database, the model in its settings, the
//! keys of a keychain that is a file, and the character of the assistant.
//!
//! Invariants: the database is read as a whole or not at all; a conversation of which rows cannot be
//! read is not imported.

use crate::import_builder::{
    JOBS_MAX, MESSAGES_BYTES_MAX, PlanBuilder, SESSIONS_MAX, SessionDraft, SourceJob,
};
use crate::import_folder::{SourceEntryKind, SourceFileError, SourceFolder};
use crate::import_formats::parse_flat_yaml;
use crate::import_notes::{
    AGENTS_FILE, NO_CHANNELS, NO_MCP, NO_MEMORY, NO_SKILLS, read_persona, read_settings_file,
    skip_present, skip_unknown,
};
use crate::importer::{Importer, SourcePlace};
use hob_store::{
    ForeignDatabase, ForeignDatabaseError, ForeignReadLimits, ForeignRows, ForeignValue,
};
use hob_wire::Role;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

pub(crate) const IMPORTER: Importer = Importer {
    places: &[SourcePlace::Home(".pryx")],
    advice: "name the folder that holds its config.yaml and its pryx.db",
    ..Importer::new("pryx", "Pryx", read)
};

const SETTINGS_BYTES_MAX: u64 = 256 * 1024;
/// Messages of all conversations.
const MESSAGES_MAX: usize = 500_000;
/// Bytes of the rows of the smaller tables.
const ROWS_BYTES_MAX: usize = 16 * 1024 * 1024;

const KNOWN: &[&str] = &[
    "config.yaml",
    "pryx.db",
    "pryx.db-journal",
    "pryx.db-shm",
    "pryx.db-wal",
    "keychain.json",
    "runtime.port",
    "admin.token",
    "skills",
    "cache",
    "mcp",
    "SOUL.md",
    "AGENTS.md",
    "tool-output",
    "logs",
    "vault",
    "policies",
];

fn read(folder: &SourceFolder, builder: &mut PlanBuilder) {
    read_database(folder, builder);
    if let Some(text) = read_settings_file(folder, "config.yaml", SETTINGS_BYTES_MAX, builder) {
        read_config(&text, builder);
    }
    read_keychain(folder, builder);
    read_persona(folder, "SOUL.md", builder);
    skip_present(
        folder,
        &[
            ("AGENTS.md", AGENTS_FILE),
            ("skills", NO_SKILLS),
            ("mcp", NO_MCP),
            (
                "vault",
                "its keys are encrypted; give them to hob with hob onboard",
            ),
            ("policies", "hob has rules of its own: hob permission add"),
        ],
        builder,
    );
    skip_unknown(folder, KNOWN, builder);
}

fn read_database(folder: &SourceFolder, builder: &mut PlanBuilder) {
    const NAME: &str = "pryx.db";
    match folder.kind(NAME) {
        Ok(SourceEntryKind::File) => {}
        Ok(SourceEntryKind::Link) => return builder.skip(NAME, SourceFileError::Link.reason()),
        Ok(_) => return builder.skip(NAME, SourceFileError::NotAFile.reason()),
        Err(SourceFileError::Missing) => return,
        Err(error) => return builder.skip(NAME, error.reason()),
    }
    let read = ForeignDatabase::open(&folder.path().join(NAME)).and_then(|database| {
        Ok(PryxTables {
            sessions: table(
                &database,
                "sessions",
                &["id", "title", "created_at"],
                SESSIONS_MAX,
            )?,
            messages: messages(&database)?,
            tasks: table(&database, "scheduled_tasks", TASK_COLUMNS, JOBS_MAX)?,
            memories: table(&database, "memory_entries", &["id"], SESSIONS_MAX)?,
        })
    });
    match read {
        Ok(tables) => tables.add_to(builder),
        Err(error) => builder.skip(NAME, error.to_string()),
    }
}

const TASK_COLUMNS: &[&str] = &[
    "id",
    "name",
    "description",
    "cron_expression",
    "task_type",
    "payload",
    "timezone",
    "enabled",
];

fn table(
    database: &ForeignDatabase,
    name: &str,
    columns: &[&str],
    rows_max: usize,
) -> Result<ForeignRows, ForeignDatabaseError> {
    let limits = ForeignReadLimits {
        rows_max,
        bytes_max: ROWS_BYTES_MAX,
    };
    Ok(database
        .read_table(name, columns, limits)?
        .unwrap_or_default())
}

fn messages(database: &ForeignDatabase) -> Result<ForeignRows, ForeignDatabaseError> {
    let limits = ForeignReadLimits {
        rows_max: MESSAGES_MAX,
        bytes_max: MESSAGES_BYTES_MAX,
    };
    let columns = ["session_id", "id", "role", "content"];
    Ok(database
        .read_table("messages", &columns, limits)?
        .unwrap_or_default())
}

/// The rows of the database.
struct PryxTables {
    sessions: ForeignRows,
    messages: ForeignRows,
    tasks: ForeignRows,
    memories: ForeignRows,
}

impl PryxTables {
    fn add_to(self, builder: &mut PlanBuilder) {
        let by_session = self.add_sessions(builder);
        for (id, rows) in by_session {
            let reason = "its session is not in the database";
            builder.skip(format!("{} messages of session {id}", rows.len()), reason);
        }
        for row in &self.tasks.rows {
            add_task(row, builder);
        }
        let memories = self.memories.rows.len();
        if memories > 0 {
            builder.skip(format!("{memories} memories in pryx.db"), NO_MEMORY);
        }
        for (what, rows) in [
            ("sessions", &self.sessions),
            ("messages", &self.messages),
            ("tasks", &self.tasks),
        ] {
            if rows.is_cut {
                let reason = format!("only the first {} are read", rows.rows.len());
                builder.skip(format!("more {what} in pryx.db"), reason);
            }
        }
    }

    /// Adds the sessions; returns the messages that belong to none.
    fn add_sessions(&self, builder: &mut PlanBuilder) -> BTreeMap<String, Vec<&[ForeignValue]>> {
        let mut by_session: HashMap<&str, Vec<&[ForeignValue]>> = HashMap::new();
        let mut nameless = 0;
        for row in &self.messages.rows {
            match row.first().and_then(ForeignValue::text) {
                Some(session) => by_session.entry(session).or_default().push(row),
                None => nameless += 1,
            }
        }
        if nameless > 0 {
            builder.skip(
                format!("{nameless} messages in pryx.db"),
                "they name no session",
            );
        }
        // The last session that was read may lack messages when not all of them were.
        let cut_session = self
            .messages
            .is_cut
            .then(|| self.messages.rows.last())
            .flatten();
        let cut_session = cut_session.and_then(|row| row.first()?.text());
        for row in &self.sessions.rows {
            let [id, title, created_at] = &row[..] else {
                continue;
            };
            let Some(id) = id.text() else {
                builder.skip("a session in pryx.db", "it has no id");
                continue;
            };
            let rows = by_session.remove(id).unwrap_or_default();
            if cut_session == Some(id) {
                builder.skip(format!("session {id}"), "not all of its messages are read");
                continue;
            }
            let mut session = SessionDraft::new(id);
            title
                .text()
                .unwrap_or_default()
                .clone_into(&mut session.label);
            let created_at = created_at.text().map(|at| ("createdAt", at.to_owned()));
            session.facts.extend(created_at);
            match add_messages(&mut session, &rows) {
                Ok(()) => builder.add_session(session),
                Err(reason) => builder.skip(format!("session {id}"), reason),
            }
        }
        let left = by_session.into_iter();
        left.map(|(id, rows)| (id.to_owned(), rows)).collect()
    }
}

fn add_messages(session: &mut SessionDraft, rows: &[&[ForeignValue]]) -> Result<(), String> {
    for (index, row) in rows.iter().enumerate() {
        let number = index + 1;
        let [_, id, role, content] = row else {
            return Err(format!("message {number} is damaged"));
        };
        let role = match role.text() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some("tool") => Role::Tool,
            _ => return Err(format!("message {number} has an unknown role")),
        };
        let Some(content) = content.text() else {
            return Err(format!("message {number} has no text"));
        };
        session.add(role, content, id.text().unwrap_or_default());
    }
    Ok(())
}

fn add_task(row: &[ForeignValue], builder: &mut PlanBuilder) {
    let text = |index: usize| {
        row.get(index)
            .and_then(ForeignValue::text)
            .unwrap_or_default()
    };
    let (name, schedule, kind) = (text(1), text(3), text(4));
    let what = format!("job {name}");
    if schedule.starts_with("event:") {
        return builder.skip(what, format!("hob has no job that starts on '{schedule}'"));
    }
    if !matches!(kind, "message" | "reminder") {
        return builder.skip(what, format!("hob has no job of the type '{kind}'"));
    }
    let Some(task) = task_of(text(5)) else {
        return builder.skip(what, "its payload is not one text");
    };
    builder.add_job(SourceJob {
        id: text(0).to_owned(),
        name: name.to_owned(),
        schedule: schedule.to_owned(),
        zone: Some(text(6))
            .filter(|zone| !zone.is_empty())
            .map(str::to_owned),
        task,
        description: text(2).to_owned(),
        active_hours: None,
        enabled: row.get(7) == Some(&ForeignValue::Integer(1)),
    });
}

/// The text of a payload: itself, a JSON text, or the only text of a JSON object.
fn task_of(payload: &str) -> Option<String> {
    match serde_json::from_str::<Value>(payload) {
        Ok(Value::String(text)) => Some(text),
        Ok(Value::Object(fields)) => {
            let mut values = fields.into_iter();
            match (values.next(), values.next()) {
                (Some((_, Value::String(text))), None) => Some(text),
                _ => None,
            }
        }
        Ok(_) => None,
        Err(_) => Some(payload.to_owned()),
    }
}

fn read_config(text: &str, builder: &mut PlanBuilder) {
    const NAME: &str = "config.yaml";
    let settings = parse_flat_yaml(text);
    if let Some(lines) = settings.unread() {
        builder.skip(format!("{NAME}: lines {lines}"), "they are not understood");
    }
    let mut own = Vec::new();
    for name in settings.values.keys() {
        match name.as_str() {
            "model_provider" | "model_name" => {}
            "ollama_endpoint" => {
                let reason = "hob looks for Ollama by itself (hob config get llm.servers)";
                builder.skip(format!("{NAME}: {name}"), reason);
            }
            name if name.starts_with("telegram_") || name.starts_with("slack_") => {
                builder.skip(format!("{NAME}: {name}"), NO_CHANNELS);
            }
            name => own.push(name),
        }
    }
    if !own.is_empty() {
        let reason = "hob has settings of its own (hob config show)";
        builder.skip(format!("{NAME}: {}", own.join(", ")), reason);
    }
    let (provider, model) = (settings.text("model_provider"), settings.text("model_name"));
    if let (Some(provider), Some(model)) = (provider, model) {
        builder.set_default_model(provider, model);
    }
}

/// Reads a keychain that is a file: `pryx:provider:NAME` to the key.
fn read_keychain(folder: &SourceFolder, builder: &mut PlanBuilder) {
    const NAME: &str = "keychain.json";
    let Some(text) = read_settings_file(folder, NAME, SETTINGS_BYTES_MAX, builder) else {
        if !folder.has(NAME) {
            let reason =
                "hob does not read the system's keychain; give keys to hob with hob onboard";
            builder.skip("keys in the system's keychain", reason);
        }
        return;
    };
    let Ok(entries) = serde_json::from_str::<BTreeMap<String, Value>>(&text) else {
        // The parser's message could show a key.
        return builder.skip(NAME, "it is damaged");
    };
    for (name, value) in &entries {
        let plain = name.strip_prefix("pryx:").unwrap_or(name);
        match (plain.strip_prefix("provider:"), value.as_str()) {
            (Some(provider), Some(key)) => builder.add_key(provider, key, NAME),
            _ => builder.skip(
                format!("{NAME}: {plain}"),
                "it is no key of a model provider",
            ),
        }
    }
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
