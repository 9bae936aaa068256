//! `hob loop`: creates, runs and watches loops.

mod args;
mod config;
pub(crate) mod editor;
mod memory;
mod watch;

use super::unattended_flags;
use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::loops;
use crate::run_ui::name_check;
use crate::run_ui::onboarding::{self, ModelNeed};
pub use args::LoopSubcommand;
use args::{LoopCreateArgs, LoopName, LoopUpdateArgs};
use hob_client::Client;
use hob_wire::ErrorCode;
use hob_wire::rooms::loops::{
    Create, Delete, Get, History, List, Loop, LoopHistoryParams, LoopHistoryResult, LoopListParams,
    LoopOnceParams, LoopSelector, LoopUpdateParams, Once, Start, Stop, Update,
};
use watch::LoopWatcher;

/// The page size without `--limit`.
const DEFAULT_PAGE: u32 = 20;

impl LoopSubcommand {
    /// Returns true if the command watches a loop; the watcher handles Ctrl-C itself.
    pub fn is_watching(&self) -> bool {
        match self {
            LoopSubcommand::Watch(_) => true,
            LoopSubcommand::Start(args) | LoopSubcommand::Once(args) => args.watch,
            _ => false,
        }
    }

    /// Returns the next step after a conflict. The daemon does not know the command line.
    fn conflict_advice(&self) -> Option<String> {
        match self {
            LoopSubcommand::Create(args) => {
                let name = &args.name.name;
                Some(format!(
                    "Change it: hob loop update {name} …; see it: hob loop show {name}"
                ))
            }
            LoopSubcommand::Start(args) | LoopSubcommand::Once(args) => {
                let name = &args.name.name;
                Some(format!(
                    "Watch it: hob loop watch {name}; stop it: hob loop stop {name}"
                ))
            }
            LoopSubcommand::Delete(LoopName { name }) => {
                Some(format!("Stop it first: hob loop stop {name}"))
            }
            _ => None,
        }
    }
}

pub async fn run(context: &CommandContext, command: LoopSubcommand) -> Result<(), CommandFailure> {
    let conflict_advice = command.conflict_advice();
    let open = |name: LoopName| LoopCommands::open(context, name.name);
    let done = match command {
        LoopSubcommand::List { running } => list(context, running).await,
        LoopSubcommand::Create(args) => create(context, *args).await,
        LoopSubcommand::Update(args) => {
            let named = LoopCommands::open(context, args.name.name.clone()).await?;
            named.update(*args).await
        }
        LoopSubcommand::Show(name) => open(name).await?.show().await,
        LoopSubcommand::Start(args) => open(args.name).await?.start(args.watch).await,
        LoopSubcommand::Stop(name) => open(name).await?.stop().await,
        LoopSubcommand::Once(args) => open(args.name).await?.once(args.watch).await,
        LoopSubcommand::Watch(name) => {
            let named = open(name).await?;
            LoopWatcher::open(&named).await?.run().await
        }
        LoopSubcommand::History(args) => {
            let named = open(args.name).await?;
            match args.iteration {
                Some(number) => named.iteration(number).await,
                None => named.history(args.before, args.limit).await,
            }
        }
        LoopSubcommand::Working { name, text } => memory::working(&open(name).await?, text).await,
        LoopSubcommand::Persistent(args) => {
            let named = LoopCommands::open(context, args.name.name.clone()).await?;
            memory::persistent(&named, args).await
        }
        LoopSubcommand::Delete(name) => open(name).await?.delete().await,
    };
    done.map_err(|failure| with_advice(failure, conflict_advice))
}

async fn list(context: &CommandContext, running: bool) -> Result<(), CommandFailure> {
    let params = LoopListParams {
        running: running.then_some(true),
    };
    let client = context.client().await?;
    let found = client.call_with_retry::<List>(&params).await?;
    Ok(context.terminal.print_result(&found, loops::list)?)
}

async fn create(context: &CommandContext, args: LoopCreateArgs) -> Result<(), CommandFailure> {
    // The flags are checked before a daemon is started or asked.
    let (name, start) = (args.name.name.clone(), args.start);
    let tools = args.config.run.tools.clone();
    let params = config::new_loop(context, args).await?;
    let named = LoopCommands::open(context, name).await?;
    name_check::tools(&named.client, &tools).await?;
    let grants = params.config.grants.clone().unwrap_or_default();
    unattended_flags::warn_unknown_grants(context, &named.client, &grants).await;
    let made = named.client.call_with_retry::<Create>(&params).await?;
    if !start {
        return Ok(context.terminal.print_result(&made, loops::created)?);
    }
    named.start(false).await
}

/// The subcommands that act on a named loop.
struct LoopCommands<'c> {
    context: &'c CommandContext,
    client: Client,
    name: String,
}

impl<'c> LoopCommands<'c> {
    async fn open(
        context: &'c CommandContext,
        name: String,
    ) -> Result<LoopCommands<'c>, CommandFailure> {
        Ok(LoopCommands {
            context,
            client: context.client().await?,
            name,
        })
    }

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

    async fn update(&self, args: LoopUpdateArgs) -> Result<(), CommandFailure> {
        let before = self.fetch().await?;
        let config = config::update(self.context, args, &before.config).await?;
        let added = config.grants.clone().unwrap_or_default();
        unattended_flags::warn_unknown_grants(self.context, &self.client, &added).await;
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
        self.offer_model().await?;
        // Not retried: if only the answer was lost, a retry would fail with a conflict.
        let started = self.client.call::<Start>(&self.params()).await?;
        if let Some(watch) = watch {
            return watch.run().await;
        }
        let terminal = &self.context.terminal;
        terminal.print_result(&started, loops::started)?;
        super::autostart::note_if_off(self.context);
        Ok(())
    }

    /// Offers a choice of models before the first loop, if none is configured.
    async fn offer_model(&self) -> Result<(), CommandFailure> {
        // A loop that is not there is the start's own failure.
        let Ok(found) = self.client.call_with_retry::<Get>(&self.params()).await else {
            return Ok(());
        };
        let need = ModelNeed {
            named: found.config.model.is_some(),
            tools: !found.config.grants.is_empty(),
        };
        onboarding::offer_for_unattended(self.context, &self.client, need).await
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

    async fn history(&self, before: Option<u32>, limit: Option<u32>) -> Result<(), CommandFailure> {
        let limit = limit.unwrap_or(DEFAULT_PAGE);
        let page = self.fetch_iterations(before, limit).await?;
        let terminal = &self.context.terminal;
        if terminal.json {
            return Ok(terminal.document(&page)?);
        }
        Ok(terminal.lines(loops::history(&self.name, &page, terminal.screen()))?)
    }

    async fn iteration(&self, number: u32) -> Result<(), CommandFailure> {
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
}

/// Adds the next step to a failure.
fn with_advice(mut failure: CommandFailure, conflict: Option<String>) -> CommandFailure {
    if failure.next.is_none() {
        let is = |code: ErrorCode| failure.code == code.as_str();
        failure.next = if is(ErrorCode::NotFound) {
            Some("See `hob loop list`.".to_owned())
        } else {
            conflict.filter(|_| is(ErrorCode::Conflict))
        };
    }
    failure
}
