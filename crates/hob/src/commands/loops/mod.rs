//! `hob loop`: tasks that are asked again and again, made, run and watched.

mod config;
mod editing;
mod flags;
mod memory;
mod watch;

use super::standing;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::render::loops;
use clap::ArgMatches;
pub use flags::command;
use hob_client::Client;
use hob_wire::ErrorCode;
use hob_wire::rooms::loops::{
    Create, CreateParams, Delete, Get, History, HistoryParams, Iterations, List, ListParams, Loop,
    NameParams, Once, OnceParams, Start, Stop, Update, UpdateParams,
};
use watch::Watch;

/// Iterations of a page unless the person says otherwise.
const PAGE: u32 = 20;

/// Whether the command line shows a loop at work, which minds Ctrl-C by itself.
pub fn watches(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some(("watch", _)) => true,
        Some(("start" | "once", matches)) => matches.get_flag("watch"),
        _ => false,
    }
}

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let Some((verb, matches)) = matches.subcommand() else {
        return Err(Failure::quiet(Exit::Usage));
    };
    match verb {
        "list" => return list(context, matches).await,
        "create" => return create(context, matches).await,
        _ => {}
    }
    let name = matches.get_one::<String>("name").cloned();
    let client = context.client().await?;
    let desk = Desk {
        context,
        client: &client,
        name: name.unwrap_or_default(),
    };
    let done = match verb {
        "update" => desk.update(matches).await,
        "show" => desk.show().await,
        "start" => desk.start(matches.get_flag("watch")).await,
        "stop" => desk.stop().await,
        "once" => desk.once(matches.get_flag("watch")).await,
        "watch" => Watch::open(&desk).await?.run().await,
        "history" => desk.history(matches).await,
        "working" => memory::working(&desk, matches).await,
        "persistent" => memory::persistent(&desk, matches).await,
        "delete" => desk.delete().await,
        _ => Err(Failure::quiet(Exit::Usage)),
    };
    done.map_err(|failure| desk.advised(failure, verb))
}

async fn list(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let params = ListParams {
        running: matches.get_flag("running").then_some(true),
    };
    let client = context.client().await?;
    let found = client.call_again::<List>(&params).await?;
    Ok(context.terminal.shown(&found, loops::list)?)
}

async fn create(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    // What can be wrong without a daemon is said without one.
    let params = CreateParams {
        name: matches
            .get_one::<String>("name")
            .cloned()
            .unwrap_or_default(),
        config: config::new(context, matches).await?,
        persistent: standing::prose(matches, "persistent").await?,
        working: standing::prose(matches, "working").await?,
    };
    let client = context.client().await?;
    let grants = params.config.grants.clone().unwrap_or_default();
    standing::warn(context, &client, &grants).await;
    let desk = Desk {
        context,
        client: &client,
        name: params.name.clone(),
    };
    let made = client.call_again::<Create>(&params).await;
    let made = made.map_err(|error| desk.advised(error.into(), "create"))?;
    if !matches.get_flag("start") {
        return Ok(context.terminal.shown(&made, loops::created)?);
    }
    desk.start(false).await
}

/// One loop, named, and the way to it.
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

    async fn found(&self) -> Result<Loop, Failure> {
        Ok(self.client.call_again::<Get>(&self.params()).await?)
    }

    async fn show(&self) -> Result<(), Failure> {
        let found = self.found().await?;
        Ok(self.context.terminal.shown(&found, loops::show)?)
    }

    async fn update(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let before = self.found().await?;
        let config = config::update(self.context, matches, &before.config).await?;
        let added = config.grants.clone().unwrap_or_default();
        standing::warn(self.context, self.client, &added).await;
        let params = UpdateParams {
            name: self.name.clone(),
            config,
        };
        let changed = self.client.call_again::<Update>(&params).await?;
        Ok(self.context.terminal.shown(&changed, loops::updated)?)
    }

    async fn start(&self, watched: bool) -> Result<(), Failure> {
        // Listened to before it begins, so that nothing of it is missed.
        let watch = if watched {
            Some(Watch::open(self).await?)
        } else {
            None
        };
        // Not repeated by itself: a start that was lost on the way may have been heard.
        let started = self.client.call::<Start>(&self.params()).await?;
        match watch {
            Some(watch) => watch.run().await,
            None => Ok(self.context.terminal.shown(&started, loops::started)?),
        }
    }

    async fn once(&self, watched: bool) -> Result<(), Failure> {
        let watch = if watched {
            Some(Watch::open(self).await?)
        } else {
            None
        };
        let params = OnceParams {
            name: self.name.clone(),
            idempotency_key: Some(crate::mind::order::fresh_id(&self.context.world.dice)),
        };
        let begun = self.client.call_again::<Once>(&params).await?;
        match watch {
            Some(watch) => watch.run().await,
            None => Ok(self.context.terminal.shown(&begun, loops::begun)?),
        }
    }

    async fn stop(&self) -> Result<(), Failure> {
        let stopped = self.client.call_again::<Stop>(&self.params()).await?;
        Ok(self.context.terminal.shown(&stopped, loops::stopped)?)
    }

    async fn delete(&self) -> Result<(), Failure> {
        let gone = self.client.call_again::<Delete>(&self.params()).await?;
        Ok(self.context.terminal.shown(&gone, loops::deleted)?)
    }

    async fn history(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let limit = matches.get_one::<u32>("limit").copied().unwrap_or(PAGE);
        let Some(number) = matches.get_one::<u32>("iteration").copied() else {
            let before = matches.get_one::<u32>("before").copied();
            let page = self.iterations(before, limit).await?;
            let terminal = &self.context.terminal;
            if terminal.json {
                return Ok(terminal.document(&page)?);
            }
            let lines = loops::history(&self.name, &page, terminal.screen());
            return Ok(terminal.lines(lines)?);
        };
        let page = self.iterations(Some(number.saturating_add(1)), 1).await?;
        let found = page.iterations.into_iter().next();
        match found.filter(|it| it.iteration == number) {
            Some(one) => Ok(self.context.terminal.shown(&one, loops::iteration)?),
            None => Err(Failure::new(
                Exit::NotFound,
                ErrorCode::NotFound.as_str(),
                format!("{} has no iteration {number}.", self.name),
            )
            .next(format!(
                "`hob loop history {}` shows those there are.",
                self.name
            ))),
        }
    }

    async fn iterations(&self, before: Option<u32>, limit: u32) -> Result<Iterations, Failure> {
        let params = HistoryParams {
            name: self.name.clone(),
            before,
            limit: Some(limit),
        };
        Ok(self.client.call_again::<History>(&params).await?)
    }

    /// What to do next, where the daemon cannot know which command was typed.
    fn advised(&self, mut failure: Failure, verb: &str) -> Failure {
        let name = &self.name;
        if failure.next.is_some() {
            return failure;
        }
        let is = |code: ErrorCode| failure.code == code.as_str();
        failure.next = match verb {
            _ if is(ErrorCode::NotFound) => Some("`hob loop list` shows what there is.".to_owned()),
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
