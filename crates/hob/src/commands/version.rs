//! `hob version`: the versions of hob, its protocol and its SQLite.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::tree::help_text::examples;
use serde_json::json;

/// Shows the versions of hob, its protocol and its SQLite.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&["hob version", "hob version --json"]))]
pub struct VersionArgs;

pub fn run(context: &CommandContext) -> Result<(), CommandFailure> {
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
