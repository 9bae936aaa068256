//! The offer to install a local model when no model is configured, and a notice about its limits.
//!
//! Invariants: nothing is installed before a person agreed to the plan shown; a refusal is
//! remembered, and so is the notice.

use super::follow_run::{InterruptSignals, RunUiContext};
use super::{follow_run, no_model};
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::TextTone;
use crate::render::text::wrap;
use crate::run_ui::outcome::FollowOutcome;
use crate::service_install::ServiceInstaller;
use crate::terminal::Terminal;
use hob_client::Client;
use hob_kit::atomic_file;
use hob_kit::home::Home;
use hob_services::trust::names_distrusted;
use hob_wire::rooms::agent::AgentRunParams;
use hob_wire::rooms::model::{List, ModelListParams};
use hob_wire::rooms::service::{self, List as Services, ManagedService, ServiceRole};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::time::Instant;

/// The service that answers when no provider is configured.
const SERVICE: &str = "llm";
/// The wait until the agent sees a model that is installed, and the interval of the attempts.
const SEEN_WAIT: Duration = Duration::from_secs(10);
const SEEN_PAUSE: Duration = Duration::from_millis(100);
/// The most servers remembered as shown; the oldest is dropped.
const SERVERS_MAX: usize = 32;
/// The largest notices file that is read; hob never writes a larger one.
const NOTICES_BYTES_MAX: u64 = 64 * 1_024;

/// The flag about the local model.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct LocalModelArgs {
    /// Installs the local model without asking if there is no other; never answers permission
    /// questions.
    #[arg(long, short)]
    pub yes: bool,
}

/// Starts a run and follows it to its end. Without a model, offers to install one and tries again.
pub async fn run(
    ui: RunUiContext<'_>,
    params: &AgentRunParams,
    yes: bool,
    interrupts: &mut InterruptSignals,
) -> Result<FollowOutcome, CommandFailure> {
    let mut ended = follow_run::run(ui, params, interrupts).await;
    if !lacks_model(&ended) {
        return ended;
    }
    // A daemon that has just started may not have discovered its services yet.
    if !has_local_model(ui.client).await {
        install(ui, yes, interrupts).await?;
    }
    let until = Instant::now() + SEEN_WAIT;
    loop {
        ended = follow_run::run(ui, params, interrupts).await;
        // The daemon publishes a new service with a delay, so a missing model is retried until then.
        if !lacks_model(&ended) || Instant::now() >= until {
            return ended;
        }
        tokio::time::sleep(SEEN_PAUSE).await;
    }
}

fn lacks_model(ended: &Result<FollowOutcome, CommandFailure>) -> bool {
    let failure = ended.as_ref().err();
    failure.is_some_and(no_model::lacks_model)
}

/// Returns true when a local model service is installed or discovered.
async fn has_local_model(client: &Client) -> bool {
    let listed = client
        .call_with_retry::<Services>(&service::ServiceListParams {})
        .await;
    let services = listed.map(|listed| listed.services).unwrap_or_default();
    let answers = |it: &ManagedService| it.installed && it.role == Some(ServiceRole::Llm);
    services.iter().any(answers)
}

/// Shows the servers of other users that hob found and does not trust: one may be the wanted model.
async fn show_distrusted_servers(client: &Client) {
    let listed = client
        .call_with_retry::<Services>(&service::ServiceListParams {})
        .await;
    let services = listed.map(|listed| listed.services).unwrap_or_default();
    let missing = services.iter().filter(|it| it.status.name == SERVICE);
    let missing = missing.filter_map(|it| it.missing.as_deref());
    let lines = missing.flat_map(str::lines);
    for line in lines.filter(|line| names_distrusted(line)) {
        Terminal::note(crate::render::text::one_line(line));
    }
}

/// Installs the local model, if that is possible and wanted.
async fn install(
    ui: RunUiContext<'_>,
    yes: bool,
    interrupts: &mut InterruptSignals,
) -> Result<(), CommandFailure> {
    let context = ui.context;
    let site = ServiceInstaller {
        context,
        client: ui.client,
        name: SERVICE,
    };
    show_distrusted_servers(ui.client).await;
    // A daemon without this service has nothing to install.
    let Ok(plan) = site.plan().await else {
        return Err(no_model::no_model_failure("No model is configured yet."));
    };
    if let Some(obstacle) = &plan.plan.obstacle {
        let why = super::lines::sentence(obstacle);
        let sentence =
            format!("No model is configured yet, and the local one cannot be installed: {why}");
        return Err(no_model::no_model_failure(sentence));
    }
    if plan.plan.ready {
        return Ok(());
    }
    let mut notices = ShownNotices::read(&context.host.home);
    if !yes {
        let person = ui.person.filter(|_| !notices.declined);
        let Some(person) = person else {
            return Err(no_model::no_model_failure("No model is configured yet."));
        };
        let intro = "No model is configured yet. hob can install a small one on this machine:";
        Terminal::note(intro);
        let agreed = tokio::select! {
            agreed = site.ask_consent(person, &plan, "Install it?") => agreed?,
            () = interrupts.next() => {
                Terminal::note("");
                return Err(CommandFailure::quiet(ExitStatus::Interrupted));
            }
        };
        if !agreed {
            notices.declined = true;
            notices.save(&context.host.home);
            return Err(no_model::no_model_failure("Nothing was installed."));
        }
    } else if !context.terminal.json {
        let sizes = crate::render::services::sizes(&plan.plan);
        Terminal::note(format!("Installing a small model on this machine: {sizes}"));
    }
    site.install(interrupts).await
}

/// Shows once per home, after the first answer, that the local model is small.
pub async fn show_modest_notice(ui: RunUiContext<'_>, ending: &FollowOutcome) {
    let context = ui.context;
    let home = &context.host.home;
    let completed = ending.completed.as_ref().filter(|it| it.success);
    let model = completed.and_then(|completed| completed.model.as_deref());
    let Some((SERVICE, model)) = model.and_then(|model| model.split_once('/')) else {
        return;
    };
    let mut notices = ShownNotices::read(home);
    if notices.modest || context.terminal.json {
        return;
    }
    let params = ModelListParams {
        provider: Some(SERVICE.to_owned()),
        names_only: true,
    };
    let Ok(found) = ui.client.call_with_retry::<List>(&params).await else {
        return;
    };
    let mut services = found.providers.iter().filter_map(|it| it.service.as_ref());
    if !services.any(|service| service.modest && service.model.as_deref() == Some(model)) {
        return;
    }
    let screen = Terminal::remeasured(context.terminal.stderr_screen());
    let room = screen.width.unwrap_or(80);
    for line in modest_notice(model).iter().flat_map(|it| wrap(it, room)) {
        Terminal::note(screen.paint(TextTone::Quiet, &line));
    }
    notices.modest = true;
    notices.save(home);
}

fn modest_notice(model: &str) -> [String; 2] {
    let model = crate::render::text::one_line(model);
    [
        format!(
            "{model} is a modest model: it fits any machine, knows little, gets facts wrong and \
             uses no tools."
        ),
        "For a better one: set a key such as ANTHROPIC_API_KEY and `hob restart`, run Ollama, or \
         `hob config set llm.model /path/to/model.gguf`. (Shown once.)"
            .to_owned(),
    ]
}

/// The notices that were shown in this home, kept in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ShownNotices {
    /// The notice about the small local model was shown.
    modest: bool,
    /// The person refused to install the local model.
    declined: bool,
    /// The lines shown about servers that got a prompt.
    servers: Vec<String>,
}

impl ShownNotices {
    /// Reads the file; a missing or broken one counts as empty.
    fn read(home: &Home) -> ShownNotices {
        let path = home.notices();
        let small = |len: u64| len <= NOTICES_BYTES_MAX;
        if !std::fs::metadata(&path).is_ok_and(|it| small(it.len())) {
            return ShownNotices::default();
        }
        let text = std::fs::read(&path).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Returns true the first time a line about a server is shown in this home, and records it.
    pub(super) fn is_first_server(home: &Home, line: &str) -> bool {
        let mut notices = ShownNotices::read(home);
        if notices.servers.iter().any(|known| known == line) {
            return false;
        }
        notices.servers.push(line.to_owned());
        let beyond = notices.servers.len().saturating_sub(SERVERS_MAX);
        notices.servers.drain(..beyond);
        notices.save(home);
        true
    }

    fn save(self, home: &Home) {
        // A lost file only repeats a notice.
        if let Ok(text) = serde_json::to_vec(&self) {
            let _ = atomic_file::replace_unsynced(&home.notices(), &text);
        }
    }
}

#[cfg(test)]
#[path = "local_model_offer_tests.rs"]
mod tests;
