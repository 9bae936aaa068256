//! The command tree: what `hob` understands. Its own commands describe themselves in
//! [`crate::commands`]; those of rooms are derived from the wire's catalog.

pub mod derive;
pub mod manual;
pub mod mistake;
pub mod question;
pub mod schema;
pub mod text;

use crate::commands;
use clap::{Arg, ArgAction, Command};

/// Where the rooms' commands stand among hob's own: after those that ask, start and stop.
const ROOMS_AFTER: usize = 16;

/// The whole tree.
pub fn command() -> Command {
    let mut command = Command::new("hob")
        .about("A helper that lives in the house: a local-first agent runtime")
        .version(env!("CARGO_PKG_VERSION"))
        .max_term_width(text::COLUMNS)
        .disable_help_subcommand(true)
        .disable_version_flag(true)
        .subcommand_value_name("COMMAND")
        .subcommand_help_heading("Commands")
        .after_help(MAIN_HELP)
        .arg(json_flag())
        .arg(
            Arg::new("version")
                .short('V')
                .long("version")
                .action(ArgAction::Version)
                .display_order(LAST + 2)
                .help("Shows the version"),
        );
    let (first, others) = commands::table().split_at(ROOMS_AFTER);
    for entry in first {
        command = command.subcommand((entry.command)());
    }
    for (room, specs) in derive::rooms() {
        command = command.subcommand(derive::room_command(room, &specs));
    }
    for entry in others {
        command = command.subcommand((entry.command)());
    }
    in_house_style(command.subcommand(commands::daemon::command()))
}

/// Flags that every command has come last in its help.
const LAST: usize = 900;

const MAIN_HELP: &str = "\
EXAMPLES
  hob \"what is filling my disk?\"
  hob terminal run make test
  git diff | hob ask \"review this\"
  hob chat
  hob session history chat:main
  hob events 'run.*'

See also: hob help exit-codes, hob help environment";

fn json_flag() -> Arg {
    Arg::new("json")
        .long("json")
        .global(true)
        .action(ArgAction::SetTrue)
        .display_order(LAST)
        .help("Prints JSON; of a stream, one line per item")
}

fn help_flag() -> Arg {
    Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::HelpShort)
        .display_order(LAST + 1)
        .help("Shows this help")
}

/// The same layout on every page, whether asked for with `-h`, `--help` or `hob help`.
fn in_house_style(command: Command) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    let command = names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, in_house_style)
    });
    // clap would draw a second, airier page for a long description; it becomes part of the one.
    let details = command.get_long_about().map(ToString::to_string);
    command
        .long_about(None::<&str>)
        .help_template(text::template(details.as_deref()))
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .arg(help_flag())
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
