//! Converts the flags of `hob cron add` and `update` to the params of the cron room.

use crate::commands::{permission, unattended_flags};
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::run_ui::run_request;
use clap::ArgMatches;
use hob_wire::rooms::cron::{CronAddParams, CronJob, CronUpdateParams, JobWork, NotifyTarget};
use hob_wire::work::BudgetView;

/// Returns the params of a new job. Its workspace is the current folder unless `--workspace` is given.
pub(super) async fn add(
    context: &CommandContext,
    matches: &ArgMatches,
) -> Result<CronAddParams, CommandFailure> {
    check_flags(matches, None)?;
    let name = matches.get_one::<String>("name").cloned();
    let is_loop = matches.contains_id("loop");
    let named = matches.get_one::<String>("workspace").cloned();
    // A loop has its own workspace.
    let workspace = if is_loop {
        None
    } else {
        run_request::workspace(context, named)?
    };
    unattended_flags::warn_wide_workspace(context, workspace.as_deref());
    let grants = unattended_flags::parse_grants(context, matches, workspace.as_deref())?;
    let rest = common_params(matches, None).await?;
    Ok(CronAddParams {
        name: name.unwrap_or_default(),
        schedule: schedule(matches).unwrap_or_default(),
        task: rest.task,
        loop_name: rest.loop_name,
        command: rest.command,
        description: rest.description,
        zone: rest.zone,
        enabled: matches.get_flag("disabled").then_some(false),
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
    matches: &ArgMatches,
    before: &CronJob,
) -> Result<CronUpdateParams, CommandFailure> {
    check_flags(matches, Some(before))?;
    let mut params = common_params(matches, Some(before)).await?;
    params.name = matches.get_one::<String>("rename").cloned();
    params.schedule = schedule(matches);
    if let Some(named) = matches.get_one::<String>("workspace") {
        params.workspace = run_request::workspace(context, Some(named.clone()))?;
    }
    let folder = params.workspace.as_deref().or_else(|| workspace(before));
    let added = unattended_flags::parse_grants(context, matches, folder)?;
    let cleared = cleared(matches);
    let clears_grants = cleared.iter().any(|it| it == "allow");
    // An update replaces all grants, so the existing ones are carried over.
    if !added.is_empty() || clears_grants {
        let kept = before.terms.grants.iter().filter(|_| !clears_grants);
        let kept = kept.cloned().map(Into::into);
        params.grants = Some(kept.chain(added).collect());
    }
    for what in cleared {
        clear(&mut params, &what);
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

fn cleared(matches: &ArgMatches) -> Vec<String> {
    let given = matches.try_get_many::<String>("clear").ok().flatten();
    given.into_iter().flatten().cloned().collect()
}

/// Returns the params that `add` and `update` share.
async fn common_params(
    matches: &ArgMatches,
    before: Option<&CronJob>,
) -> Result<CronUpdateParams, CommandFailure> {
    unattended_flags::check_single_stdin(matches, &["task", "command"])?;
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let cleared = cleared(matches);
    let notified = before.and_then(|job| job.terms.notify.as_ref());
    let notified = notified.filter(|_| !cleared.iter().any(|it| it == "notify"));
    Ok(CronUpdateParams {
        task: unattended_flags::read_text(matches, "task").await?,
        loop_name: text("loop"),
        command: unattended_flags::read_text(matches, "command").await?,
        description: text("description"),
        zone: text("zone"),
        model: text("model"),
        budget: unattended_flags::merged_budget(matches, before.and_then(budget)),
        tools: run_request::tools(matches),
        network: unattended_flags::network_grant(matches, "network"),
        timeout_ms: matches.get_one::<u64>("timeout").copied(),
        missed: text("missed").and_then(|word| permission::parse_wire_name(&word)),
        window_ms: matches.get_one::<u64>("window").copied(),
        overlap: text("overlap").and_then(|word| permission::parse_wire_name(&word)),
        jitter_ms: matches.get_one::<u64>("jitter").copied(),
        active_hours: text("hours"),
        notify: unattended_flags::notify_target(matches, notified)?,
        failures_max: matches.get_one::<u32>("failures-max").copied(),
        ..CronUpdateParams::default()
    })
}

/// Returns the schedule as one line of the room's grammar.
fn schedule(matches: &ArgMatches) -> Option<String> {
    let text = |name: &str| {
        matches
            .get_one::<String>(name)
            .map(|it| it.trim().to_owned())
    };
    if matches.get_flag("webhook") {
        return Some("webhook".to_owned());
    }
    let every = text("every").map(|every| format!("every {every}"));
    // `2026-12-24 18:00` is accepted as well as `2026-12-24T18:00`.
    let at = || text("at").map(|at| format!("at {}", at.replacen(' ', "T", 1)));
    every.or_else(at).or_else(|| text("cron"))
}

/// Refuses flags that belong to another kind of work.
fn check_flags(matches: &ArgMatches, before: Option<&CronJob>) -> Result<(), CommandFailure> {
    let kind = ["task", "loop", "command"];
    let named = kind.into_iter().find(|name| matches.contains_id(name));
    let kind = named.or(before.map(|job| match job.terms.work {
        JobWork::Agent(_) | JobWork::Heartbeat(_) => "task",
        JobWork::Loop { .. } => "loop",
        JobWork::Command(_) => "command",
    }));
    let given = |name: &str| {
        let source = matches.value_source(name);
        source == Some(clap::parser::ValueSource::CommandLine)
    };
    let of_task = [
        "model",
        "tools",
        "no-tools",
        "budget-steps",
        "budget-tokens",
        "budget-dollars",
        "budget-time",
        "allow",
    ];
    let wrong = match kind {
        Some("task") => ["network", "timeout"].into_iter().find(|it| given(it)),
        Some("command") => of_task.into_iter().find(|it| given(it)),
        Some("loop") => {
            let others = ["workspace", "network", "timeout"];
            of_task.into_iter().chain(others).find(|it| given(it))
        }
        _ => None,
    };
    let Some(wrong) = wrong else {
        return Ok(());
    };
    let (goes, next) = match kind {
        Some("task") => ("--command", "Use --allow for commands that a model runs."),
        Some("loop") => (
            "--task",
            "The loop has its own settings: change them with `hob loop update NAME`.",
        ),
        _ => (
            "--task",
            "A command runs in the sandbox; --network gives it network access.",
        ),
    };
    Err(CommandFailure::usage(format!("--{wrong} is only allowed with {goes}.")).next(next))
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
