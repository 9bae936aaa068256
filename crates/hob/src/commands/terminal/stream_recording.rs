//! `hob terminal stream`: writes the bytes of a terminal's recording to stdout as they are.
//!
//! Invariant: control sequences that a program printed reach the user's own terminal only with
//! `--raw`: they can rename its window, write its clipboard, or make it type.

use super::TerminalCommands;
use super::args::TerminalStreamArgs;
use super::recording_page::{page_bytes, read_page};
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::terminal::Terminal;
use crate::tree::help_text::quoted;
use hob_wire::rooms::terminal::TerminalStreamParams;

/// The duration of one long poll for bytes.
const LONG_POLL_MS: u64 = 60_000;

/// Checks everything that needs no daemon.
pub(super) fn check(
    context: &CommandContext,
    args: &TerminalStreamArgs,
) -> Result<(), CommandFailure> {
    if args.raw || context.terminal.json || !context.terminal.is_terminal() {
        return Ok(());
    }
    let name = args.terminal.given().map(quoted);
    let name = name.map(|name| format!(" {name}")).unwrap_or_default();
    let sentence = "The recording has control sequences that can take over this terminal.";
    Err(CommandFailure::usage(sentence).next(format!(
        "To a file: hob terminal stream{name} > FILE. To see its screen: hob terminal capture{name}. \
         To print them here all the same: --raw."
    )))
}

pub(super) async fn run(
    commands: &TerminalCommands<'_>,
    args: &TerminalStreamArgs,
) -> Result<(), CommandFailure> {
    let terminal = &commands.context.terminal;
    let mut params = TerminalStreamParams {
        name: commands.name.clone(),
        since: args.since.unwrap_or_default(),
        ..TerminalStreamParams::default()
    };
    let mut until = None;
    loop {
        let page = read_page(commands.client, params.clone()).await?;
        // Without an offset the oldest byte is asked for, so nothing is missing before it.
        if page.skipped > 0 && (until.is_some() || args.since.is_some()) {
            let skipped = page.skipped;
            Terminal::note(format!("{skipped} bytes here are too old to be kept."));
        }
        if terminal.json {
            terminal.document(&page)?;
        } else {
            terminal.bytes(&page_bytes(&page)?)?;
        }
        terminal.flush()?;
        // What is printed later is left out, unless it is followed.
        let until = *until.get_or_insert(page.end);
        if page.ended || (!args.follow && page.next >= until) {
            return Ok(());
        }
        params.since = page.next;
        params.recording = page.recording;
        params.wait_ms = args.follow.then_some(LONG_POLL_MS);
    }
}
