//! `hob run`: runs as they stand, and what a person decides about them.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::mind::{lines, question};
use crate::render::runs;
use crate::tree::text;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, value_parser};
use hob_client::Client;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    Abort, Allow, AllowParams, List, ListParams, Resolve, ResolveParams, RunSelector, RunState,
    RunView, Status,
};
use hob_wire::work::DoubtAnswer;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Runs of a page unless the person says otherwise.
const PAGE: u32 = 20;
/// Runs among which the end of an id is looked for.
const LOOKED_AT: u32 = 500;
const STATES: [&str; 6] = ["queued", "running", "waiting", "in-doubt", "paused", "done"];
const ANSWERS: [&str; 3] = ["happened", "did-not", "give-up"];

pub fn command() -> Command {
    Command::new("run")
        .about("Shows runs, stops them and answers what they wait for")
        .after_help(text::examples(&[
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
        .about("Lists runs, the newest first")
        .after_help(text::examples(&[
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
                .help("At most this many; 20 when missing, 500 at the most"),
        )
        .arg(
            Arg::new("before")
                .long("before")
                .value_name("RUN")
                .value_parser(value_parser!(RunId))
                .help("Where the page before ended"),
        )
}

fn show_command() -> Command {
    Command::new("show")
        .about("Shows a run: its steps and calls, its text, what it cost")
        .after_help(text::examples(&[
            "hob run show 0190163d-8694-739b-aea5-966c26f8ad91".to_owned(),
            "hob run show chat:main --json".to_owned(),
        ]))
        .arg(run_arg())
}

fn abort_command() -> Command {
    Command::new("abort")
        .about("Stops a run and says what had already happened")
        .long_about("With a session its present run and those that wait behind it are stopped.")
        .after_help(text::examples(&["hob run abort chat:main".to_owned()]))
        .arg(run_arg())
}

fn resolve_command() -> Command {
    Command::new("resolve")
        .about("Says whether a call that was cut off happened")
        .long_about(
            "`happened` goes on with the result you give, `did-not` runs the call again, \
             `give-up` ends the run. `hob run show RUN` shows the calls in doubt.",
        )
        .after_help(text::examples(&[
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
                .help("What became of it"),
        )
        .arg(
            Arg::new("result")
                .long("result")
                .value_name("TEXT")
                .help("With happened: what the tool answered"),
        )
}

fn allow_command() -> Command {
    Command::new("allow")
        .about("Allows a paused run more money")
        .after_help(text::examples(&[
            "hob run allow chat:main --dollars 0.50".to_owned()
        ]))
        .arg(run_arg())
        .arg(
            Arg::new("dollars")
                .long("dollars")
                .value_name("X")
                .required(true)
                .value_parser(question::parse_dollars)
                .help("How much on top of what stopped it"),
        )
}

fn run_arg() -> Arg {
    Arg::new("run")
        .value_name("RUN")
        .required(true)
        .help("The run's id or its end, or a session's key for its latest run")
}

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let client = context.client().await?;
    match matches.subcommand() {
        Some(("list", matches)) => list(context, &client, matches).await,
        Some(("show", matches)) => show(context, &client, matches).await,
        Some(("abort", matches)) => abort(context, &client, matches).await,
        Some(("resolve", matches)) => resolve(context, &client, matches).await,
        Some(("allow", matches)) => allow(context, &client, matches).await,
        _ => Err(Failure::quiet(Exit::Usage)),
    }
}

async fn list(context: &Context, client: &Client, matches: &ArgMatches) -> Result<(), Failure> {
    let state = matches.get_one::<String>("state");
    let params = ListParams {
        session_key: matches.get_one::<String>("session").cloned(),
        state: state.and_then(|word| named::<RunState>(word)),
        limit: Some(matches.get_one::<u32>("limit").copied().unwrap_or(PAGE)),
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

async fn show(context: &Context, client: &Client, matches: &ArgMatches) -> Result<(), Failure> {
    let view = client
        .call::<Status>(&selector(client, matches).await?)
        .await;
    let view = view.map_err(|error| with_list(error.into()))?;
    print(context, &view)
}

async fn abort(context: &Context, client: &Client, matches: &ArgMatches) -> Result<(), Failure> {
    let stopped = client
        .call::<Abort>(&selector(client, matches).await?)
        .await;
    let stopped = stopped.map_err(|error| with_list(error.into()))?;
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(&stopped)?);
    }
    if stopped.runs.is_empty() {
        return Ok(terminal.line("Nothing was running.")?);
    }
    for view in &stopped.runs {
        terminal.line(format!("Run {} of {}", view.run_id, view.session_key))?;
        terminal.lines(lines::happened(view, terminal.screen()))?;
    }
    Ok(())
}

async fn resolve(context: &Context, client: &Client, matches: &ArgMatches) -> Result<(), Failure> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let answer = text("answer").and_then(|word| named::<DoubtAnswer>(&word));
    let result = text("result");
    let Some(answer) = answer else {
        return Err(Failure::quiet(Exit::Usage));
    };
    if result.is_some() && answer != DoubtAnswer::Happened {
        return Err(Failure::usage("--result goes with `happened` only."));
    }
    let params = ResolveParams {
        run_id: run_id(client, matches).await?,
        call_id: text("call").unwrap_or_default(),
        answer,
        result,
    };
    print(context, &client.call_again::<Resolve>(&params).await?)
}

async fn allow(context: &Context, client: &Client, matches: &ArgMatches) -> Result<(), Failure> {
    let params = AllowParams {
        run_id: run_id(client, matches).await?,
        micro_dollars: matches.get_one::<u64>("dollars").copied().unwrap_or(0),
    };
    print(context, &client.call_again::<Allow>(&params).await?)
}

fn print(context: &Context, view: &RunView) -> Result<(), Failure> {
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(view)?);
    }
    Ok(terminal.lines(runs::show(view, terminal.screen()))?)
}

/// A run is named by its id, by the end of it that `hob run list` shows, or by its session.
pub(super) async fn selector(
    client: &Client,
    matches: &ArgMatches,
) -> Result<RunSelector, Failure> {
    let word = matches.get_one::<String>("run").cloned();
    let word = word.unwrap_or_default();
    let run_id = match word.parse() {
        Ok(run) => Some(run),
        Err(_) => by_end(client, &word).await?,
    };
    let session_key = run_id.is_none().then_some(word);
    Ok(RunSelector {
        session_key,
        run_id,
    })
}

/// The one run of late whose id ends like this.
async fn by_end(client: &Client, word: &str) -> Result<Option<RunId>, Failure> {
    let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    if word.len() != runs::SHORT_ID_LETTERS || !is_hex {
        return Ok(None);
    }
    let params = ListParams {
        limit: Some(LOOKED_AT),
        ..ListParams::default()
    };
    let page = client.call::<List>(&params).await?;
    let end = word.to_ascii_lowercase();
    let mut found = page.runs.iter().map(|run| run.run_id);
    let mut found = found.by_ref().filter(|run| runs::short_id(*run) == end);
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(Failure::usage(format!(
            "Several runs end with '{end}': use the whole id, which --json shows."
        ))),
        (one, _) => Ok(one),
    }
}

/// The run that `matches` names.
pub(super) async fn run_id(client: &Client, matches: &ArgMatches) -> Result<RunId, Failure> {
    let selector = selector(client, matches).await?;
    if let Some(run) = selector.run_id {
        return Ok(run);
    }
    let view = client.call::<Status>(&selector).await;
    let view = view.map_err(|error| with_list(error.into()))?;
    Ok(view.run_id)
}

/// A word of the wire by its spelling.
fn named<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(Value::String(word.to_owned())).ok()
}

fn with_list(mut failure: Failure) -> Failure {
    if failure.exit == Exit::NotFound && failure.next.is_none() {
        failure.next = Some("`hob run list` shows what there is.".to_owned());
    }
    failure
}
