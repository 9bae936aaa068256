//! `hob onboard`: chooses a model.

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::run_ui::follow_run::InterruptSignals;
use crate::run_ui::model_choice::{self, ChoiceEnd, ModelChoiceDialog};
use crate::run_ui::model_choice_lines;
use crate::run_ui::onboarding;
use crate::run_ui::run_request;
use crate::run_ui::terminal_user::TerminalUser;
use crate::service_install::ServiceInstaller;
use crate::terminal::Terminal;
use crate::tree::help_text::examples;
use hob_client::Client;
use hob_wire::ErrorCode;
use hob_wire::rooms::onboard::{
    OnboardChooseParams, OnboardChooseResult, OnboardKind, OnboardOption, OnboardOptionsResult,
    OnboardOutcome,
};

/// The service of the demo model.
const DEMO_SERVICE: &str = "llm";

/// Chooses the model that hob uses.
///
/// Offers what can be used on this machine, best first: a provider whose key is there, a model server
/// that runs, a local model to download, a key to paste, and a demo model to check that hob works. The
/// first command that needs a model offers the same, once.
///
/// A pasted key is tried, then kept in hob's home where no tool can read it. With --yes, or without a
/// terminal, the best option that needs no answer is taken. With --json and no OPTION the options are
/// printed and nothing changes.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob onboard",
    "hob onboard --json",
    "hob onboard demo --yes",
    "hob onboard paste --provider anthropic < key.txt",
]))]
pub struct OnboardArgs {
    /// The id of an option, as --json lists them; none to be asked no more.
    #[arg(value_name = "OPTION")]
    option: Option<String>,
    /// The provider of a key that is read from stdin.
    #[arg(long, value_name = "NAME", requires = "option")]
    provider: Option<String>,
    /// A model of the option, if not its first.
    #[arg(long, short, value_name = "MODEL", requires = "option")]
    model: Option<String>,
    /// Takes the best option without asking.
    #[arg(long, short)]
    yes: bool,
}

pub async fn run(context: &CommandContext, args: OnboardArgs) -> Result<(), CommandFailure> {
    let mut interrupts = InterruptSignals::listen()?;
    let client = context.client().await?;
    let person = if context.terminal.json || args.yes {
        None
    } else {
        TerminalUser::find()
    };
    // Looking for servers and Python takes a moment.
    let found = tokio::select! {
        found = onboarding::fetch_options(&client, false) => found?,
        () = interrupts.next() => return Err(CommandFailure::quiet(ExitStatus::Interrupted)),
    };
    if context.terminal.json && args.option.is_none() && !args.yes {
        return Ok(context.terminal.document(&found)?);
    }
    let choice = OnboardCommand {
        context,
        client: &client,
        found: &found,
    };
    let done = match (&args.option, &person) {
        (Some(option), _) => choice.take_named(option, &args, &mut interrupts).await?,
        (None, Some(person)) => return choice.ask(person, &mut interrupts).await,
        (None, None) => choice.take_best(&mut interrupts).await?,
    };
    if done.outcome == OnboardOutcome::Refused {
        let sentence = crate::run_ui::lines::sentence(&done.message);
        return Err(CommandFailure::new(ExitStatus::Failed, "REFUSED", sentence));
    }
    let draw = |done: &OnboardChooseResult, _: &_| vec![done.message.clone()];
    Ok(context.terminal.print_result(&done, draw)?)
}

struct OnboardCommand<'c> {
    context: &'c CommandContext,
    client: &'c Client,
    found: &'c OnboardOptionsResult,
}

impl OnboardCommand<'_> {
    async fn ask(
        &self,
        person: &TerminalUser,
        interrupts: &mut InterruptSignals,
    ) -> Result<(), CommandFailure> {
        let dialog = ModelChoiceDialog {
            context: self.context,
            client: self.client,
            person,
        };
        let (ChoiceEnd::Ready(message) | ChoiceEnd::Declined(message)) =
            dialog.run(self.found, interrupts).await?;
        Ok(self.context.terminal.line(message)?)
    }

    /// Takes the best option that needs neither an answer nor a large download.
    async fn take_best(
        &self,
        interrupts: &mut InterruptSignals,
    ) -> Result<OnboardChooseResult, CommandFailure> {
        let quick = [OnboardKind::Key, OnboardKind::Server, OnboardKind::Demo];
        let mut options = self.found.options.iter();
        let Some(option) = options.find(|it| quick.contains(&it.kind)) else {
            let why = self.found.notes.join(" ");
            return Err(onboarding::no_model_failure(format!(
                "Nothing was found that can be used without an answer. {why}"
            )));
        };
        self.note_choice(option);
        self.carry_out(option, model_choice::params_of(option), interrupts)
            .await
    }

    fn note_choice(&self, option: &OnboardOption) {
        if !self.context.terminal.json {
            let details = model_choice_lines::details(option);
            Terminal::note(format!("{} ({details})", option.title));
        }
    }

    /// Takes the option with this id.
    async fn take_named(
        &self,
        id: &str,
        args: &OnboardArgs,
        interrupts: &mut InterruptSignals,
    ) -> Result<OnboardChooseResult, CommandFailure> {
        let mut params = OnboardChooseParams {
            option: id.to_owned(),
            provider: args.provider.clone(),
            model: args.model.clone(),
            key: None,
        };
        if id == hob_core::onboarding::DECLINED {
            return model_choice::choose(self.client, &params, interrupts).await;
        }
        let known = self.found.options.iter().find(|option| option.id == id);
        let Some(option) = known else {
            let failure = CommandFailure::new(
                ExitStatus::NotFound,
                ErrorCode::NotFound.as_str(),
                format!("There is no option '{id}' here."),
            );
            let ids: Vec<&str> = self.found.options.iter().map(|it| it.id.as_str()).collect();
            return Err(failure.next(format!("The options are: {}.", ids.join(", "))));
        };
        if option.kind == OnboardKind::Paste {
            params.key = Some(self.read_key(args).await?);
        }
        self.carry_out(option, params, interrupts).await
    }

    /// Reads a key from stdin, or from the person without showing it.
    async fn read_key(&self, args: &OnboardArgs) -> Result<String, CommandFailure> {
        let Some(provider) = &args.provider else {
            return Err(CommandFailure::usage("Name the provider of the key.")
                .next("hob onboard paste --provider NAME"));
        };
        let read = match run_request::read_piped_stdin().await? {
            Some(text) => Some(text),
            None => match TerminalUser::find() {
                Some(person) => {
                    let prompt = format!("Key of {provider} (it is not shown): ");
                    let pasted = person.secret_line(&prompt).await?;
                    Terminal::note("");
                    pasted
                }
                None => None,
            },
        };
        let read = read.filter(|text| !text.trim().is_empty());
        read.ok_or_else(|| CommandFailure::usage("There is no key on stdin."))
    }

    async fn carry_out(
        &self,
        option: &OnboardOption,
        params: OnboardChooseParams,
        interrupts: &mut InterruptSignals,
    ) -> Result<OnboardChooseResult, CommandFailure> {
        if option.kind == OnboardKind::Demo {
            let site = ServiceInstaller {
                context: self.context,
                client: self.client,
                name: DEMO_SERVICE,
            };
            site.install(interrupts).await?;
        }
        model_choice::choose(self.client, &params, interrupts).await
    }
}
