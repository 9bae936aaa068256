//! Converts the flags of `hob cron add` and `update` to the params of the cron room.

use super::args::{CronAddArgs, CronUpdateArgs, JobArgs};
use crate::commands::unattended_flags;
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::run_ui::run_request;
use hob_wire::rooms::cron::{CronAddParams, CronJob, CronUpdateParams, JobWork, NotifyTarget};
use hob_wire::schedule::NotifyTargetView;
use hob_wire::work::BudgetView;

/// Returns the params of a new job. Its workspace is the current folder unless `--workspace` is given.
pub(super) async fn add(
    context: &CommandContext,
    args: CronAddArgs,
) -> Result<CronAddParams, CommandFailure> {
    let CronAddArgs {
        name,
        job,
        disabled,
    } = args;
    check_flags(&job, None)?;
    // A loop has its own workspace.
    let workspace = match job.loop_name {
        Some(_) => None,
        None => run_request::workspace(context, job.run.workspace.clone())?,
    };
    unattended_flags::warn_wide_workspace(context, workspace.as_deref());
    let grants = job.grants.parse(context, workspace.as_deref())?;
    let rest = common_params(job, None, None).await?;
    Ok(CronAddParams {
        name,
        schedule: rest.schedule.unwrap_or_default(),
        task: rest.task,
        loop_name: rest.loop_name,
        command: rest.command,
        title: None,
        description: rest.description,
        zone: rest.zone,
        enabled: disabled.then_some(false),
        model: rest.model,
        budget: rest.budget,
        workspace,
        tools: rest.tools,
        network: rest.network,
        timeout_ms: rest.timeout_ms,
        missed: rest.missed,
        window_ms: rest.window_ms,
        overlap: rest.overlap,
        jitter_ms: rest.jitter_ms,
        active_hours: rest.active_hours,
        grants: (!grants.is_empty()).then_some(grants),
        notify: rest.notify,
        failures_max: rest.failures_max,
    })
}

/// Returns the changes to the job `before`.
pub(super) async fn update(
    context: &CommandContext,
    args: CronUpdateArgs,
    before: &CronJob,
) -> Result<CronUpdateParams, CommandFailure> {
    let (job, cleared) = (args.job, args.clear);
    check_flags(&job, Some(before))?;
    let folder = match job.run.workspace.clone() {
        None => None,
        named => run_request::workspace(context, named)?,
    };
    let added = job
        .grants
        .parse(context, folder.as_deref().or_else(|| workspace(before)))?;
    let clears = |what: &str| cleared.iter().any(|it| it == what);
    let notified = before.terms.notify.as_ref();
    let notified = notified.filter(|_| !clears("notify"));
    let mut params = common_params(job, budget(before), notified).await?;
    params.name = args.rename;
    params.workspace = folder;
    // An update replaces all grants, so the existing ones are carried over.
    if !added.is_empty() || clears("allow") {
        let kept = before.terms.grants.iter().filter(|_| !clears("allow"));
        let kept = kept.cloned().map(Into::into);
        params.grants = Some(kept.chain(added).collect());
    }
    for what in &cleared {
        clear(&mut params, what);
    }
    if params == CronUpdateParams::default() {
        return Err(CommandFailure::usage("Nothing to change was given.")
            .next("Example: hob cron update NAME --every 1h"));
    }
    // Set last, so that the comparison above sees only changes.
    params.id.clone_from(&before.id);
    Ok(params)
}

/// Resets a field by setting it to an empty text. A flag for the same field wins.
fn clear(params: &mut CronUpdateParams, what: &str) {
    let field = match what {
        "description" => &mut params.description,
        "hours" => &mut params.active_hours,
        "model" => &mut params.model,
        "workspace" => &mut params.workspace,
        "zone" => &mut params.zone,
        "notify" => {
            params.notify.get_or_insert(NotifyTarget {
                session_key: String::new(),
                failures_only: false,
            });
            return;
        }
        _ => return,
    };
    field.get_or_insert_default();
}

/// Returns the params that `add` and `update` share.
async fn common_params(
    job: JobArgs,
    budget: Option<&BudgetView>,
    notified: Option<&NotifyTargetView>,
) -> Result<CronUpdateParams, CommandFailure> {
    unattended_flags::check_single_stdin(&[
        ("task", job.task.as_deref()),
        ("command", job.command.as_deref()),
    ])?;
    Ok(CronUpdateParams {
        schedule: schedule(&job),
        task: unattended_flags::read_text(job.task).await?,
        loop_name: job.loop_name,
        command: unattended_flags::read_text(job.command).await?,
        description: job.description,
        zone: job.zone,
        budget: unattended_flags::merged_budget(&job.run, budget),
        tools: job.run.tools(),
        model: job.run.model,
        network: job.network,
        timeout_ms: job.timeout,
        missed: job.missed,
        window_ms: job.window,
        overlap: job.overlap,
        jitter_ms: job.jitter,
        active_hours: job.hours,
        notify: unattended_flags::notify_target(job.notify, notified)?,
        failures_max: job.failures_max,
        ..CronUpdateParams::default()
    })
}

/// Returns the schedule as one line of the room's grammar.
fn schedule(job: &JobArgs) -> Option<String> {
    if job.webhook {
        return Some("webhook".to_owned());
    }
    let every = job
        .every
        .as_deref()
        .map(|it| format!("every {}", it.trim()));
    // `2026-12-24 18:00` is accepted as well as `2026-12-24T18:00`.
    let at = job.at.as_deref().map(|it| it.trim().replacen(' ', "T", 1));
    let at = at.map(|at| format!("at {at}"));
    every
        .or(at)
        .or_else(|| Some(job.cron.as_deref()?.trim().to_owned()))
}

/// Refuses flags that belong to another kind of work.
fn check_flags(job: &JobArgs, before: Option<&CronJob>) -> Result<(), CommandFailure> {
    let run = &job.run;
    let of_task = [
        ("model", run.model.is_some()),
        ("tools", !run.tools.is_empty()),
        ("no-tools", run.no_tools),
        ("budget-steps", run.budget_steps.is_some()),
        ("budget-tokens", run.budget_tokens.is_some()),
        ("budget-dollars", run.budget_dollars.is_some()),
        ("budget-time", run.budget_time.is_some()),
        ("allow", !job.grants.allow.is_empty()),
    ];
    let of_command = [
        ("network", job.network.is_some()),
        ("timeout", job.timeout.is_some()),
    ];
    let work = match (&job.task, &job.loop_name, &job.command) {
        (Some(_), _, _) => "task",
        (_, Some(_), _) => "loop",
        (_, _, Some(_)) => "command",
        (None, None, None) => match before.map(|job| &job.terms.work) {
            Some(JobWork::Agent(_) | JobWork::Heartbeat(_)) | None => "task",
            Some(JobWork::Loop { .. }) => "loop",
            Some(JobWork::Command(_)) => "command",
        },
    };
    let (foreign, goes, next) = match work {
        "task" => (
            of_command.to_vec(),
            "--command",
            "Use --allow for commands that a model runs.",
        ),
        "loop" => (
            [
                &of_task[..],
                &[("workspace", run.workspace.is_some())],
                &of_command,
            ]
            .concat(),
            "--task",
            "The loop has its own settings: change them with `hob loop update NAME`.",
        ),
        _ => (
            of_task.to_vec(),
            "--task",
            "A command runs in the sandbox; --network gives it network access.",
        ),
    };
    match foreign.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => {
            let sentence = format!("--{flag} is only allowed with {goes}.");
            Err(CommandFailure::usage(sentence).next(next))
        }
        None => Ok(()),
    }
}

fn workspace(job: &CronJob) -> Option<&str> {
    match &job.terms.work {
        JobWork::Agent(work) => work.workspace.as_deref(),
        JobWork::Command(work) => work.workspace.as_deref(),
        JobWork::Loop { .. } | JobWork::Heartbeat(_) => None,
    }
}

fn budget(job: &CronJob) -> Option<&BudgetView> {
    match &job.terms.work {
        JobWork::Agent(work) => work.budget.as_ref(),
        JobWork::Heartbeat(work) => work.budget.as_ref(),
        JobWork::Loop { .. } | JobWork::Command(_) => None,
    }
}
