//! The dialogue of choosing a model: the list, a key, a consent.
//!
//! Invariants: a pasted key is never shown and goes only to the daemon; Ctrl-C at any prompt changes
//! nothing; the terminal is as before when the dialogue ends.

use super::follow_run::InterruptSignals;
use super::model_choice_lines as choice_lines;
use super::onboarding::SERVICE;
use super::terminal_user::TerminalUser;
use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::model_pull::ModelPuller;
use crate::service_install::ServiceInstaller;
use crate::terminal::Terminal;
use hob_client::Client;
use hob_core::onboarding::{DECLINED, check_key};
use hob_wire::rooms::onboard::{
    Choose, OnboardChooseParams, OnboardChooseResult, OnboardKind, OnboardOption,
    OnboardOptionsResult, OnboardOutcome,
};
use std::io;
use std::time::Duration;

/// The most options that a digit can choose.
pub(super) const DIGITS_MAX: usize = 9;
/// The option of a model that is on this machine.
const LOCAL_OPTION: &str = "server:local";
/// The looks for a model that was just fetched, and the pause between them.
const SEEN_TRIES: usize = 50;
const SEEN_PAUSE: Duration = Duration::from_millis(100);
/// The attempts to paste a key before the list comes again.
const PASTES_MAX: usize = 3;

/// The dialogue with a person.
#[derive(Clone, Copy, Debug)]
pub struct ModelChoiceDialog<'c> {
    pub context: &'c CommandContext,
    pub client: &'c Client,
    pub person: &'c TerminalUser,
}

/// The end of the dialogue, with a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChoiceEnd {
    Ready(String),
    Declined(String),
}

impl ModelChoiceDialog<'_> {
    /// Shows the options and carries out the choice.
    pub async fn run(
        &self,
        found: &OnboardOptionsResult,
        interrupts: &mut InterruptSignals,
    ) -> Result<ChoiceEnd, CommandFailure> {
        let screen = Terminal::remeasured(self.context.terminal.stderr_screen());
        let options = &found.options[..found.options.len().min(DIGITS_MAX)];
        loop {
            choice_lines::list(found, options, &screen)
                .iter()
                .for_each(Terminal::note);
            let keys = choice_lines::keys(options.len());
            let prompt = choice_lines::prompt(options.len(), &screen);
            let key = tokio::select! {
                key = self.person.key(&prompt, &keys) => key.map_err(|error| unreadable(&error))?,
                () = interrupts.next() => return Err(interrupted()),
            };
            let Some(option) = choice_lines::option_of(key, options) else {
                Terminal::note("no");
                return self.decline().await;
            };
            Terminal::note(choice_lines::number_of(option, options));
            if let Some(end) = self.take(option, interrupts).await? {
                return Ok(end);
            }
        }
    }

    /// Takes an option. Returns `None` to show the list again.
    pub async fn take(
        &self,
        option: &OnboardOption,
        interrupts: &mut InterruptSignals,
    ) -> Result<Option<ChoiceEnd>, CommandFailure> {
        match option.kind {
            OnboardKind::Paste => self.paste(option, interrupts).await,
            OnboardKind::Demo => self.demo(option, interrupts).await,
            OnboardKind::Key | OnboardKind::Server => {
                let params = params_of(option);
                Ok(end_of(choose(self.client, &params, interrupts).await?))
            }
            OnboardKind::Pull => self.pull(option, interrupts).await,
        }
    }

    /// Asks for the provider and its key, and tries the key.
    async fn paste(
        &self,
        option: &OnboardOption,
        interrupts: &mut InterruptSignals,
    ) -> Result<Option<ChoiceEnd>, CommandFailure> {
        let screen = Terminal::remeasured(self.context.terminal.stderr_screen());
        let providers = &option.providers[..option.providers.len().min(DIGITS_MAX)];
        choice_lines::providers(providers)
            .iter()
            .for_each(Terminal::note);
        let keys = choice_lines::keys(providers.len());
        let prompt = choice_lines::provider_prompt(providers.len(), &screen);
        let key = tokio::select! {
            key = self.person.key(&prompt, &keys) => key.map_err(|error| unreadable(&error))?,
            () = interrupts.next() => return Err(interrupted()),
        };
        let Some(at) = choice_lines::index_of(key, providers.len()) else {
            Terminal::note("back");
            return Ok(None);
        };
        let provider = &providers[at];
        Terminal::note(provider);
        for _ in 0..PASTES_MAX {
            let prompt = format!("  Key of {provider} (it is not shown): ");
            let pasted = tokio::select! {
                pasted = self.person.secret_line(&prompt) => pasted.map_err(|error| unreadable(&error))?,
                () = interrupts.next() => return Err(interrupted()),
            };
            Terminal::note("");
            let Some(pasted) = pasted.filter(|text| !text.is_empty()) else {
                return Ok(None);
            };
            let key = match check_key(&pasted) {
                Ok(key) => key.to_owned(),
                Err(wrong) => {
                    Terminal::note(format!("  {}", wrong.sentence()));
                    continue;
                }
            };
            Terminal::note(format!("  Asking {provider} …"));
            let params = OnboardChooseParams {
                provider: Some(provider.clone()),
                key: Some(key),
                ..params_of(option)
            };
            let done = choose(self.client, &params, interrupts).await?;
            if done.outcome != OnboardOutcome::Refused {
                return Ok(end_of(done));
            }
            Terminal::note(format!("  {}", super::lines::sentence(&done.message)));
        }
        Ok(None)
    }

    /// Installs the demo model after a consent to its plan.
    async fn demo(
        &self,
        option: &OnboardOption,
        interrupts: &mut InterruptSignals,
    ) -> Result<Option<ChoiceEnd>, CommandFailure> {
        let site = ServiceInstaller {
            context: self.context,
            client: self.client,
            name: SERVICE,
        };
        let plan = site.plan().await?;
        if !plan.plan.ready {
            let agreed = tokio::select! {
                agreed = site.ask_consent(self.person, &plan, "Install it?") => agreed?,
                () = interrupts.next() => return Err(interrupted()),
            };
            if !agreed {
                self.decline().await?;
                let message = "Nothing was installed.".to_owned();
                return Ok(Some(ChoiceEnd::Declined(message)));
            }
            site.install(interrupts).await?;
        }
        Ok(end_of(
            choose(self.client, &params_of(option), interrupts).await?,
        ))
    }

    /// Fetches a model after a consent to its plan, and uses it. A failure is shown, and the list comes
    /// again.
    async fn pull(
        &self,
        option: &OnboardOption,
        interrupts: &mut InterruptSignals,
    ) -> Result<Option<ChoiceEnd>, CommandFailure> {
        let name = option.models.first().map_or("", String::as_str);
        match self.fetch(name, interrupts).await {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(failure) if failure.silent => return Err(failure),
            Err(failure) => {
                Terminal::note(failure.text());
                return Ok(None);
            }
        }
        // The daemon lists what it fetched with a short delay.
        for _ in 0..SEEN_TRIES {
            let found = super::onboarding::fetch_options(self.client, false).await?;
            let mut options = found.options.iter();
            if let Some(local) = options.find(|it| it.id == LOCAL_OPTION) {
                let done = choose(self.client, &params_of(local), interrupts).await?;
                return Ok(end_of(done));
            }
            tokio::time::sleep(SEEN_PAUSE).await;
        }
        Ok(Some(ChoiceEnd::Ready(format!("{name} is here."))))
    }

    /// Returns false if the person said no to the plan.
    async fn fetch(
        &self,
        name: &str,
        interrupts: &mut InterruptSignals,
    ) -> Result<bool, CommandFailure> {
        let pull = ModelPuller {
            context: self.context,
            client: self.client,
            source: name,
        };
        let planned = tokio::select! {
            planned = pull.call(false) => planned?,
            () = interrupts.next() => return Err(interrupted()),
        };
        if !pull.get_consent(&planned, false, interrupts).await? {
            return Ok(false);
        }
        pull.fetch_agreed(interrupts).await?;
        Ok(true)
    }

    /// Remembers that the person wants no choice.
    async fn decline(&self) -> Result<ChoiceEnd, CommandFailure> {
        let params = OnboardChooseParams {
            option: DECLINED.to_owned(),
            ..OnboardChooseParams::default()
        };
        let done = self.client.call_with_retry::<Choose>(&params).await?;
        Ok(ChoiceEnd::Declined(done.message))
    }
}

/// The params of a choice.
pub fn params_of(option: &OnboardOption) -> OnboardChooseParams {
    OnboardChooseParams {
        option: option.id.clone(),
        ..OnboardChooseParams::default()
    }
}

/// Sends a choice. It goes on in the daemon when the person leaves: each of its steps leaves a state
/// that works.
pub async fn choose(
    client: &Client,
    params: &OnboardChooseParams,
    interrupts: &mut InterruptSignals,
) -> Result<OnboardChooseResult, CommandFailure> {
    tokio::select! {
        done = client.call_with_retry::<Choose>(params) => Ok(done?),
        () = interrupts.next() => Err(interrupted()),
    }
}

/// Returns the end of a choice, or `None` if it was refused and the list comes again.
fn end_of(done: OnboardChooseResult) -> Option<ChoiceEnd> {
    match done.outcome {
        OnboardOutcome::Ready | OnboardOutcome::Installing => Some(ChoiceEnd::Ready(done.message)),
        OnboardOutcome::Declined => Some(ChoiceEnd::Declined(done.message)),
        OnboardOutcome::Refused => {
            Terminal::note(super::lines::sentence(&done.message));
            None
        }
    }
}

fn interrupted() -> CommandFailure {
    Terminal::note("");
    CommandFailure::quiet(ExitStatus::Interrupted)
}

fn unreadable(error: &io::Error) -> CommandFailure {
    CommandFailure::failed(format!("The terminal cannot be read: {error}."))
}
