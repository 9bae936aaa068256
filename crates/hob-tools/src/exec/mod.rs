//! `exec`: a command line in the sandbox, with a real exit code.
//!
//! Invariants: nothing of a command outlives its call; what the model is shown is bounded; the
//! answer says behind which walls it ran and why it ended.

use crate::commands::{
    self, COMMAND_CHARS_MAX, Errand, ProxyReport, ROOM_TIMEOUT_MS, Said, TIMEOUT_MS_MAX,
};
use crate::outcome::{append, said};
use crate::spot::Refused;
use crate::{Entry, Ground, Look, Looks, Running, arguments, kept};
use hob_core::permission::{Approved, Work};
use hob_exec::home_view::HOME_NOTE;
use hob_exec::order::{Cause, Ended};
use hob_exec::output::{Kept, Source};
use hob_exec::{Child, Exit, Feed};
use hob_store::Store;
use hob_wire::NetworkGrant;
use hob_wire::rooms::tool::{Executed, OutputStream, Probed};
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// What programs say of a file system that is read-only.
const READ_ONLY: &str = "Read-only file system";

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run,
    check: None,
    looks: Some(Looks {
        look,
        probe: |_, _| {
            Box::pin(async {
                Probed::Unknown {
                    known: "A command that was cut off may have done anything up to its end."
                        .to_owned(),
                }
            })
        },
    }),
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    command: String,
    cwd: Option<String>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    network: NetworkGrant,
    hosts: Option<Vec<String>>,
}

impl Args {
    fn said(&self) -> Said<'_> {
        Said {
            command: &self.command,
            cwd: self.cwd.as_deref(),
            network: self.network,
            hosts: self.hosts.as_deref(),
        }
    }
}

fn spec() -> ToolSpec {
    let (network, hosts) = commands::network_parameters("");
    ToolSpec {
        name: "exec".to_owned(),
        aliases: vec!["shell.exec".to_owned()],
        description: "Runs a command line with bash in a sandbox and waits for its end: the workspace can be changed, the rest of the system only read, .git not changed, no network unless asked for, and then through a proxy. For what runs on, use process."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "command": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": COMMAND_CHARS_MAX,
                    "description": "The command line, for bash.",
                },
                "cwd": {
                    "type": "string",
                    "description": "The folder to run in, relative to the workspace; the workspace itself when missing.",
                },
                "timeoutMs": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": TIMEOUT_MS_MAX,
                    "description": "When to end it, with everything it started; 120000 when missing.",
                },
                "network": network,
                "hosts": hosts,
            },
            "required": ["command"],
            "additionalProperties": false,
        }),
        tier: Tier::Exec,
        effect: Effect::Opaque,
        needs: vec![
            Need::new(NeedKind::Command, "command"),
            Need::new(NeedKind::Path, "cwd"),
            Need::new(NeedKind::Network, "network"),
            Need::new(NeedKind::Hosts, "hosts"),
        ],
        approval: "Run {command}".to_owned(),
        timeout_ms: Some(ROOM_TIMEOUT_MS),
    }
}

fn look(work: &Work, ground: &Ground) -> Look {
    let errand = errand(work, ground).map(|(_, errand)| errand);
    commands::look(errand.as_ref().map_err(Refused::clone), ground)
}

fn errand(work: &Work, ground: &Ground) -> Result<(Args, Errand), Refused> {
    let args: Args = arguments(work)?;
    let errand = Errand::new(work, args.said(), ground)?;
    Ok((args, errand))
}

fn run(call: Approved<Work>, ground: Ground) -> Running {
    Box::pin(async move {
        let ran = try_run(call.into_call(), &ground).await;
        ran.unwrap_or_else(commands::told)
    })
}

async fn try_run(work: Work, ground: &Ground) -> Result<Executed, Refused> {
    let seen = ground.clone();
    let context = work.context.clone();
    let planned = tokio::task::spawn_blocking(move || {
        // What is compared is what runs: the scripts are not read again.
        let (args, errand) = errand(&work, &seen)?;
        commands::check_state(&work, &commands::look(Ok(&errand), &seen))?;
        Ok((args, errand))
    });
    let interrupted = |_| Err(Refused("Starting it was interrupted.".to_owned()));
    let (args, errand) = planned.await.unwrap_or_else(interrupted)?;
    let commands = commands::commands(ground)?;
    let mut plan = errand.plan(ground).await?;
    let deadline = commands::deadline(commands, args.timeout_ms);
    plan.deadline = Some(deadline);
    plan.feed = Feed::Chunks;
    plan.mask = Some(ground.mask().clone());
    let draft = ground.store().map(Store::output_draft);
    plan.output_file = draft.as_ref().map(|draft| draft.path().to_owned());
    let spawned = commands.spawn(plan, errand.network().hosts()).await?;
    let exit = watch(&spawned.child, ground).await?;
    let mut answer = answer(&exit, deadline.as_millis(), spawned.report.as_ref());
    // A line may go on after a refusal, so its exit code alone does not tell.
    let was_refused = !exit.is_success() || exit.stderr.text().contains(READ_ONLY);
    if was_refused && errand.is_home(commands) {
        append(&mut answer, &format!("({HOME_NOTE})"));
    }
    commands::left_behind(&mut answer, &exit.left_behind);
    let is_cut = exit.stdout.is_truncated() || exit.stderr.is_truncated();
    if let Some(draft) = draft.filter(|_| is_cut) {
        let lacks = exit.output_file.is_none_or(|(_, lacks)| lacks);
        let new = kept::output_of("exec", &context, lacks, ground);
        if let Some(id) = kept::keep_draft(draft, new, ground).await {
            kept::name_it(&mut answer, id);
        }
    }
    Ok(answer)
}

/// Hands on what it prints until it ends; ends it when the call is stopped.
async fn watch(child: &Child, ground: &Ground) -> Result<Arc<Exit>, hob_exec::ExecError> {
    let mut is_told = false;
    loop {
        tokio::select! {
            piece = child.next() => match (piece, ground.outlet()) {
                (Some(piece), Some(outlet)) => outlet.print(stream(piece.source), &piece.text),
                (Some(_), None) => {}
                (None, _) => return child.wait().await,
            },
            () = ground.stop().cancelled(), if !is_told => {
                child.tell_to_end();
                is_told = true;
            }
        }
    }
}

pub(crate) fn stream(source: Source) -> OutputStream {
    match source {
        Source::Stdout => OutputStream::Stdout,
        Source::Stderr => OutputStream::Stderr,
    }
}

fn answer(exit: &Exit, deadline_ms: u128, network: Option<&ProxyReport>) -> Executed {
    let mut text = printed(&exit.stdout, &exit.stderr);
    let why = match exit.cause {
        Cause::Itself => None,
        Cause::Cancelled => Some("It was stopped".to_owned()),
        Cause::Deadline => Some(format!("It took longer than {deadline_ms} ms")),
        Cause::Processes => Some("It had too many processes".to_owned()),
        Cause::Disk => Some("A disk it writes to was nearly full".to_owned()),
        Cause::Replaced => {
            Some("The script that was approved was replaced while it ran".to_owned())
        }
    };
    let is_error = why.is_some();
    let last = match (why, exit.ended) {
        (Some(why), _) => format!("({why}: it was ended with everything it had started.)"),
        (None, Ended::Code(0)) if text.is_empty() => "(no output)".to_owned(),
        (None, Ended::Code(0)) => String::new(),
        (None, Ended::Code(code)) => format!("(exit code {code})"),
        (None, Ended::Signal(signal)) => format!("(ended by signal {signal})"),
    };
    text.push_str(&last);
    if let Some(network) = network {
        text = format!("{}({})", ended(text), network.line());
    }
    let mut metadata = json!({
        "exitCode": exit.ended.code(),
        "cause": exit.cause,
        "sandbox": exit.level.name(),
        "durationMs": u64::try_from(exit.duration.as_millis()).unwrap_or(u64::MAX),
        "bytes": exit.stdout.total_bytes + exit.stderr.total_bytes,
    });
    if let Ended::Signal(signal) = exit.ended {
        metadata["signal"] = json!(signal);
    }
    if let Some(network) = network {
        network.add_to(&mut metadata);
    }
    Executed {
        is_error,
        metadata: Some(metadata),
        ..said(text)
    }
}

/// Both streams for the model, each ending with a line's end.
pub(crate) fn printed(stdout: &Kept, stderr: &Kept) -> String {
    let mut text = ended(stdout.text());
    let stderr = ended(stderr.text());
    if !stderr.is_empty() {
        text.push_str("[stderr]\n");
        text.push_str(&stderr);
    }
    text
}

fn ended(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
#[path = "exec_tests.rs"]
mod tests;
