//! The clap command tree. hob's own commands are clap types in [`crate::commands`]; the commands of
//! rooms are derived from the wire catalog.
//!
//! Invariant: a subcommand is completed, and the schema of its method read, only when the command
//! line names it or the whole tree is built.

pub mod command_groups;
pub mod derive;
pub mod help_text;
pub mod implicit_ask;
pub mod man_page;
pub mod manual;
pub mod schema;
pub mod usage_error;

use crate::commands::HobCommand;
use clap::{Arg, ArgAction, Command, CommandFactory, FromArgMatches};
use std::ffi::OsString;

/// The display order of global flags: last in every help page.
const LAST: usize = 900;

const MAIN_HELP: &str = "\
EXAMPLES
  git diff | hob ask \"review this\"
  hob terminal run make test
  hob run show
  hob undo
  hob events 'run.*'

See also: hob help exit-codes, hob help environment";

/// A local-first agent runtime.
#[derive(Debug, clap::Parser)]
#[command(
    name = "hob",
    version,
    disable_version_flag = true,
    max_term_width = help_text::COLUMNS,
    subcommand_value_name = "COMMAND",
    subcommand_help_heading = "Commands",
    after_help = MAIN_HELP
)]
pub struct HobCommandLine {
    /// Prints JSON; of a stream, one line per item.
    #[arg(long, global = true, display_order = LAST)]
    pub json: bool,
    /// Shows the version.
    #[arg(long, short = 'V', action = ArgAction::Version, display_order = LAST + 2)]
    pub version: (),
    #[command(subcommand)]
    pub command: Option<HobCommand>,
}

/// The whole tree.
pub fn command() -> Command {
    complete(HobCommandLine::command())
}

/// Parses a command line that begins with the program's name.
pub fn parse(arguments: Vec<OsString>) -> Result<HobCommandLine, clap::Error> {
    let mut command = command();
    let mut matches = command.try_get_matches_from_mut(arguments)?;
    HobCommandLine::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Completes a command: adds what the catalog declares, and applies one layout to its help page, for
/// `-h`, `--help` and `hob help` alike. clap completes its subcommands later, when they are named.
fn complete(command: Command) -> Command {
    let command = derive::complete(command).mut_subcommands(|sub| sub.defer(complete));
    // clap would render a second, longer page for a long description, so it goes into the template.
    let description = command.get_long_about().map(ToString::to_string);
    let details = description.as_deref().and_then(|it| it.split_once("\n\n"));
    let template = match command.get_name() {
        "hob" => command_groups::template(&command),
        _ => help_text::template(details.map(|(_, details)| details)),
    };
    command
        .long_about(None::<&str>)
        .help_template(template)
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .arg(help_flag())
}

fn help_flag() -> Arg {
    Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::HelpShort)
        .display_order(LAST + 1)
        .help("Shows this help")
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
