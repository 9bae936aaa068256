//! `hob cron`: jobs by the calendar, every so often, once, or when another system calls.

mod flags;
mod terms;

use super::{permission, standing, status};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::render::jobs;
use clap::ArgMatches;
pub use flags::command;
use hob_client::{Client, ClientError, Item, Subscription};
use hob_wire::rooms::cron::{
    Add, CronSlot, Disable, Enable, FireParams, History, HistoryParams, Job, JobParams, Jobs, List,
    ListParams, Remove, Run, Secret, SecretParams, Slot, SlotState, Update,
};
use hob_wire::{ErrorCode, Topic};

/// Slots of a page unless the person says otherwise.
const PAGE: u32 = 20;
/// Pages of jobs that are read at the most, 500 jobs each.
const PAGES_MAX: usize = 100;

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let Some((verb, matches)) = matches.subcommand() else {
        return Err(Failure::quiet(Exit::Usage));
    };
    if verb == "add" {
        return add(context, matches).await;
    }
    let client = context.client().await?;
    let desk = Desk {
        context,
        client: &client,
        name: matches
            .try_get_one::<String>("name")
            .ok()
            .flatten()
            .cloned()
            .unwrap_or_default(),
    };
    let done = match verb {
        "list" => desk.list().await,
        "update" => desk.update(matches).await,
        "show" => desk.show().await,
        "run" => desk.run(matches.get_flag("wait")).await,
        "history" => desk.history(matches).await,
        "enable" => desk.enable().await,
        "disable" => desk.disable().await,
        "remove" => desk.remove().await,
        "secret" => desk.secret(matches.get_flag("renew")).await,
        _ => Err(Failure::quiet(Exit::Usage)),
    };
    done.map_err(or_see_list)
}

async fn add(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    // What can be wrong without a daemon is said without one.
    let params = terms::add(context, matches).await?;
    let client = context.client().await?;
    let grants = params.grants.clone().unwrap_or_default();
    standing::warn(context, &client, &grants).await;
    let job = client.call_again::<Add>(&params).await;
    let job = job.map_err(|error| {
        let mut failure = Failure::from(error);
        if failure.code == ErrorCode::Conflict.as_str() && failure.next.is_none() {
            let name = &params.name;
            let next = format!("Change it: hob cron update {name} …; see it: hob cron show {name}");
            failure.next = Some(next);
        }
        failure
    })?;
    Ok(context.terminal.shown(&job, jobs::added)?)
}

/// Every job there is, page by page.
pub async fn all(client: &Client) -> Result<Jobs, ClientError> {
    let mut found = client.call_again::<List>(&ListParams::default()).await?;
    for _ in 1..PAGES_MAX {
        let last = found.jobs.last().map(|job| job.terms.name.clone());
        if !found.more || last.is_none() {
            break;
        }
        let params = ListParams {
            after: last,
            limit: None,
        };
        let page = client.call_again::<List>(&params).await?;
        found.more = page.more;
        found.jobs.extend(page.jobs);
    }
    Ok(found)
}

/// One job, named, and the way to it.
struct Desk<'c> {
    context: &'c Context,
    client: &'c Client,
    name: String,
}

impl Desk<'_> {
    fn params(&self) -> JobParams {
        JobParams {
            id: self.name.clone(),
        }
    }

    async fn list(&self) -> Result<(), Failure> {
        let found = all(self.client).await?;
        Ok(self.context.terminal.shown(&found, jobs::list)?)
    }

    async fn found(&self) -> Result<Job, Failure> {
        let mut found = all(self.client).await?.jobs.into_iter();
        let job = found.find(|job| job.terms.name == self.name || job.id == self.name);
        job.ok_or_else(|| {
            Failure::new(
                Exit::NotFound,
                ErrorCode::NotFound.as_str(),
                format!("There is no job '{}'.", self.name),
            )
        })
    }

    async fn show(&self) -> Result<(), Failure> {
        let job = self.found().await?;
        Ok(self.context.terminal.shown(&job, jobs::show)?)
    }

    async fn update(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let before = self.found().await?;
        let params = terms::update(self.context, matches, &before).await?;
        let grants = params.grants.clone().unwrap_or_default();
        standing::warn(self.context, self.client, &grants).await;
        let job = self.client.call_again::<Update>(&params).await?;
        Ok(self.context.terminal.shown(&job, jobs::updated)?)
    }

    async fn enable(&self) -> Result<(), Failure> {
        let job = self.client.call_again::<Enable>(&self.params()).await?;
        Ok(self.context.terminal.shown(&job, jobs::enabled)?)
    }

    async fn disable(&self) -> Result<(), Failure> {
        let job = self.client.call_again::<Disable>(&self.params()).await?;
        Ok(self.context.terminal.shown(&job, jobs::disabled)?)
    }

    async fn remove(&self) -> Result<(), Failure> {
        let gone = self.client.call_again::<Remove>(&self.params()).await?;
        Ok(self.context.terminal.shown(&gone, jobs::removed)?)
    }

    async fn run(&self, wait: bool) -> Result<(), Failure> {
        let params = FireParams {
            id: self.name.clone(),
            idempotency_key: Some(crate::mind::order::fresh_id(&self.context.world.dice)),
        };
        let terminal = &self.context.terminal;
        if !wait {
            let slot = self.client.call_again::<Run>(&params).await?;
            return Ok(terminal.shown(&slot, jobs::fired)?);
        }
        // Listened to before it begins, so that its end is not missed.
        let topics = [CronSlot::SPEC.topic];
        let mut stream = self.client.subscribe(Subscription::to(topics)).await?;
        let mut slot = self.client.call_again::<Run>(&params).await?;
        while matches!(slot.state, SlotState::Due | SlotState::Running) {
            let told = match stream.next().await {
                Some(Ok(Item::Event(event))) => event.read::<CronSlot>(),
                Some(Ok(Item::Gap(_))) => self.slot(slot.number).await?,
                Some(Err(error)) => return Err(error.into()),
                None => return Err(ClientError::Closed.into()),
            };
            if let Some(told) = told.filter(|told| told.number == slot.number) {
                slot = told;
            }
        }
        terminal.shown(&slot, jobs::slot)?;
        match slot.state {
            SlotState::Ran => Ok(()),
            SlotState::RanWithDenials => Err(Failure::quiet(Exit::Denied)),
            _ => Err(Failure::quiet(Exit::Failed)),
        }
    }

    /// A slot by its number.
    async fn slot(&self, number: u64) -> Result<Option<Slot>, Failure> {
        let params = HistoryParams {
            id: Some(self.name.clone()),
            before: Some(number.saturating_add(1)),
            limit: Some(1),
            ..HistoryParams::default()
        };
        let page = self.client.call_again::<History>(&params).await?;
        Ok(page.slots.into_iter().next())
    }

    async fn history(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let state = matches.get_one::<String>("state");
        let params = HistoryParams {
            id: matches.get_one::<String>("name").cloned(),
            state: state.and_then(|word| permission::named(word)),
            before: matches.get_one::<u64>("before").copied(),
            limit: Some(matches.get_one::<u32>("limit").copied().unwrap_or(PAGE)),
        };
        let page = self.client.call_again::<History>(&params).await?;
        Ok(self.context.terminal.shown(&page, jobs::history)?)
    }

    async fn secret(&self, renew: bool) -> Result<(), Failure> {
        let params = SecretParams {
            id: self.name.clone(),
            renew,
        };
        // A secret that was renewed twice is not the one that was renewed once.
        let secret = if renew {
            self.client.call::<Secret>(&params).await?
        } else {
            self.client.call_again::<Secret>(&params).await?
        };
        let terminal = &self.context.terminal;
        if terminal.json {
            return Ok(terminal.document(&secret)?);
        }
        let status = status::of_daemon(self.client).await?;
        // WebSocket and HTTP share the main port.
        let mut listeners = status.listeners.iter();
        let address = listeners.find_map(|it| it.strip_prefix("ws "));
        let base = format!("http://{}", address.unwrap_or("127.0.0.1:7717"));
        Ok(terminal.lines(jobs::secret(&secret, &base, terminal.screen()))?)
    }
}

/// Names the command that shows what there is, when what was named is not.
fn or_see_list(mut failure: Failure) -> Failure {
    if failure.code == ErrorCode::NotFound.as_str() && failure.next.is_none() {
        failure.next = Some("`hob cron list` shows what there is.".to_owned());
    }
    failure
}
