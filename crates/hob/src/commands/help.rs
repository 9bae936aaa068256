//! `hob help`: the page of a command, or of a topic that is no command.

use crate::context::Context;
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::tree::{self, text};
use clap::builder::StyledStr;
use clap::{Arg, ArgMatches, Command};

pub fn command() -> Command {
    Command::new("help")
        .about("Shows the help of a command, or a topic")
        .long_about("Topics: exit-codes, environment.")
        .after_help(text::examples(&[
            "hob help".to_owned(),
            "hob help session send".to_owned(),
            "hob help exit-codes".to_owned(),
        ]))
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .num_args(0..)
                .help("The command and its subcommand, or a topic"),
        )
}

#[expect(
    clippy::unused_async,
    reason = "every command of the table is a future"
)]
pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let names = matches.get_many::<String>("command").into_iter().flatten();
    let names: Vec<&str> = names.map(String::as_str).collect();
    match names[..] {
        ["exit-codes"] => Ok(context.terminal.line(text::exit_codes())?),
        ["environment"] => Ok(context.terminal.line(text::ENVIRONMENT)?),
        _ => Ok(Terminal::page(&context.world.env, &page(&names)?)?),
    }
}

fn page(names: &[&str]) -> Result<StyledStr, Failure> {
    let mut command = tree::command();
    // Built, so that each usage line names the whole path.
    command.build();
    let mut found = &mut command;
    for name in names {
        let known: Vec<String> = found
            .get_subcommands()
            .map(|sub| sub.get_name().to_owned())
            .collect();
        let Some(sub) = found.find_subcommand_mut(name) else {
            let failure = Failure::usage(format!("There is no command '{}'.", names.join(" ")));
            let near = text::nearest(name, known.iter().map(String::as_str));
            return Err(match near {
                Some(near) => failure.next(format!("Did you mean '{near}'?")),
                None => failure.next("`hob help` lists them all."),
            });
        };
        found = sub;
    }
    Ok(found.render_help())
}
