//! `hob trace`: shows a request across services with its timings; short for `hob gateway trace`.

use super::room;
use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::tree::{derive, help_text};
use clap::{ArgMatches, Command};
use hob_wire::Method;
use hob_wire::rooms::gateway::Trace;

pub fn command() -> Command {
    derive::method("gateway", "trace")
        .map_or_else(|| Command::new("trace"), derive::verb_command)
        .after_help(help_text::examples(&[
            "hob rpc session.list --trace morning".to_owned(),
            "hob trace morning".to_owned(),
            "hob trace".to_owned(),
        ]))
}

pub async fn run(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    match derive::method("gateway", "trace") {
        Some(spec) => room::call(context, spec, matches).await,
        None => Err(CommandFailure::new(
            ExitStatus::NotFound,
            "NO_HANDLER",
            Trace::SPEC.name,
        )),
    }
}
