//! `hob down`: ends the daemon of this home. The lock says who holds the home, so a stale state
//! file or a reused pid never gets anyone killed.

use crate::context::Context;
use crate::failure::Failure;
use crate::tree::text;
use clap::{ArgMatches, Command};
use hob_kit::home::Home;
use hob_kit::{last_down, lock};
use rustix::process::{Pid, Signal};
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

/// How long a daemon may take to end.
const WAIT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

pub fn command() -> Command {
    Command::new("down")
        .about("Stops the daemon")
        .long_about(
            "Returns once the daemon of this home has ended: it refuses new work, writes what it \
             accepted, and ends within 10 seconds.",
        )
        .after_help(text::examples(&[
            "hob down".to_owned(),
            "hob down --json".to_owned(),
        ]))
}

pub async fn run(context: &Context, _: &ArgMatches) -> Result<(), Failure> {
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

/// Stops the daemon and says which process that was; none when there was none.
pub async fn stop(context: &Context) -> Result<Option<u32>, Failure> {
    context.is_here()?;
    let home = &context.world.home;
    let deadline = Instant::now() + WAIT;
    // First of all: a start that began before this must not take over when the daemon has ended.
    // The very first one may not have made its folders yet. A home that cannot be written has no
    // start to stop.
    if home.root().exists() && home.ensure().is_ok() {
        let _ = last_down::renew(home, &context.world.dice);
    }
    let Some(pid) = holder(home, deadline).await else {
        return Ok(None);
    };
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let sent = process.map(|process| rustix::process::kill_process(process, Signal::TERM));
    match sent {
        Some(Ok(())) => {}
        // It ended between the look and the signal.
        Some(Err(rustix::io::Errno::SRCH)) | None => return Ok(Some(pid)),
        Some(Err(error)) => {
            let sentence = format!("The daemon (pid {pid}) cannot be told to stop: {error}.");
            return Err(Failure::failed(sentence));
        }
    }
    while lock::holder(home) == Some(pid) {
        if Instant::now() >= deadline {
            let seconds = WAIT.as_secs();
            let sentence = format!("The daemon (pid {pid}) has not ended within {seconds} s.");
            return Err(Failure::failed(sentence).next(format!(
                "Look at `hob logs`; `kill -9 {pid}` ends it, and nothing acknowledged is lost."
            )));
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(Some(pid))
}

/// Who holds the home. A daemon that has just taken it writes its pid a moment later.
async fn holder(home: &Home, deadline: Instant) -> Option<u32> {
    loop {
        let pid = lock::holder(home);
        if pid.is_some() || !lock::is_held(home) || Instant::now() >= deadline {
            return pid;
        }
        tokio::time::sleep(LOOK).await;
    }
}
