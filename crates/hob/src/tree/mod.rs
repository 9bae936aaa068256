//! The clap command tree. hob's own commands are declared in [`crate::commands`]; the commands of
//! rooms are derived from the wire catalog.

pub mod derive;
pub mod help_text;
pub mod implicit_ask;
pub mod manual;
pub mod schema;
pub mod usage_error;

use crate::commands;
use clap::{Arg, ArgAction, Command};

/// The position of the rooms' commands among hob's own: after those that ask, start and stop.
const ROOMS_AFTER: usize = 16;

/// The whole tree.
pub fn command() -> Command {
    let mut command = Command::new("hob")
        .about("A local-first agent runtime")
        .version(env!("CARGO_PKG_VERSION"))
        .max_term_width(help_text::COLUMNS)
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
    let (first, others) = commands::command_table().split_at(ROOMS_AFTER);
    for entry in first {
        command = command.subcommand((entry.command)());
    }
    for (room, specs) in derive::rooms() {
        command = command.subcommand(derive::room_command(room, &specs));
    }
    for entry in others {
        command = command.subcommand((entry.command)());
    }
    apply_layout(command.subcommand(commands::daemon::command()))
}

/// The display order of global flags: last in every help page.
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

/// Applies one layout to every help page, for `-h`, `--help` and `hob help` alike.
fn apply_layout(command: Command) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    let command = names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, apply_layout)
    });
    // clap would render a second, longer page for a long description, so it goes into the template.
    let details = command.get_long_about().map(ToString::to_string);
    command
        .long_about(None::<&str>)
        .help_template(help_text::template(details.as_deref()))
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .arg(help_flag())
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
