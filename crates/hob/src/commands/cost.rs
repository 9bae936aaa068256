//! `hob cost`: the cost of model calls, by day and by model.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::render::costs;
use crate::tree::help_text::examples;
use clap::value_parser;
use hob_wire::rooms::cost::{CostSummaryParams, Summary};

/// A leap year.
const DAYS_MAX: i64 = 366;

/// Shows what model calls cost, by day and by model.
///
/// Sums the ledger of every model call. An unknown price is shown as unknown, never as zero.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob cost",
    "hob cost --days 7",
    "hob cost --session chat:main --json",
]))]
pub struct CostArgs {
    /// The number of days to show; 30 if missing.
    #[arg(long, short, value_name = "N", value_parser = value_parser!(u32).range(1..=DAYS_MAX))]
    days: Option<u32>,
    /// Only this session.
    #[arg(long, short, value_name = "KEY")]
    session: Option<String>,
}

pub async fn run(context: &CommandContext, args: CostArgs) -> Result<(), CommandFailure> {
    let params = CostSummaryParams {
        days: args.days,
        session_key: args.session,
    };
    let client = context.client().await?;
    let summary = client.call::<Summary>(&params).await?;
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(&summary)?);
    }
    Ok(terminal.lines(costs::lines(&summary, terminal.screen()))?)
}
