//! The settings of a loop: merging a change, and validation.

use super::types::{LoopPolicy, MonitorSchedule};
use hob_wire::limits::{METADATA_BYTES_MAX, SESSION_KEY_BYTES_MAX};
use hob_wire::loop_config::{
    INTERVAL_MS_MAX, INTERVAL_MS_MIN, LOOP_NAME_BYTES_MAX, LOOP_TEXT_BYTES_MAX, LoopChange,
    LoopConfig,
};

/// The most tools a loop may name.
const TOOLS_MAX: usize = 256;

/// Checks a name: lower-case letters, digits and dashes.
pub fn check_name(name: &str) -> Result<(), String> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    // A leading dash would look like a command-line option.
    let is_edge = |byte: Option<u8>| byte == Some(b'-');
    let bytes = name.as_bytes();
    if bytes.is_empty()
        || bytes.len() > LOOP_NAME_BYTES_MAX
        || !name.bytes().all(allowed)
        || is_edge(bytes.first().copied())
        || is_edge(bytes.last().copied())
    {
        return Err(format!(
            "A name is 1 to {LOOP_NAME_BYTES_MAX} lower-case letters, digits and dashes, with a letter or digit at both ends; '{}' is not.",
            name.chars().take(LOOP_NAME_BYTES_MAX).collect::<String>()
        ));
    }
    Ok(())
}

/// Returns the settings after a change.
pub fn merge_config(config: &LoopConfig, change: LoopChange) -> LoopConfig {
    let mut new = config.clone();
    if let Some(model) = change.model {
        new.model = model;
    }
    if let Some(system) = change.system {
        new.system = system;
    }
    if let Some(user) = change.user {
        new.user = user;
    }
    if let Some(interval_ms) = change.interval_ms {
        new.interval_ms = interval_ms;
    }
    if let Some(max_iterations) = change.max_iterations {
        new.max_iterations = max_iterations;
    }
    if let Some(monitor) = change.monitor {
        new.monitor = monitor.map(Into::into);
    }
    if let Some(budget) = change.budget {
        new.budget = budget.into();
    }
    if let Some(money) = change.total_micro_dollars {
        new.total_micro_dollars = money;
    }
    if let Some(grants) = change.grants {
        new.grants = grants.into_iter().map(Into::into).collect();
    }
    if let Some(backoff) = change.backoff {
        new.backoff = backoff.into();
    }
    if let Some(notify) = change.notify {
        new.notify = notify.map(Into::into);
    }
    if let Some(workspace) = change.workspace {
        new.workspace = workspace;
    }
    if let Some(tools) = change.tools {
        new.tools = tools;
    }
    for (name, value) in change.metadata {
        if value.is_null() {
            new.metadata.remove(&name);
        } else {
            new.metadata.insert(name, value);
        }
    }
    new
}

/// Validates settings; the error is a sentence for a person.
pub fn check_config(config: &LoopConfig) -> Result<(), String> {
    check_interval("The interval", config.interval_ms)?;
    for (what, text) in [
        ("The system prompt", &config.system),
        ("The prompt", &config.user),
    ] {
        if text.len() > LOOP_TEXT_BYTES_MAX {
            return Err(format!("{what} has at most {LOOP_TEXT_BYTES_MAX} bytes."));
        }
    }
    if let Some(monitor) = &config.monitor
        && let Some(interval_ms) = monitor.interval_ms
    {
        check_interval("The monitor's interval", interval_ms)?;
    }
    if config.backoff.max_ms > INTERVAL_MS_MAX {
        return Err(format!(
            "The longest wait after failures is at most {INTERVAL_MS_MAX} ms."
        ));
    }
    // A relative path would have no base in the daemon.
    if let Some(folder) = &config.workspace
        && !folder.starts_with('/')
    {
        return Err(format!("The workspace '{folder}' is not an absolute path."));
    }
    if let Some(notify) = &config.notify {
        let key = &notify.session_key;
        if key.is_empty() || key.len() > SESSION_KEY_BYTES_MAX || key.contains(char::is_control) {
            return Err(format!(
                "The key of the session to notify has 1 to {SESSION_KEY_BYTES_MAX} bytes."
            ));
        }
    }
    // A map always serialises; the length is that of what is stored.
    let metadata = serde_json::to_string(&config.metadata).map_or(0, |json| json.len());
    if metadata > METADATA_BYTES_MAX {
        return Err(format!(
            "The metadata of a loop has at most {METADATA_BYTES_MAX} bytes, not {metadata}."
        ));
    }
    let tools = config.tools.as_ref().map_or(0, Vec::len);
    if tools > TOOLS_MAX {
        return Err(format!(
            "At most {TOOLS_MAX} tools can be named, not {tools}."
        ));
    }
    Ok(())
}

fn check_interval(what: &str, interval_ms: u64) -> Result<(), String> {
    if (INTERVAL_MS_MIN..=INTERVAL_MS_MAX).contains(&interval_ms) {
        return Ok(());
    }
    Err(format!(
        "{what} is {INTERVAL_MS_MIN} to {INTERVAL_MS_MAX} ms, not {interval_ms}."
    ))
}

impl LoopPolicy {
    /// Returns the part of the settings that the machine needs.
    pub fn from_config(config: &LoopConfig) -> LoopPolicy {
        LoopPolicy {
            interval_ms: config.interval_ms,
            max_iterations: config.max_iterations,
            backoff_ms_max: config.backoff.max_ms,
            errors_max: config.backoff.errors_max,
            money_max: config.total_micro_dollars,
            monitor: match &config.monitor {
                None => MonitorSchedule::Off,
                Some(monitor) => monitor
                    .interval_ms
                    .map_or(MonitorSchedule::BeforeIteration, MonitorSchedule::Interval),
            },
        }
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
