//! Reads a saved Loop Runner: `state.json` is what `GET /api/state` answered, `history.json` what
//! `GET /api/history` did. Loop Runner itself keeps nothing on disk, so a person saves them.
//!
//! Invariant: the loop comes with its memories and without a grant, and is not started.

use super::types::{LoopRunnerIteration, LoopRunnerMonitor};
use crate::import_builder::{PlanBuilder, SessionDraft};
use crate::import_folder::SourceFolder;
use crate::import_notes::{damage, read_settings_file, skip_unknown};
use crate::import_plan::ImportedLoop;
use crate::importer::{Importer, SourcePlace};
use hob_core::loop_machine::{check_config, merge_config};
use hob_wire::loop_config::{
    INTERVAL_MS_MAX, INTERVAL_MS_MIN, LOOP_TEXT_BYTES_MAX, LoopChange, LoopConfig, MonitorConfig,
};
use hob_wire::{NetworkGrant, Role};
use serde::Deserialize;
use serde_json::Value;

pub(crate) const IMPORTER: Importer = Importer {
    places: &[SourcePlace::WorkingFolder("looprunner")],
    advice: "it keeps nothing on disk, so save it while it runs (mkdir looprunner; curl -o looprunner/state.json http://localhost:3456/api/state; curl -o looprunner/history.json http://localhost:3456/api/history), then name that folder",
    ..Importer::new(super::SURFACE, "Loop Runner", read)
};

const STATE_FILE: &str = "state.json";
const HISTORY_FILE: &str = "history.json";
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// hob's name of the loop, and the key of the session with its history.
const LOOP_NAME: &str = super::SURFACE;
const HISTORY_KEY: &str = "history";

/// What a saved state may hold: `{state, config}`, or a config alone.
#[derive(Debug, Default, Deserialize)]
struct SavedState {
    #[serde(default)]
    state: SavedProgress,
    #[serde(default)]
    config: Option<SavedConfig>,
}

#[derive(Debug, Default, Deserialize)]
struct SavedProgress {
    #[serde(default)]
    history: Vec<LoopRunnerIteration>,
}

/// The settings. The model is read as it is, because an older form may be a text.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedConfig {
    #[serde(default)]
    model: Value,
    #[serde(default)]
    system: String,
    #[serde(default)]
    user: String,
    #[serde(default)]
    working: String,
    #[serde(default)]
    persistent: String,
    #[serde(default)]
    monitor: Option<LoopRunnerMonitor>,
    #[serde(default)]
    interval: Option<u64>,
    #[serde(default)]
    max_iterations: Option<u32>,
}

fn read(folder: &SourceFolder, builder: &mut PlanBuilder) {
    let saved = saved_state(folder, builder);
    let mut history = saved.state.history;
    if let Some(text) = read_settings_file(folder, HISTORY_FILE, FILE_BYTES_MAX, builder) {
        match serde_json::from_str::<Vec<LoopRunnerIteration>>(&text) {
            // The same list, if both were saved; the longer one was saved later.
            Ok(listed) if listed.len() >= history.len() => history = listed,
            Ok(_) => {}
            Err(error) => builder.skip(HISTORY_FILE, damage(&error)),
        }
    }
    add_history(&history, builder);
    if let Some(config) = saved.config {
        add_loop(config, builder);
    }
    skip_unknown(folder, &[STATE_FILE, HISTORY_FILE], builder);
}

fn saved_state(folder: &SourceFolder, builder: &mut PlanBuilder) -> SavedState {
    let text = read_settings_file(folder, STATE_FILE, FILE_BYTES_MAX, builder);
    let Some(text) = text else {
        if !folder.has(STATE_FILE) {
            builder.skip(
                STATE_FILE,
                "it does not exist; it is the answer of GET /api/state",
            );
        }
        return SavedState::default();
    };
    match serde_json::from_str(&text) {
        Ok(saved) => saved,
        Err(error) => {
            builder.skip(STATE_FILE, damage(&error));
            SavedState::default()
        }
    }
}

/// The iterations as one session.
fn add_history(history: &[LoopRunnerIteration], builder: &mut PlanBuilder) {
    if history.is_empty() {
        return;
    }
    let mut session = SessionDraft::new(HISTORY_KEY);
    "Iterations of Loop Runner".clone_into(&mut session.label);
    for entry in history {
        // Numbers repeat after each start there; the time tells iterations apart.
        let id = format!("{}@{}", entry.iteration, entry.timestamp);
        session.add(Role::User, &entry.prompt, &id);
        session.add(Role::Assistant, &entry.response, &id);
    }
    builder.add_session(session);
}

fn add_loop(saved: SavedConfig, builder: &mut PlanBuilder) {
    let what = format!("loop {LOOP_NAME}");
    let model = model_of(&saved.model);
    if model.is_none() && !saved.model.is_null() {
        builder.skip(
            format!("{what}: its model"),
            "it is not {providerID, modelID}",
        );
    }
    let interval = saved
        .interval
        .map(|ms| ms.clamp(INTERVAL_MS_MIN, INTERVAL_MS_MAX));
    if interval != saved.interval {
        let bounds = format!("hob's loops pause {INTERVAL_MS_MIN} to {INTERVAL_MS_MAX} ms");
        builder.skip(format!("{what}: its interval as it was"), bounds);
    }
    let monitor = saved
        .monitor
        .filter(|monitor| !monitor.command.trim().is_empty());
    let config = LoopChange {
        model: model.map(Some),
        system: Some(saved.system),
        user: Some(saved.user),
        interval_ms: interval,
        max_iterations: saved.max_iterations,
        monitor: monitor.map(|monitor| {
            Some(MonitorConfig {
                command: monitor.command,
                interval_ms: monitor
                    .interval
                    .map(|ms| ms.clamp(INTERVAL_MS_MIN, INTERVAL_MS_MAX)),
                network: NetworkGrant::default(),
                timeout_ms: None,
            })
        }),
        ..LoopChange::default()
    };
    if let Err(reason) = check(&config) {
        return builder.skip(what, reason);
    }
    let mut memory = |name: &str, text: String| {
        if text.len() <= LOOP_TEXT_BYTES_MAX {
            return text;
        }
        let reason = format!(
            "it has {} bytes; at most {LOOP_TEXT_BYTES_MAX} are taken",
            text.len()
        );
        builder.skip(format!("{what}: its {name} memory"), reason);
        String::new()
    };
    let imported = ImportedLoop {
        name: LOOP_NAME.to_owned(),
        persistent: memory("persistent", saved.persistent),
        working: memory("working", saved.working),
        config,
    };
    builder.add_loop(imported);
}

fn check(change: &LoopChange) -> Result<(), String> {
    check_config(&merge_config(&LoopConfig::default(), change.clone()))
}

fn model_of(model: &Value) -> Option<String> {
    let part = |name: &str| model.get(name)?.as_str().filter(|text| !text.is_empty());
    let provider = match part("providerID")? {
        "google" => "gemini",
        provider => provider,
    };
    Some(format!("{provider}/{}", part("modelID")?))
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
