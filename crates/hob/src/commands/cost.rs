//! `hob cost`: the cost of model calls, by day and by model.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::render::costs;
use crate::tree::help_text;
use clap::{Arg, ArgMatches, Command, value_parser};
use hob_wire::rooms::cost::{CostSummaryParams, Summary};

/// A leap year.
const DAYS_MAX: i64 = 366;

pub fn command() -> Command {
    Command::new("cost")
        .about("Shows what model calls cost, by day and by model")
        .long_about(
            "Sums the ledger of every model call. An unknown price is shown as \
             unknown, never as zero.",
        )
        .after_help(help_text::examples(&[
            "hob cost".to_owned(),
            "hob cost --days 7".to_owned(),
            "hob cost --session chat:main --json".to_owned(),
        ]))
        .arg(
            Arg::new("days")
                .long("days")
                .short('d')
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=DAYS_MAX))
                .help("The number of days to show; 30 if missing"),
        )
        .arg(
            Arg::new("session")
                .long("session")
                .short('s')
                .value_name("KEY")
                .help("Only this session"),
        )
}

pub async fn run(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let params = CostSummaryParams {
        days: matches.get_one::<u32>("days").copied(),
        session_key: matches.get_one::<String>("session").cloned(),
    };
    let client = context.client().await?;
    let summary = client.call::<Summary>(&params).await?;
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.document(&summary)?);
    }
    Ok(terminal.lines(costs::lines(&summary, terminal.screen()))?)
}
