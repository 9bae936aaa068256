//! `hob service start` and `restart`: waits until a service is ready, or reports why it is not.

use super::ServiceCommands;
use crate::failure::{CommandFailure, ExitStatus};
use crate::progress_line::ProgressLine;
use crate::render::{services, time};
use hob_client::ClientError;
use hob_wire::ErrorCode;
use hob_wire::rooms::service::{
    Logs, Restart, ServiceLogsParams, ServiceStartParams, ServiceState, ServiceStatus, Start,
};
use std::time::Duration;
use tokio::time::Instant;

/// The lines of output shown for a failed service.
const LAST_LINES: u32 = 10;
/// The time between two frames of the spinner.
const TICK: Duration = Duration::from_millis(100);
const SPINNER: [char; 4] = ['|', '/', '-', '\\'];

pub(super) async fn run(
    commands: &ServiceCommands<'_>,
    restart: bool,
    wait: bool,
) -> Result<(), CommandFailure> {
    let status = match request_start(commands, restart, wait).await {
        Ok(status) => status,
        // Nothing was started, so there is no output to show.
        Err(error) if is_refusal(&error) => return Err(error.into()),
        Err(error) => return Err(with_last_lines(commands, error.into()).await),
    };
    let terminal = &commands.context.terminal;
    if wait && status.state != ServiceState::Running {
        if terminal.json {
            terminal.document(&status)?;
        }
        return Err(with_last_lines(commands, start_failure(&status)).await);
    }
    Ok(terminal.print_result(&status, services::now)?)
}

async fn request_start(
    commands: &ServiceCommands<'_>,
    restart: bool,
    wait: bool,
) -> Result<ServiceStatus, ClientError> {
    let params = ServiceStartParams {
        name: commands.name.clone(),
        wait,
    };
    let call = async {
        if restart {
            // A retried restart would stop the service again, so it is not retried.
            commands.client.call::<Restart>(&params).await
        } else {
            commands.client.call_with_retry::<Start>(&params).await
        }
    };
    tokio::pin!(call);
    let terminal = &commands.context.terminal;
    let mut ticker = ProgressLine::new(terminal.stderr_screen(), terminal.json || !wait);
    let began = Instant::now();
    let mut ticks = tokio::time::interval(TICK);
    let mut tick = 0;
    loop {
        tokio::select! {
            answered = &mut call => return answered,
            _ = ticks.tick() => {
                let took = time::span(began.elapsed().as_secs() * 1_000);
                let spinner = SPINNER[tick % SPINNER.len()];
                tick += 1;
                // A service that is ready at once shows no progress line.
                if tick > 3 {
                    ticker.show(&format!("{spinner} Starting {} … {took}", commands.name));
                }
            }
        }
    }
}

fn is_refusal(error: &ClientError) -> bool {
    let codes = [
        ErrorCode::NotFound,
        ErrorCode::Conflict,
        ErrorCode::InvalidParams,
        ErrorCode::Forbidden,
        ErrorCode::Unauthorized,
        ErrorCode::NoHandler,
    ];
    error.code().is_none_or(|code| codes.contains(&code))
}

fn start_failure(status: &ServiceStatus) -> CommandFailure {
    let name = &status.name;
    let how = match status.state {
        ServiceState::Backoff => "is not ready yet and is being retried",
        // The process ran and exited by itself.
        ServiceState::Stopped if status.last_exit.is_some() => "ended at once",
        _ => "did not start",
    };
    let why = status.detail.as_deref().unwrap_or_default();
    let why = why.lines().next().unwrap_or_default();
    let sentence = format!("{name} {how}. {}", crate::run_ui::lines::sentence(why));
    CommandFailure::new(ExitStatus::Failed, "SERVICE_FAILED", sentence.trim_end())
}

/// Adds the service's last lines of output to the failure.
async fn with_last_lines(
    commands: &ServiceCommands<'_>,
    failure: CommandFailure,
) -> CommandFailure {
    let params = ServiceLogsParams {
        name: commands.name.clone(),
        lines: Some(LAST_LINES),
        after: None,
    };
    let printed = commands.client.call_with_retry::<Logs>(&params).await;
    let lines = printed.map(|logs| services::last_lines(&logs.lines));
    match lines.unwrap_or_default() {
        none if none.is_empty() => failure,
        lines => failure.next(lines),
    }
}
