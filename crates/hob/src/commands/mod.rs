//! The commands, one file each, with the clap description beside the code. [`command_table`] is the
//! list that the command tree is built from and that [`dispatch`] looks commands up in.

pub mod ask;
pub mod audit;
pub mod chat;
pub mod completions;
pub mod config;
pub mod cost;
pub mod cron;
pub mod daemon;
pub mod doctor;
pub mod down;
pub mod events;
pub mod help;
pub mod logs;
pub mod loops;
pub mod permission;
pub mod restart;
pub mod room;
pub mod rpc;
pub mod run;
pub mod say;
pub mod service;
pub mod speech_server;
pub mod status;
pub mod terminal;
pub mod token;
pub mod trace;
pub mod unattended_flags;
pub mod undo;
pub mod up;
pub mod verify;
pub mod version;
pub mod welcome;

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use clap::{ArgMatches, Command};
use std::pin::Pin;

type CommandFn = for<'a> fn(&'a CommandContext, &'a ArgMatches) -> CommandFuture<'a>;
type CommandFuture<'a> = Pin<Box<dyn Future<Output = Result<(), CommandFailure>> + 'a>>;

/// A command that is written by hand, not derived from a wire method.
#[derive(Clone, Copy, Debug)]
pub struct CommandEntry {
    pub command: fn() -> Command,
    run: CommandFn,
}

macro_rules! entries {
    ($($name:ident),* $(,)?) => {
        &[$(CommandEntry {
            command: $name::command,
            run: |context, matches| Box::pin($name::run(context, matches)),
        }),*]
    };
}

/// The commands in the order of the help page. `daemon` is missing: it runs before dispatch.
pub fn command_table() -> &'static [CommandEntry] {
    entries![
        ask,
        chat,
        run,
        terminal,
        undo,
        say,
        permission,
        audit,
        cost,
        up,
        down,
        restart,
        status,
        service,
        loops,
        cron,
        events,
        rpc,
        trace,
        logs,
        doctor,
        verify,
        config,
        token,
        completions,
        version,
        help,
    ]
}

/// Returns true if the command handles Ctrl-C itself.
pub fn handles_interrupts(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some(("ask" | "chat", _)) => true,
        // These leave work running in the daemon, so on Ctrl-C they print how to come back to it.
        Some(("service", matches)) => matches.subcommand_name() == Some("install"),
        Some(("loop", matches)) => loops::is_watching(matches),
        Some(("terminal", matches)) => terminal::handles_interrupts(matches),
        _ => false,
    }
}

/// Runs the command that the command line names.
pub async fn dispatch(
    context: &CommandContext,
    matches: &ArgMatches,
) -> Result<(), CommandFailure> {
    let Some((name, matches)) = matches.subcommand() else {
        return welcome::run(context).await;
    };
    let own = command_table()
        .iter()
        .find(|entry| (entry.command)().get_name() == name);
    if let Some(entry) = own {
        return (entry.run)(context, matches).await;
    }
    // Everything else is `hob ROOM VERB`, derived from the wire's methods.
    match (name, matches.subcommand()) {
        (room, Some((verb, matches))) => room::run(context, room, verb, matches).await,
        _ => Err(CommandFailure::quiet(ExitStatus::Usage)),
    }
}
