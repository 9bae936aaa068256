//! `hob run`: lists, shows and stops runs, and answers what they wait for.

use super::permission::parse_wire_name;
use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::runs;
use crate::run_ui::{lines, question};
use crate::tree::help_text;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, value_parser};
use hob_client::Client;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    Abort, AgentAllowParams, AgentListParams, AgentResolveParams, Allow, List, Resolve,
    RunSelector, RunState, RunView, Status,
};
use hob_wire::work::DoubtAnswer;

/// The page size without `--limit`.
const DEFAULT_PAGE: u32 = 20;
/// The newest runs that are searched for the end of an id.
const SUFFIX_SEARCH_RUNS: u32 = 500;
const STATES: [&str; 6] = ["queued", "running", "waiting", "in-doubt", "paused", "done"];
const ANSWERS: [&str; 3] = ["happened", "did-not", "give-up"];

pub fn command() -> Command {
    Command::new("run")
        .about("Shows runs, stops them and answers what they wait for")
        .after_help(help_text::examples(&[
            "hob run list".to_owned(),
            "hob run show chat:main".to_owned(),
            "hob run abort chat:main".to_owned(),
        ]))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(list_command())
        .subcommand(show_command())
        .subcommand(abort_command())
        .subcommand(resolve_command())
        .subcommand(allow_command())
}

fn list_command() -> Command {
    Command::new("list")
        .about("Lists runs, newest first")
        .after_help(help_text::examples(&[
            "hob run list".to_owned(),
            "hob run list --session chat:main --limit 5".to_owned(),
            "hob run list --state in-doubt --json".to_owned(),
        ]))
        .arg(
            Arg::new("session")
                .long("session")
                .short('s')
                .value_name("KEY")
                .help("Only runs of this session"),
        )
        .arg(
            Arg::new("state")
                .long("state")
                .value_name("STATE")
                .value_parser(PossibleValuesParser::new(STATES))
                .help("Only runs in this state"),
        )
        .arg(
            Arg::new("limit")
                .long("limit")
                .short('n')
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..))
                .help("At most this many; 20 if missing, 500 at most"),
        )
        .arg(
            Arg::new("before")
                .long("before")
                .value_name("RUN")
                .value_parser(value_parser!(RunId))
                .help("Continues after this run, the last of the previous page"),
        )
}

fn show_command() -> Command {
    Command::new("show")
        .about("Shows a run: its steps, calls, text and cost")
        .after_help(help_text::examples(&[
            "hob run show 0190163d-8694-739b-aea5-966c26f8ad91".to_owned(),
            "hob run show chat:main --json".to_owned(),
        ]))
        .arg(run_arg())
}

fn abort_command() -> Command {
    Command::new("abort")
        .about("Stops a run and shows what it had already done")
        .long_about("With a session, its current run and its queued runs are stopped.")
        .after_help(help_text::examples(&["hob run abort chat:main".to_owned()]))
        .arg(run_arg())
}

fn resolve_command() -> Command {
    Command::new("resolve")
        .about("Tells hob whether an interrupted call happened")
        .long_about(
            "`happened` continues with the result you give, `did-not` runs the call again, \
             `give-up` ends the run. `hob run show RUN` shows the calls in doubt.",
        )
        .after_help(help_text::examples(&[
            "hob run resolve RUN CALL happened --result \"the mail was sent\"".to_owned(),
            "hob run resolve RUN CALL did-not".to_owned(),
        ]))
        .arg(run_arg())
        .arg(
            Arg::new("call")
                .value_name("CALL")
                .required(true)
                .help("The call in doubt"),
        )
        .arg(
            Arg::new("answer")
                .value_name("ANSWER")
                .required(true)
                .value_parser(PossibleValuesParser::new(ANSWERS))
                .help("What happened to the call"),
        )
        .arg(
            Arg::new("result")
                .long("result")
                .value_name("TEXT")
                .help("With happened: the result of the tool"),
        )
}

fn allow_command() -> Command {
    Command::new("allow")
        .about("Raises the budget of a paused run")
        .after_help(help_text::examples(&[
            "hob run allow chat:main --dollars 0.50".to_owned(),
        ]))
        .arg(run_arg())
        .arg(
            Arg::new("dollars")
                .long("dollars")
                .value_name("X")
                .required(true)
                .value_parser(question::parse_dollars)
                .help("The amount to add to the budget"),
        )
}

fn run_arg() -> Arg {
    Arg::new("run")
        .value_name("RUN")
        .required(true)
        .help("The run's id, the end of its id, or a session key for its latest run")
}

pub async fn run(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let client = context.client().await?;
    match matches.subcommand() {
        Some(("list", matches)) => list(context, &client, matches).await,
        Some(("show", matches)) => show(context, &client, matches).await,
        Some(("abort", matches)) => abort(context, &client, matches).await,
        Some(("resolve", matches)) => resolve(context, &client, matches).await,
        Some(("allow", matches)) => allow(context, &client, matches).await,
        _ => Err(CommandFailure::quiet(ExitStatus::Usage)),
    }
}

async fn list(
    context: &CommandContext,
    client: &Client,
    matches: &ArgMatches,
) -> Result<(), CommandFailure> {
    let state = matches.get_one::<String>("state");
    let params = AgentListParams {
        session_key: matches.get_one::<String>("session").cloned(),
        state: state.and_then(|word| parse_wire_name::<RunState>(word)),
        limit: Some(
            matches
                .get_one::<u32>("limit")
                .copied()
                .unwrap_or(DEFAULT_PAGE),
        ),
        before: matches.get_one::<RunId>("before").copied(),
    };
    let page = client.call::<List>(&params).await?;
    if context.terminal.json {
        return Ok(context.terminal.document(&page)?);
    }
    Ok(context
        .terminal
        .lines(runs::list(&page, context.terminal.screen()))?)
}

async fn show(
    context: &CommandContext,
    client: &Client,
    matches: &ArgMatches,
) -> Result<(), CommandFailure> {
    let view = client
        .call::<Status>(&selector(client, matches).await?)
        .await;
    let view = view.map_err(|error| suggest_list(error.into()))?;
    print(context, &view)
}

async fn abort(
    context: &CommandContext,
    client: &Client,
    matches: &ArgMatches,
) -> Result<(), CommandFailure> {
    let stopped = client
        .call::<Abort>(&selector(client, matches).await?)
        .await;
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
    matches: &ArgMatches,
) -> Result<(), CommandFailure> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let answer = text("answer").and_then(|word| parse_wire_name::<DoubtAnswer>(&word));
    let result = text("result");
    let Some(answer) = answer else {
        return Err(CommandFailure::quiet(ExitStatus::Usage));
    };
    if result.is_some() && answer != DoubtAnswer::Happened {
        return Err(CommandFailure::usage(
            "--result is only allowed with `happened`.",
        ));
    }
    let params = AgentResolveParams {
        run_id: run_id(client, matches).await?,
        call_id: text("call").unwrap_or_default(),
        answer,
        result,
    };
    print(context, &client.call_with_retry::<Resolve>(&params).await?)
}

async fn allow(
    context: &CommandContext,
    client: &Client,
    matches: &ArgMatches,
) -> Result<(), CommandFailure> {
    let params = AgentAllowParams {
        run_id: run_id(client, matches).await?,
        micro_dollars: matches.get_one::<u64>("dollars").copied().unwrap_or(0),
    };
    print(context, &client.call_with_retry::<Allow>(&params).await?)
}

fn print(context: &CommandContext, view: &RunView) -> Result<(), CommandFailure> {
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(view)?);
    }
    Ok(terminal.lines(runs::show(view, terminal.screen()))?)
}

/// Resolves a run named by its id, by the end of its id as `hob run list` shows it, or by its session.
pub(super) async fn selector(
    client: &Client,
    matches: &ArgMatches,
) -> Result<RunSelector, CommandFailure> {
    let word = matches.get_one::<String>("run").cloned();
    let word = word.unwrap_or_default();
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

/// Returns the id of the run that `matches` names.
pub(super) async fn run_id(client: &Client, matches: &ArgMatches) -> Result<RunId, CommandFailure> {
    let selector = selector(client, matches).await?;
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
