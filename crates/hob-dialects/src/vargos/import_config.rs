//! The settings that Vargos stored: models with their keys, and scheduled tasks, in `config.json` or as
//! files.
//!
//! Invariant: settings that hob has no place for are told by name.

use crate::import_builder::{PlanBuilder, SourceJob};
use crate::import_folder::{SourceFileError, SourceFolder, has_ending};
use crate::import_formats::split_front_matter;
use crate::import_notes::{NO_CHANNELS, NO_MCP, damage};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const TASK_FILE_BYTES_MAX: u64 = 256 * 1024;
/// Tasks run by this zone.
const ZONE: &str = "UTC";
/// The id of the built-in task that asks for news.
const HEARTBEAT: &str = "heartbeat";
pub(super) const HEARTBEAT_REASON: &str =
    "hob has a heartbeat of its own: put the list into HEARTBEAT.md of hob's home";

/// Reads `config.json`.
pub(super) fn read_config_text(text: &str, builder: &mut PlanBuilder) {
    match serde_json::from_str::<VargosConfig>(text) {
        Ok(config) => read_config(config, builder),
        Err(error) => builder.skip("config.json", damage(&error)),
    }
}

/// `config.json`. Sections of other forms than the known ones are damage.
#[derive(Debug, Default, Deserialize)]
struct VargosConfig {
    #[serde(default)]
    models: BTreeMap<String, ModelSection>,
    #[serde(default)]
    agent: AgentSection,
    #[serde(default)]
    cron: CronSection,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// A named model. Without a name it is the older form of `agent`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelSection {
    #[serde(default)]
    provider: String,
    #[serde(default)]
    model: String,
    #[serde(default)]
    api_key: Option<String>,
    #[serde(default)]
    base_url: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct AgentSection {
    #[serde(default)]
    primary: Option<String>,
    #[serde(default)]
    fallback: Option<String>,
    #[serde(flatten)]
    inline: ModelSection,
}

#[derive(Debug, Default, Deserialize)]
struct CronSection {
    #[serde(default)]
    tasks: Vec<TaskSection>,
}

#[derive(Debug, Default, Deserialize)]
struct TaskSection {
    #[serde(default)]
    id: String,
    name: String,
    schedule: String,
    task: String,
    #[serde(default)]
    description: String,
    #[serde(default = "enabled")]
    enabled: bool,
    #[serde(default)]
    notify: Vec<String>,
}

fn enabled() -> bool {
    true
}

fn read_config(config: VargosConfig, builder: &mut PlanBuilder) {
    let primary = config.agent.primary.as_deref();
    for (name, model) in &config.models {
        let found_in = format!("config.json, models.{name}");
        read_model(model, &found_in, primary == Some(name), builder);
    }
    if !config.agent.inline.provider.is_empty() {
        read_model(
            &config.agent.inline,
            "config.json, agent",
            primary.is_none(),
            builder,
        );
    }
    if let Some(name) = &config.agent.fallback {
        let reason = "set it yourself: hob model set default FIRST SECOND";
        builder.skip(format!("the fallback model {name}"), reason);
    }
    for task in config.cron.tasks {
        add_task(task, builder);
    }
    for name in config.others.keys() {
        let reason = match name.as_str() {
            "channels" => NO_CHANNELS,
            "heartbeat" => HEARTBEAT_REASON,
            "mcpServers" => NO_MCP,
            "webhooks" => "add it anew: hob cron add NAME --webhook; its token is hob's own",
            "compaction" | "gateway" | "mcp" | "paths" | "storage" => {
                "hob has settings of its own for that (hob config show)"
            }
            _ => "hob does not know this section",
        };
        builder.skip(format!("config.json: {name}"), reason);
    }
}

fn read_model(model: &ModelSection, found_in: &str, is_default: bool, builder: &mut PlanBuilder) {
    let own_address = model
        .base_url
        .as_deref()
        .filter(|url| !url.trim().is_empty());
    if let Some(url) = own_address {
        // A key must not go to another server than the one it was meant for.
        let reason = format!(
            "it has an address of its own ({url}); add it with hob model add {}",
            model.provider
        );
        return builder.skip(format!("{found_in} and its key"), reason);
    }
    if let Some(key) = &model.api_key {
        builder.add_key(&model.provider, key, found_in);
    }
    if is_default {
        builder.set_default_model(&model.provider, &model.model);
    }
}

/// Reads `cron/*.md`: the settings in front, then the task.
pub(super) fn read_task_files(folder: &SourceFolder, builder: &mut PlanBuilder) {
    let listing = match folder.list("cron") {
        Ok(listing) => listing,
        Err(SourceFileError::Missing) => return,
        Err(error) => return builder.skip("cron", error.reason()),
    };
    for entry in listing.entries {
        let name = format!("cron/{}", entry.name);
        if !has_ending(&entry.name, "md") {
            builder.skip(name, "it is no task file");
            continue;
        }
        match folder.read_text(&name, TASK_FILE_BYTES_MAX) {
            Ok(text) => read_task_file(&name, &text, builder),
            Err(error) => builder.skip(name, error.reason()),
        }
    }
    if listing.is_cut {
        builder.skip("more files of cron", "there are too many to look at");
    }
}

fn read_task_file(name: &str, text: &str, builder: &mut PlanBuilder) {
    let Some((front, task)) = split_front_matter(text) else {
        return builder.skip(name, "it has no settings between lines of ---");
    };
    let Some(schedule) = front.text("schedule") else {
        return builder.skip(name, "it has no schedule");
    };
    if let Some(lines) = front.unread() {
        builder.skip(
            format!("{name}: lines {lines} of its settings"),
            "they are not understood",
        );
    }
    let file = name.trim_start_matches("cron/").trim_end_matches(".md");
    let hours = front.text("activeHours");
    let active_hours = hours.and_then(active_hours);
    if let (Some(hours), None) = (hours, &active_hours) {
        builder.skip(
            format!("{name}: activeHours {hours}"),
            "it is not understood",
        );
    }
    let zone = front.text("activeHoursTimezone").unwrap_or(ZONE);
    // A job of hob has one zone for its times and its hours.
    let has_other_zone = active_hours.is_some() && zone != ZONE;
    if has_other_zone {
        let what = format!("{name}: activeHours in {zone}");
        builder.skip(
            what,
            format!("its times are in {ZONE}; set hours with hob cron update"),
        );
    }
    let active_hours = active_hours.filter(|_| !has_other_zone);
    let task = TaskSection {
        id: front.text("id").unwrap_or(file).to_owned(),
        name: front.text("name").unwrap_or(file).to_owned(),
        schedule: schedule.to_owned(),
        task: task.to_owned(),
        description: front.text("description").unwrap_or_default().to_owned(),
        enabled: front.text("enabled") != Some("false"),
        notify: Vec::new(),
    };
    if front.text("notify").is_some_and(|notify| notify != "[]") {
        builder.skip(format!("{name}: notify"), NO_CHANNELS);
    }
    add_task_with_hours(task, active_hours, builder);
}

/// `[8, 22]` as `08:00-22:00`.
pub(super) fn active_hours(text: &str) -> Option<String> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let (from, to) = inner.split_once(',')?;
    let (from, to): (u8, u8) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
    (from < 24 && to <= 24 && from != to).then(|| format!("{from:02}:00-{to:02}:00"))
}

fn add_task(task: TaskSection, builder: &mut PlanBuilder) {
    if !task.notify.is_empty() {
        builder.skip(format!("job {}: notify", task.name), NO_CHANNELS);
    }
    add_task_with_hours(task, None, builder);
}

fn add_task_with_hours(task: TaskSection, active_hours: Option<String>, builder: &mut PlanBuilder) {
    if task.id == HEARTBEAT {
        return builder.skip(format!("job {}", task.name), HEARTBEAT_REASON);
    }
    if task.task.contains("${") {
        let what = format!("job {}: names such as ${{DATA_DIR}} in its task", task.name);
        builder.skip(
            what,
            "hob does not replace them; change the task: hob cron update",
        );
    }
    builder.add_job(SourceJob {
        id: task.id,
        name: task.name,
        schedule: task.schedule,
        zone: Some(ZONE.to_owned()),
        task: task.task,
        description: task.description,
        active_hours,
        enabled: task.enabled,
    });
}
