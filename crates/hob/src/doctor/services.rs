//! Checks for a local model: installed, or installable.

use super::{Finding, FindingLevel};
use crate::context::CommandContext;
use crate::render::text::one_line;
use crate::settings;
use hob_exec::{Spawner, SpawnerParts};
use hob_kit::settings::Settings;
use hob_kit::tasks::TaskGroup;
use hob_net::{HttpClient, HttpOptions};
use hob_services::trust::names_distrusted;
use hob_services::{DiscoveryContext, FoundService, llm};

/// Checks for a local model. The versions of programs are read through the shim.
pub(super) async fn local_model(context: &CommandContext) -> Option<Finding> {
    let host = &context.host;
    // Broken settings have their own finding.
    let settings = Settings::load_home(&settings::catalog(), &host.home, &host.env).ok()?;
    let http = HttpClient::new(HttpOptions::new(host.clock.clone())).ok()?;
    let spawner = Spawner::new(SpawnerParts {
        shim: hob_exec::spawner::own_shim(),
        env: host.env.clone(),
        tasks: TaskGroup::new(),
        sandbox_support: None,
    });
    let place = DiscoveryContext {
        home: &host.home,
        settings: &settings,
        env: &host.env,
        http: &http,
        spawner: &spawner,
    };
    let found = (llm::ENTRY.find?)(&place).await;
    let missing = match found {
        FoundService::Running { what, .. } => {
            return Some(Finding::well(CHECK, format!("{what} runs")));
        }
        FoundService::Command { what, .. } => return Some(Finding::well(CHECK, what)),
        FoundService::Missing { why } => why,
    };
    if let Some(line) = missing.lines().find(|line| names_distrusted(line)) {
        let fix = "Nothing, if that server is not yours to use.";
        return Some(Finding::bad(FindingLevel::Note, CHECK, one_line(line), fix));
    }
    let installs = (llm::ENTRY.install?)(&place).await;
    Some(local_model_finding(&settings, &missing, installs.map(drop)))
}

const CHECK: &str = "local model";

fn local_model_finding(
    settings: &Settings,
    missing: &str,
    installs: Result<(), String>,
) -> Finding {
    match installs {
        // Installing another model does not repair a file that the person configured.
        _ if !settings.text("llm.model").trim().is_empty() => Finding::bad(
            FindingLevel::Warning,
            CHECK,
            one_line(missing),
            "hob config set llm.model /path/to/model.gguf",
        ),
        Ok(()) => Finding::well(
            CHECK,
            "not installed; Python and pip are available: hob service install llm",
        ),
        Err(why) => Finding::bad(
            FindingLevel::Note,
            CHECK,
            one_line(&why),
            "Nothing, if you use a model elsewhere.",
        ),
    }
}

#[cfg(test)]
#[path = "services_tests.rs"]
mod tests;
