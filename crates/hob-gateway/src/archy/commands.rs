//! What is typed into a session, and what is on its screen.

use crate::archy::analyzed;
use crate::archy::client::{Client, Failure};
use crate::archy::fields::Fields;
use crate::archy::waiting;
use crate::settings;
use hob_wire::archy::{Answer, COMMAND_MISSING, COMMAND_REQUIRED, EXECUTE_WAIT_SECONDS, Response};
use hob_wire::limits::TERMINAL_CAPTURE_LINES_MAX;
use hob_wire::rooms::terminal::{self, AnalyzeParams, CaptureParams, ExecuteParams};
use hob_wire::{CommandId, WireError};
use std::time::Duration;
use tokio::time::Instant;

/// `execute`: typed, and not waited for.
pub(crate) async fn execute(client: &Client<'_>, data: Fields<'_>) -> Result<Response, Failure> {
    let command = data.command(COMMAND_REQUIRED)?;
    let session = data.session(&client.settings)?;
    typed(client, session, vec![command.to_owned()]).await?;
    Ok(Response::said(format!("✓ Executed: {command}")))
}

/// Puts commands into a session's queue, on record, and answers their ids in their order.
pub(crate) async fn typed(
    client: &Client<'_>,
    session: String,
    commands: Vec<String>,
) -> Result<Vec<CommandId>, WireError> {
    let params = ExecuteParams {
        name: Some(session),
        commands,
        detach: true,
        ..ExecuteParams::default()
    };
    let executed = client.call::<terminal::Execute>(&params).await?;
    Ok(executed.commands.into_iter().map(|it| it.id).collect())
}

pub(crate) async fn execute_analyzed(
    client: &Client<'_>,
    data: Fields<'_>,
) -> Result<Answer, Failure> {
    let seconds = settings::archy_max_wait_seconds(&client.settings);
    run(client, data, seconds).await
}

pub(crate) async fn execute_and_wait(
    client: &Client<'_>,
    data: Fields<'_>,
) -> Result<Answer, Failure> {
    let longest = settings::archy_max_wait_seconds(&client.settings);
    run(client, data, longest.min(EXECUTE_WAIT_SECONDS)).await
}

/// A command typed, waited for and looked at. What goes wrong has the same form.
async fn run(client: &Client<'_>, data: Fields<'_>, seconds: u64) -> Result<Answer, Failure> {
    let named = data.text("command").ok().flatten().unwrap_or_default();
    match try_run(client, data, seconds).await {
        Err(Failure::Said(why)) => Ok(analyzed::failed(named, &why)),
        done => done,
    }
}

async fn try_run(client: &Client<'_>, data: Fields<'_>, seconds: u64) -> Result<Answer, Failure> {
    let command = data.command(COMMAND_MISSING)?;
    let session = data.session(&client.settings)?;
    let wait: Duration = data.max_wait(seconds)?;
    let ids = typed(client, session, vec![command.to_owned()]).await?;
    let id = ids.first().copied();
    let id = id.ok_or("The terminal took no command.")?;
    let done = waiting::ended(client, id, Instant::now() + wait).await?;
    if !done.state.is_final() {
        return Ok(analyzed::timed_out(command, done));
    }
    let params = AnalyzeParams {
        id: Some(id),
        ..AnalyzeParams::default()
    };
    let read = client.call::<terminal::Analyze>(&params).await.ok();
    Ok(analyzed::done(command, done, read))
}

pub(crate) async fn capture(client: &Client<'_>, data: Fields<'_>) -> Result<Response, Failure> {
    let session = data.session(&client.settings)?;
    let lines = lines(client, data)?;
    Ok(Response::said(captured(client, session, lines).await?))
}

fn lines(client: &Client<'_>, data: Fields<'_>) -> Result<u64, String> {
    let asked = data.number("lines")?;
    Ok(asked.unwrap_or_else(|| settings::archy_capture_lines(&client.settings)))
}

/// What is on a session's screen, with so many lines of its past.
pub(crate) async fn captured(
    client: &Client<'_>,
    session: String,
    lines: u64,
) -> Result<String, WireError> {
    let lines = u32::try_from(lines).unwrap_or(u32::MAX);
    let params = CaptureParams {
        name: Some(session),
        lines: Some(lines.min(TERMINAL_CAPTURE_LINES_MAX)),
    };
    Ok(client.call::<terminal::Capture>(&params).await?.text)
}

pub(crate) async fn capture_analyzed(
    client: &Client<'_>,
    data: Fields<'_>,
) -> Result<Answer, Failure> {
    let named = data.text("command").ok().flatten().unwrap_or_default();
    match try_capture(client, data, named).await {
        Err(Failure::Said(why)) => Ok(analyzed::failed(named, &why)),
        done => done,
    }
}

async fn try_capture(
    client: &Client<'_>,
    data: Fields<'_>,
    named: &str,
) -> Result<Answer, Failure> {
    let session = data.session(&client.settings)?;
    let text = captured(client, session, lines(client, data)?).await?;
    let text = analyzed::latest(&text).to_owned();
    let params = AnalyzeParams {
        output: Some(text.clone()),
        command: (!named.is_empty()).then(|| named.to_owned()),
        ..AnalyzeParams::default()
    };
    let read = client.call::<terminal::Analyze>(&params).await.ok();
    Ok(analyzed::seen(named, text, read))
}
