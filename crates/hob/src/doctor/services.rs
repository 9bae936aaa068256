//! Checks local services: an installed or installable model, and failed services.

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
use hob_wire::rooms::service::{List, ServiceListParams, ServiceListResult, ServiceState};

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

/// Finds failed services of a running daemon, and broken service files.
pub(super) async fn examine(context: &CommandContext) -> Vec<Finding> {
    let Ok(Some(client)) = context.home_client().await else {
        return Vec::new();
    };
    let listed = client.call_with_retry::<List>(&ServiceListParams {}).await;
    listed
        .map(|listed| service_findings(&listed))
        .unwrap_or_default()
}

fn service_findings(listed: &ServiceListResult) -> Vec<Finding> {
    let mut findings = Vec::new();
    for service in &listed.services {
        let status = &service.status;
        let word = match status.state {
            ServiceState::Failed => "failed",
            ServiceState::Backoff => "keeps ending",
            _ => continue,
        };
        let why = status.detail.as_deref().unwrap_or_default();
        let why = one_line(why.lines().next().unwrap_or_default());
        let name = one_line(&status.name);
        findings.push(Finding::bad(
            FindingLevel::Warning,
            "service",
            format!("{name} {word}. {why}").trim_end().to_owned(),
            format!("hob service logs {name}; then hob service start {name}"),
        ));
    }
    let problems = listed.problems.iter().map(|problem| {
        let fix = "Correct the file; hob reads it again by itself.";
        Finding::bad(FindingLevel::Warning, "service", one_line(problem), fix)
    });
    findings.extend(problems);
    if findings.is_empty() {
        let running = |it: &&hob_wire::rooms::service::ManagedService| {
            it.status.state == ServiceState::Running
        };
        let running = listed.services.iter().filter(running).count();
        let all = listed.services.len();
        findings.push(Finding::well("services", format!("{running} of {all} run")));
    }
    findings
}

#[cfg(test)]
#[path = "services_tests.rs"]
mod tests;
