//! `hob loop working` and `persistent`: the two memories of a loop. The working memory is shown to
//! one iteration, the persistent memory to all.

use super::args::LoopPersistentArgs;
use super::{LoopCommands, editor};
use crate::commands::unattended_flags;
use crate::failure::CommandFailure;
use crate::render::loops;
use crate::terminal::Terminal;
use hob_wire::rooms::loops::{
    LoopPersistentParams, LoopPersistentResult, LoopWorkingParams, Persistent, Working,
};

/// The most earlier revisions shown.
const REVISIONS: u32 = 50;

pub(super) async fn working(
    commands: &LoopCommands<'_>,
    text: Option<String>,
) -> Result<(), CommandFailure> {
    let terminal = &commands.context.terminal;
    let Some(text) = unattended_flags::read_text(text).await? else {
        let found = commands.fetch().await?;
        return Ok(terminal.print_result(&found.working, loops::memory)?);
    };
    let params = LoopWorkingParams {
        name: commands.name.clone(),
        text,
    };
    let set = commands.client.call_with_retry::<Working>(&params).await?;
    Ok(terminal.print_result(&set, loops::working_set)?)
}

pub(super) async fn persistent(
    commands: &LoopCommands<'_>,
    args: LoopPersistentArgs,
) -> Result<(), CommandFailure> {
    let mut params = LoopPersistentParams {
        name: commands.name.clone(),
        text: unattended_flags::read_text(args.text).await?,
        undo: args.undo,
        earlier: args.revisions.then_some(REVISIONS),
        // An undo is not idempotent; the key keeps a retry from undoing twice.
        idempotency_key: Some(crate::run_ui::run_request::fresh_id(
            &commands.context.host.randomness,
        )),
        ..LoopPersistentParams::default()
    };
    if args.edit {
        let Some(text) = edit(commands, &mut params).await? else {
            return Ok(());
        };
        params.text = Some(text);
    }
    let changes = params.text.is_some() || params.undo;
    let found = commands
        .client
        .call_with_retry::<Persistent>(&params)
        .await?;
    let terminal = &commands.context.terminal;
    let drawn: fn(&LoopPersistentResult, &crate::render::ScreenStyle) -> Vec<String> =
        if params.earlier.is_some() {
            loops::memories
        } else if changes {
            loops::persistent_set
        } else {
            |found, screen| loops::memory(&found.memory, screen)
        };
    Ok(terminal.print_result(&found, drawn)?)
}

/// Opens the memory in the editor and returns the edited text, or `None` if it is unchanged. Sets
/// `if_revision`, so that a change the loop made meanwhile is not overwritten.
async fn edit(
    commands: &LoopCommands<'_>,
    params: &mut LoopPersistentParams,
) -> Result<Option<String>, CommandFailure> {
    let asked = LoopPersistentParams {
        name: commands.name.clone(),
        ..LoopPersistentParams::default()
    };
    let before = commands
        .client
        .call_with_retry::<Persistent>(&asked)
        .await?
        .memory;
    let text = editor::edit_text(commands.context, &before.text).await?;
    if text == before.text {
        Terminal::note("Nothing was changed.");
        return Ok(None);
    }
    params.if_revision = Some(before.revision);
    Ok(Some(text))
}
