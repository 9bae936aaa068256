//! The catalog of all config keys, collected from the crates that own them.

use hob_kit::settings::SettingsCatalog;
use std::sync::Arc;

/// All settings, in the order the default file shows them.
pub fn catalog() -> Arc<SettingsCatalog> {
    let dialects = hob_dialects::all();
    let tool_keys = hob_tools::setting_keys();
    let mut lists = vec![hob_gateway::KEYS];
    lists.extend(dialects.iter().map(|dialect| dialect.keys));
    lists.extend([
        hob_store::KEYS,
        hob_kit::logging::KEYS,
        hob_models::KEYS,
        hob_daemon::onboard::KEYS,
        hob_daemon::agent::KEYS,
        hob_daemon::tool::KEYS,
        &tool_keys,
        hob_daemon::permission::KEYS,
        hob_daemon::loops::KEYS,
        hob_daemon::cron::KEYS,
        hob_daemon::terminal::KEYS,
        hob_daemon::service::KEYS,
        hob_daemon::service::LLM_KEYS,
        hob_daemon::service::OPENCODE_KEYS,
        hob_services::others::piper::KEYS,
        hob_services::others::kokoro::KEYS,
        hob_services::others::vlm::KEYS,
        hob_services::others::mlx::KEYS,
        crate::tui::settings::KEYS,
    ]);
    Arc::new(SettingsCatalog::new(&lists))
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
