//! From the flags of `hob cron add` and `update` to what the room takes.

use crate::commands::{permission, standing};
use crate::context::Context;
use crate::failure::Failure;
use crate::mind::order;
use clap::ArgMatches;
use hob_wire::rooms::cron::{AddJobParams, Job, Notify, UpdateJobParams, Work};
use hob_wire::work::BudgetView;

/// A job to add. It works where the person stands, unless told.
pub(super) async fn add(context: &Context, matches: &ArgMatches) -> Result<AddJobParams, Failure> {
    fits(matches, None)?;
    let name = matches.get_one::<String>("name").cloned();
    let is_loop = matches.contains_id("loop");
    let named = matches.get_one::<String>("workspace").cloned();
    let workspace = if is_loop {
        None
    } else {
        order::workspace(context, named)?
    };
    standing::tell_wide(context, workspace.as_deref());
    let grants = standing::grants(context, matches, workspace.as_deref())?;
    let rest = common(matches, None).await?;
    Ok(AddJobParams {
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

/// What is to change of a job that is as `before` says.
pub(super) async fn update(
    context: &Context,
    matches: &ArgMatches,
    before: &Job,
) -> Result<UpdateJobParams, Failure> {
    fits(matches, Some(before))?;
    let mut params = common(matches, Some(before)).await?;
    params.name = matches.get_one::<String>("rename").cloned();
    params.schedule = schedule(matches);
    if let Some(named) = matches.get_one::<String>("workspace") {
        params.workspace = order::workspace(context, Some(named.clone()))?;
    }
    let folder = params.workspace.as_deref().or_else(|| workspace(before));
    let added = standing::grants(context, matches, folder)?;
    let cleared = cleared(matches);
    let clears_grants = cleared.iter().any(|it| it == "allow");
    if !added.is_empty() || clears_grants {
        let kept = before.terms.grants.iter().filter(|_| !clears_grants);
        let kept = kept.cloned().map(Into::into);
        params.grants = Some(kept.chain(added).collect());
    }
    for what in cleared {
        clear(&mut params, &what);
    }
    if params == UpdateJobParams::default() {
        return Err(Failure::usage("Nothing is named that is to change.")
            .next("Such as: hob cron update NAME --every 1h"));
    }
    params.id.clone_from(&before.id);
    Ok(params)
}

/// An empty text goes back to its default. A flag that is given beside it wins.
fn clear(params: &mut UpdateJobParams, what: &str) {
    let field = match what {
        "description" => &mut params.description,
        "hours" => &mut params.active_hours,
        "model" => &mut params.model,
        "workspace" => &mut params.workspace,
        "zone" => &mut params.zone,
        "notify" => {
            params.notify.get_or_insert(Notify {
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

/// What both have in common.
async fn common(matches: &ArgMatches, before: Option<&Job>) -> Result<UpdateJobParams, Failure> {
    standing::one_stdin(matches, &["task", "command"])?;
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let cleared = cleared(matches);
    let notified = before.and_then(|job| job.terms.notify.as_ref());
    let notified = notified.filter(|_| !cleared.iter().any(|it| it == "notify"));
    Ok(UpdateJobParams {
        task: standing::prose(matches, "task").await?,
        loop_name: text("loop"),
        command: standing::prose(matches, "command").await?,
        description: text("description"),
        zone: text("zone"),
        model: text("model"),
        budget: standing::budget(matches, before.and_then(budget)),
        tools: order::tools(matches),
        network: standing::network(matches, "network"),
        timeout_ms: matches.get_one::<u64>("timeout").copied(),
        missed: text("missed").and_then(|word| permission::named(&word)),
        window_ms: matches.get_one::<u64>("window").copied(),
        overlap: text("overlap").and_then(|word| permission::named(&word)),
        jitter_ms: matches.get_one::<u64>("jitter").copied(),
        active_hours: text("hours"),
        notify: standing::notify(matches, notified)?,
        failures_max: matches.get_one::<u32>("failures-max").copied(),
        ..UpdateJobParams::default()
    })
}

/// The schedule as one line of the room's grammar.
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
    // A date and a time are often written apart.
    let at = || text("at").map(|at| format!("at {}", at.replacen(' ', "T", 1)));
    every.or_else(at).or_else(|| text("cron"))
}

/// Each kind of work has its flags, and takes no other's.
fn fits(matches: &ArgMatches, before: Option<&Job>) -> Result<(), Failure> {
    let kind = ["task", "loop", "command"];
    let named = kind.into_iter().find(|name| matches.contains_id(name));
    let kind = named.or(before.map(|job| match job.terms.work {
        Work::Agent(_) | Work::Heartbeat(_) => "task",
        Work::Loop { .. } => "loop",
        Work::Command(_) => "command",
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
        Some("task") => (
            "--command",
            "What a model's commands may do is said with --allow.",
        ),
        Some("loop") => (
            "--task",
            "A loop has its own: `hob loop update NAME` changes them.",
        ),
        _ => (
            "--task",
            "A command runs in the sandbox; --network opens that.",
        ),
    };
    Err(Failure::usage(format!("--{wrong} goes with {goes} only.")).next(next))
}

fn workspace(job: &Job) -> Option<&str> {
    match &job.terms.work {
        Work::Agent(work) => work.workspace.as_deref(),
        Work::Command(work) => work.workspace.as_deref(),
        Work::Loop { .. } | Work::Heartbeat(_) => None,
    }
}

fn budget(job: &Job) -> Option<&BudgetView> {
    match &job.terms.work {
        Work::Agent(work) => work.budget.as_ref(),
        Work::Heartbeat(work) => work.budget.as_ref(),
        Work::Loop { .. } | Work::Command(_) => None,
    }
}
