//! `hob version`: the versions of hob, its protocol and its SQLite.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::tree::help_text;
use clap::{ArgMatches, Command};
use serde_json::json;

pub fn command() -> Command {
    Command::new("version")
        .about("Shows the versions of hob, its protocol and its SQLite")
        .after_help(help_text::examples(&[
            "hob version".to_owned(),
            "hob version --json".to_owned(),
        ]))
}

#[expect(
    clippy::unused_async,
    reason = "every command of the table is a future"
)]
pub async fn run(context: &CommandContext, _: &ArgMatches) -> Result<(), CommandFailure> {
    let version = env!("CARGO_PKG_VERSION");
    let protocol = hob_wire::PROTOCOL_VERSION;
    let sqlite = hob_store::Store::sqlite_version();
    if context.terminal.json {
        let document = json!({ "version": version, "protocol": protocol, "sqlite": sqlite });
        return Ok(context.terminal.document(&document)?);
    }
    let line = format!("hob {version} (protocol {protocol}, SQLite {sqlite})");
    Ok(context.terminal.line(line)?)
}
