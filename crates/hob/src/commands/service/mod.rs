//! `hob service`: the local services hob installs, starts, watches and stops.

mod flags;
mod following;
mod starting;

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::installing::{Site, obstructed};
use crate::mind::person::Person;
use crate::mind::talk::Interrupts;
use crate::render::services;
use crate::terminal::Terminal;
use clap::ArgMatches;
pub use flags::command;
use hob_client::Client;
use hob_wire::rooms::service::{
    List, ListParams, NameParams, ServiceStatus, Status, Stop, Uninstall,
};

/// Lines of a log unless the person says otherwise.
const LINES: u32 = 50;

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let Some((verb, matches)) = matches.subcommand() else {
        return Err(Failure::quiet(Exit::Usage));
    };
    let client = context.client().await?;
    if verb == "list" {
        let found = client.call_again::<List>(&ListParams {}).await?;
        return Ok(context.terminal.shown(&found, services::list)?);
    }
    let desk = Desk {
        context,
        client: &client,
        name: matches
            .get_one::<String>("name")
            .cloned()
            .unwrap_or_default(),
    };
    let done = match verb {
        "status" => desk.status().await,
        "start" | "restart" => {
            let wait = !matches.get_flag("no-wait");
            starting::run(&desk, verb == "restart", wait).await
        }
        "stop" => desk.stop().await,
        "logs" => {
            let lines = matches.get_one::<u32>("lines").copied().unwrap_or(LINES);
            following::run(&desk, lines, matches.get_flag("follow")).await
        }
        "install" => desk.install(matches.get_flag("yes")).await,
        "uninstall" => desk.uninstall().await,
        _ => Err(Failure::quiet(Exit::Usage)),
    };
    done.map_err(or_see_list)
}

/// One service, named, and the way to it.
struct Desk<'c> {
    context: &'c Context,
    client: &'c Client,
    name: String,
}

impl Desk<'_> {
    fn params(&self) -> NameParams {
        NameParams {
            name: self.name.clone(),
        }
    }

    async fn found(&self) -> Result<ServiceStatus, Failure> {
        Ok(self.client.call_again::<Status>(&self.params()).await?)
    }

    async fn status(&self) -> Result<(), Failure> {
        let status = self.found().await?;
        Ok(self.context.terminal.shown(&status, services::status)?)
    }

    async fn stop(&self) -> Result<(), Failure> {
        let status = self.client.call_again::<Stop>(&self.params()).await?;
        Ok(self.context.terminal.shown(&status, services::now)?)
    }

    async fn uninstall(&self) -> Result<(), Failure> {
        let gone = self.client.call_again::<Uninstall>(&self.params()).await?;
        Ok(self.context.terminal.shown(&gone, services::uninstalled)?)
    }

    async fn install(&self, yes: bool) -> Result<(), Failure> {
        let mut interrupts = Interrupts::listen()?;
        let site = Site {
            context: self.context,
            client: self.client,
            name: &self.name,
        };
        let plan = site.plan().await?;
        let terminal = &self.context.terminal;
        if plan.plan.ready {
            return self.installed(&plan.name, "is installed already");
        }
        if let Some(obstacle) = &plan.plan.obstacle {
            return Err(obstructed(obstacle));
        }
        if yes {
            if !terminal.json {
                let screen = Terminal::measured(terminal.asides());
                services::plan(&plan, &screen)
                    .iter()
                    .for_each(Terminal::note);
            }
        } else {
            if terminal.json {
                terminal.document(&plan)?;
            }
            let person = Person::find().filter(|_| !terminal.json);
            let Some(person) = person else {
                if !terminal.json {
                    terminal.lines(services::plan(&plan, terminal.screen()))?;
                }
                return Err(Failure::usage("Installing it needs a yes.")
                    .next(format!("Say it: hob service install {} --yes", plan.name)));
            };
            let question = format!("Install {}?", plan.name);
            let agreed = tokio::select! {
                agreed = site.consent(&person, &plan, &question) => agreed?,
                () = interrupts.next() => {
                    Terminal::note("");
                    return Err(Failure::quiet(Exit::Interrupted));
                }
            };
            if !agreed {
                return Ok(());
            }
        }
        site.install(&mut interrupts).await?;
        self.installed(&plan.name, "is installed")
    }

    fn installed(&self, name: &str, how: &str) -> Result<(), Failure> {
        let terminal = &self.context.terminal;
        if terminal.json {
            return Ok(());
        }
        Ok(terminal.line(format!("{name} {how}."))?)
    }
}

/// Names the command that shows what there is, when what was named is not.
fn or_see_list(mut failure: Failure) -> Failure {
    if failure.code == hob_wire::ErrorCode::NotFound.as_str() {
        failure.next = Some("`hob service list` shows what there is.".to_owned());
    }
    failure
}
