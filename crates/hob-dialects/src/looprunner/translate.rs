//! Translates loops to Loop Runner's format and back. Pure.
//!
//! Invariants: a change is refused as a whole. A model or monitor that is sent back unchanged is
//! not set, so a page that saves its whole form does not change them.

use crate::looprunner::types::{
    DEFAULT_SYSTEM, DEFAULT_USER, HISTORY_MAX, LoopRunnerConfig, LoopRunnerConfigChange,
    LoopRunnerIteration, LoopRunnerModel, LoopRunnerMonitor, LoopRunnerNamedModel, LoopRunnerSetup,
    LoopRunnerState, LoopRunnerSummary,
};
use hob_wire::rooms::loops::{
    self, DEFAULT_LOOP, INTERVAL_MS_MAX, INTERVAL_MS_MIN, IterationRecord, LOOP_TEXT_BYTES_MAX,
    Loop, LoopChange, LoopConfig, LoopMemory, LoopState, MonitorConfigView, MonitorOutput,
};
use hob_wire::rooms::model::{self, ModelAlias};
use serde_json::{Map, Value, json};

/// The key of [`LoopRunnerSetup`] in a loop's metadata.
const METADATA_KEY: &str = "looprunner";
/// The alias of hob's default model.
const DEFAULT_ALIAS: &str = "default";

/// A loop with default settings.
pub(crate) fn blank_loop() -> Loop {
    Loop {
        name: String::new(),
        config: LoopConfig::default(),
        state: LoopState::default(),
        persistent: LoopMemory::default(),
        working: LoopMemory::default(),
        created_at: 0,
        updated_at: 0,
    }
}

pub(crate) fn config(of: &Loop, aliases: &[ModelAlias]) -> LoopRunnerConfig {
    let Loop { config, .. } = of;
    let (system, user) = if is_blank(of) {
        (DEFAULT_SYSTEM, DEFAULT_USER)
    } else {
        (config.system.as_str(), config.user.as_str())
    };
    LoopRunnerConfig {
        model: model(config.model.as_deref(), aliases),
        system: system.to_owned(),
        user: user.to_owned(),
        working: of.working.text.clone(),
        persistent: of.persistent.text.clone(),
        monitor: config.monitor.as_ref().map(monitor),
        interval: config.interval_ms,
        max_iterations: config.max_iterations,
        auto_approve: setup(of).unwrap_or_default().auto_approve,
    }
}

/// Returns true for the default loop before anybody has set it up or run it. Its shown texts are
/// Loop Runner's kind of defaults; the first change of its settings makes them its own.
fn is_blank(of: &Loop) -> bool {
    let texts = [&of.config.system, &of.config.user];
    let is_set_up = setup(of).is_some() || texts.iter().any(|text| !text.is_empty());
    of.name == DEFAULT_LOOP && !is_set_up && of.state.iteration == 0
}

/// Returns what this surface keeps with a loop. An entry that cannot be read counts as the default.
fn setup(of: &Loop) -> Option<LoopRunnerSetup> {
    let entry = of.config.metadata.get(METADATA_KEY)?;
    Some(serde_json::from_value(entry.clone()).unwrap_or_default())
}

/// The metadata that stores a setup; nothing if it stays as it is shown.
fn setup_change(of: &Loop, auto_approve: Option<bool>) -> Map<String, Value> {
    let shown = setup(of).unwrap_or_default();
    let auto_approve = auto_approve.unwrap_or(shown.auto_approve);
    if auto_approve == shown.auto_approve && !is_blank(of) {
        return Map::new();
    }
    let entry = json!(LoopRunnerSetup { auto_approve });
    Map::from_iter([(METADATA_KEY.to_owned(), entry)])
}

/// The state of a loop, without its history.
pub(crate) fn state(of: &Loop) -> LoopRunnerState {
    let LoopState {
        running,
        iteration,
        session_key,
        last_response,
        monitor,
        ..
    } = &of.state;
    LoopRunnerState {
        running: *running,
        iteration: *iteration,
        session_id: session_key.clone(),
        last_output: last_response.clone().unwrap_or_default(),
        monitor_output: monitor.as_ref().map(monitor_text).unwrap_or_default(),
        history: None,
    }
}

pub(crate) fn listed_loop(of: Loop) -> LoopRunnerSummary {
    LoopRunnerSummary {
        id: of.name,
        running: of.state.running,
        iteration: of.state.iteration,
        user: of.config.user,
        interval: of.config.interval_ms,
        max_iterations: of.config.max_iterations,
        created_at: of.created_at,
        updated_at: of.updated_at,
    }
}

/// Keeps the answered iterations. The input is newest first, the output oldest first.
pub(crate) fn history(iterations: Vec<IterationRecord>) -> Vec<LoopRunnerIteration> {
    let answered = iterations.into_iter().filter(is_answered);
    let answered = answered.filter_map(|one| {
        Some(LoopRunnerIteration {
            iteration: one.iteration,
            prompt: one.prompt,
            response: one.response?,
            timestamp: one.ended_at.unwrap_or(one.started_at),
        })
    });
    let mut history: Vec<LoopRunnerIteration> = answered.take(HISTORY_MAX).collect();
    history.reverse();
    history
}

/// Returns true if an iteration belongs in the history. Text before a failure or a stop is no
/// answer.
pub(crate) fn is_answered(one: &IterationRecord) -> bool {
    one.response.is_some() && one.success != Some(false)
}

/// The first model of the chosen one or its alias; Loop Runner's default if hob has none.
pub(crate) fn model(chosen: Option<&str>, aliases: &[ModelAlias]) -> LoopRunnerModel {
    let of_alias = |wanted: &str| {
        let found = aliases.iter().find(|alias| alias.alias == wanted);
        found.and_then(|alias| alias.models.first())
    };
    let chosen = chosen.unwrap_or(DEFAULT_ALIAS);
    let id = if chosen.contains('/') {
        Some(chosen)
    } else {
        let found = of_alias(chosen).or_else(|| of_alias(DEFAULT_ALIAS));
        found.map(String::as_str)
    };
    let split = id.and_then(|id| id.split_once('/'));
    split.map_or_else(LoopRunnerModel::default, |(provider, model)| {
        LoopRunnerModel {
            provider_id: provider.to_owned(),
            model_id: model.to_owned(),
        }
    })
}

pub(crate) fn named_model(model: model::ModelInfo) -> LoopRunnerNamedModel {
    // A provider's name has no slash; the model's own name may have several.
    let rest = model.id.split_once('/').map(|(_, rest)| rest.to_owned());
    LoopRunnerNamedModel {
        model: LoopRunnerModel {
            provider_id: model.provider,
            model_id: rest.unwrap_or(model.id),
        },
        name: model.name,
    }
}

/// The output of a monitor as one text.
pub(crate) fn monitor_text(output: &MonitorOutput) -> String {
    let mut text = output.stdout.clone();
    for (mark, more) in [
        ("stderr", output.stderr.as_str()),
        ("error", output.problem.as_deref().unwrap_or_default()),
    ] {
        if !more.is_empty() {
            text.extend(["\n[", mark, "]\n", more]);
        }
    }
    text
}

fn monitor(of: &MonitorConfigView) -> LoopRunnerMonitor {
    LoopRunnerMonitor {
        command: of.command.clone(),
        interval: of.interval_ms,
    }
}

/// A change in hob's terms.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LoopRunnerChange {
    pub(crate) settings: LoopChange,
    /// The new working memory, if it differs.
    pub(crate) working: Option<String>,
    pub(crate) persistent: Option<String>,
}

/// Parses a change of the loop `of`, or returns the reason why it is invalid. `chosen` is the model
/// that `model_choice` found for the requested one.
pub(crate) fn parse_change(
    requested: LoopRunnerConfigChange,
    chosen: Option<String>,
    of: &Loop,
    aliases: &[ModelAlias],
) -> Result<LoopRunnerChange, String> {
    let shown = config(of, aliases);
    for (field, text) in [
        ("system", &requested.system),
        ("user", &requested.user),
        ("working", &requested.working),
        ("persistent", &requested.persistent),
    ] {
        check_text(field, text.as_deref().unwrap_or_default())?;
    }
    if let Some(interval) = requested.interval {
        check_interval("interval", interval)?;
    }
    let metadata = setup_change(of, requested.auto_approve);
    // The shown texts become the loop's own with its first change.
    let adopted = |text: &String| is_blank(of).then(|| text.clone());
    let settings = LoopChange {
        model: chosen.map(Some),
        system: requested.system.or_else(|| adopted(&shown.system)),
        user: requested.user.or_else(|| adopted(&shown.user)),
        metadata,
        interval_ms: requested.interval,
        max_iterations: requested.max_iterations,
        monitor: match requested.monitor {
            Some(monitor) if monitor != shown.monitor => Some(monitor_change(monitor, of)?),
            _ => None,
        },
        ..LoopChange::default()
    };
    Ok(LoopRunnerChange {
        settings,
        working: requested.working.filter(|text| *text != shown.working),
        persistent: requested
            .persistent
            .filter(|text| *text != shown.persistent),
    })
}

/// Refuses a text that is too long for a memory or prompt.
pub(crate) fn check_text(field: &str, text: &str) -> Result<(), String> {
    if text.len() <= LOOP_TEXT_BYTES_MAX {
        return Ok(());
    }
    Err(format!(
        "'{field}' has {} bytes; at most {LOOP_TEXT_BYTES_MAX} are taken.",
        text.len()
    ))
}

fn check_interval(field: &str, ms: u64) -> Result<(), String> {
    if (INTERVAL_MS_MIN..=INTERVAL_MS_MAX).contains(&ms) {
        return Ok(());
    }
    Err(format!(
        "'{field}' is {ms} ms; it must be from {INTERVAL_MS_MIN} to {INTERVAL_MS_MAX}."
    ))
}

/// Parses a monitor. An empty command removes it, because a form has no other way to do so.
fn monitor_change(
    requested: Option<LoopRunnerMonitor>,
    of: &Loop,
) -> Result<Option<loops::MonitorConfig>, String> {
    let Some(requested) = requested.filter(|requested| !requested.command.trim().is_empty()) else {
        return Ok(None);
    };
    check_text("monitor.command", &requested.command)?;
    if let Some(interval) = requested.interval {
        check_interval("monitor.interval", interval)?;
    }
    // Network access was granted for exactly this command, so a new command does not inherit it.
    let held = of.config.monitor.as_ref();
    let held = held.filter(|held| held.command == requested.command);
    Ok(Some(loops::MonitorConfig {
        network: held.map(|held| held.network).unwrap_or_default(),
        timeout_ms: held.and_then(|held| held.timeout_ms),
        command: requested.command,
        interval_ms: requested.interval,
    }))
}

#[cfg(test)]
#[path = "translate_tests.rs"]
mod tests;
