//! Waiting for the end of what runs in a session, however long that is: in turns that are shorter
//! than the silence the bus allows. What a shell marked as ended has ended; no prompt is guessed.

use crate::archy::client::{Client, Failure};
use crate::archy::commands;
use crate::archy::fields::Fields;
use crate::settings;
use hob_wire::archy::{COMMAND_TIMEOUT, Response};
use hob_wire::rooms::terminal::{self, CommandParams, Terminal, TerminalCommand, TerminalState};
use hob_wire::{CommandId, ErrorCode};
use tokio::time::{Instant, sleep};

/// The command when it has ended, or as it is at `until`.
pub(crate) async fn ended(
    client: &Client<'_>,
    id: CommandId,
    until: Instant,
) -> Result<TerminalCommand, Failure> {
    loop {
        let rest = until.saturating_duration_since(Instant::now());
        let turn = rest.min(client.turn());
        let params = CommandParams {
            id,
            wait_ms: Some(u64::try_from(turn.as_millis()).unwrap_or(u64::MAX)),
        };
        let asked = client.call::<terminal::Command>(&params);
        match client.while_here(asked).await? {
            Ok(command) if command.state.is_final() || rest.is_zero() => return Ok(command),
            Ok(_) => {}
            // A room that is slow to answer has not said that the command is lost.
            Err(error) if error.code == ErrorCode::Timeout && !rest.is_zero() => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// `wait_for_prompt`: until the session's shell waits for keys and nothing is in its queue.
pub(crate) async fn wait_for_prompt(
    client: &Client<'_>,
    data: Fields<'_>,
) -> Result<Response, Failure> {
    let session = data.session(&client.settings)?;
    let seconds = settings::archy_max_wait_seconds(&client.settings);
    let until = Instant::now() + data.max_wait(seconds)?;
    let interval = data.interval(&client.settings)?;
    let quiet = loop {
        let found = client.find(&session).await?;
        let found = found.ok_or_else(|| format!("Session '{session}' not found"))?;
        if is_quiet(&found) {
            break true;
        }
        let rest = until.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            break false;
        }
        match found.running {
            Some(id) => drop(ended(client, id, until).await?),
            None => client.while_here(sleep(interval.min(rest))).await?,
        }
    };
    let lines = settings::archy_capture_lines(&client.settings);
    let captured = commands::captured(client, session, lines).await?;
    Ok(Response {
        success: quiet,
        output: Some(captured),
        error: (!quiet).then(|| COMMAND_TIMEOUT.to_owned()),
        exists: Some(quiet),
    })
}

fn is_quiet(terminal: &Terminal) -> bool {
    terminal.state == TerminalState::Idle && terminal.queued == 0 && terminal.running.is_none()
}
