//! `hob trace`: a request across services, with its timings; short for `hob gateway trace`.

use super::room;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::tree::{derive, text};
use clap::{ArgMatches, Command};
use hob_wire::Method;
use hob_wire::rooms::gateway::Trace;

pub fn command() -> Command {
    derive::method("gateway", "trace")
        .map_or_else(|| Command::new("trace"), derive::verb_command)
        .after_help(text::examples(&[
            "hob rpc session.list --trace morning".to_owned(),
            "hob trace morning".to_owned(),
            "hob trace".to_owned(),
        ]))
}

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    match derive::method("gateway", "trace") {
        Some(spec) => room::call(context, spec, matches).await,
        None => Err(Failure::new(Exit::NotFound, "NO_HANDLER", Trace::SPEC.name)),
    }
}
