//! `hob terminal attach`: replaces this process with tmux on the user's terminal.

use super::TerminalCommands;
use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::text::sentence_case;
use crate::settings;
use crate::tree::help_text::quoted;
use hob_exec::handover;
use hob_exec::tmux::TmuxProgram;
use hob_kit::home::check_socket_folder;
use hob_kit::settings::Settings;
use hob_wire::rooms::terminal::{List, TerminalListParams};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;

/// Environment variables that make tmux refuse to run inside tmux.
const NESTING_VARIABLES: [&str; 2] = ["TMUX", "TMUX_PANE"];

/// Checks everything that needs no daemon.
pub(super) fn check(context: &CommandContext, name: Option<&str>) -> Result<(), CommandFailure> {
    let name = name.map(|name| format!(" {}", quoted(name)));
    let name = name.unwrap_or_default();
    if context.is_remote() {
        let sentence = "HOB_URL names a remote daemon; its terminals can only be attached there.";
        return Err(CommandFailure::usage(sentence)
            .next(format!("On that machine: hob terminal attach{name}")));
    }
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        let sentence = "Attaching needs a terminal, but stdin or stdout is not one.";
        return Err(CommandFailure::usage(sentence)
            .next(format!("`hob terminal capture{name}` prints its screen.")));
    }
    Ok(())
}

pub(super) async fn run(commands: &TerminalCommands<'_>) -> Result<(), CommandFailure> {
    let tmux = TmuxProgram::find(
        &commands.context.host.env,
        tmux_setting(commands.context).as_deref(),
    )
    .await;
    let tmux = tmux.map_err(|missing| {
        CommandFailure::new(
            ExitStatus::Failed,
            "NO_TMUX",
            sentence_case(&missing.to_string()),
        )
    })?;
    let terminal = commands.ensure().await?;
    let found = commands
        .client
        .call_with_retry::<List>(&TerminalListParams {})
        .await?;
    // Another user may have replaced the socket folder since the daemon started.
    check_socket_folder(Path::new(&found.socket))
        .map_err(|error| CommandFailure::failed(error.to_string()))?;
    // Exec replaces this process, so buffered output would be lost.
    commands.context.terminal.flush()?;
    let arguments = [
        OsString::from("-S"),
        OsString::from(found.socket),
        OsString::from("attach-session"),
        OsString::from("-t"),
        // `=` makes tmux match the whole name instead of a prefix.
        OsString::from(format!("={}", terminal.name)),
    ];
    let program = tmux.program.as_os_str();
    let error = handover::become_program(program, arguments, &NESTING_VARIABLES);
    let program = tmux.program.display();
    Err(CommandFailure::failed(format!(
        "'{program}' cannot be started: {error}."
    )))
}

/// Returns the tmux program from the home's settings, which the daemon uses too.
fn tmux_setting(context: &CommandContext) -> Option<String> {
    let (home, env) = (&context.host.home, &context.host.env);
    let settings = Settings::load_home(&settings::catalog(), home, env).ok()?;
    Some(settings.text("terminal.tmux").to_owned())
}
