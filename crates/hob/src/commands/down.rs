//! `hob down`: stops the daemon of this home. The pid comes from the home's lock, so a stale state
//! file or a reused pid never kills another process.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::tree::help_text::examples;
use hob_kit::home::Home;
use hob_kit::{home_lock, last_down};
use rustix::process::{Pid, Signal};
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

/// The time a daemon has to exit.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Stops the daemon.
///
/// Returns once the daemon of this home has exited: it refuses new work, writes what it accepted, and
/// exits within 10 seconds.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&["hob down", "hob down --json"]))]
pub struct DownArgs;

pub async fn run(context: &CommandContext) -> Result<(), CommandFailure> {
    let stopped = stop(context).await?;
    if context.terminal.json {
        let document = json!({ "stopped": stopped.is_some(), "pid": stopped });
        return Ok(context.terminal.document(&document)?);
    }
    let line = match stopped {
        Some(pid) => format!("Stopped the daemon (pid {pid})."),
        None => "No daemon was running.".to_owned(),
    };
    Ok(context.terminal.line(line)?)
}

/// Stops the daemon and returns its pid, or `None` if no daemon was running.
pub async fn stop(context: &CommandContext) -> Result<Option<u32>, CommandFailure> {
    context.ensure_local()?;
    let home = &context.host.home;
    let deadline = Instant::now() + STOP_TIMEOUT;
    // Renewed before the signal: a start that began earlier must not take over once the daemon has
    // exited. The folders are ensured because the very first start may not have made them yet. A
    // home that cannot be written has no start to prevent, so errors are ignored.
    if home.root().exists() && home.ensure().is_ok() {
        let _ = last_down::renew(home, &context.host.randomness);
    }
    let Some(pid) = wait_for_holder_pid(home, deadline).await else {
        return Ok(None);
    };
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let sent = process.map(|process| rustix::process::kill_process(process, Signal::TERM));
    match sent {
        Some(Ok(())) => {}
        // The daemon exited between reading the pid and the signal.
        Some(Err(rustix::io::Errno::SRCH)) | None => return Ok(Some(pid)),
        Some(Err(error)) => {
            let sentence = format!("The daemon (pid {pid}) cannot be signalled: {error}.");
            return Err(CommandFailure::failed(sentence));
        }
    }
    while home_lock::holder_pid(home) == Some(pid) {
        if Instant::now() >= deadline {
            let seconds = STOP_TIMEOUT.as_secs();
            let sentence = format!("The daemon (pid {pid}) did not exit within {seconds} s.");
            return Err(CommandFailure::failed(sentence).next(format!(
                "Look at `hob logs`; `kill -9 {pid}` ends it without losing acknowledged work."
            )));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(Some(pid))
}

/// Returns the pid of the process that holds the home. Waits while the home is locked without a
/// pid, since a daemon writes its pid a moment after it takes the lock.
async fn wait_for_holder_pid(home: &Home, deadline: Instant) -> Option<u32> {
    loop {
        let pid = home_lock::holder_pid(home);
        if pid.is_some() || !home_lock::is_held(home) || Instant::now() >= deadline {
            return pid;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
