//! From the flags of `hob loop create` and `update` to what the room takes. Everything is read and
//! checked before a daemon is asked for anything.

use crate::commands::standing;
use crate::context::Context;
use crate::failure::Failure;
use crate::mind::order;
use clap::ArgMatches;
use hob_wire::rooms::loops::{
    Backoff, BackoffView, INTERVAL_MS_MAX, INTERVAL_MS_MIN, LoopChange, LoopConfig, Monitor,
    MonitorView,
};
use hob_wire::work::Budget;

/// Flags whose value may be stdin.
pub(super) const PROSE: [&str; 4] = ["task", "system", "persistent", "working"];

/// What a new loop is to be. It works where the person stands, unless told.
pub(super) async fn new(context: &Context, matches: &ArgMatches) -> Result<LoopChange, Failure> {
    let mut change = change(matches, None).await?;
    let named = matches.get_one::<String>("workspace").cloned();
    let workspace = order::workspace(context, named)?;
    change.grants = some(standing::grants(context, matches, workspace.as_deref())?);
    standing::tell_wide(context, workspace.as_deref());
    change.workspace = workspace.map(Some);
    Ok(change)
}

/// What is to change of a loop that is as `before` says.
pub(super) async fn update(
    context: &Context,
    matches: &ArgMatches,
    before: &LoopConfig,
) -> Result<LoopChange, Failure> {
    let mut change = change(matches, Some(before)).await?;
    if let Some(named) = matches.get_one::<String>("workspace") {
        change.workspace = Some(order::workspace(context, Some(named.clone()))?);
    }
    let cleared = matches.get_many::<String>("clear").into_iter().flatten();
    let cleared: Vec<&str> = cleared.map(String::as_str).collect();
    let workspace = change.workspace.clone();
    let workspace = workspace.unwrap_or_else(|| before.workspace.clone());
    let added = standing::grants(context, matches, workspace.as_deref())?;
    let kept = before.grants.iter().filter(|_| !cleared.contains(&"allow"));
    if !added.is_empty() || cleared.contains(&"allow") {
        let kept = kept.cloned().map(Into::into);
        change.grants = Some(kept.chain(added).collect());
    }
    for what in cleared {
        clear(&mut change, what);
    }
    if change.is_empty() {
        return Err(Failure::usage("Nothing is named that is to change.")
            .next("Such as: hob loop update NAME --every 10m"));
    }
    Ok(change)
}

/// A flag that is given beside `--clear` wins: the rest of what it belongs to is cleared.
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

async fn change(matches: &ArgMatches, before: Option<&LoopConfig>) -> Result<LoopChange, Failure> {
    standing::one_stdin(matches, &PROSE)?;
    let cleared = matches.try_get_many::<String>("clear").ok().flatten();
    let cleared: Vec<&String> = cleared.into_iter().flatten().collect();
    let kept = |what: &str| before.filter(|_| !cleared.iter().any(|it| *it == what));
    let interval_ms = matches.get_one::<u64>("every").copied();
    interval_ms.map_or(Ok(()), |ms| interval("--every", ms))?;
    let monitored = kept("monitor").and_then(|it| it.monitor.as_ref());
    let notified = kept("notify").and_then(|it| it.notify.as_ref());
    Ok(LoopChange {
        model: matches.get_one::<String>("model").cloned().map(Some),
        system: standing::prose(matches, "system").await?,
        user: standing::prose(matches, "task").await?,
        interval_ms,
        max_iterations: matches.get_one::<u32>("max").copied(),
        monitor: monitor(matches, monitored)?.map(Some),
        budget: standing::budget(matches, kept("budget").map(|it| &it.budget)),
        total_micro_dollars: matches.get_one::<u64>("total-dollars").copied().map(Some),
        grants: None,
        backoff: backoff(matches, before.map(|it| it.backoff)),
        notify: standing::notify(matches, notified)?.map(Some),
        workspace: None,
        tools: order::tools(matches).map(Some),
    })
}

/// The monitor: a new one, or the one there is with what was named changed.
fn monitor(matches: &ArgMatches, before: Option<&MonitorView>) -> Result<Option<Monitor>, Failure> {
    let command = matches.get_one::<String>("monitor").cloned();
    let interval_ms = matches.get_one::<u64>("monitor-every").copied();
    let timeout_ms = matches.get_one::<u64>("monitor-timeout").copied();
    let network = standing::network(matches, "monitor-network");
    interval_ms.map_or(Ok(()), |ms| interval("--monitor-every", ms))?;
    let is_named =
        command.is_some() || interval_ms.is_some() || timeout_ms.is_some() || network.is_some();
    if !is_named {
        return Ok(None);
    }
    let fresh = command.is_some();
    let before = before.filter(|_| !fresh);
    let Some(command) = command.or_else(|| before.map(|it| it.command.clone())) else {
        return Err(
            Failure::usage("There is no monitor that this could be about.")
                .next("Name one: --monitor 'tail -n 20 app.log'"),
        );
    };
    Ok(Some(Monitor {
        command,
        interval_ms: interval_ms.or_else(|| before?.interval_ms),
        network: network
            .or_else(|| Some(before?.network))
            .unwrap_or_default(),
        timeout_ms: timeout_ms.or_else(|| before?.timeout_ms),
    }))
}

fn backoff(matches: &ArgMatches, before: Option<BackoffView>) -> Option<Backoff> {
    let max_ms = matches.get_one::<u64>("backoff-max").copied();
    let errors_max = matches.get_one::<u32>("errors-max").copied();
    if max_ms.is_none() && errors_max.is_none() {
        return None;
    }
    let before = before.map(Backoff::from).unwrap_or_default();
    Some(Backoff {
        max_ms: max_ms.unwrap_or(before.max_ms),
        errors_max: errors_max.unwrap_or(before.errors_max),
    })
}

fn interval(flag: &str, ms: u64) -> Result<(), Failure> {
    if (INTERVAL_MS_MIN..=INTERVAL_MS_MAX).contains(&ms) {
        return Ok(());
    }
    let given = hob_kit::duration::format_ms(ms);
    Err(Failure::usage(format!(
        "{flag} is between 1s and 7d, not {given}."
    )))
}

fn some<T>(all: Vec<T>) -> Option<Vec<T>> {
    (!all.is_empty()).then_some(all)
}
