//! `hob run`: lists, shows and stops runs, and answers what they wait for.

use super::latest;
use super::value_parsers::wire_name;
use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::{run_timeline, runs};
use crate::run_ui::lines;
use crate::tree::help_text::examples;
use clap::value_parser;
use hob_client::Client;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    Abort, AgentAllowParams, AgentListParams, AgentResolveParams, Allow, List, Resolve,
    RunSelector, RunState, RunView, Status,
};
use hob_wire::rooms::timeline::{RunTimelineParams, Timeline};
use hob_wire::work::DoubtAnswer;

/// The page size without `--limit`.
const DEFAULT_PAGE: u32 = 20;
/// The rows of a timeline without `--limit`.
const TIMELINE_ROWS: u32 = 100;
/// The newest runs that are searched for the end of an id.
const SUFFIX_SEARCH_RUNS: u32 = 500;
const STATES: [&str; 6] = ["queued", "running", "waiting", "in-doubt", "paused", "done"];
const ANSWERS: [&str; 3] = ["happened", "did-not", "give-up"];

/// Shows runs, stops them and answers what they wait for.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = examples(&[
    "hob run list",
    "hob run show",
    "hob run abort chat:main",
]))]
pub enum RunSubcommand {
    List(RunListArgs),
    /// Shows a run: its steps, calls, text and cost.
    #[command(after_help = examples(&[
        "hob run show",
        "hob run show 26f8ad91",
        "hob run show chat:main --json",
    ]))]
    Show(RunName),
    /// Stops a run and shows what it had already done.
    ///
    /// With a session, its current run and its queued runs are stopped.
    #[command(after_help = examples(&["hob run abort chat:main"]))]
    Abort(RunName),
    Timeline(RunTimelineArgs),
    Resolve(RunResolveArgs),
    Allow(RunAllowArgs),
}

/// Lists runs, newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob run list",
    "hob run list --session chat:main --limit 5",
    "hob run list --state in-doubt --json",
]))]
pub struct RunListArgs {
    /// Only runs of this session.
    #[arg(long, short, value_name = "KEY")]
    session: Option<String>,
    /// Only runs in this state.
    #[arg(long, value_parser = wire_name::<RunState>(&STATES))]
    state: Option<RunState>,
    /// At most this many; 20 if missing, 500 at most.
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Continues after this run, the last of the previous page.
    #[arg(long, value_name = "RUN")]
    before: Option<RunId>,
}

/// Shows what happened in a run, in order: model calls, tool calls, waits and questions.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob run timeline",
    "hob run timeline 26f8ad91",
    "hob run timeline chat:main --json",
]))]
pub struct RunTimelineArgs {
    #[command(flatten)]
    name: RunName,
    /// At most this many rows; 100 if missing, 500 at most.
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Continues after this row, the last of the previous page.
    #[arg(long, value_name = "NUMBER")]
    after: Option<u64>,
}

/// The name of a run.
#[derive(Debug, clap::Args)]
pub struct RunName {
    /// The run's id, the end of its id, or a session key for its latest run; the latest run of this
    /// folder if missing.
    run: Option<String>,
}

/// The name of a run that must be given.
#[derive(Debug, clap::Args)]
pub struct NamedRun {
    /// The run's id, the end of its id, or a session key for its latest run.
    run: String,
}

/// Tells hob whether an interrupted call happened.
///
/// `happened` continues with the result you give, `did-not` runs the call again, `give-up` ends the
/// run. `hob run show RUN` shows the calls in doubt.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob run resolve RUN CALL happened --result \"the mail was sent\"",
    "hob run resolve RUN CALL did-not",
]))]
pub struct RunResolveArgs {
    #[command(flatten)]
    name: NamedRun,
    /// The call in doubt.
    call: String,
    /// What happened to the call.
    #[arg(value_parser = wire_name::<DoubtAnswer>(&ANSWERS))]
    answer: DoubtAnswer,
    /// With happened: the result of the tool.
    #[arg(long, value_name = "TEXT")]
    result: Option<String>,
}

/// Raises the budget of a paused run.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&["hob run allow chat:main --dollars 0.50"]))]
pub struct RunAllowArgs {
    #[command(flatten)]
    name: RunName,
    /// The amount to add to the budget.
    #[arg(long, value_name = "X", value_parser = hob_core::amounts::parse_dollars)]
    dollars: u64,
}

pub async fn run(context: &CommandContext, command: RunSubcommand) -> Result<(), CommandFailure> {
    let client = context.client().await?;
    match command {
        RunSubcommand::List(args) => list(context, &client, args).await,
        RunSubcommand::Show(RunName { run }) => {
            let selector = selector_or_latest(context, &client, run).await?;
            let view = client.call::<Status>(&selector).await;
            print(context, &view.map_err(|error| suggest_list(error.into()))?)
        }
        RunSubcommand::Abort(RunName { run }) => {
            let selector = selector_or_latest(context, &client, run).await?;
            abort(context, &client, selector).await
        }
        RunSubcommand::Timeline(args) => timeline(context, &client, args).await,
        RunSubcommand::Resolve(args) => resolve(context, &client, args).await,
        RunSubcommand::Allow(args) => {
            let params = AgentAllowParams {
                run_id: match args.name.run {
                    Some(run) => run_id(&client, run).await?,
                    None => latest::run_here(context, &client).await?.run_id,
                },
                micro_dollars: args.dollars,
            };
            print(context, &client.call_with_retry::<Allow>(&params).await?)
        }
    }
}

async fn list(
    context: &CommandContext,
    client: &Client,
    args: RunListArgs,
) -> Result<(), CommandFailure> {
    let params = AgentListParams {
        session_key: args.session,
        folder: None,
        state: args.state,
        limit: Some(args.limit.unwrap_or(DEFAULT_PAGE)),
        before: args.before,
    };
    let page = client.call::<List>(&params).await?;
    if context.terminal.json {
        return Ok(context.terminal.document(&page)?);
    }
    Ok(context
        .terminal
        .lines(runs::list(&page, context.terminal.screen()))?)
}

async fn timeline(
    context: &CommandContext,
    client: &Client,
    args: RunTimelineArgs,
) -> Result<(), CommandFailure> {
    let run_id = match args.name.run {
        Some(run) => run_id(client, run).await?,
        None => latest::run_here(context, client).await?.run_id,
    };
    let params = RunTimelineParams {
        run_id,
        after: args.after,
        limit: Some(args.limit.unwrap_or(TIMELINE_ROWS)),
    };
    let page = client.call::<Timeline>(&params).await;
    let page = page.map_err(|error| suggest_list(error.into()))?;
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(&page)?);
    }
    Ok(terminal.lines(run_timeline::lines(&page, terminal.screen()))?)
}

async fn abort(
    context: &CommandContext,
    client: &Client,
    selector: RunSelector,
) -> Result<(), CommandFailure> {
    let stopped = client.call::<Abort>(&selector).await;
    let stopped = stopped.map_err(|error| suggest_list(error.into()))?;
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(&stopped)?);
    }
    if stopped.runs.is_empty() {
        return Ok(terminal.line("Nothing was running.")?);
    }
    for view in &stopped.runs {
        terminal.line(format!("Run {} of {}", view.run_id, view.session_key))?;
        terminal.lines(lines::stop_report(view, terminal.screen()))?;
    }
    Ok(())
}

async fn resolve(
    context: &CommandContext,
    client: &Client,
    args: RunResolveArgs,
) -> Result<(), CommandFailure> {
    if args.result.is_some() && args.answer != DoubtAnswer::Happened {
        return Err(CommandFailure::usage(
            "--result is only allowed with `happened`.",
        ));
    }
    let params = AgentResolveParams {
        run_id: run_id(client, args.name.run).await?,
        call_id: args.call,
        answer: args.answer,
        result: args.result,
    };
    print(context, &client.call_with_retry::<Resolve>(&params).await?)
}

fn print(context: &CommandContext, view: &RunView) -> Result<(), CommandFailure> {
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(view)?);
    }
    Ok(terminal.lines(runs::show(view, terminal.screen()))?)
}

/// Resolves a run that was named, or the latest of this folder.
pub(super) async fn selector_or_latest(
    context: &CommandContext,
    client: &Client,
    word: Option<String>,
) -> Result<RunSelector, CommandFailure> {
    if let Some(word) = word {
        return selector(client, word).await;
    }
    let run = latest::run_here(context, client).await?;
    Ok(RunSelector {
        run_id: Some(run.run_id),
        session_key: None,
    })
}

/// Resolves a run named by its id, by the end of its id as `hob run list` shows it, or by its session.
pub(super) async fn selector(client: &Client, word: String) -> Result<RunSelector, CommandFailure> {
    let run_id = match word.parse() {
        Ok(run) => Some(run),
        Err(_) => find_by_id_suffix(client, &word).await?,
    };
    let session_key = run_id.is_none().then_some(word);
    Ok(RunSelector {
        session_key,
        run_id,
    })
}

/// Returns the recent run whose id ends with `word`; `None` if no run does or `word` is not a short
/// id.
async fn find_by_id_suffix(client: &Client, word: &str) -> Result<Option<RunId>, CommandFailure> {
    // Anything else is a session key and needs no call.
    let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    if word.len() != runs::SHORT_ID_LETTERS || !is_hex {
        return Ok(None);
    }
    let params = AgentListParams {
        limit: Some(SUFFIX_SEARCH_RUNS),
        ..AgentListParams::default()
    };
    let page = client.call::<List>(&params).await?;
    let end = word.to_ascii_lowercase();
    let mut found = page.runs.iter().map(|run| run.run_id);
    let mut found = found.by_ref().filter(|run| runs::short_id(*run) == end);
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(CommandFailure::usage(format!(
            "Several runs end with '{end}': use the whole id, which --json shows."
        ))),
        (one, _) => Ok(one),
    }
}

/// Returns the id of the run that `word` names.
pub(super) async fn run_id(client: &Client, word: String) -> Result<RunId, CommandFailure> {
    let selector = selector(client, word).await?;
    if let Some(run) = selector.run_id {
        return Ok(run);
    }
    let view = client.call::<Status>(&selector).await;
    let view = view.map_err(|error| suggest_list(error.into()))?;
    Ok(view.run_id)
}

fn suggest_list(mut failure: CommandFailure) -> CommandFailure {
    if failure.exit == ExitStatus::NotFound && failure.next.is_none() {
        failure.next = Some("See `hob run list`.".to_owned());
    }
    failure
}
