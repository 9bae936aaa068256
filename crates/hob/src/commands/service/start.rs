//! `hob service start` and `restart`: waiting until a service is ready, and saying why it is not.

use super::Desk;
use crate::failure::{Exit, Failure};
use crate::render::{moment, services};
use crate::ticker::Ticker;
use hob_client::ClientError;
use hob_wire::ErrorCode;
use hob_wire::rooms::service::{
    Logs, LogsParams, Restart, ServiceState, ServiceStatus, Start, StartParams,
};
use std::time::Duration;
use tokio::time::Instant;

/// Lines of a service that failed.
const LAST_LINES: u32 = 10;
/// Between two looks of the waiting person.
const TICK: Duration = Duration::from_millis(100);
const SPINNER: [char; 4] = ['|', '/', '-', '\\'];

pub(super) async fn run(desk: &Desk<'_>, restart: bool, wait: bool) -> Result<(), Failure> {
    let status = match begin(desk, restart, wait).await {
        Ok(status) => status,
        // Nothing was started: there are no lines that could say more.
        Err(error) if is_refusal(&error) => return Err(error.into()),
        Err(error) => return Err(with_lines(desk, error.into()).await),
    };
    let terminal = &desk.context.terminal;
    if wait && status.state != ServiceState::Running {
        if terminal.json {
            terminal.document(&status)?;
        }
        return Err(with_lines(desk, failure(&status)).await);
    }
    Ok(terminal.shown(&status, services::now)?)
}

async fn begin(desk: &Desk<'_>, restart: bool, wait: bool) -> Result<ServiceStatus, ClientError> {
    let params = StartParams {
        name: desk.name.clone(),
        wait,
    };
    let asked = async {
        if restart {
            desk.client.call::<Restart>(&params).await
        } else {
            desk.client.call_again::<Start>(&params).await
        }
    };
    tokio::pin!(asked);
    let terminal = &desk.context.terminal;
    let mut ticker = Ticker::new(terminal.asides(), terminal.json || !wait);
    let began = Instant::now();
    let mut ticks = tokio::time::interval(TICK);
    let mut turn = 0;
    loop {
        tokio::select! {
            answered = &mut asked => return answered,
            _ = ticks.tick() => {
                let took = moment::span(began.elapsed().as_secs() * 1_000);
                let spinner = SPINNER[turn % SPINNER.len()];
                turn += 1;
                // Something that is ready at once needs no word.
                if turn > 3 {
                    ticker.show(&format!("{spinner} Starting {} … {took}", desk.name));
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

fn failure(status: &ServiceStatus) -> Failure {
    let name = &status.name;
    let how = match status.state {
        ServiceState::Backoff => "is not ready yet and is tried again",
        // It ran and came to its end by itself.
        ServiceState::Stopped if status.last_exit.is_some() => "ended at once",
        _ => "did not start",
    };
    let why = status.detail.as_deref().unwrap_or_default();
    let why = why.lines().next().unwrap_or_default();
    let sentence = format!("{name} {how}. {}", crate::mind::lines::sentence(why));
    Failure::new(Exit::Failed, "SERVICE_FAILED", sentence.trim_end())
}

/// The failure with what the service printed last.
async fn with_lines(desk: &Desk<'_>, failure: Failure) -> Failure {
    let params = LogsParams {
        name: desk.name.clone(),
        lines: Some(LAST_LINES),
        after: None,
    };
    let printed = desk.client.call_again::<Logs>(&params).await;
    let lines = printed.map(|logs| services::last_lines(&logs.lines));
    match lines.unwrap_or_default() {
        none if none.is_empty() => failure,
        lines => failure.next(lines),
    }
}
