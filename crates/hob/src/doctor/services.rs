//! Local services: whether a model of one's own is here or can be installed, and which services
//! failed.

use super::{Finding, Level};
use crate::context::Context;
use crate::render::words::one_line;
use crate::settings;
use hob_exec::{Spawner, SpawnerParts};
use hob_kit::settings::Settings;
use hob_kit::tasks::Tasks;
use hob_net::{Http, NetParts};
use hob_services::trust::names_distrusted;
use hob_services::{Found, Place, llm};
use hob_wire::rooms::service::{List, ListParams, ServiceState, Services};

/// What this machine has for a model of its own. Programs are asked for their version through the
/// shim.
pub(super) async fn local_model(context: &Context) -> Option<Finding> {
    let world = &context.world;
    // Broken settings have a finding of their own.
    let settings = Settings::of_home(&settings::catalog(), &world.home, &world.env).ok()?;
    let http = Http::new(NetParts::new(world.clock.clone())).ok()?;
    let spawner = Spawner::new(SpawnerParts {
        shim: hob_exec::spawner::own_shim(),
        env: world.env.clone(),
        tasks: Tasks::new(),
        facts: None,
    });
    let place = Place {
        home: &world.home,
        settings: &settings,
        env: &world.env,
        http: &http,
        spawner: &spawner,
    };
    let found = (llm::ENTRY.find?)(&place).await;
    let missing = match found {
        Found::Running { what, .. } => return Some(Finding::well(CHECK, format!("{what} runs"))),
        Found::Command { what, .. } => return Some(Finding::well(CHECK, what)),
        Found::Missing { why } => why,
    };
    if let Some(line) = missing.lines().find(|line| names_distrusted(line)) {
        let fix = "Nothing, if that server is not yours to use.";
        return Some(Finding::bad(Level::Note, CHECK, one_line(line), fix));
    }
    let installs = (llm::ENTRY.install?)(&place).await;
    Some(judge(&settings, &missing, installs.map(drop)))
}

const CHECK: &str = "local model";

fn judge(settings: &Settings, missing: &str, installs: Result<(), String>) -> Finding {
    match installs {
        // A file that the person named is not mended by installing another one.
        _ if !settings.text("llm.model").trim().is_empty() => Finding::bad(
            Level::Warning,
            CHECK,
            one_line(missing),
            "hob config set llm.model /path/to/model.gguf",
        ),
        Ok(()) => Finding::well(
            CHECK,
            "not installed; Python and pip are here for it: hob service install llm",
        ),
        Err(why) => Finding::bad(
            Level::Note,
            CHECK,
            one_line(&why),
            "Nothing, if you use a model elsewhere.",
        ),
    }
}

/// Services of a running daemon that failed, and files that describe none.
pub(super) async fn examine(context: &Context) -> Vec<Finding> {
    let Ok(Some(client)) = context.home_client().await else {
        return Vec::new();
    };
    let listed = client.call_again::<List>(&ListParams {}).await;
    listed.map(|listed| troubles(&listed)).unwrap_or_default()
}

fn troubles(listed: &Services) -> Vec<Finding> {
    let mut findings = Vec::new();
    for service in &listed.services {
        let status = &service.status;
        let word = match status.state {
            ServiceState::Failed => "failed",
            ServiceState::Backoff => "ends again and again",
            _ => continue,
        };
        let why = status.detail.as_deref().unwrap_or_default();
        let why = one_line(why.lines().next().unwrap_or_default());
        let name = one_line(&status.name);
        findings.push(Finding::bad(
            Level::Warning,
            "service",
            format!("{name} {word}. {why}").trim_end().to_owned(),
            format!("hob service logs {name}; then hob service start {name}"),
        ));
    }
    let problems = listed.problems.iter().map(|problem| {
        let fix = "Correct the file; hob reads it again by itself.";
        Finding::bad(Level::Warning, "service", one_line(problem), fix)
    });
    findings.extend(problems);
    if findings.is_empty() {
        let running =
            |it: &&hob_wire::rooms::service::Service| it.status.state == ServiceState::Running;
        let running = listed.services.iter().filter(running).count();
        let all = listed.services.len();
        findings.push(Finding::well("services", format!("{running} of {all} run")));
    }
    findings
}

#[cfg(test)]
#[path = "services_tests.rs"]
mod tests;
