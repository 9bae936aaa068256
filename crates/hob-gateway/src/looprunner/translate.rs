//! Loops in Loop Runner's words, and its words in ours. Pure.
//!
//! Invariants: a change that is refused is refused whole; a model or a monitor that is sent back as
//! it was shown is not chosen anew, so that a page which saves its whole form changes nothing by it.

use hob_wire::looprunner::{
    Config, ConfigChange, HISTORY_MAX, Listed, Model, Monitor, NamedModel, Past, State,
};
use hob_wire::rooms::loops::{
    self, INTERVAL_MS_MAX, INTERVAL_MS_MIN, Iteration, LOOP_TEXT_BYTES_MAX, Loop, LoopChange,
    LoopConfig, LoopState, Memory, MonitorOutput, MonitorView,
};
use hob_wire::rooms::model::{self, Alias};

/// The alias of the house's own choice.
const DEFAULT_ALIAS: &str = "default";

/// A loop before anything of it was set.
pub(crate) fn blank() -> Loop {
    Loop {
        name: String::new(),
        config: LoopConfig::default(),
        state: LoopState::default(),
        persistent: Memory::default(),
        working: Memory::default(),
        created_at: 0,
        updated_at: 0,
    }
}

pub(crate) fn config(of: &Loop, aliases: &[Alias]) -> Config {
    let Loop { config, .. } = of;
    Config {
        model: model(config.model.as_deref(), aliases),
        system: config.system.clone(),
        user: config.user.clone(),
        working: of.working.text.clone(),
        persistent: of.persistent.text.clone(),
        monitor: config.monitor.as_ref().map(monitor),
        interval: config.interval_ms,
        max_iterations: config.max_iterations,
        auto_approve: true,
    }
}

/// What a loop is doing, without its history.
pub(crate) fn state(of: &Loop) -> State {
    let LoopState {
        running,
        iteration,
        session_key,
        last_response,
        monitor,
        ..
    } = &of.state;
    State {
        running: *running,
        iteration: *iteration,
        session_id: session_key.clone(),
        last_output: last_response.clone().unwrap_or_default(),
        monitor_output: monitor.as_ref().map(printed).unwrap_or_default(),
        history: None,
    }
}

pub(crate) fn listed(of: Loop) -> Listed {
    Listed {
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

/// Iterations that were answered, the oldest first; they come the newest first.
pub(crate) fn history(iterations: Vec<Iteration>) -> Vec<Past> {
    let answered = iterations.into_iter().filter(is_answered);
    let answered = answered.filter_map(|one| {
        Some(Past {
            iteration: one.iteration,
            prompt: one.prompt,
            response: one.response?,
            timestamp: one.ended_at.unwrap_or(one.started_at),
        })
    });
    let mut history: Vec<Past> = answered.take(HISTORY_MAX).collect();
    history.reverse();
    history
}

/// Whether an iteration belongs in a history: what was said before a failure or a stop is no answer.
pub(crate) fn is_answered(one: &Iteration) -> bool {
    one.response.is_some() && one.success != Some(false)
}

/// The first model that is asked; Loop Runner's own default where the house has none.
pub(crate) fn model(chosen: Option<&str>, aliases: &[Alias]) -> Model {
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
    split.map_or_else(Model::default, |(provider, model)| Model {
        provider_id: provider.to_owned(),
        model_id: model.to_owned(),
    })
}

pub(crate) fn named(model: model::Model) -> NamedModel {
    // A provider's name has no slash, while the rest may have many.
    let rest = model.id.split_once('/').map(|(_, rest)| rest.to_owned());
    NamedModel {
        model: Model {
            provider_id: model.provider,
            model_id: rest.unwrap_or(model.id),
        },
        name: model.name,
    }
}

/// What a monitor printed, as one text.
pub(crate) fn printed(output: &MonitorOutput) -> String {
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

fn monitor(of: &MonitorView) -> Monitor {
    Monitor {
        command: of.command.clone(),
        interval: of.interval_ms,
    }
}

/// A change in our words.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Change {
    pub(crate) settings: LoopChange,
    /// Only where it is another text.
    pub(crate) working: Option<String>,
    pub(crate) persistent: Option<String>,
}

/// Reads a change of the loop `of`, or says what is wrong with it.
pub(crate) fn change(asked: ConfigChange, of: &Loop, aliases: &[Alias]) -> Result<Change, String> {
    let shown = config(of, aliases);
    for (field, text) in [
        ("system", &asked.system),
        ("user", &asked.user),
        ("working", &asked.working),
        ("persistent", &asked.persistent),
    ] {
        check_text(field, text.as_deref().unwrap_or_default())?;
    }
    if let Some(interval) = asked.interval {
        check_interval("interval", interval)?;
    }
    let settings = LoopChange {
        model: match asked.model {
            Some(model) if model != shown.model => Some(Some(model_id(&model)?)),
            _ => None,
        },
        system: asked.system,
        user: asked.user,
        interval_ms: asked.interval,
        max_iterations: asked.max_iterations,
        monitor: match asked.monitor {
            Some(monitor) if monitor != shown.monitor => Some(monitor_change(monitor, of)?),
            _ => None,
        },
        ..LoopChange::default()
    };
    Ok(Change {
        settings,
        working: asked.working.filter(|text| *text != shown.working),
        persistent: asked.persistent.filter(|text| *text != shown.persistent),
    })
}

/// Refuses what no memory or prompt can hold.
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

fn model_id(model: &Model) -> Result<String, String> {
    let Model {
        provider_id,
        model_id,
    } = model;
    if provider_id.is_empty() || model_id.is_empty() || provider_id.contains('/') {
        return Err(
            "'model' needs a 'providerID' without slashes and a 'modelID'; GET /api/models lists them."
                .to_owned(),
        );
    }
    Ok(format!("{provider_id}/{model_id}"))
}

/// An empty command is none: a form has no other way to take it away.
fn monitor_change(asked: Option<Monitor>, of: &Loop) -> Result<Option<loops::Monitor>, String> {
    let Some(asked) = asked.filter(|asked| !asked.command.trim().is_empty()) else {
        return Ok(None);
    };
    check_text("monitor.command", &asked.command)?;
    if let Some(interval) = asked.interval {
        check_interval("monitor.interval", interval)?;
    }
    // What was granted was granted to those bytes.
    let held = of.config.monitor.as_ref();
    let held = held.filter(|held| held.command == asked.command);
    Ok(Some(loops::Monitor {
        network: held.map(|held| held.network).unwrap_or_default(),
        timeout_ms: held.and_then(|held| held.timeout_ms),
        command: asked.command,
        interval_ms: asked.interval,
    }))
}

#[cfg(test)]
#[path = "translate_tests.rs"]
mod tests;
