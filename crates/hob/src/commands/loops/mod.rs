//! `hob loop`: creates, runs and watches loops.

mod config;
mod editor;
mod flags;
mod memory;
mod watch;

use super::unattended_flags;
use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::loops;
use clap::ArgMatches;
pub use flags::command;
use hob_client::Client;
use hob_wire::ErrorCode;
use hob_wire::rooms::loops::{
    Create, Delete, Get, History, List, Loop, LoopCreateParams, LoopHistoryParams,
    LoopHistoryResult, LoopListParams, LoopOnceParams, LoopSelector, LoopUpdateParams, Once, Start,
    Stop, Update,
};
use watch::LoopWatcher;

/// The page size without `--limit`.
const DEFAULT_PAGE: u32 = 20;

/// Returns true if the command watches a loop; the watcher handles Ctrl-C itself.
pub fn is_watching(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some(("watch", _)) => true,
        Some(("start" | "once", matches)) => matches.get_flag("watch"),
        _ => false,
    }
}

pub async fn run(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let Some((verb, matches)) = matches.subcommand() else {
        return Err(CommandFailure::quiet(ExitStatus::Usage));
    };
    match verb {
        "list" => return list(context, matches).await,
        "create" => return create(context, matches).await,
        _ => {}
    }
    let name = matches.get_one::<String>("name").cloned();
    let client = context.client().await?;
    let commands = LoopCommands {
        context,
        client: &client,
        name: name.unwrap_or_default(),
    };
    let done = match verb {
        "update" => commands.update(matches).await,
        "show" => commands.show().await,
        "start" => commands.start(matches.get_flag("watch")).await,
        "stop" => commands.stop().await,
        "once" => commands.once(matches.get_flag("watch")).await,
        "watch" => LoopWatcher::open(&commands).await?.run().await,
        "history" => commands.history(matches).await,
        "working" => memory::working(&commands, matches).await,
        "persistent" => memory::persistent(&commands, matches).await,
        "delete" => commands.delete().await,
        _ => Err(CommandFailure::quiet(ExitStatus::Usage)),
    };
    done.map_err(|failure| commands.with_advice(failure, verb))
}

async fn list(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let params = LoopListParams {
        running: matches.get_flag("running").then_some(true),
    };
    let client = context.client().await?;
    let found = client.call_with_retry::<List>(&params).await?;
    Ok(context.terminal.print_result(&found, loops::list)?)
}

async fn create(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    // The flags are checked before a daemon is started or asked.
    let params = LoopCreateParams {
        name: matches
            .get_one::<String>("name")
            .cloned()
            .unwrap_or_default(),
        config: config::new_loop(context, matches).await?,
        persistent: unattended_flags::read_text(matches, "persistent").await?,
        working: unattended_flags::read_text(matches, "working").await?,
    };
    let client = context.client().await?;
    let grants = params.config.grants.clone().unwrap_or_default();
    unattended_flags::warn_unknown_grants(context, &client, &grants).await;
    let commands = LoopCommands {
        context,
        client: &client,
        name: params.name.clone(),
    };
    let made = client.call_with_retry::<Create>(&params).await;
    let made = made.map_err(|error| commands.with_advice(error.into(), "create"))?;
    if !matches.get_flag("start") {
        return Ok(context.terminal.print_result(&made, loops::created)?);
    }
    commands.start(false).await
}

/// The subcommands that act on a named loop.
struct LoopCommands<'c> {
    context: &'c CommandContext,
    client: &'c Client,
    name: String,
}

impl LoopCommands<'_> {
    fn params(&self) -> LoopSelector {
        LoopSelector {
            name: self.name.clone(),
        }
    }

    async fn fetch(&self) -> Result<Loop, CommandFailure> {
        Ok(self.client.call_with_retry::<Get>(&self.params()).await?)
    }

    async fn show(&self) -> Result<(), CommandFailure> {
        let found = self.fetch().await?;
        Ok(self.context.terminal.print_result(&found, loops::show)?)
    }

    async fn update(&self, matches: &ArgMatches) -> Result<(), CommandFailure> {
        let before = self.fetch().await?;
        let config = config::update(self.context, matches, &before.config).await?;
        let added = config.grants.clone().unwrap_or_default();
        unattended_flags::warn_unknown_grants(self.context, self.client, &added).await;
        let params = LoopUpdateParams {
            name: self.name.clone(),
            config,
        };
        let changed = self.client.call_with_retry::<Update>(&params).await?;
        Ok(self
            .context
            .terminal
            .print_result(&changed, loops::updated)?)
    }

    async fn start(&self, watched: bool) -> Result<(), CommandFailure> {
        // Subscribed before the loop starts, so that no event is missed.
        let watch = if watched {
            Some(LoopWatcher::open(self).await?)
        } else {
            None
        };
        // Not retried: if only the answer was lost, a retry would fail with a conflict.
        let started = self.client.call::<Start>(&self.params()).await?;
        match watch {
            Some(watch) => watch.run().await,
            None => Ok(self
                .context
                .terminal
                .print_result(&started, loops::started)?),
        }
    }

    async fn once(&self, watched: bool) -> Result<(), CommandFailure> {
        let watch = if watched {
            Some(LoopWatcher::open(self).await?)
        } else {
            None
        };
        let params = LoopOnceParams {
            name: self.name.clone(),
            // A retry must not run a second iteration.
            idempotency_key: Some(crate::run_ui::run_request::fresh_id(
                &self.context.host.randomness,
            )),
        };
        let begun = self.client.call_with_retry::<Once>(&params).await?;
        match watch {
            Some(watch) => watch.run().await,
            None => Ok(self.context.terminal.print_result(&begun, loops::begun)?),
        }
    }

    async fn stop(&self) -> Result<(), CommandFailure> {
        let stopped = self.client.call_with_retry::<Stop>(&self.params()).await?;
        Ok(self
            .context
            .terminal
            .print_result(&stopped, loops::stopped)?)
    }

    async fn delete(&self) -> Result<(), CommandFailure> {
        let gone = self
            .client
            .call_with_retry::<Delete>(&self.params())
            .await?;
        Ok(self.context.terminal.print_result(&gone, loops::deleted)?)
    }

    async fn history(&self, matches: &ArgMatches) -> Result<(), CommandFailure> {
        let limit = matches
            .get_one::<u32>("limit")
            .copied()
            .unwrap_or(DEFAULT_PAGE);
        let Some(number) = matches.get_one::<u32>("iteration").copied() else {
            let before = matches.get_one::<u32>("before").copied();
            let page = self.fetch_iterations(before, limit).await?;
            let terminal = &self.context.terminal;
            if terminal.json {
                return Ok(terminal.document(&page)?);
            }
            let lines = loops::history(&self.name, &page, terminal.screen());
            return Ok(terminal.lines(lines)?);
        };
        // The history pages backwards, so the first entry before number + 1 is the iteration.
        let page = self
            .fetch_iterations(Some(number.saturating_add(1)), 1)
            .await?;
        let found = page.iterations.into_iter().next();
        match found.filter(|it| it.iteration == number) {
            Some(one) => Ok(self.context.terminal.print_result(&one, loops::iteration)?),
            None => Err(CommandFailure::new(
                ExitStatus::NotFound,
                ErrorCode::NotFound.as_str(),
                format!("{} has no iteration {number}.", self.name),
            )
            .next(format!("See `hob loop history {}`.", self.name))),
        }
    }

    async fn fetch_iterations(
        &self,
        before: Option<u32>,
        limit: u32,
    ) -> Result<LoopHistoryResult, CommandFailure> {
        let params = LoopHistoryParams {
            name: self.name.clone(),
            before,
            limit: Some(limit),
        };
        Ok(self.client.call_with_retry::<History>(&params).await?)
    }

    /// Adds the next step to a failure. The daemon cannot, as it does not know the command line.
    fn with_advice(&self, mut failure: CommandFailure, verb: &str) -> CommandFailure {
        let name = &self.name;
        if failure.next.is_some() {
            return failure;
        }
        let is = |code: ErrorCode| failure.code == code.as_str();
        failure.next = match verb {
            _ if is(ErrorCode::NotFound) => Some("See `hob loop list`.".to_owned()),
            "start" | "once" if is(ErrorCode::Conflict) => Some(format!(
                "Watch it: hob loop watch {name}; stop it: hob loop stop {name}"
            )),
            "delete" if is(ErrorCode::Conflict) => {
                Some(format!("Stop it first: hob loop stop {name}"))
            }
            "create" if is(ErrorCode::Conflict) => Some(format!(
                "Change it: hob loop update {name} …; see it: hob loop show {name}"
            )),
            _ => None,
        };
        failure
    }
}
