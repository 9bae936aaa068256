//! Converts the flags of `hob loop create` and `update` to the config of the loop room. All flags
//! are read and checked before the daemon is called.

use super::args::{LoopConfigArgs, LoopCreateArgs, LoopUpdateArgs};
use crate::commands::unattended_flags;
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::run_ui::run_request;
use hob_wire::rooms::loops::{
    BackoffConfig, BackoffConfigView, INTERVAL_MS_MAX, INTERVAL_MS_MIN, LoopChange, LoopConfig,
    LoopCreateParams, MonitorConfig, MonitorConfigView,
};
use hob_wire::schedule::NotifyTargetView;
use hob_wire::work::{Budget, BudgetView};

/// Returns the params of a new loop. Its workspace is the current folder unless `--workspace` is given.
pub(super) async fn new_loop(
    context: &CommandContext,
    args: LoopCreateArgs,
) -> Result<LoopCreateParams, CommandFailure> {
    unattended_flags::check_single_stdin(&[
        ("task", Some(&args.task)),
        ("system", args.config.system.as_deref()),
        ("persistent", args.persistent.as_deref()),
        ("working", args.working.as_deref()),
    ])?;
    let workspace = run_request::workspace(context, args.config.run.workspace.clone())?;
    let grants = args.config.grants.parse(context, workspace.as_deref())?;
    let mut config = change(Some(args.task), args.config, LoopParts::default()).await?;
    config.grants = (!grants.is_empty()).then_some(grants);
    unattended_flags::warn_wide_workspace(context, workspace.as_deref());
    config.workspace = workspace.map(Some);
    Ok(LoopCreateParams {
        name: args.name.name,
        config,
        persistent: unattended_flags::read_text(args.persistent).await?,
        working: unattended_flags::read_text(args.working).await?,
    })
}

/// Returns the changes to a loop with the config `before`.
pub(super) async fn update(
    context: &CommandContext,
    args: LoopUpdateArgs,
    before: &LoopConfig,
) -> Result<LoopChange, CommandFailure> {
    unattended_flags::check_single_stdin(&[
        ("task", args.task.as_deref()),
        ("system", args.config.system.as_deref()),
    ])?;
    let workspace = match args.config.run.workspace.clone() {
        None => None,
        named => Some(run_request::workspace(context, named)?),
    };
    let folder = workspace.as_ref().unwrap_or(&before.workspace);
    let added = args.config.grants.parse(context, folder.as_deref())?;
    let clears = |what: &str| args.clear.iter().any(|it| it == what);
    let kept = LoopParts {
        monitor: before.monitor.as_ref().filter(|_| !clears("monitor")),
        notify: before.notify.as_ref().filter(|_| !clears("notify")),
        budget: Some(&before.budget).filter(|_| !clears("budget")),
        backoff: Some(before.backoff),
    };
    let mut change = change(args.task, args.config, kept).await?;
    change.workspace = workspace;
    // An update replaces all grants, so the existing ones are carried over.
    if !added.is_empty() || clears("allow") {
        let kept = before.grants.iter().filter(|_| !clears("allow"));
        let kept = kept.cloned().map(Into::into);
        change.grants = Some(kept.chain(added).collect());
    }
    for what in &args.clear {
        clear(&mut change, what);
    }
    if change.is_empty() {
        return Err(CommandFailure::usage("Nothing to change was given.")
            .next("Example: hob loop update NAME --every 10m"));
    }
    Ok(change)
}

/// Clears a field. A flag for the same field wins over `--clear`; for a monitor, a notification or a
/// budget, the parts that no flag names are cleared.
fn clear(change: &mut LoopChange, what: &str) {
    match what {
        "model" => change.model = change.model.take().or(Some(None)),
        "monitor" => change.monitor = change.monitor.take().or(Some(None)),
        "notify" => change.notify = change.notify.take().or(Some(None)),
        "tools" => change.tools = change.tools.take().or(Some(None)),
        "total" => change.total_micro_dollars = change.total_micro_dollars.or(Some(None)),
        "workspace" => change.workspace = change.workspace.take().or(Some(None)),
        "budget" => change.budget = change.budget.take().or(Some(Budget::default())),
        _ => {}
    }
}

/// The parts of the previous config that flags change one by one; none for a new loop.
#[derive(Default)]
struct LoopParts<'b> {
    monitor: Option<&'b MonitorConfigView>,
    notify: Option<&'b NotifyTargetView>,
    budget: Option<&'b BudgetView>,
    backoff: Option<BackoffConfigView>,
}

async fn change(
    task: Option<String>,
    args: LoopConfigArgs,
    before: LoopParts<'_>,
) -> Result<LoopChange, CommandFailure> {
    check_interval("--every", args.every)?;
    Ok(LoopChange {
        interval_ms: args.every,
        max_iterations: args.max,
        monitor: monitor(&args, before.monitor)?.map(Some),
        budget: unattended_flags::merged_budget(&args.run, before.budget),
        total_micro_dollars: args.total_dollars.map(Some),
        grants: None,
        backoff: backoff(&args, before.backoff),
        notify: unattended_flags::notify_target(args.notify, before.notify)?.map(Some),
        workspace: None,
        tools: args.run.tools().map(Some),
        model: args.run.model.map(Some),
        system: unattended_flags::read_text(args.system).await?,
        user: unattended_flags::read_text(task).await?,
        ..LoopChange::default()
    })
}

/// Returns a new monitor, or the previous one with the given flags changed; `None` without flags.
fn monitor(
    args: &LoopConfigArgs,
    before: Option<&MonitorConfigView>,
) -> Result<Option<MonitorConfig>, CommandFailure> {
    let (interval_ms, timeout_ms) = (args.monitor_every, args.monitor_timeout);
    let (command, network) = (args.monitor.clone(), args.monitor_network);
    check_interval("--monitor-every", interval_ms)?;
    let is_named =
        command.is_some() || interval_ms.is_some() || timeout_ms.is_some() || network.is_some();
    if !is_named {
        return Ok(None);
    }
    // A new command is a new monitor: it takes nothing from the previous one.
    let before = before.filter(|_| command.is_none());
    let Some(command) = command.or_else(|| before.map(|it| it.command.clone())) else {
        return Err(CommandFailure::usage("This loop has no monitor to change.")
            .next("Add one: --monitor 'tail -n 20 app.log'"));
    };
    Ok(Some(MonitorConfig {
        command,
        interval_ms: interval_ms.or_else(|| before?.interval_ms),
        network: network
            .or_else(|| Some(before?.network))
            .unwrap_or_default(),
        timeout_ms: timeout_ms.or_else(|| before?.timeout_ms),
    }))
}

fn backoff(args: &LoopConfigArgs, before: Option<BackoffConfigView>) -> Option<BackoffConfig> {
    let (max_ms, errors_max) = (args.backoff_max, args.errors_max);
    if max_ms.is_none() && errors_max.is_none() {
        return None;
    }
    let before = before.map(BackoffConfig::from).unwrap_or_default();
    Some(BackoffConfig {
        max_ms: max_ms.unwrap_or(before.max_ms),
        errors_max: errors_max.unwrap_or(before.errors_max),
    })
}

fn check_interval(flag: &str, ms: Option<u64>) -> Result<(), CommandFailure> {
    let ok = INTERVAL_MS_MIN..=INTERVAL_MS_MAX;
    let Some(ms) = ms.filter(|ms| !ok.contains(ms)) else {
        return Ok(());
    };
    let given = hob_kit::duration::format_ms(ms);
    Err(CommandFailure::usage(format!(
        "{flag} must be between 1s and 7d, not {given}."
    )))
}
