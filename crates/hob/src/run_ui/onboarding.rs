//! The choice of a first model, before the run that needs it.
//!
//! On a terminal, the first command that needs a model offers a choice, while none is configured.
//! Elsewhere, or with `--yes`, nothing is asked: what is found is used, else the demo model.
//!
//! Invariants: nothing is downloaded before a person agreed, gave `--yes`, or nobody could be asked;
//! a no is remembered and not asked again; Ctrl-C at any prompt ends the command and changes nothing.

use super::follow_run::{self, InterruptSignals, RunUiContext};
use super::model_choice::{ChoiceEnd, ModelChoiceDialog};
use super::outcome::FollowOutcome;
use super::shown_notices::ShownNotices;
use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::text::one_line;
use crate::service_install::ServiceInstaller;
use crate::terminal::Terminal;
use hob_client::Client;
use hob_services::trust::names_distrusted;
use hob_wire::rooms::agent::AgentRunParams;
use hob_wire::rooms::onboard::{
    OnboardKind, OnboardOption, OnboardOptionsParams, OnboardOptionsResult, Options,
};
use hob_wire::rooms::service::{self, List as Services, ManagedService, ServiceRole};
use std::time::Duration;
use tokio::time::Instant;

/// The service that answers when no provider is configured.
pub(super) const SERVICE: &str = "llm";
/// The wait until the agent sees a model that is installed, and the interval of the attempts.
const SEEN_WAIT: Duration = Duration::from_secs(10);
const SEEN_PAUSE: Duration = Duration::from_millis(100);

/// The `reason` in the details of the daemon's error when no model is configured.
const REASON: &str = "no-model";
const NO_MODEL: &str = "No model is configured yet.";

/// The first steps of a new user: the choice, a key, or a server.
const FIRST_STEPS: &str = "\
Choose one:                 hob onboard
  A small demo model:         hob ask --yes \"…\"   (installs it, then answers)
  With a key:                 ANTHROPIC_API_KEY=sk-… hob restart
  With Ollama:                ollama serve         (hob finds it by itself)
  Another server:             hob model add mine --kind openai --url URL
                              hob model set default mine/MODEL";

/// The flag about the local model.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct LocalModelArgs {
    /// Asks nothing about models: uses what is found, else installs the demo model; never answers
    /// permission questions.
    #[arg(long, short)]
    pub yes: bool,
}

/// Starts a run and follows it to its end. If no model is configured, one is chosen before.
pub async fn run(
    ui: RunUiContext<'_>,
    params: &AgentRunParams,
    yes: bool,
    interrupts: &mut InterruptSignals,
) -> Result<FollowOutcome, CommandFailure> {
    let need = ModelNeed {
        named: params.model.is_some(),
        tools: params.tools.as_ref().is_some_and(|it| !it.is_empty()),
    };
    if !yes {
        offer_choice(ui, need, interrupts).await?;
    }
    let mut ended = follow_run::run(ui, params, interrupts).await;
    if !ended.as_ref().err().is_some_and(lacks_model) {
        return ended;
    }
    // A daemon that has just started may not have discovered its services yet.
    if !has_local_model(ui.client).await {
        install_demo(ui, need, yes, interrupts).await?;
    }
    let until = Instant::now() + SEEN_WAIT;
    loop {
        ended = follow_run::run(ui, params, interrupts).await;
        // The daemon publishes a new service with a delay, so a missing model is retried until then.
        if !ended.as_ref().err().is_some_and(lacks_model) || Instant::now() >= until {
            return ended;
        }
        tokio::time::sleep(SEEN_PAUSE).await;
    }
}

/// What a command needs of a model.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelNeed {
    /// The command names its model, so there is nothing to choose.
    pub named: bool,
    /// It needs tools, which the demo cannot use.
    pub tools: bool,
}

/// Offers the choice, once per home, to a person at this machine who has configured no model.
pub async fn offer_choice(
    ui: RunUiContext<'_>,
    need: ModelNeed,
    interrupts: &mut InterruptSignals,
) -> Result<(), CommandFailure> {
    let Some(person) = ui.person.filter(|_| !need.named) else {
        return Ok(());
    };
    if ui.context.is_remote() || ui.context.terminal.json {
        return Ok(());
    }
    // A daemon of a former version has no such method, and then there is no choice.
    let Ok(state) = fetch_options(ui.client, true).await else {
        return Ok(());
    };
    if !state.offer || ShownNotices::read(&ui.context.host.home).declined {
        return Ok(());
    }
    // Looking for servers and Python takes a moment.
    let mut found = tokio::select! {
        found = fetch_options(ui.client, false) => found?,
        () = interrupts.next() => return Err(CommandFailure::quiet(ExitStatus::Interrupted)),
    };
    found.options.retain(|option| can_do(option, need));
    if found.options.is_empty() {
        return Ok(());
    }
    let dialog = ModelChoiceDialog {
        context: ui.context,
        client: ui.client,
        person,
    };
    match dialog.run(&found, interrupts).await? {
        ChoiceEnd::Ready(message) => {
            Terminal::note(format!("{message} `hob onboard` changes it.\n"));
            Ok(())
        }
        // What is found is used all the same, and nothing is installed.
        ChoiceEnd::Declined(_) if found.model.is_some() => Ok(()),
        ChoiceEnd::Declined(message) => Err(no_model_failure(message)),
    }
}

/// The choice before a job or a loop is set up, on a terminal.
pub async fn offer_for_unattended(
    context: &CommandContext,
    client: &Client,
    need: ModelNeed,
) -> Result<(), CommandFailure> {
    let person = super::terminal_user::TerminalUser::find();
    let ui = RunUiContext {
        context,
        client,
        person: person.as_ref(),
        is_demo_named: false,
    };
    if person.is_none() || need.named {
        return Ok(());
    }
    let mut interrupts = InterruptSignals::listen()?;
    match offer_choice(ui, need, &mut interrupts).await {
        // The job may wait for a model that comes later.
        Err(failure) if failure.code == NO_MODEL_CODE => Ok(()),
        other => other,
    }
}

/// Fetches the options; `state_only` looks for nothing.
pub async fn fetch_options(
    client: &Client,
    state_only: bool,
) -> Result<OnboardOptionsResult, CommandFailure> {
    let params = OnboardOptionsParams { state_only };
    Ok(client.call_with_retry::<Options>(&params).await?)
}

fn can_do(option: &OnboardOption, need: ModelNeed) -> bool {
    !(need.tools && option.kind == OnboardKind::Demo)
}

/// The code of [`no_model_failure`].
const NO_MODEL_CODE: &str = "NO_MODEL";

/// Returns true when the failure is a missing model.
fn lacks_model(failure: &CommandFailure) -> bool {
    let details = failure.details.as_deref();
    details.is_some_and(|details| details["reason"] == REASON)
}

/// Replaces the failure of a missing model by one with the first steps.
pub fn with_first_steps(failure: CommandFailure) -> CommandFailure {
    if lacks_model(&failure) {
        return no_model_failure(NO_MODEL);
    }
    failure
}

/// The failure of a missing model with the first steps.
pub fn no_model_failure(sentence: impl Into<String>) -> CommandFailure {
    CommandFailure::new(ExitStatus::NoAnswer, NO_MODEL_CODE, sentence).next(FIRST_STEPS)
}

/// Returns true when a local model service is installed or discovered.
async fn has_local_model(client: &Client) -> bool {
    let answers = |it: &ManagedService| it.installed && it.role == Some(ServiceRole::Llm);
    list_services(client).await.iter().any(answers)
}

async fn list_services(client: &Client) -> Vec<ManagedService> {
    let listed = client
        .call_with_retry::<Services>(&service::ServiceListParams {})
        .await;
    listed.map(|listed| listed.services).unwrap_or_default()
}

/// Shows the servers of other users that hob found and does not trust: one may be the wanted model.
async fn show_distrusted_servers(client: &Client) {
    let services = list_services(client).await;
    let missing = services.iter().filter(|it| it.status.name == SERVICE);
    let missing = missing.filter_map(|it| it.missing.as_deref());
    let lines = missing.flat_map(str::lines);
    for line in lines.filter(|line| names_distrusted(line)) {
        Terminal::note(one_line(line));
    }
}

/// Installs the demo model where nobody is asked: with `--yes`, or without a terminal unless a person
/// wanted no model.
async fn install_demo(
    ui: RunUiContext<'_>,
    need: ModelNeed,
    yes: bool,
    interrupts: &mut InterruptSignals,
) -> Result<(), CommandFailure> {
    let context = ui.context;
    show_distrusted_servers(ui.client).await;
    if need.tools {
        return Err(no_model_failure(
            "No model is configured yet, and the demo model uses no tools.",
        ));
    }
    let state = fetch_options(ui.client, true).await;
    let declined = ShownNotices::read(&context.host.home).declined;
    let offers = !declined && state.is_ok_and(|state| state.offer);
    if !yes && (ui.person.is_some() || !offers) {
        return Err(no_model_failure(NO_MODEL));
    }
    let site = ServiceInstaller {
        context,
        client: ui.client,
        name: SERVICE,
    };
    // A daemon without this service has nothing to install.
    let Ok(plan) = site.plan().await else {
        return Err(no_model_failure(NO_MODEL));
    };
    if let Some(obstacle) = &plan.plan.obstacle {
        let why = super::lines::sentence(obstacle);
        let sentence =
            format!("No model is configured yet, and the local one cannot be installed: {why}");
        return Err(no_model_failure(sentence));
    }
    if plan.plan.ready {
        return Ok(());
    }
    if !context.terminal.json {
        let sizes = crate::render::services::sizes(&plan.plan);
        Terminal::note(format!(
            "No model is configured; installing a demo model on this machine: {sizes}"
        ));
    }
    site.install(interrupts).await
}

#[cfg(test)]
#[path = "onboarding_tests.rs"]
mod tests;
