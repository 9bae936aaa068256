//! The binary's inside: the command table and the composition root.
//!
//! - [`tree`]: what `hob` understands, half of it derived from the wire's catalog
//! - [`commands`]: what each command does, one file each
//! - [`render`]: from results to the lines a person reads; [`terminal`]: the one place that prints
//! - [`mind`]: talking with a model, for `ask` and `chat`
//! - [`installing`]: installing a service: its plan, the question, how far it is; [`ticker`]: a
//!   line that tells of something that takes a while
//! - [`house`]: joins the rooms into a daemon
//! - [`doctor`]: the examination of a home; [`offline`]: the store without a daemon
//! - [`failure`]: exit codes and error sentences; `private_memory`: nobody else reads this process;
//!   `spare_memory`: what it no longer needs goes back to the system
//! - [`settings`]: every key of the config file, from the crates that own them
//!
//! Invariants: results go to stdout and nothing else does; every way to end has its exit code;
//! `status, down, doctor, config, token, completions, help, version` never start the daemon.

pub mod commands;
pub mod context;
pub mod doctor;
pub mod failure;
pub mod house;
pub mod installing;
pub mod mind;
pub mod offline;
mod private_memory;
pub mod render;
pub mod settings;
mod spare_memory;
pub mod terminal;
pub mod ticker;
pub mod tree;

use clap::ArgMatches;
use clap::error::ErrorKind;
use context::Context;
use failure::{Exit, Failure};
use hob_kit::world::{Env, World};
use std::process::ExitCode;
use terminal::Terminal;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    // The process between the daemon and each child: nothing else may have happened before it.
    if arguments
        .get(1)
        .is_some_and(|name| name == hob_exec::shim::SUBCOMMAND)
    {
        return hob_exec::shim::main(&arguments[2..]);
    }
    // The process that writes down what a terminal prints.
    if arguments
        .get(1)
        .is_some_and(|name| name == hob_exec::tmux::recording::SUBCOMMAND)
    {
        return hob_exec::tmux::recording::main(&arguments[2..]);
    }
    // Whatever follows may read a key or the owner's token.
    private_memory::protect();
    // The process of a service of ours.
    if arguments
        .get(1)
        .is_some_and(|name| name == hob_services::tts::SUBCOMMAND)
    {
        return commands::speech_server::main(&arguments[2..]);
    }
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    let exit = match run(arguments) {
        Ok(()) => Exit::Done,
        Err(failure) => {
            report(&failure, wants_json);
            failure.exit
        }
    };
    ExitCode::from(exit.code())
}

fn run(arguments: Vec<std::ffi::OsString>) -> Result<(), Failure> {
    let arguments = tree::question::with_ask(arguments);
    let matches = match tree::command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    let world = World::capture().map_err(|error| Failure::failed(error.to_string()))?;
    // The daemon builds a runtime of its own size and detaches before anything else happens.
    if let Some(("daemon", matches)) = matches.subcommand() {
        return commands::daemon::run(world, matches);
    }
    let terminal = Terminal::new(&world, matches.get_flag("json"));
    let context = Context::new(world, terminal);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("The runtime does not start: {error}.")))?;
    let outcome = runtime.block_on(until_interrupted(&context, &matches));
    // What a blocking thread still waits for (stdin, mostly) must not hold back the exit.
    runtime.shutdown_background();
    let flushed = context.terminal.flush().map_err(Failure::from);
    outcome.and(flushed)
}

async fn until_interrupted(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    if commands::minds_interrupts(matches) {
        return commands::dispatch(context, matches).await;
    }
    tokio::select! {
        outcome = commands::dispatch(context, matches) => outcome,
        interrupted = tokio::signal::ctrl_c() => match interrupted {
            Ok(()) => Err(Failure::quiet(Exit::Interrupted)),
            Err(error) => Err(Failure::failed(format!("Signals cannot be received: {error}."))),
        },
    }
}

/// What clap says instead of running a command: help on stdout, or why the line is wrong.
fn usage(error: &clap::Error) -> Result<(), Failure> {
    match error.kind() {
        _ if tree::mistake::is_page(error) => Ok(Terminal::page(&Env::capture(), &error.render())?),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Terminal::note(error.render().to_string().trim_end());
            Err(Failure::quiet(Exit::Usage))
        }
        _ => Err(tree::mistake::failure(error)),
    }
}

fn report(failure: &Failure, json: bool) {
    if failure.silent {
        return;
    }
    if json {
        Terminal::note(failure.json());
    } else {
        Terminal::note(failure.text());
    }
}
