//! `hob completions`: prints a shell's completion script.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::tree;
use crate::tree::help_text;
use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

pub fn command() -> Command {
    Command::new("completions")
        .about("Prints the completion script of a shell")
        .after_help(help_text::examples(&[
            "hob completions bash > ~/.local/share/bash-completion/completions/hob".to_owned(),
            "hob completions fish > ~/.config/fish/completions/hob.fish".to_owned(),
            "hob completions zsh > ~/.zfunc/_hob".to_owned(),
        ]))
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .required(true)
                .value_parser(value_parser!(Shell))
                .help("The shell"),
        )
}

#[expect(
    clippy::unused_async,
    reason = "every command of the table is a future"
)]
pub async fn run(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let Some(shell) = matches.get_one::<Shell>("shell") else {
        return Err(CommandFailure::usage("Which shell?"));
    };
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut tree::command(), "hob", &mut script);
    Ok(context.terminal.bytes(&script)?)
}
