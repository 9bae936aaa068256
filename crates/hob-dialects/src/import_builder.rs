//! Collects the plan of an import. Each reader fills a [`PlanBuilder`]. Pure.
//!
//! Invariants: the same source gives the same keys and names, so that a repeated import finds what is
//! there; what is not imported is named with its reason; the number of things and their size are
//! bounded.

use crate::import_names::{digest, hob_name, plain_line, provider_name, session_key, shorten};
use crate::import_plan::{
    ImportPlan, ImportedJob, ImportedKey, ImportedLoop, ImportedMessage, ImportedPersona,
    ImportedSession, ImportedSetting, SkippedItem,
};
use hob_core::onboarding::check_key;
use hob_core::schedule::Calendar;
use hob_kit::secret::Secret;
use hob_wire::Role;
use hob_wire::limits::{MESSAGE_BYTES_MAX, NAME_BYTES_MAX};
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap};

/// Sessions of one import.
pub const SESSIONS_MAX: usize = 10_000;
/// Bytes of all messages of one import. They are held in memory.
pub const MESSAGES_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Jobs of one import.
pub const JOBS_MAX: usize = 500;
/// Things that are named as not imported; the others are counted.
const SKIPPED_MAX: usize = 500;
/// Bytes of a reason or a name in the plan.
const TEXT_BYTES_MAX: usize = 400;
/// The longest label of a session.
const LABEL_BYTES_MAX: usize = 200;
/// The largest persona file.
pub const PERSONA_BYTES_MAX: u64 = 32 * 1024;

/// Collects a plan. Each reader fills one.
#[derive(Debug)]
pub struct PlanBuilder {
    plan: ImportPlan,
    bytes: usize,
    session_keys: BTreeSet<String>,
    job_names: BTreeSet<String>,
}

/// A job as the source has it.
#[derive(Clone, Debug, Default)]
pub struct SourceJob {
    /// What identifies it in the source: its id or name.
    pub id: String,
    pub name: String,
    pub schedule: String,
    pub zone: Option<String>,
    pub task: String,
    pub description: String,
    /// Such as `08:00-22:00`.
    pub active_hours: Option<String>,
    pub enabled: bool,
}

impl PlanBuilder {
    pub fn new(from: &'static str, system: &'static str, folder: String) -> PlanBuilder {
        PlanBuilder {
            plan: ImportPlan {
                from,
                system,
                folder,
                sessions: Vec::new(),
                jobs: Vec::new(),
                loops: Vec::new(),
                settings: Vec::new(),
                default_model: None,
                keys: Vec::new(),
                persona: None,
                skipped: Vec::new(),
                more_skipped: 0,
            },
            bytes: 0,
            session_keys: BTreeSet::new(),
            job_names: BTreeSet::new(),
        }
    }

    pub fn build(self) -> ImportPlan {
        self.plan
    }

    /// Names something that is not imported.
    pub fn skip(&mut self, what: impl Into<String>, reason: impl Into<String>) {
        if self.plan.skipped.len() >= SKIPPED_MAX {
            self.plan.more_skipped += 1;
            return;
        }
        self.plan.skipped.push(SkippedItem {
            what: shorten(what.into(), TEXT_BYTES_MAX),
            reason: shorten(reason.into(), TEXT_BYTES_MAX),
        });
    }

    /// Adds a session, if there is room for it. One without messages is left out.
    pub fn add_session(&mut self, session: SessionDraft) {
        let what = format!("session {}", session.source_key);
        if self.plan.sessions.len() >= SESSIONS_MAX {
            return self.skip(
                what,
                format!("an import has at most {SESSIONS_MAX} sessions"),
            );
        }
        if self.bytes + session.bytes > MESSAGES_BYTES_MAX {
            let reason = format!(
                "the messages of an import have at most {MESSAGES_BYTES_MAX} bytes together"
            );
            return self.skip(what, reason);
        }
        if session.messages.is_empty() {
            return self.skip(what, "it has no messages");
        }
        let session_key = session_key(self.plan.from, &session.source_key);
        if !self.session_keys.insert(session_key.clone()) {
            return self.skip(what, "another file has a session with the same key");
        }
        if session.cut > 0 {
            let reason = format!(
                "they are longer than {MESSAGE_BYTES_MAX} bytes; their beginnings are imported"
            );
            self.skip(
                format!("{what}: the rest of {} messages", session.cut),
                reason,
            );
        }
        self.bytes += session.bytes;
        let label = match session.label.trim() {
            "" => session.source_key.as_str(),
            label => label,
        };
        let mut origin = Map::new();
        origin.insert("system".to_owned(), json!(self.plan.from));
        origin.insert(
            "key".to_owned(),
            json!(shorten(session.source_key.clone(), TEXT_BYTES_MAX)),
        );
        for (name, value) in &session.facts {
            origin.insert(
                (*name).to_owned(),
                json!(shorten(value.clone(), TEXT_BYTES_MAX)),
            );
        }
        self.plan.sessions.push(ImportedSession {
            session_key,
            label: plain_line(label, LABEL_BYTES_MAX),
            // Below one name: what the source says of itself must not pass for hob's own metadata.
            metadata: Map::from_iter([("imported".to_owned(), Value::Object(origin))]),
            messages: session.messages,
        });
    }

    /// Adds a job, if hob understands its schedule.
    pub fn add_job(&mut self, job: SourceJob) {
        let what = format!("job {}", job.name);
        if self.plan.jobs.len() >= JOBS_MAX {
            return self.skip(what, format!("an import has at most {JOBS_MAX} jobs"));
        }
        if job.task.trim().is_empty() {
            return self.skip(what, "it has no task");
        }
        let zone = match zone_of(job.zone.as_deref()) {
            Ok(zone) => zone,
            Err(reason) => return self.skip(what, reason),
        };
        let schedule = job.schedule.trim().to_owned();
        let parsed = Calendar::parse(&schedule, zone, 0);
        match parsed {
            Ok(calendar) if calendar.is_webhook() || calendar.once_ms().is_some() => {
                return self.skip(what, format!("'{schedule}' is no repeated schedule"));
            }
            Ok(_) => {}
            Err(reason) => return self.skip(what, reason),
        }
        let name = self.job_name(&job);
        if !self.job_names.insert(name.clone()) {
            return self.skip(what, "another job has the same name and task");
        }
        self.plan.jobs.push(ImportedJob {
            name,
            schedule,
            zone: job.zone.filter(|zone| !zone.trim().is_empty()),
            task: job.task,
            description: plain_line(&job.description, TEXT_BYTES_MAX),
            active_hours: job.active_hours,
            was_enabled: job.enabled,
        });
    }

    /// `SYSTEM-NAME`, with a mark if the name is taken by another job of the source.
    fn job_name(&self, job: &SourceJob) -> String {
        let name = hob_name(self.plan.from, &job.name);
        if !self.job_names.contains(&name) {
            return name;
        }
        let mark = digest(&[&job.id, &job.schedule, &job.task]);
        format!("{name}-{}", &mark[..6])
    }

    pub fn add_loop(&mut self, imported: ImportedLoop) {
        self.plan.loops.push(imported);
    }

    pub fn add_setting(&mut self, key: &str, value: Value) {
        let key = key.to_owned();
        self.plan.settings.push(ImportedSetting { key, value });
    }

    /// Adds a provider's key, if it looks like one.
    pub fn add_key(&mut self, provider: &str, key: &str, found_in: &str) {
        let provider = provider_name(provider);
        let what = format!("the key of {provider} in {found_in}");
        if key.trim().is_empty() {
            return;
        }
        if key.contains("${") {
            return self.skip(what, "it only names a variable");
        }
        if self
            .plan
            .keys
            .iter()
            .any(|known| known.provider == provider)
        {
            let same = |known: &ImportedKey| {
                known.provider == provider && known.key.expose() == key.trim()
            };
            if !self.plan.keys.iter().any(same) {
                self.skip(what, "another key of this provider was found before it");
            }
            return;
        }
        match check_key(key) {
            Ok(key) => self.plan.keys.push(ImportedKey {
                provider,
                key: Secret::new(key),
                found_in: found_in.to_owned(),
            }),
            // The sentence never repeats the text.
            Err(wrong) => self.skip(what, wrong.sentence()),
        }
    }

    pub fn set_default_model(&mut self, provider: &str, model: &str) {
        let (provider, model) = (provider_name(provider), model.trim());
        if provider.is_empty() || model.is_empty() {
            return;
        }
        let id = format!("{provider}/{model}");
        if id.len() > NAME_BYTES_MAX || id.contains([',', ' ']) || id.chars().any(char::is_control)
        {
            return self.skip("the model", format!("'{id}' is no name of a model"));
        }
        self.plan.default_model = Some(id);
    }

    pub fn set_persona(&mut self, found_in: &str, text: String) {
        if text.trim().is_empty() {
            return;
        }
        self.plan.persona = Some(ImportedPersona {
            found_in: found_in.to_owned(),
            text,
        });
    }
}

/// A session that a reader collects.
#[derive(Clone, Debug, Default)]
pub struct SessionDraft {
    source_key: String,
    pub label: String,
    /// What the source says of it, such as its kind, for the metadata.
    pub facts: Vec<(&'static str, String)>,
    messages: Vec<ImportedMessage>,
    bytes: usize,
    /// Messages that were too long.
    cut: usize,
    /// How often each message occurred.
    seen: HashMap<String, u32>,
}

impl SessionDraft {
    pub fn new(source_key: &str) -> SessionDraft {
        SessionDraft {
            source_key: source_key.to_owned(),
            ..SessionDraft::default()
        }
    }

    /// Adds a message; `id` is the source's, if it has one. What the system said becomes a message of
    /// the user: a session of a file must not speak with hob's own authority. Empty ones are left out.
    pub fn add(&mut self, role: Role, text: &str, id: &str) {
        if text.trim().is_empty() {
            return;
        }
        let mut text = text.to_owned();
        let role = match role {
            Role::Assistant => Role::Assistant,
            Role::User => Role::User,
            Role::System | Role::Tool => {
                text = format!("[{}] {text}", role.as_str());
                Role::User
            }
        };
        if cut_message(&mut text) {
            self.cut += 1;
        }
        // From the content, so that a source that grows or renumbers keeps its keys. Equal messages
        // are told apart by their number.
        let content = digest(&[id, role.as_str(), &text]);
        let number = self.seen.entry(content.clone()).or_insert(0);
        *number += 1;
        let key = format!("import:{content}:{number}");
        self.bytes += text.len();
        self.messages.push(ImportedMessage { role, text, key });
    }

    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

/// Cuts a text that hob would refuse as one message. Returns true if it was cut.
fn cut_message(text: &mut String) -> bool {
    const NOTE: &str = "\n[The rest was too long to be imported.]";
    // As JSON a letter takes six bytes at most, and most take one.
    let json_bytes = |text: &str| serde_json::to_string(text).map_or(usize::MAX, |json| json.len());
    if text.len() < MESSAGE_BYTES_MAX / 6 || json_bytes(text) <= MESSAGE_BYTES_MAX {
        return false;
    }
    while json_bytes(text) + NOTE.len() + 8 > MESSAGE_BYTES_MAX {
        let bytes = text.floor_char_boundary(text.len() / 8 * 7);
        text.truncate(bytes);
    }
    text.push_str(NOTE);
    true
}

fn zone_of(name: Option<&str>) -> Result<TimeZone, String> {
    match name.map(str::trim) {
        None | Some("") => Ok(TimeZone::UTC),
        Some(name) => {
            TimeZone::get(name).map_err(|_| format!("'{name}' is no time zone that is known here"))
        }
    }
}

#[cfg(test)]
#[path = "import_builder_tests.rs"]
mod tests;
