//! Waits for the end of commands in a session. Long waits are split into slices shorter than the
//! bus's request timeout. The shell reports the end of a command; no prompt is guessed.

use crate::archy::client::{ArchyClient, ArchyFailure};
use crate::archy::commands;
use crate::archy::fields::ArchyFields;
use crate::archy::settings;
use crate::archy::types::{ArchyResponse, COMMAND_TIMEOUT};
use hob_wire::rooms::terminal::{
    self, TerminalCommand, TerminalCommandParams, TerminalInfo, TerminalState,
};
use hob_wire::{CommandId, ErrorCode};
use tokio::time::{Instant, sleep};

/// Returns the command when it has ended, or its state at `until`.
pub(crate) async fn wait_for_end(
    client: &ArchyClient<'_>,
    id: CommandId,
    until: Instant,
) -> Result<TerminalCommand, ArchyFailure> {
    loop {
        let rest = until.saturating_duration_since(Instant::now());
        let turn = rest.min(client.wait_slice());
        let params = TerminalCommandParams {
            id,
            wait_ms: Some(u64::try_from(turn.as_millis()).unwrap_or(u64::MAX)),
        };
        let call = client.call::<terminal::Command>(&params);
        match client.while_connected(call).await? {
            Ok(command) if command.state.is_final() || rest.is_zero() => return Ok(command),
            Ok(_) => {}
            // A slow room does not mean that the command is lost, so the wait goes on.
            Err(error) if error.code == ErrorCode::Timeout && !rest.is_zero() => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// `wait_for_prompt`: waits until the session's shell is idle and its queue is empty.
pub(crate) async fn wait_for_prompt(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let session = data.session(&client.settings)?;
    let seconds = settings::max_wait_seconds(&client.settings);
    let until = Instant::now() + data.max_wait(seconds)?;
    let interval = data.interval(&client.settings)?;
    let quiet = loop {
        let found = client.find_terminal(&session).await?;
        let found = found.ok_or_else(|| format!("Session '{session}' not found"))?;
        if is_quiet(&found) {
            break true;
        }
        let rest = until.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            break false;
        }
        match found.running {
            Some(id) => drop(wait_for_end(client, id, until).await?),
            None => client.while_connected(sleep(interval.min(rest))).await?,
        }
    };
    let lines = settings::capture_lines(&client.settings);
    let captured = commands::capture_text(client, session, lines).await?;
    Ok(ArchyResponse {
        success: quiet,
        output: Some(captured),
        error: (!quiet).then(|| COMMAND_TIMEOUT.to_owned()),
        exists: Some(quiet),
    })
}

fn is_quiet(terminal: &TerminalInfo) -> bool {
    terminal.state == TerminalState::Idle && terminal.queued == 0 && terminal.running.is_none()
}
