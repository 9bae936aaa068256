//! `hob service`: installs, starts, watches and stops local services.

mod flags;
mod logs;
mod start;

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::services;
use crate::run_ui::follow_run::InterruptSignals;
use crate::run_ui::terminal_user::TerminalUser;
use crate::service_install::{ServiceInstaller, not_installable};
use crate::terminal::Terminal;
use clap::ArgMatches;
pub use flags::command;
use hob_client::Client;
use hob_wire::rooms::service::{
    List, ServiceListParams, ServiceSelector, ServiceStatus, Status, Stop, Uninstall,
};

/// The lines of `logs` without `--lines`.
const DEFAULT_LINES: u32 = 50;

pub async fn run(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let Some((verb, matches)) = matches.subcommand() else {
        return Err(CommandFailure::quiet(ExitStatus::Usage));
    };
    let client = context.client().await?;
    if verb == "list" {
        let found = client
            .call_with_retry::<List>(&ServiceListParams {})
            .await?;
        return Ok(context.terminal.print_result(&found, services::list)?);
    }
    let commands = ServiceCommands {
        context,
        client: &client,
        name: matches
            .get_one::<String>("name")
            .cloned()
            .unwrap_or_default(),
    };
    let done = match verb {
        "status" => commands.status().await,
        "start" | "restart" => {
            let wait = !matches.get_flag("no-wait");
            start::run(&commands, verb == "restart", wait).await
        }
        "stop" => commands.stop().await,
        "logs" => {
            let lines = matches
                .get_one::<u32>("lines")
                .copied()
                .unwrap_or(DEFAULT_LINES);
            logs::run(&commands, lines, matches.get_flag("follow")).await
        }
        "install" => commands.install(matches.get_flag("yes")).await,
        "uninstall" => commands.uninstall().await,
        _ => Err(CommandFailure::quiet(ExitStatus::Usage)),
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
