//! `hob ask`: asks one question and streams the answer.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::render::TextTone;
use crate::run_ui::follow_run::{InterruptSignals, RunUiContext};
use crate::run_ui::terminal_user::TerminalUser;
use crate::run_ui::{lines, local_model_offer, no_model, plain_language, run_request};
use crate::terminal::Terminal;
use crate::tree::help_text;
use clap::{Arg, ArgAction, ArgMatches, Command};
use hob_wire::rooms::agent::AgentRunParams;

pub fn command() -> Command {
    Command::new("ask")
        .about("Asks a model one question and streams its answer")
        .long_about(
            "Text piped into stdin is sent as context. The answer goes to stdout, \
             everything else to stderr. Without --session each question stands alone. \
             Ctrl-C stops the run and shows what it had done; a second Ctrl-C exits at once.\n\n\
             hob \"…\" and hob -- … are the same with --terminal: the model decides whether it is a \
             question, a mention of a command, or something to run. A command is shown with its \
             reason, runs in the shared terminal after you say yes, and is explained from its \
             actual output.\n\n\
             If a tool call needs approval, hob asks on the terminal; without a terminal the call is \
             denied at once and the exit code is 3.\n\n\
             With no model configured, hob offers to install a small one on this machine and then \
             answers; --yes accepts.",
        )
        .after_help(help_text::examples(&[
            "hob \"what's my uptime?\"".to_owned(),
            "hob ask \"what is the capital of France?\"".to_owned(),
            "git diff | hob ask \"review this\"".to_owned(),
            "hob ask --session work \"and what did we say about it yesterday?\"".to_owned(),
            "hob ask --image cat.png --model smart \"what is in the picture?\"".to_owned(),
            "hob ask --yes \"name a river\"".to_owned(),
            "hob ask --json \"name three rivers\" | jq -r .payload.delta".to_owned(),
        ]))
        .arg(
            Arg::new("question")
                .value_name("QUESTION")
                .num_args(0..)
                .help("The question; read from stdin if missing"),
        )
        .arg(
            Arg::new("session")
                .long("session")
                .short('s')
                .value_name("KEY")
                .help("The session to continue; a new one if missing"),
        )
        .arg(
            Arg::new("fresh")
                .long("fresh")
                .action(ArgAction::SetTrue)
                .help("Hides the session's earlier messages from the model"),
        )
        .arg(
            Arg::new("image")
                .long("image")
                .value_name("FILE")
                .action(ArgAction::Append)
                .help("An image to send along; may be repeated"),
        )
        .arg(
            Arg::new("schema")
                .long("schema")
                .value_name("FILE")
                .help("A JSON Schema that the answer must match"),
        )
        .arg(
            Arg::new("terminal")
                .long("terminal")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["tools", "no-tools", "workspace", "schema"])
                .help("Offers the shared terminal as the only tool; what `hob \"…\"` means"),
        )
        .arg(local_model_offer::flag())
        .args(run_request::flags())
}

pub async fn run(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let mut interrupts = InterruptSignals::listen()?;
    // Reading piped stdin may take long, so Ctrl-C is handled already here.
    let mut params = tokio::select! {
        params = params(context, matches) => params?,
        () = interrupts.next() => return Err(CommandFailure::quiet(crate::failure::ExitStatus::Interrupted)),
    };
    let client = context.client().await?;
    // With --json a program reads the output, so nobody can be asked.
    let person = if context.terminal.json {
        None
    } else {
        TerminalUser::find()
    };
    // An unattended run denies calls that need approval instead of waiting for an answer.
    params.unattended = person.is_none();
    if person.is_some()
        && let Some(note) = run_request::wide_workspace_warning(context, &params)
    {
        Terminal::note(
            context
                .terminal
                .stderr_screen()
                .paint(TextTone::Quiet, &note),
        );
    }
    let setting = RunUiContext {
        context,
        client: &client,
        person: person.as_ref(),
    };
    let yes = matches.get_flag("yes");
    let ending = local_model_offer::run(setting, &params, yes, &mut interrupts).await;
    let ending = ending.map_err(no_model::with_first_steps)?;
    let screen = context.terminal.stderr_screen();
    if let Some(completed) = &ending.completed
        && completed.success
        && context.terminal.is_terminal()
        && screen.width.is_some()
        && !context.terminal.json
    {
        let footer = lines::footer(completed, ending.took_ms, &Terminal::remeasured(screen));
        Terminal::note(footer);
    }
    local_model_offer::show_modest_notice(setting, &ending).await;
    ending.result().map_err(no_model::with_first_steps)
}

async fn params(
    context: &CommandContext,
    matches: &ArgMatches,
) -> Result<AgentRunParams, CommandFailure> {
    let words = matches.get_many::<String>("question");
    let words: Option<Vec<&str>> = words.map(|words| words.map(String::as_str).collect());
    let mut params = run_request::params(context, matches)?;
    if matches.get_flag("terminal") {
        plain_language::configure_run(&mut params);
    }
    params.context = run_request::policy(matches);
    params.images = run_request::images(matches)?;
    params.schema = run_request::schema(matches)?;
    let session = matches.get_one::<String>("session").cloned();
    params.session_key = session.unwrap_or_else(|| run_request::new_session_key("ask", context));
    params.task = run_request::task(words.map(|words| words.join(" "))).await?;
    Ok(params)
}
