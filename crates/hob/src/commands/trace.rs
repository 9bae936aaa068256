//! `hob trace`: shows a request across services with its timings; short for `hob gateway trace`.

use super::room;
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::tree::help_text::examples;
use hob_wire::Method;
use hob_wire::rooms::gateway::Trace;
use serde_json::json;

/// Shows the latest requests that carried a trace id, with their timings.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob rpc session.list --trace morning",
    "hob trace morning",
    "hob trace",
]))]
pub struct TraceArgs {
    /// The trace id; the latest requests of all traces when missing.
    trace: Option<String>,
}

pub async fn run(context: &CommandContext, args: TraceArgs) -> Result<(), CommandFailure> {
    room::call(context, &Trace::SPEC, &json!({ "trace": args.trace })).await
}
