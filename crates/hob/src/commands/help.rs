//! `hob help`: the help page of a command or topic.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::terminal::Terminal;
use crate::tree::{self, help_text};
use clap::builder::StyledStr;
use clap::{Arg, ArgMatches, Command};

pub fn command() -> Command {
    Command::new("help")
        .about("Shows the help of a command, or a topic")
        .long_about("Topics: exit-codes, environment.")
        .after_help(help_text::examples(&[
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
pub async fn run(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let names = matches.get_many::<String>("command").into_iter().flatten();
    let names: Vec<&str> = names.map(String::as_str).collect();
    match names[..] {
        ["exit-codes"] => Ok(context.terminal.line(help_text::exit_codes())?),
        ["environment"] => Ok(context.terminal.line(help_text::ENVIRONMENT)?),
        _ => Ok(Terminal::page(&context.host.env, &page(&names)?)?),
    }
}

fn page(names: &[&str]) -> Result<StyledStr, CommandFailure> {
    let mut command = tree::command();
    // Only a built command tree puts the whole path into each usage line.
    command.build();
    let mut found = &mut command;
    for name in names {
        let known: Vec<String> = found
            .get_subcommands()
            .map(|sub| sub.get_name().to_owned())
            .collect();
        let Some(sub) = found.find_subcommand_mut(name) else {
            let failure =
                CommandFailure::usage(format!("There is no command '{}'.", names.join(" ")));
            let near = help_text::nearest(name, known.iter().map(String::as_str));
            return Err(match near {
                Some(near) => failure.next(format!("Did you mean '{near}'?")),
                None => failure.next("`hob help` lists them all."),
            });
        };
        found = sub;
    }
    Ok(found.render_help())
}
