//! The library behind the `hob` binary: the command line and the composition root of the daemon.
//!
//! - [`tree`]: the clap command tree, half of it derived from the wire catalog
//! - [`commands`]: the implementation of each command
//! - [`render`]: formats results as lines; [`terminal`]: the only place that prints
//! - [`run_ui`]: the terminal UI of a run, for `ask` and `chat`
//! - [`model_pull`]: plan, consent and progress of fetching a model
//! - [`service_install`]: plan, consent and progress of a service installation; [`progress_line`]:
//!   one status line that is redrawn in place
//! - [`autostart`]: the start at login; [`own_process`]: runs a short program of the system
//! - [`daemon_process`]: composes the rooms into a daemon
//! - [`doctor`]: the checks of `hob doctor`; [`offline`]: the store without a daemon
//! - [`failure`]: exit codes and error messages; `private_memory`: keeps other processes from
//!   reading this one; `memory_trim`: returns unused memory to the system
//! - [`settings`]: the catalog of all config keys; [`tui`]: opens the terminal UI
//!
//! Invariants: stdout carries results and nothing else; every outcome has its exit code;
//! `status, down, doctor, config, token, completions, help, version` never start the daemon.

pub mod autostart;
pub mod commands;
pub mod context;
pub mod daemon_process;
pub mod doctor;
pub mod failure;
mod memory_trim;
pub mod model_pull;
pub mod offline;
mod own_process;
mod private_memory;
pub mod progress_line;
pub mod render;
pub mod run_ui;
pub mod service_install;
pub mod settings;
pub mod terminal;
pub mod tree;
pub mod tui;

use clap::error::ErrorKind;
use commands::daemon::DaemonArgs;
use commands::{ClientCommand, HobCommand};
use context::CommandContext;
use failure::{CommandFailure, ExitStatus};
use hob_kit::host_environment::{EnvVars, HostEnvironment};
use std::process::ExitCode;
use terminal::Terminal;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    // The shim between the daemon and each child comes first: nothing else may run before it.
    if arguments
        .get(1)
        .is_some_and(|name| name == hob_exec::shim::SUBCOMMAND)
    {
        return hob_exec::shim::main(&arguments[2..]);
    }
    // The recorder of a terminal's output.
    if arguments
        .get(1)
        .is_some_and(|name| name == hob_exec::tmux::recording::SUBCOMMAND)
    {
        return hob_exec::tmux::recording::main(&arguments[2..]);
    }
    // From here on the process may read provider keys or the owner's token.
    private_memory::protect();
    // The built-in speech server runs in a process of its own.
    if arguments
        .get(1)
        .is_some_and(|name| name == hob_services::tts::SUBCOMMAND)
    {
        return commands::speech_server::main(&arguments[2..]);
    }
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    let exit = match run(arguments) {
        Ok(()) => ExitStatus::Done,
        Err(failure) => {
            report(&failure, wants_json);
            failure.exit
        }
    };
    ExitCode::from(exit.code())
}

fn run(arguments: Vec<std::ffi::OsString>) -> Result<(), CommandFailure> {
    let arguments = tree::implicit_ask::insert_ask(arguments);
    let line = match tree::parse(arguments.clone()) {
        Ok(line) => line,
        Err(error) => return usage(&error, &arguments),
    };
    let host =
        HostEnvironment::capture().map_err(|error| CommandFailure::failed(error.to_string()))?;
    // The daemon sizes its own runtime and detaches first, so it never gets the CLI's runtime.
    let command = match line.command {
        Some(HobCommand::Daemon(args)) => return commands::daemon::run(host, args),
        Some(HobCommand::Client(command)) => Some(command),
        // A launcher of another system starts its daemon without arguments.
        None if !line.json && daemon_process::is_launched(&host.env) => {
            return commands::daemon::run(host, DaemonArgs::default());
        }
        None => None,
    };
    let terminal = Terminal::new(&host, line.json);
    let context = CommandContext::new(host, terminal);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            CommandFailure::failed(format!("The async runtime cannot start: {error}."))
        })?;
    let outcome = runtime.block_on(until_interrupted(&context, command));
    // A blocking thread may still wait, mostly for stdin. It must not delay the exit.
    runtime.shutdown_background();
    let flushed = context.terminal.flush().map_err(CommandFailure::from);
    outcome.and(flushed)
}

async fn until_interrupted(
    context: &CommandContext,
    command: Option<ClientCommand>,
) -> Result<(), CommandFailure> {
    let Some(command) = command else {
        return commands::welcome::run(context).await;
    };
    if command.handles_interrupts() {
        return command.run(context).await;
    }
    tokio::select! {
        outcome = command.run(context) => outcome,
        interrupted = tokio::signal::ctrl_c() => match interrupted {
            Ok(()) => Err(CommandFailure::quiet(ExitStatus::Interrupted)),
            Err(error) => Err(CommandFailure::failed(format!("Signals cannot be received: {error}."))),
        },
    }
}

/// Prints help to stdout, or returns the usage error.
fn usage(error: &clap::Error, arguments: &[std::ffi::OsString]) -> Result<(), CommandFailure> {
    match error.kind() {
        _ if tree::usage_error::is_help_page(error) => {
            Ok(Terminal::page(&EnvVars::capture(), &error.render())?)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Terminal::note(error.render().to_string().trim_end());
            Err(CommandFailure::quiet(ExitStatus::Usage))
        }
        _ => Err(tree::usage_error::failure_of(error, arguments)),
    }
}

fn report(failure: &CommandFailure, json: bool) {
    if failure.silent {
        return;
    }
    if json {
        Terminal::note(failure.json());
    } else {
        Terminal::note(failure.text());
    }
}
