//! `hob loop working` and `persistent`: what a loop is shown once, and what it is shown always.

use super::{Desk, editing};
use crate::commands::standing;
use crate::failure::Failure;
use crate::render::loops;
use crate::terminal::Terminal;
use clap::ArgMatches;
use hob_wire::rooms::loops::{Memories, Persistent, PersistentParams, Working, WorkingParams};

/// Earlier revisions that are shown.
const REVISIONS: u32 = 50;

pub(super) async fn working(desk: &Desk<'_>, matches: &ArgMatches) -> Result<(), Failure> {
    let terminal = &desk.context.terminal;
    let Some(text) = standing::prose(matches, "text").await? else {
        let found = desk.found().await?;
        return Ok(terminal.shown(&found.working, loops::memory)?);
    };
    let params = WorkingParams {
        name: desk.name.clone(),
        text,
    };
    let set = desk.client.call_again::<Working>(&params).await?;
    Ok(terminal.shown(&set, loops::working_set)?)
}

pub(super) async fn persistent(desk: &Desk<'_>, matches: &ArgMatches) -> Result<(), Failure> {
    let mut params = PersistentParams {
        name: desk.name.clone(),
        text: standing::prose(matches, "text").await?,
        undo: matches.get_flag("undo"),
        earlier: matches.get_flag("revisions").then_some(REVISIONS),
        // Taking back twice is not taking back once.
        idempotency_key: Some(crate::mind::order::fresh_id(&desk.context.world.dice)),
        ..PersistentParams::default()
    };
    if matches.get_flag("edit") {
        let Some(text) = edit(desk, &mut params).await? else {
            return Ok(());
        };
        params.text = Some(text);
    }
    let changes = params.text.is_some() || params.undo;
    let found = desk.client.call_again::<Persistent>(&params).await?;
    let terminal = &desk.context.terminal;
    let drawn: fn(&Memories, &crate::render::Screen) -> Vec<String> = if params.earlier.is_some() {
        loops::memories
    } else if changes {
        loops::persistent_set
    } else {
        |found, screen| loops::memory(&found.memory, screen)
    };
    Ok(terminal.shown(&found, drawn)?)
}

/// The memory as the person's editor left it; nothing if that changed nothing. What was written
/// meanwhile is not overwritten: the revision that was opened must still be the one there is.
async fn edit(desk: &Desk<'_>, params: &mut PersistentParams) -> Result<Option<String>, Failure> {
    let asked = PersistentParams {
        name: desk.name.clone(),
        ..PersistentParams::default()
    };
    let before = desk.client.call_again::<Persistent>(&asked).await?.memory;
    let text = editing::edited(desk.context, &before.text).await?;
    if text == before.text {
        Terminal::note("Nothing was changed.");
        return Ok(None);
    }
    params.if_revision = Some(before.revision);
    Ok(Some(text))
}
