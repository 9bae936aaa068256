//! What each command does, one file each; its description stands beside it. [`table`] is the list
//! from which the tree is built and by which a command line finds its code.

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
pub mod standing;
pub mod status;
pub mod terminal;
pub mod token;
pub mod trace;
pub mod undo;
pub mod up;
pub mod verify;
pub mod version;
pub mod welcome;

use crate::context::Context;
use crate::failure::{Exit, Failure};
use clap::{ArgMatches, Command};
use std::pin::Pin;

type Run = for<'a> fn(&'a Context, &'a ArgMatches) -> Running<'a>;
type Running<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;

/// One of hob's own commands.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub command: fn() -> Command,
    run: Run,
}

macro_rules! entries {
    ($($name:ident),* $(,)?) => {
        &[$(Entry {
            command: $name::command,
            run: |context, matches| Box::pin($name::run(context, matches)),
        }),*]
    };
}

/// Commands in the order of the help page; `daemon` is run before any of this.
pub fn table() -> &'static [Entry] {
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

/// Whether a command does something of its own about Ctrl-C.
pub fn minds_interrupts(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some(("ask" | "chat", _)) => true,
        // They say how to come back to what goes on without them.
        Some(("service", matches)) => matches.subcommand_name() == Some("install"),
        Some(("loop", matches)) => loops::watches(matches),
        Some(("terminal", matches)) => terminal::minds_interrupts(matches),
        _ => false,
    }
}

/// Runs the command that the line names.
pub async fn dispatch(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let Some((name, matches)) = matches.subcommand() else {
        return welcome::run(context).await;
    };
    let own = table()
        .iter()
        .find(|entry| (entry.command)().get_name() == name);
    if let Some(entry) = own {
        return (entry.run)(context, matches).await;
    }
    match (name, matches.subcommand()) {
        (room, Some((verb, matches))) => room::run(context, room, verb, matches).await,
        _ => Err(Failure::quiet(Exit::Usage)),
    }
}
