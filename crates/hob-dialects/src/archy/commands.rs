//! Runs commands in a session, and captures its screen.

use crate::archy::analysis::analyze;
use crate::archy::analyzed_output;
use crate::archy::client::{ArchyClient, ArchyFailure};
use crate::archy::fields::ArchyFields;
use crate::archy::settings;
use crate::archy::types::{
    ArchyAnswer, ArchyResponse, COMMAND_MISSING, COMMAND_REQUIRED, EXECUTE_WAIT_SECONDS,
};
use crate::archy::waiting;
use hob_wire::analysis::OutputAnalysis;
use hob_wire::limits::TERMINAL_CAPTURE_LINES_MAX;
use hob_wire::rooms::terminal::{self, TerminalCaptureParams, TerminalExecuteParams};
use hob_wire::{CommandId, WireError};
use std::time::Duration;
use tokio::time::Instant;

/// `execute`: enqueues a command and does not wait for it.
pub(crate) async fn execute(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let command = data.command(COMMAND_REQUIRED)?;
    let session = data.session(&client.settings)?;
    enqueue(client, session, vec![command.to_owned()]).await?;
    Ok(ArchyResponse::success_with(format!(
        "✓ Executed: {command}"
    )))
}

/// Enqueues commands in a session, durably. Returns their ids in order.
pub(crate) async fn enqueue(
    client: &ArchyClient<'_>,
    session: String,
    commands: Vec<String>,
) -> Result<Vec<CommandId>, WireError> {
    let params = TerminalExecuteParams {
        name: Some(session),
        commands,
        detach: true,
        ..TerminalExecuteParams::default()
    };
    let executed = client.call::<terminal::Execute>(&params).await?;
    Ok(executed.commands.into_iter().map(|it| it.id).collect())
}

pub(crate) async fn execute_analyzed(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyAnswer, ArchyFailure> {
    let seconds = settings::max_wait_seconds(&client.settings);
    run_analyzed(client, data, seconds).await
}

pub(crate) async fn execute_and_wait(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyAnswer, ArchyFailure> {
    let longest = settings::max_wait_seconds(&client.settings);
    run_analyzed(client, data, longest.min(EXECUTE_WAIT_SECONDS)).await
}

/// Runs a command, waits for it and analyzes its output. An error has the same format.
async fn run_analyzed(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
    seconds: u64,
) -> Result<ArchyAnswer, ArchyFailure> {
    // Only for display: a field of a wrong type is reported by `try_run`.
    let named = data.text("command").ok().flatten().unwrap_or_default();
    match try_run(client, data, seconds).await {
        Err(ArchyFailure::Message(why)) => Ok(analyzed_output::failed(named, &why)),
        done => done,
    }
}

async fn try_run(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
    seconds: u64,
) -> Result<ArchyAnswer, ArchyFailure> {
    let command = data.command(COMMAND_MISSING)?;
    let session = data.session(&client.settings)?;
    let wait: Duration = data.max_wait(seconds)?;
    let ids = enqueue(client, session, vec![command.to_owned()]).await?;
    let id = ids.first().copied();
    let id = id.ok_or("The terminal took no command.")?;
    let done = waiting::wait_for_end(client, id, Instant::now() + wait).await?;
    if !done.state.is_final() {
        return Ok(analyzed_output::timed_out(command, done));
    }
    let output = done.output.clone().unwrap_or_default();
    let read = analyze_output(Some(command), output, done.exit_code).await;
    Ok(analyzed_output::finished(command, done, read))
}

pub(crate) async fn capture(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let session = data.session(&client.settings)?;
    let lines = capture_lines(client, data)?;
    Ok(ArchyResponse::success_with(
        capture_text(client, session, lines).await?,
    ))
}

fn capture_lines(client: &ArchyClient<'_>, data: ArchyFields<'_>) -> Result<u64, String> {
    let asked = data.number("lines")?;
    Ok(asked.unwrap_or_else(|| settings::capture_lines(&client.settings)))
}

/// Returns a session's screen, with `lines` lines of scrollback.
pub(crate) async fn capture_text(
    client: &ArchyClient<'_>,
    session: String,
    lines: u64,
) -> Result<String, WireError> {
    let lines = u32::try_from(lines).unwrap_or(u32::MAX);
    let params = TerminalCaptureParams {
        name: Some(session),
        lines: Some(lines.min(TERMINAL_CAPTURE_LINES_MAX)),
    };
    Ok(client.call::<terminal::Capture>(&params).await?.text)
}

pub(crate) async fn capture_analyzed(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyAnswer, ArchyFailure> {
    let named = data.text("command").ok().flatten().unwrap_or_default();
    match try_capture(client, data, named).await {
        Err(ArchyFailure::Message(why)) => Ok(analyzed_output::failed(named, &why)),
        done => done,
    }
}

async fn try_capture(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
    named: &str,
) -> Result<ArchyAnswer, ArchyFailure> {
    let session = data.session(&client.settings)?;
    let text = capture_text(client, session, capture_lines(client, data)?).await?;
    let text = analyzed_output::tail(&text).to_owned();
    let command = (!named.is_empty()).then_some(named);
    let read = analyze_output(command, text.clone(), None).await;
    Ok(analyzed_output::captured(named, text, read))
}

/// Analyzes the output of a command. A failure must not turn the command's result into an error, so
/// it gives `None`.
async fn analyze_output(
    command: Option<&str>,
    output: String,
    exit_code: Option<i32>,
) -> Option<OutputAnalysis> {
    let command = command.map(str::to_owned);
    // On a blocking thread, because the analysis of a large output takes a while.
    let read = move || analyze(command.as_deref(), &output, exit_code);
    tokio::task::spawn_blocking(read).await.ok()
}
