//! `hob cron`: jobs that run by cron fields, at an interval, once, or by webhook.

mod args;
mod params;

use super::{status, unattended_flags};
use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::jobs;
use crate::run_ui::name_check;
use crate::run_ui::onboarding::{self, ModelNeed};
pub use args::CronSubcommand;
use args::{CronAddArgs, CronHistoryArgs, CronPreviewArgs, CronUpdateArgs, JobName};
use hob_client::{Client, ClientError, StreamItem, SubscribeOptions};
use hob_wire::rooms::cron::{
    Add, CronHistoryParams, CronJob, CronListParams, CronListResult, CronPreviewParams,
    CronRunParams, CronSecretParams, CronSlot, Disable, Enable, History, JobSelector, JobSlot,
    List, Preview, Remove, Run, Secret, SlotState, Update,
};
use hob_wire::{ErrorCode, EventTopic};

/// The page size without `--limit`.
const DEFAULT_PAGE: u32 = 20;
/// The most pages of jobs that are read, 500 jobs each.
const PAGES_MAX: usize = 100;

pub async fn run(context: &CommandContext, command: CronSubcommand) -> Result<(), CommandFailure> {
    let open = |job: JobName| CronCommands::open(context, job.name);
    let done = match command {
        CronSubcommand::Add(args) => return add(context, *args).await,
        CronSubcommand::List => {
            let found = list_all(&context.client().await?).await?;
            return Ok(context.terminal.print_result(&found, jobs::list)?);
        }
        CronSubcommand::Preview(args) => return preview(context, args).await,
        CronSubcommand::Update(args) => {
            let job = CronCommands::open(context, args.name.name.clone()).await?;
            job.update(*args).await
        }
        CronSubcommand::Show(job) => open(job).await?.show().await,
        CronSubcommand::Run { job, wait } => open(job).await?.run(wait).await,
        CronSubcommand::History(args) => history(context, args).await,
        CronSubcommand::Enable(job) => open(job).await?.enable().await,
        CronSubcommand::Disable(job) => open(job).await?.disable().await,
        CronSubcommand::Remove(job) => open(job).await?.remove().await,
        CronSubcommand::Secret { job, renew } => open(job).await?.secret(renew).await,
    };
    done.map_err(suggest_list)
}

async fn preview(context: &CommandContext, args: CronPreviewArgs) -> Result<(), CommandFailure> {
    let params = CronPreviewParams {
        rule: args.rule,
        zone: args.zone,
        active_hours: args.hours,
        count: args.count,
    };
    let client = context.client().await?;
    let found = client.call_with_retry::<Preview>(&params).await?;
    Ok(context.terminal.print_result(&found, jobs::preview)?)
}

async fn add(context: &CommandContext, args: CronAddArgs) -> Result<(), CommandFailure> {
    // The flags are checked before a daemon is started or asked.
    let tools = args.job.run.tools.clone();
    let params = params::add(context, args).await?;
    let client = context.client().await?;
    name_check::tools(&client, &tools).await?;
    let grants = params.grants.clone().unwrap_or_default();
    unattended_flags::warn_unknown_grants(context, &client, &grants).await;
    if params.task.is_some() {
        let need = ModelNeed {
            named: params.model.is_some(),
            tools: !grants.is_empty(),
        };
        onboarding::offer_for_unattended(context, &client, need).await?;
    }
    let job = client.call_with_retry::<Add>(&params).await;
    let job = job.map_err(|error| {
        let mut failure = CommandFailure::from(error);
        if failure.code == ErrorCode::Conflict.as_str() && failure.next.is_none() {
            let name = &params.name;
            let next = format!("Change it: hob cron update {name} …; see it: hob cron show {name}");
            failure.next = Some(next);
        }
        failure
    })?;
    context.terminal.print_result(&job, jobs::added)?;
    super::autostart::note_if_off(context);
    Ok(())
}

/// Returns all jobs, read page by page.
pub async fn list_all(client: &Client) -> Result<CronListResult, ClientError> {
    let mut found = client
        .call_with_retry::<List>(&CronListParams::default())
        .await?;
    for _ in 1..PAGES_MAX {
        let last = found.jobs.last().map(|job| job.terms.name.clone());
        if !found.more || last.is_none() {
            break;
        }
        let params = CronListParams {
            after: last,
            limit: None,
        };
        let page = client.call_with_retry::<List>(&params).await?;
        found.more = page.more;
        found.jobs.extend(page.jobs);
    }
    Ok(found)
}

/// The subcommands that act on a named job.
struct CronCommands<'c> {
    context: &'c CommandContext,
    client: Client,
    name: String,
}

impl<'c> CronCommands<'c> {
    async fn open(
        context: &'c CommandContext,
        name: String,
    ) -> Result<CronCommands<'c>, CommandFailure> {
        Ok(CronCommands {
            context,
            client: context.client().await?,
            name,
        })
    }

    fn params(&self) -> JobSelector {
        JobSelector {
            id: self.name.clone(),
        }
    }

    async fn find_job(&self) -> Result<CronJob, CommandFailure> {
        let mut found = list_all(&self.client).await?.jobs.into_iter();
        let job = found.find(|job| job.terms.name == self.name || job.id == self.name);
        job.ok_or_else(|| {
            CommandFailure::new(
                ExitStatus::NotFound,
                ErrorCode::NotFound.as_str(),
                format!("There is no job '{}'.", self.name),
            )
        })
    }

    async fn show(&self) -> Result<(), CommandFailure> {
        let job = self.find_job().await?;
        Ok(self.context.terminal.print_result(&job, jobs::show)?)
    }

    async fn update(&self, args: CronUpdateArgs) -> Result<(), CommandFailure> {
        let before = self.find_job().await?;
        name_check::tools(&self.client, &args.job.run.tools).await?;
        let params = params::update(self.context, args, &before).await?;
        let grants = params.grants.clone().unwrap_or_default();
        unattended_flags::warn_unknown_grants(self.context, &self.client, &grants).await;
        let job = self.client.call_with_retry::<Update>(&params).await?;
        Ok(self.context.terminal.print_result(&job, jobs::updated)?)
    }

    async fn enable(&self) -> Result<(), CommandFailure> {
        let job = self
            .client
            .call_with_retry::<Enable>(&self.params())
            .await?;
        Ok(self.context.terminal.print_result(&job, jobs::enabled)?)
    }

    async fn disable(&self) -> Result<(), CommandFailure> {
        let job = self
            .client
            .call_with_retry::<Disable>(&self.params())
            .await?;
        Ok(self.context.terminal.print_result(&job, jobs::disabled)?)
    }

    async fn remove(&self) -> Result<(), CommandFailure> {
        let gone = self
            .client
            .call_with_retry::<Remove>(&self.params())
            .await?;
        Ok(self.context.terminal.print_result(&gone, jobs::removed)?)
    }

    async fn run(&self, wait: bool) -> Result<(), CommandFailure> {
        let params = CronRunParams {
            id: self.name.clone(),
            // A retry must not run the job twice.
            idempotency_key: Some(crate::run_ui::run_request::fresh_id(
                &self.context.host.randomness,
            )),
        };
        let terminal = &self.context.terminal;
        if !wait {
            let slot = self.client.call_with_retry::<Run>(&params).await?;
            return Ok(terminal.print_result(&slot, jobs::fired)?);
        }
        // Subscribed before the job starts, so that its end is not missed.
        let topics = [CronSlot::SPEC.topic];
        let mut stream = self.client.subscribe(SubscribeOptions::to(topics)).await?;
        let mut slot = self.client.call_with_retry::<Run>(&params).await?;
        while matches!(slot.state, SlotState::Due | SlotState::Running) {
            let update = match stream.next().await {
                Some(Ok(StreamItem::Event(event))) => event.read::<CronSlot>(),
                // The end may be among the lost events.
                Some(Ok(StreamItem::Gap(_))) => self.fetch_slot(slot.number).await?,
                Some(Err(error)) => return Err(error.into()),
                None => return Err(ClientError::Closed.into()),
            };
            if let Some(update) = update.filter(|update| update.number == slot.number) {
                slot = update;
            }
        }
        terminal.print_result(&slot, jobs::slot)?;
        match slot.state {
            SlotState::Ran => Ok(()),
            SlotState::RanWithDenials => Err(CommandFailure::quiet(ExitStatus::Denied)),
            _ => Err(CommandFailure::quiet(ExitStatus::Failed)),
        }
    }

    /// Returns the slot with this number.
    async fn fetch_slot(&self, number: u64) -> Result<Option<JobSlot>, CommandFailure> {
        let params = CronHistoryParams {
            id: Some(self.name.clone()),
            before: Some(number.saturating_add(1)),
            limit: Some(1),
            ..CronHistoryParams::default()
        };
        let page = self.client.call_with_retry::<History>(&params).await?;
        Ok(page.slots.into_iter().next())
    }

    async fn secret(&self, renew: bool) -> Result<(), CommandFailure> {
        let params = CronSecretParams {
            id: self.name.clone(),
            renew,
        };
        // Renewing is not idempotent, so it is not retried.
        let secret = if renew {
            self.client.call::<Secret>(&params).await?
        } else {
            self.client.call_with_retry::<Secret>(&params).await?
        };
        let terminal = &self.context.terminal;
        if terminal.json {
            return Ok(terminal.document(&secret)?);
        }
        let status = status::fetch_status(&self.client).await?;
        // WebSocket and HTTP share the main port.
        let mut listeners = status.listeners.iter();
        let address = listeners.find_map(|it| it.strip_prefix("ws "));
        let base = format!("http://{}", address.unwrap_or("127.0.0.1:7717"));
        Ok(terminal.lines(jobs::secret(&secret, &base, terminal.screen()))?)
    }
}

async fn history(context: &CommandContext, args: CronHistoryArgs) -> Result<(), CommandFailure> {
    let params = CronHistoryParams {
        id: args.name,
        state: args.state,
        before: args.before,
        limit: Some(args.limit.unwrap_or(DEFAULT_PAGE)),
    };
    let client = context.client().await?;
    let page = client.call_with_retry::<History>(&params).await?;
    Ok(context.terminal.print_result(&page, jobs::history)?)
}

/// Suggests the list command if the job was not found.
fn suggest_list(mut failure: CommandFailure) -> CommandFailure {
    if failure.code == ErrorCode::NotFound.as_str() && failure.next.is_none() {
        failure.next = Some("See `hob cron list`.".to_owned());
    }
    failure
}
