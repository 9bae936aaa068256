//! `hob restart`: stops the daemon and starts it again.

use super::{down, up};
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::tree::help_text::examples;

/// Stops the daemon and starts it again.
///
/// The new daemon uses this program and the current config. Also starts one if none ran. Connected
/// clients reconnect by themselves.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&["hob restart"]))]
pub struct RestartArgs;

pub async fn run(context: &CommandContext) -> Result<(), CommandFailure> {
    down::stop(context).await?;
    // `stop` renewed the last-down mark; with the old one this start would be refused as outdated.
    context.refresh_last_down();
    up::run(context).await
}
