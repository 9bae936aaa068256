//! One command of a model's in a terminal: ordered, watched, and told.
//!
//! Invariants: what was ordered under a call's key is looked up by it, never ordered twice; what
//! it printed is masked before it is handed on.

use super::{Order, shown};
use crate::Ground;
use crate::outcome::said;
use crate::rooms::ask;
use crate::spot::Refused;
use hob_core::permission::Work;
use hob_kit::mask::Mask;
use hob_wire::CommandId;
use hob_wire::rooms::terminal::{
    Cancel, CancelParams, Command, CommandParams, CommandState, Execute, ExecuteParams, History,
    HistoryParams, TerminalCommand,
};
use hob_wire::rooms::tool::{Executed, OutputStream, Probed};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How long a call waits for the end of a command that has no deadline of its own; below what the
/// tool room allows.
const WAIT: Duration = Duration::from_secs(200);
/// Between two looks at what it has printed: soon at first, then as often as people read.
const LOOK_MS_MIN: u64 = 100;
const LOOK_MS_MAX: u64 = 1_000;
/// How long a look after a crash waits for the end; below what a probe may take.
const PROBE_WAIT: Duration = Duration::from_secs(20);
/// How long a stopped command may take to end before the answer goes without its end.
const STOP_WAIT: Duration = Duration::from_millis(500);

/// Runs a command and answers with what came of it.
pub(super) async fn run(
    work: &Work,
    ground: &Ground,
    name: &str,
    order: Order,
) -> Result<Executed, Refused> {
    let params = ExecuteParams {
        name: Some(name.to_owned()),
        command: Some(order.command),
        detach: true,
        timeout_ms: order.timeout_ms,
        reason: Some(order.reason),
        idempotency_key: work.context.key.clone(),
        run_id: work.context.run_id,
        ..ExecuteParams::default()
    };
    let ordered = ask::<Execute>(ground, &params).await?;
    let Some(command) = ordered.commands.into_iter().next() else {
        return Err(Refused("The terminal took no command.".to_owned()));
    };
    watch(ground, masked(command, ground.mask()), WAIT).await
}

/// Follows a command to its end, as long as `wait`.
async fn watch(
    ground: &Ground,
    mut command: TerminalCommand,
    wait: Duration,
) -> Result<Executed, Refused> {
    let until = Instant::now() + wait;
    let mut look_ms = LOOK_MS_MIN;
    let mut printed = String::new();
    loop {
        print_new(ground, &mut printed, command.output.as_deref());
        if command.state.is_final() {
            // What the order or an event tells of it may lack what it printed.
            let whole = match command.output {
                Some(_) => command,
                None => seen(ground, command.id, 0).await?,
            };
            print_new(ground, &mut printed, whole.output.as_deref());
            return Ok(shown::ended(&whole));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return leave(ground, command).await;
        }
        let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        let wait_ms = look_ms.min(left_ms.max(1));
        look_ms = (look_ms * 2).min(LOOK_MS_MAX);
        command = tokio::select! {
            seen = seen(ground, command.id, wait_ms) => seen?,
            () = ground.stop().cancelled() => return stop(ground, command).await,
        };
    }
}

/// The time is over: what runs goes on, what waits is dropped.
async fn leave(ground: &Ground, command: TerminalCommand) -> Result<Executed, Refused> {
    if command.state != CommandState::Queued {
        return Ok(shown::runs_on(&command));
    }
    cancel(ground, &command).await?;
    let left = seen(ground, command.id, 0).await?;
    Ok(shown::ended(&left))
}

/// The call is stopped: so is its command.
async fn stop(ground: &Ground, command: TerminalCommand) -> Result<Executed, Refused> {
    let ended = timeout(STOP_WAIT, async {
        cancel(ground, &command).await?;
        seen(ground, command.id, 0).await
    });
    match ended.await {
        Ok(ended) => Ok(shown::ended(&ended?)),
        Err(_) => Ok(said(
            "It was told to stop and has not ended yet; what does not heed that is killed.",
        )),
    }
}

async fn cancel(ground: &Ground, command: &TerminalCommand) -> Result<(), Refused> {
    let params = CancelParams {
        name: Some(command.terminal.clone()),
        id: Some(command.id),
    };
    ask::<Cancel>(ground, &params).await.map(drop)
}

async fn seen(ground: &Ground, id: CommandId, wait_ms: u64) -> Result<TerminalCommand, Refused> {
    let params = CommandParams {
        id,
        wait_ms: Some(wait_ms),
    };
    let command = ask::<Command>(ground, &params).await?;
    Ok(masked(command, ground.mask()))
}

/// A command without secrets in its output. One that still runs may have printed the half of a
/// secret, which is left out until the rest comes.
pub(super) fn masked(mut command: TerminalCommand, mask: &Mask) -> TerminalCommand {
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

/// Hands on what was printed since the last look. What changed before that, as a progress bar
/// does, is not told again.
fn print_new(ground: &Ground, printed: &mut String, output: Option<&str>) {
    let Some(output) = output else {
        return;
    };
    if let (Some(new), Some(outlet)) = (output.strip_prefix(printed.as_str()), ground.outlet()) {
        outlet.print(OutputStream::Stdout, new);
    }
    output.clone_into(printed);
}

/// What the terminal's record has under the call's key.
pub(super) async fn probe(work: &Work, ground: &Ground, name: &str) -> Probed {
    let Some(key) = work.context.key.clone() else {
        return Probed::Unknown {
            known: "The call has no key by which it could be looked up.".to_owned(),
        };
    };
    let params = HistoryParams {
        name: Some(name.to_owned()),
        limit: Some(1),
        idempotency_key: Some(key),
        ..HistoryParams::default()
    };
    let found = match ask::<History>(ground, &params).await {
        Ok(found) => found.commands.into_iter().next(),
        Err(Refused(reason)) => {
            return Probed::Unknown {
                known: format!("The terminal's record could not be read: {reason}"),
            };
        }
    };
    let Some(command) = found else {
        return Probed::No;
    };
    match watch(ground, masked(command, ground.mask()), PROBE_WAIT).await {
        Ok(outcome) => Probed::Yes { outcome },
        Err(Refused(reason)) => Probed::Unknown {
            known: format!("It is on record, and then: {reason}"),
        },
    }
}
