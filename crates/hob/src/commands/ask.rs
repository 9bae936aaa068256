//! `hob ask`: one question, its answer as it comes.

use crate::context::Context;
use crate::failure::Failure;
use crate::mind::person::Person;
use crate::mind::talk::{Interrupts, Setting};
use crate::mind::{advice, lines, offer, order, plain};
use crate::render::Tone;
use crate::terminal::Terminal;
use crate::tree::text;
use clap::{Arg, ArgAction, ArgMatches, Command};
use hob_wire::rooms::agent::RunParams;

pub fn command() -> Command {
    Command::new("ask")
        .about("Asks a model one question and streams its answer")
        .long_about(
            "What is piped into stdin goes along as context. The answer goes to stdout, \
             everything about it to stderr. Without --session each question stands alone. \
             Ctrl-C stops the run and says what had happened; a second one leaves at once.\n\n\
             hob \"…\" and hob -- … are the same with --terminal: the model sees whether it is a \
             question, a mention of a command, or something to run. A command is shown with its \
             reason, runs in the shared terminal once you say yes, and is explained from what it \
             really printed.\n\n\
             What a tool may not do by itself is asked on the terminal; without one it is \
             denied at once and the exit code is 3.\n\n\
             With no model configured, hob offers to install a small one on this machine and then \
             answers; --yes takes the offer.",
        )
        .after_help(text::examples(&[
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
                .help("The question; stdin is the question when missing"),
        )
        .arg(
            Arg::new("session")
                .long("session")
                .short('s')
                .value_name("KEY")
                .help("The session to go on with; one of its own when missing"),
        )
        .arg(
            Arg::new("fresh")
                .long("fresh")
                .action(ArgAction::SetTrue)
                .help("Leaves the session's past out of sight"),
        )
        .arg(
            Arg::new("image")
                .long("image")
                .value_name("FILE")
                .action(ArgAction::Append)
                .help("A picture that goes along; may be repeated"),
        )
        .arg(
            Arg::new("schema")
                .long("schema")
                .value_name("FILE")
                .help("A JSON Schema that the answer must fit"),
        )
        .arg(
            Arg::new("terminal")
                .long("terminal")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["tools", "no-tools", "workspace", "schema"])
                .help("Only the shared terminal as a tool; what `hob \"…\"` means"),
        )
        .arg(offer::flag())
        .args(order::flags())
}

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let mut interrupts = Interrupts::listen()?;
    let mut params = tokio::select! {
        params = params(context, matches) => params?,
        () = interrupts.next() => return Err(Failure::quiet(crate::failure::Exit::Interrupted)),
    };
    let client = context.client().await?;
    // A program that reads events is no person to be asked.
    let person = if context.terminal.json {
        None
    } else {
        Person::find()
    };
    params.unattended = person.is_none();
    if person.is_some()
        && let Some(note) = order::wide_place(context, &params)
    {
        Terminal::note(context.terminal.asides().paint(Tone::Quiet, &note));
    }
    let setting = Setting {
        context,
        client: &client,
        person: person.as_ref(),
    };
    let yes = matches.get_flag("yes");
    let ending = offer::run(setting, &params, yes, &mut interrupts).await;
    let ending = ending.map_err(advice::with_first_steps)?;
    let screen = context.terminal.asides();
    if let Some(completed) = &ending.completed
        && completed.success
        && context.terminal.is_terminal()
        && screen.width.is_some()
        && !context.terminal.json
    {
        let footer = lines::footer(completed, ending.took_ms, &Terminal::measured(screen));
        Terminal::note(footer);
    }
    offer::tell_modest(setting, &ending).await;
    ending.result().map_err(advice::with_first_steps)
}

async fn params(context: &Context, matches: &ArgMatches) -> Result<RunParams, Failure> {
    let words = matches.get_many::<String>("question");
    let words: Option<Vec<&str>> = words.map(|words| words.map(String::as_str).collect());
    let mut params = order::params(context, matches)?;
    if matches.get_flag("terminal") {
        plain::speak(&mut params);
    }
    params.context = order::policy(matches);
    params.images = order::images(matches)?;
    params.schema = order::schema(matches)?;
    let session = matches.get_one::<String>("session").cloned();
    params.session_key = session.unwrap_or_else(|| order::one_off("ask", context));
    params.task = order::task(words.map(|words| words.join(" "))).await?;
    Ok(params)
}
