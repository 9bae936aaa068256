//! `hob completions`: prints a shell's completion script.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::tree;
use crate::tree::help_text::examples;
use clap_complete::Shell;

/// Prints the completion script of a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob completions bash > ~/.local/share/bash-completion/completions/hob",
    "hob completions fish > ~/.config/fish/completions/hob.fish",
    "hob completions zsh > ~/.zfunc/_hob",
]))]
pub struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

pub fn run(context: &CommandContext, args: &CompletionsArgs) -> Result<(), CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut tree::command(), "hob", &mut script);
    Ok(context.terminal.bytes(&script)?)
}
