//! `hob service`: installs, starts, watches and stops local services.

mod logs;
mod start;

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::services;
use crate::run_ui::follow_run::InterruptSignals;
use crate::run_ui::terminal_user::TerminalUser;
use crate::service_install::{ServiceInstaller, not_installable};
use crate::terminal::Terminal;
use crate::tree::help_text::examples;
use hob_client::Client;
use hob_wire::rooms::service::{
    List, Metrics, ServiceListParams, ServiceSelector, ServiceStatus, Status, Stop, Uninstall,
};

/// The lines of `logs` without `--lines`.
const DEFAULT_LINES: u32 = 50;

/// Installs, starts, watches and stops local services.
///
/// A service is built in, such as llm, the model on this machine, or your own, defined in a file
/// services/NAME.toml in the home. Services start by themselves when hob needs them. To start one
/// with the daemon: hob config set services.NAME.autostart true
#[derive(Debug, clap::Subcommand)]
#[command(after_help = examples(&[
    "hob service list",
    "hob service install llm",
    "hob service logs llm -f",
    "hob config set services.tts.autostart true",
]))]
pub enum ServiceSubcommand {
    /// Lists the services and their states.
    #[command(after_help = examples(&["hob service list", "hob service list --json"]))]
    List,
    /// Shows the state of a service.
    #[command(after_help = examples(&["hob service status llm", "hob service status llm --json"]))]
    Status(ServiceName),
    /// Starts a service and its dependencies.
    ///
    /// Waits until it is ready. If it fails, the reason and its last lines of output are shown and
    /// the exit code is 1. A running service is left as it is.
    #[command(after_help = examples(&["hob service start llm", "hob service start llm --no-wait"]))]
    Start(ServiceStartArgs),
    /// Stops a service, after the services that depend on it.
    ///
    /// Returns when all its processes have exited. A service that hob did not start is not stopped.
    #[command(after_help = examples(&["hob service stop llm"]))]
    Stop(ServiceName),
    /// Stops a service and starts it again.
    ///
    /// Waits until it is ready, like start.
    #[command(after_help = examples(&["hob service restart llm"]))]
    Restart(ServiceStartArgs),
    Logs(ServiceLogsArgs),
    /// Shows the processor time and memory of a service over the last hour.
    #[command(after_help = examples(&["hob service metrics llm", "hob service metrics llm --json"]))]
    Metrics(ServiceName),
    Install(ServiceInstallArgs),
    /// Stops a service and removes what was installed for it.
    #[command(after_help = examples(&["hob service uninstall llm"]))]
    Uninstall(ServiceName),
}

/// The name of a service.
#[derive(Debug, clap::Args)]
pub struct ServiceName {
    /// The service's name or alias.
    name: String,
}

/// The arguments of a start.
#[derive(Debug, clap::Args)]
pub struct ServiceStartArgs {
    #[command(flatten)]
    service: ServiceName,
    /// Returns without waiting until it is ready.
    #[arg(long)]
    no_wait: bool,
}

/// Shows the last lines of a service's output.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob service logs llm",
    "hob service logs llm -n 500",
    "hob service logs llm -f",
]))]
pub struct ServiceLogsArgs {
    #[command(flatten)]
    service: ServiceName,
    /// Keeps printing new lines.
    #[arg(long, short)]
    follow: bool,
    /// The number of lines to show; 50 if missing.
    #[arg(long, short = 'n', value_name = "N")]
    lines: Option<u32>,
}

/// Installs a service, after showing the steps.
///
/// Shows the steps, the downloads and where they go, and asks before it begins. An interrupted
/// installation continues where it stopped; a failed one leaves nothing behind. Ctrl-C stops waiting,
/// not the installation.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob service install llm",
    "hob service install llm --yes",
    "hob service install llm --yes --json",
]))]
pub struct ServiceInstallArgs {
    #[command(flatten)]
    service: ServiceName,
    /// Installs without asking.
    #[arg(long, short)]
    yes: bool,
}

pub async fn run(
    context: &CommandContext,
    command: ServiceSubcommand,
) -> Result<(), CommandFailure> {
    let client = &context.client().await?;
    let named = |ServiceName { name }| ServiceCommands {
        context,
        client,
        name,
    };
    let done = match command {
        ServiceSubcommand::List => {
            let params = ServiceListParams {};
            let found = client.call_with_retry::<List>(&params).await?;
            return Ok(context.terminal.print_result(&found, services::list)?);
        }
        ServiceSubcommand::Status(name) => named(name).status().await,
        ServiceSubcommand::Start(args) => {
            start::run(&named(args.service), false, !args.no_wait).await
        }
        ServiceSubcommand::Restart(args) => {
            start::run(&named(args.service), true, !args.no_wait).await
        }
        ServiceSubcommand::Stop(name) => named(name).stop().await,
        ServiceSubcommand::Logs(args) => {
            let lines = args.lines.unwrap_or(DEFAULT_LINES);
            logs::run(&named(args.service), lines, args.follow).await
        }
        ServiceSubcommand::Metrics(name) => named(name).metrics().await,
        ServiceSubcommand::Install(args) => named(args.service).install(args.yes).await,
        ServiceSubcommand::Uninstall(name) => named(name).uninstall().await,
    };
    done.map_err(suggest_list)
}

/// The subcommands that act on a named service.
struct ServiceCommands<'c> {
    context: &'c CommandContext,
    client: &'c Client,
    name: String,
}

impl ServiceCommands<'_> {
    fn params(&self) -> ServiceSelector {
        ServiceSelector {
            name: self.name.clone(),
        }
    }

    async fn fetch(&self) -> Result<ServiceStatus, CommandFailure> {
        Ok(self
            .client
            .call_with_retry::<Status>(&self.params())
            .await?)
    }

    async fn metrics(&self) -> Result<(), CommandFailure> {
        let params = self.params();
        let found = self.client.call_with_retry::<Metrics>(&params).await?;
        Ok(self
            .context
            .terminal
            .print_result(&found, services::metrics)?)
    }

    async fn status(&self) -> Result<(), CommandFailure> {
        let status = self.fetch().await?;
        Ok(self
            .context
            .terminal
            .print_result(&status, services::status)?)
    }

    async fn stop(&self) -> Result<(), CommandFailure> {
        let status = self.client.call_with_retry::<Stop>(&self.params()).await?;
        Ok(self.context.terminal.print_result(&status, services::now)?)
    }

    async fn uninstall(&self) -> Result<(), CommandFailure> {
        let gone = self
            .client
            .call_with_retry::<Uninstall>(&self.params())
            .await?;
        Ok(self
            .context
            .terminal
            .print_result(&gone, services::uninstalled)?)
    }

    async fn install(&self, yes: bool) -> Result<(), CommandFailure> {
        let mut interrupts = InterruptSignals::listen()?;
        let installer = ServiceInstaller {
            context: self.context,
            client: self.client,
            name: &self.name,
        };
        let plan = installer.plan().await?;
        let terminal = &self.context.terminal;
        if plan.plan.ready {
            return self.report_installed(&plan.name, "is already installed");
        }
        if let Some(obstacle) = &plan.plan.obstacle {
            return Err(not_installable(obstacle));
        }
        if yes {
            if !terminal.json {
                let screen = Terminal::remeasured(terminal.stderr_screen());
                services::plan(&plan, &screen)
                    .iter()
                    .for_each(Terminal::note);
            }
        } else {
            if terminal.json {
                terminal.document(&plan)?;
            }
            // With --json a program reads the output, so nobody can be asked.
            let person = TerminalUser::find().filter(|_| !terminal.json);
            let Some(person) = person else {
                if !terminal.json {
                    terminal.lines(services::plan(&plan, terminal.screen()))?;
                }
                return Err(CommandFailure::usage("Installing needs your consent.")
                    .next(format!("Give it: hob service install {} --yes", plan.name)));
            };
            let question = format!("Install {}?", plan.name);
            let agreed = tokio::select! {
                agreed = installer.ask_consent(&person, &plan, &question) => agreed?,
                () = interrupts.next() => {
                    Terminal::note("");
                    return Err(CommandFailure::quiet(ExitStatus::Interrupted));
                }
            };
            if !agreed {
                return Ok(());
            }
        }
        installer.install(&mut interrupts).await?;
        self.report_installed(&plan.name, "is installed")
    }

    fn report_installed(&self, name: &str, how: &str) -> Result<(), CommandFailure> {
        let terminal = &self.context.terminal;
        if terminal.json {
            return Ok(());
        }
        Ok(terminal.line(format!("{name} {how}."))?)
    }
}

/// Suggests the list command if the service was not found.
fn suggest_list(mut failure: CommandFailure) -> CommandFailure {
    if failure.code == hob_wire::ErrorCode::NotFound.as_str() {
        failure.next = Some("See `hob service list`.".to_owned());
    }
    failure
}
