//! `hob terminal attach`: this process becomes tmux, on the person's own terminal.

use super::Desk;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::tree::text::quoted;
use hob_exec::handover;
use hob_wire::rooms::terminal::{List, ListParams};
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};

/// What makes a tmux refuse to show another one within it.
const NESTING: [&str; 2] = ["TMUX", "TMUX_PANE"];

/// What can be wrong without a daemon is said without one.
pub(super) fn check(context: &Context, name: Option<&str>) -> Result<(), Failure> {
    let name = name.map(|name| format!(" {}", quoted(name)));
    let name = name.unwrap_or_default();
    if context.is_elsewhere() {
        let sentence = "HOB_URL names a daemon elsewhere; its terminals are shown there.";
        return Err(Failure::usage(sentence).next(format!("There: hob terminal attach{name}")));
    }
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        let sentence = "There is no terminal here to show it on.";
        return Err(Failure::usage(sentence).next(format!(
            "`hob terminal capture{name}` prints what it shows."
        )));
    }
    Ok(())
}

pub(super) async fn run(desk: &Desk<'_>) -> Result<(), Failure> {
    let terminal = desk.ensure().await?;
    let found = desk.client.call_again::<List>(&ListParams {}).await?;
    desk.context.terminal.flush()?;
    let arguments = [
        OsString::from("-S"),
        OsString::from(found.socket),
        OsString::from("attach"),
        OsString::from("-t"),
        OsString::from(format!("={}", terminal.name)),
    ];
    let program = program(desk.context);
    let error = handover::become_program(&program, arguments, &NESTING);
    let shown = program.to_string_lossy().into_owned();
    Err(match error.kind() {
        io::ErrorKind::NotFound => {
            let sentence = format!("'{shown}' is not here, so the terminal cannot be shown.");
            Failure::new(Exit::Failed, "NO_TMUX", sentence)
                .next("`hob doctor` says how to install it.")
        }
        _ => Failure::failed(format!("'{shown}' does not start: {error}.")),
    })
}

/// The tmux of this home's settings, as the daemon uses it.
fn program(context: &Context) -> OsString {
    let _ = context;
    OsStr::new("tmux").to_owned()
}
