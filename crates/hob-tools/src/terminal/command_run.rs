//! Runs one command of a model in a terminal and follows it to its end.
//!
//! Invariants: a command that was accepted under a call's key is looked up by the key and never
//! typed twice; its output is masked before it is passed on.

use super::{TerminalCommandLine, presentation};
use crate::ToolEnv;
use crate::outcome::succeeded;
use crate::room_calls::call_room;
use crate::workspace_path::ToolRefusal;
use hob_core::permission::PreparedCall;
use hob_kit::mask::SecretMask;
use hob_wire::CommandId;
use hob_wire::rooms::terminal::{
    Cancel, Command, CommandState, Execute, History, TerminalCancelParams, TerminalCommand,
    TerminalCommandParams, TerminalExecuteParams, TerminalHistoryParams,
};
use hob_wire::rooms::tool::{OutputStream, ToolExecuteResult, ToolProbeResult};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// The longest wait of a call for the end of a command; below the timeout of the tool room.
const WAIT: Duration = Duration::from_secs(200);
/// The interval between two reads of the output: short at first, then doubled up to the maximum.
const LOOK_MS_MIN: u64 = 100;
const LOOK_MS_MAX: u64 = 1_000;
/// The longest wait of a probe after a crash; below the timeout of a probe.
const PROBE_WAIT: Duration = Duration::from_secs(20);
/// The time a stopped command has to end before the answer is sent without its end.
const STOP_WAIT: Duration = Duration::from_millis(500);

/// Runs a command and returns its result.
pub(super) async fn run(
    work: &PreparedCall,
    env: &ToolEnv,
    name: &str,
    line: TerminalCommandLine,
) -> Result<ToolExecuteResult, ToolRefusal> {
    let params = TerminalExecuteParams {
        name: Some(name.to_owned()),
        command: Some(line.command),
        // Detached: this call polls, so that it can forward output and stop early.
        detach: true,
        timeout_ms: line.timeout_ms,
        reason: Some(line.reason),
        idempotency_key: work.context.key.clone(),
        run_id: work.context.run_id,
        ..TerminalExecuteParams::default()
    };
    let accepted = call_room::<Execute>(env, &params).await?;
    let Some(command) = accepted.commands.into_iter().next() else {
        return Err(ToolRefusal("The terminal took no command.".to_owned()));
    };
    watch(env, masked(command, env.mask()), WAIT).await
}

/// Follows a command to its end, for at most `wait`.
async fn watch(
    env: &ToolEnv,
    mut command: TerminalCommand,
    wait: Duration,
) -> Result<ToolExecuteResult, ToolRefusal> {
    let until = Instant::now() + wait;
    let mut look_ms = LOOK_MS_MIN;
    let mut printed = String::new();
    loop {
        print_new(env, &mut printed, command.output.as_deref());
        if command.state.is_final() {
            // The reply to the start of a command may lack its output.
            let whole = match command.output {
                Some(_) => command,
                None => fetch_command(env, command.id, 0).await?,
            };
            print_new(env, &mut printed, whole.output.as_deref());
            return Ok(presentation::ended_answer(&whole));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return stop_waiting(env, command).await;
        }
        let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        let wait_ms = look_ms.min(left_ms.max(1));
        look_ms = (look_ms * 2).min(LOOK_MS_MAX);
        command = tokio::select! {
            seen = fetch_command(env, command.id, wait_ms) => seen?,
            () = env.stop().cancelled() => return stop(env, command).await,
        };
    }
}

/// The wait is over: a running command continues, a queued one is cancelled.
async fn stop_waiting(
    env: &ToolEnv,
    command: TerminalCommand,
) -> Result<ToolExecuteResult, ToolRefusal> {
    if command.state != CommandState::Queued {
        return Ok(presentation::still_running_answer(&command));
    }
    cancel(env, &command).await?;
    let left = fetch_command(env, command.id, 0).await?;
    Ok(presentation::ended_answer(&left))
}

/// The call is stopped, so its command is cancelled.
async fn stop(env: &ToolEnv, command: TerminalCommand) -> Result<ToolExecuteResult, ToolRefusal> {
    let ended = timeout(STOP_WAIT, async {
        cancel(env, &command).await?;
        fetch_command(env, command.id, 0).await
    });
    match ended.await {
        Ok(ended) => Ok(presentation::ended_answer(&ended?)),
        Err(_) => Ok(succeeded(
            "It was told to stop and has not ended yet; it will be killed if it does not.",
        )),
    }
}

async fn cancel(env: &ToolEnv, command: &TerminalCommand) -> Result<(), ToolRefusal> {
    let params = TerminalCancelParams {
        name: Some(command.terminal.clone()),
        id: Some(command.id),
    };
    call_room::<Cancel>(env, &params).await.map(drop)
}

async fn fetch_command(
    env: &ToolEnv,
    id: CommandId,
    wait_ms: u64,
) -> Result<TerminalCommand, ToolRefusal> {
    let params = TerminalCommandParams {
        id,
        wait_ms: Some(wait_ms),
    };
    let command = call_room::<Command>(env, &params).await?;
    Ok(masked(command, env.mask()))
}

/// Masks secrets in the output of a command. A running command may have printed half of a secret,
/// which is left out until the rest comes.
pub(super) fn masked(mut command: TerminalCommand, mask: &SecretMask) -> TerminalCommand {
    if let Some(output) = &mut command.output {
        let mut stream = mask.stream();
        let mut shown = stream.push(output.as_bytes()).into_owned();
        if command.state.is_final() {
            shown.extend(stream.finish());
        }
        *output = String::from_utf8_lossy(&shown).into_owned();
    }
    command
}

/// Forwards the output since the last read. Changes of earlier output, such as a progress bar,
/// are not sent again.
fn print_new(env: &ToolEnv, printed: &mut String, output: Option<&str>) {
    let Some(output) = output else {
        return;
    };
    if let (Some(new), Some(live_output)) =
        (output.strip_prefix(printed.as_str()), env.live_output())
    {
        live_output.print(OutputStream::Stdout, new);
    }
    output.clone_into(printed);
}

/// Looks up the command in the terminal's history by the call's key.
pub(super) async fn probe(work: &PreparedCall, env: &ToolEnv, name: &str) -> ToolProbeResult {
    let Some(key) = work.context.key.clone() else {
        return ToolProbeResult::Unknown {
            known: "The call has no key by which it could be looked up.".to_owned(),
        };
    };
    let params = TerminalHistoryParams {
        name: Some(name.to_owned()),
        limit: Some(1),
        idempotency_key: Some(key),
        ..TerminalHistoryParams::default()
    };
    let found = match call_room::<History>(env, &params).await {
        Ok(found) => found.commands.into_iter().next(),
        Err(ToolRefusal(reason)) => {
            return ToolProbeResult::Unknown {
                known: format!("The terminal's record could not be read: {reason}"),
            };
        }
    };
    let Some(command) = found else {
        return ToolProbeResult::No;
    };
    match watch(env, masked(command, env.mask()), PROBE_WAIT).await {
        Ok(outcome) => ToolProbeResult::Yes { outcome },
        Err(ToolRefusal(reason)) => ToolProbeResult::Unknown {
            known: format!("It is on record, and then: {reason}"),
        },
    }
}
