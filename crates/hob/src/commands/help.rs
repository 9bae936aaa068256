//! `hob help`: the help page of a command or topic.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::terminal::Terminal;
use crate::tree;
use crate::tree::help_text::{self, examples};
use clap::builder::StyledStr;

/// Shows the help of a command, or a topic.
///
/// Topics: exit-codes, environment.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob help",
    "hob help session send",
    "hob help exit-codes",
]))]
pub struct HelpArgs {
    /// The command and its subcommand, or a topic.
    command: Vec<String>,
}

pub fn run(context: &CommandContext, args: &HelpArgs) -> Result<(), CommandFailure> {
    let names: Vec<&str> = args.command.iter().map(String::as_str).collect();
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
