//! Converts the flags of `hob loop create` and `update` to the config of the loop room. All flags
//! are read and checked before the daemon is called.

use crate::commands::unattended_flags;
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::run_ui::run_request;
use clap::ArgMatches;
use hob_wire::rooms::loops::{
    BackoffConfig, BackoffConfigView, INTERVAL_MS_MAX, INTERVAL_MS_MIN, LoopChange, LoopConfig,
    MonitorConfig, MonitorConfigView,
};
use hob_wire::work::Budget;

/// Flags whose value may be stdin.
pub(super) const TEXT_FLAGS: [&str; 4] = ["task", "system", "persistent", "working"];

/// Returns the config of a new loop. Its workspace is the current folder unless `--workspace` is given.
pub(super) async fn new_loop(
    context: &CommandContext,
    matches: &ArgMatches,
) -> Result<LoopChange, CommandFailure> {
    let mut change = change(matches, None).await?;
    let named = matches.get_one::<String>("workspace").cloned();
    let workspace = run_request::workspace(context, named)?;
    change.grants = non_empty(unattended_flags::parse_grants(
        context,
        matches,
        workspace.as_deref(),
    )?);
    unattended_flags::warn_wide_workspace(context, workspace.as_deref());
    change.workspace = workspace.map(Some);
    Ok(change)
}

/// Returns the changes to a loop with the config `before`.
pub(super) async fn update(
    context: &CommandContext,
    matches: &ArgMatches,
    before: &LoopConfig,
) -> Result<LoopChange, CommandFailure> {
    let mut change = change(matches, Some(before)).await?;
    if let Some(named) = matches.get_one::<String>("workspace") {
        change.workspace = Some(run_request::workspace(context, Some(named.clone()))?);
    }
    let cleared = matches.get_many::<String>("clear").into_iter().flatten();
    let cleared: Vec<&str> = cleared.map(String::as_str).collect();
    let workspace = change.workspace.clone();
    let workspace = workspace.unwrap_or_else(|| before.workspace.clone());
    let added = unattended_flags::parse_grants(context, matches, workspace.as_deref())?;
    let kept = before.grants.iter().filter(|_| !cleared.contains(&"allow"));
    // An update replaces all grants, so the existing ones are carried over.
    if !added.is_empty() || cleared.contains(&"allow") {
        let kept = kept.cloned().map(Into::into);
        change.grants = Some(kept.chain(added).collect());
    }
    for what in cleared {
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

async fn change(
    matches: &ArgMatches,
    before: Option<&LoopConfig>,
) -> Result<LoopChange, CommandFailure> {
    unattended_flags::check_single_stdin(matches, &TEXT_FLAGS)?;
    let cleared = matches.try_get_many::<String>("clear").ok().flatten();
    let cleared: Vec<&String> = cleared.into_iter().flatten().collect();
    let kept = |what: &str| before.filter(|_| !cleared.iter().any(|it| *it == what));
    let interval_ms = matches.get_one::<u64>("every").copied();
    interval_ms.map_or(Ok(()), |ms| check_interval("--every", ms))?;
    let monitored = kept("monitor").and_then(|it| it.monitor.as_ref());
    let notified = kept("notify").and_then(|it| it.notify.as_ref());
    Ok(LoopChange {
        model: matches.get_one::<String>("model").cloned().map(Some),
        system: unattended_flags::read_text(matches, "system").await?,
        user: unattended_flags::read_text(matches, "task").await?,
        interval_ms,
        max_iterations: matches.get_one::<u32>("max").copied(),
        monitor: monitor(matches, monitored)?.map(Some),
        budget: unattended_flags::merged_budget(matches, kept("budget").map(|it| &it.budget)),
        total_micro_dollars: matches.get_one::<u64>("total-dollars").copied().map(Some),
        grants: None,
        backoff: backoff(matches, before.map(|it| it.backoff)),
        notify: unattended_flags::notify_target(matches, notified)?.map(Some),
        workspace: None,
        tools: run_request::tools(matches).map(Some),
    })
}

/// Returns a new monitor, or the previous one with the given flags changed; `None` without flags.
fn monitor(
    matches: &ArgMatches,
    before: Option<&MonitorConfigView>,
) -> Result<Option<MonitorConfig>, CommandFailure> {
    let command = matches.get_one::<String>("monitor").cloned();
    let interval_ms = matches.get_one::<u64>("monitor-every").copied();
    let timeout_ms = matches.get_one::<u64>("monitor-timeout").copied();
    let network = unattended_flags::network_grant(matches, "monitor-network");
    interval_ms.map_or(Ok(()), |ms| check_interval("--monitor-every", ms))?;
    let is_named =
        command.is_some() || interval_ms.is_some() || timeout_ms.is_some() || network.is_some();
    if !is_named {
        return Ok(None);
    }
    // A new command is a new monitor: it takes nothing from the previous one.
    let is_new = command.is_some();
    let before = before.filter(|_| !is_new);
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

fn backoff(matches: &ArgMatches, before: Option<BackoffConfigView>) -> Option<BackoffConfig> {
    let max_ms = matches.get_one::<u64>("backoff-max").copied();
    let errors_max = matches.get_one::<u32>("errors-max").copied();
    if max_ms.is_none() && errors_max.is_none() {
        return None;
    }
    let before = before.map(BackoffConfig::from).unwrap_or_default();
    Some(BackoffConfig {
        max_ms: max_ms.unwrap_or(before.max_ms),
        errors_max: errors_max.unwrap_or(before.errors_max),
    })
}

fn check_interval(flag: &str, ms: u64) -> Result<(), CommandFailure> {
    if (INTERVAL_MS_MIN..=INTERVAL_MS_MAX).contains(&ms) {
        return Ok(());
    }
    let given = hob_kit::duration::format_ms(ms);
    Err(CommandFailure::usage(format!(
        "{flag} must be between 1s and 7d, not {given}."
    )))
}

fn non_empty<T>(all: Vec<T>) -> Option<Vec<T>> {
    (!all.is_empty()).then_some(all)
}
