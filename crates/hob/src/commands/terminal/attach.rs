//! `hob terminal attach`: this process becomes tmux, on the person's own terminal.

use super::Desk;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::render::words::sentence_case;
use crate::settings;
use crate::tree::text::quoted;
use hob_exec::handover;
use hob_exec::tmux::Tmux;
use hob_kit::home::check_socket_folder;
use hob_kit::settings::Settings;
use hob_wire::rooms::terminal::{List, ListParams};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;

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
    let tmux = Tmux::find(&desk.context.world.env, setting(desk.context).as_deref()).await;
    let tmux = tmux.map_err(|missing| {
        Failure::new(Exit::Failed, "NO_TMUX", sentence_case(&missing.to_string()))
    })?;
    let terminal = desk.ensure().await?;
    let found = desk.client.call_again::<List>(&ListParams {}).await?;
    // What the daemon named a moment ago may have been replaced by another user since.
    check_socket_folder(Path::new(&found.socket))
        .map_err(|error| Failure::failed(error.to_string()))?;
    desk.context.terminal.flush()?;
    let arguments = [
        OsString::from("-S"),
        OsString::from(found.socket),
        OsString::from("attach-session"),
        OsString::from("-t"),
        OsString::from(format!("={}", terminal.name)),
    ];
    let program = tmux.program.as_os_str();
    let error = handover::become_program(program, arguments, &NESTING);
    let program = tmux.program.display();
    Err(Failure::failed(format!(
        "'{program}' does not start: {error}."
    )))
}

/// The tmux that this home's settings name, as the daemon uses it.
fn setting(context: &Context) -> Option<String> {
    let (home, env) = (&context.world.home, &context.world.env);
    let settings = Settings::of_home(&settings::catalog(), home, env).ok()?;
    Some(settings.text("terminal.tmux").to_owned())
}
