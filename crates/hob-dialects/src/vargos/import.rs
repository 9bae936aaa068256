//! Reads `~/.vargos`: sessions as JSON lines, the settings (`import_config`), and the character of the
//! assistant.
//!
//! Invariant: a session file with one damaged line is not imported at all.

use super::import_config::{HEARTBEAT_REASON, read_config_text, read_task_files};
use crate::import_builder::{PlanBuilder, SESSIONS_MAX, SessionDraft};
use crate::import_folder::{SourceEntryKind, SourceFileError, SourceFolder, has_ending};
use crate::import_notes::{
    AGENTS_FILE, NO_CHANNELS, NO_MEMORY, NO_SKILLS, read_persona, read_settings_file, skip_present,
    skip_unknown,
};
use crate::importer::{Importer, SourcePlace};
use hob_wire::Role;
use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) const IMPORTER: Importer = Importer {
    places: &[
        SourcePlace::Variable("VARGOS_DATA_DIR"),
        SourcePlace::Home(".vargos"),
    ],
    advice: "name the folder that holds its config.json and its sessions",
    ..Importer::new("vargos", "Vargos", read)
};

/// The largest session file.
const SESSION_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// Entries that are read, or told by a line of their own.
const KNOWN: &[&str] = &[
    "config.json",
    "sessions",
    "cron",
    "workspace",
    "agents",
    "channels",
    "channels.json",
    "media",
    "memory",
    "memory.db",
    "errors.jsonl",
    "agent",
    "skills",
    "logs",
    ".migrations.json",
];

fn read(folder: &SourceFolder, builder: &mut PlanBuilder) {
    read_sessions(folder, builder);
    if let Some(text) = read_settings_file(folder, "config.json", CONFIG_BYTES_MAX, builder) {
        read_config_text(&text, builder);
    }
    read_task_files(folder, builder);
    read_persona(folder, "workspace/SOUL.md", builder);
    skip_present(
        folder,
        &[
            ("workspace/AGENTS.md", AGENTS_FILE),
            ("workspace/TOOLS.md", NO_MEMORY),
            ("workspace/USER.md", NO_MEMORY),
            ("workspace/MEMORY.md", NO_MEMORY),
            ("workspace/memory", NO_MEMORY),
            ("workspace/HEARTBEAT.md", HEARTBEAT_REASON),
            (
                "workspace/BOOTSTRAP.md",
                "it is for the first start of Vargos",
            ),
            ("workspace/skills", NO_SKILLS),
            ("agents", "hob has no named agents"),
            ("skills", NO_SKILLS),
            ("agent", "it belongs to the engine of Vargos"),
            ("memory", NO_MEMORY),
            ("memory.db", NO_MEMORY),
            ("channels", NO_CHANNELS),
            ("channels.json", NO_CHANNELS),
            ("media", "hob's imported sessions hold text only"),
        ],
        builder,
    );
    skip_unknown(folder, KNOWN, builder);
}

/// Reads `sessions/*.jsonl` and `sessions/NAME/*.jsonl`.
fn read_sessions(folder: &SourceFolder, builder: &mut PlanBuilder) {
    let mut names = Vec::new();
    let mut folders = vec!["sessions".to_owned()];
    while let Some(parent) = folders.pop() {
        let listing = match folder.list(&parent) {
            Ok(listing) => listing,
            Err(SourceFileError::Missing) => return,
            Err(error) => {
                builder.skip(parent, error.reason());
                continue;
            }
        };
        for entry in listing.entries {
            let name = format!("{parent}/{}", entry.name);
            match entry.kind {
                SourceEntryKind::Folder if parent == "sessions" => folders.push(name),
                SourceEntryKind::File if has_ending(&name, "jsonl") => names.push(name),
                SourceEntryKind::Link => builder.skip(name, SourceFileError::Link.reason()),
                _ => builder.skip(name, "it is no session file"),
            }
        }
        if listing.is_cut {
            builder.skip(
                format!("more files of {parent}"),
                "there are too many to look at",
            );
        }
    }
    names.sort();
    for name in names.iter().take(SESSIONS_MAX) {
        match read_session(folder, name) {
            Ok((session, other_lines)) => {
                if other_lines > 0 {
                    let what = format!("{name}: {other_lines} lines");
                    builder.skip(what, "they hold no message of a known author");
                }
                builder.add_session(session);
            }
            Err(reason) => builder.skip(name, reason),
        }
    }
    if names.len() > SESSIONS_MAX {
        let more = names.len() - SESSIONS_MAX;
        let reason = format!("an import has at most {SESSIONS_MAX} sessions");
        builder.skip(format!("{more} more session files"), reason);
    }
}

/// The first line of a session file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionLine {
    session_key: String,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    created_at: Option<String>,
}

/// Reads a session, and counts the lines that are no messages of a person or a model.
fn read_session(folder: &SourceFolder, name: &str) -> Result<(SessionDraft, usize), String> {
    let text = folder.read_text(name, SESSION_FILE_BYTES_MAX);
    let text = text.map_err(|error| error.reason())?;
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let Some((_, first)) = lines.next() else {
        return Err("it is empty".to_owned());
    };
    let head: SessionLine = serde_json::from_str(first)
        .map_err(|_| "its first line is not that of a session (it has no sessionKey)".to_owned())?;
    let mut session = SessionDraft::new(&head.session_key);
    session.label = head.label.unwrap_or_default();
    let facts = [("kind", head.kind), ("createdAt", head.created_at)];
    let facts = facts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    session.facts = facts.collect();
    let mut other_lines = 0;
    for (index, line) in lines {
        let line: Map<String, Value> = serde_json::from_str(line).map_err(|error| {
            format!("line {} is damaged at column {}", index + 1, error.column())
        })?;
        match message_of(&line) {
            Some((role, text)) => {
                let id = line.get("id").and_then(Value::as_str).unwrap_or_default();
                session.add(role, text, id);
            }
            None => other_lines += 1,
        }
    }
    Ok((session, other_lines))
}

fn message_of(line: &Map<String, Value>) -> Option<(Role, &str)> {
    let role = match line.get("role")?.as_str()? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return None,
    };
    Some((role, line.get("content")?.as_str()?))
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
