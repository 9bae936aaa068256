//! `exec`: runs a command line in the sandbox and returns its exit code.
//!
//! Invariants: no process of a command outlives its call; the shown output is bounded; the answer
//! names the sandbox level and why the command ended.

use crate::commands::{
    self, COMMAND_CHARS_MAX, CommandArguments, ProxyReport, ROOM_TIMEOUT_MS, SandboxedCommand,
    TIMEOUT_MS_MAX,
};
use crate::outcome::{append, succeeded};
use crate::workspace_path::ToolRefusal;
use crate::{CallPreview, EffectHooks, ToolEntry, ToolEnv, ToolFuture, arguments, stored_output};
use hob_core::permission::{Approved, PreparedCall};
use hob_exec::home_view::HOME_NOTE;
use hob_exec::output::{ChildStream, KeptOutput};
use hob_exec::shim_protocol::{ExitCause, WaitStatus};
use hob_exec::{Child, ChildExit, OutputMode};
use hob_store::Store;
use hob_wire::NetworkGrant;
use hob_wire::rooms::tool::{OutputStream, ToolExecuteResult, ToolProbeResult};
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// The error text of programs on a read-only file system.
const READ_ONLY: &str = "Read-only file system";

pub(crate) const ENTRY: ToolEntry = ToolEntry {
    effect_hooks: Some(EffectHooks {
        preview,
        probe: |_, _| {
            Box::pin(async {
                ToolProbeResult::Unknown {
                    known: "A command that was cut off may have done anything up to its end."
                        .to_owned(),
                }
            })
        },
    }),
    ..ToolEntry::plain(spec, run)
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecArguments {
    command: String,
    cwd: Option<String>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    network: NetworkGrant,
    hosts: Option<Vec<String>>,
}

impl ExecArguments {
    fn command_arguments(&self) -> CommandArguments<'_> {
        CommandArguments {
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
        effect: Idempotency::Opaque,
        needs: vec![
            ResourceNeed::new(NeedKind::Command, "command"),
            ResourceNeed::new(NeedKind::Path, "cwd"),
            ResourceNeed::new(NeedKind::Network, "network"),
            ResourceNeed::new(NeedKind::Hosts, "hosts"),
        ],
        approval: "Run {command}".to_owned(),
        timeout_ms: Some(ROOM_TIMEOUT_MS),
    }
}

fn preview(work: &PreparedCall, env: &ToolEnv) -> CallPreview {
    let sandboxed = sandboxed_command(work, env).map(|(_, sandboxed)| sandboxed);
    commands::preview(sandboxed.as_ref().map_err(ToolRefusal::clone), env)
}

fn sandboxed_command(
    work: &PreparedCall,
    env: &ToolEnv,
) -> Result<(ExecArguments, SandboxedCommand), ToolRefusal> {
    let args: ExecArguments = arguments(work)?;
    let sandboxed = SandboxedCommand::new(work, args.command_arguments(), env)?;
    Ok((args, sandboxed))
}

fn run(call: Approved<PreparedCall>, env: ToolEnv) -> ToolFuture {
    Box::pin(async move {
        let ran = try_run(call.into_call(), &env).await;
        ran.unwrap_or_else(commands::refusal_answer)
    })
}

async fn try_run(work: PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let seen = env.clone();
    let context = work.context.clone();
    let planned = tokio::task::spawn_blocking(move || {
        // The compared scripts are the ones that run: they are not read again.
        let (args, sandboxed) = sandboxed_command(&work, &seen)?;
        commands::check_state(&work, &commands::preview(Ok(&sandboxed), &seen))?;
        Ok((args, sandboxed))
    });
    let interrupted = |_| Err(ToolRefusal("Starting it was interrupted.".to_owned()));
    let (args, sandboxed) = planned.await.unwrap_or_else(interrupted)?;
    let commands = commands::command_runner(env)?;
    let mut plan = sandboxed.plan(env).await?;
    let deadline = commands::deadline(commands, args.timeout_ms);
    plan.deadline = Some(deadline);
    plan.output_mode = OutputMode::Chunks;
    plan.mask = Some(env.mask().clone());
    let draft = env.store().map(Store::output_draft);
    plan.output_file = draft.as_ref().map(|draft| draft.path().to_owned());
    let spawned = commands.spawn(plan, sandboxed.network().hosts()).await?;
    let exit = watch(&spawned.child, env).await?;
    let mut answer = exec_answer(&exit, deadline.as_millis(), spawned.report.as_ref());
    // A command line may continue after a write error, so its exit code alone is not enough.
    let was_refused = !exit.is_success() || exit.stderr.text().contains(READ_ONLY);
    if was_refused && sandboxed.is_home(commands) {
        append(&mut answer, &format!("({HOME_NOTE})"));
    }
    commands::append_left_behind(&mut answer, &exit.left_behind);
    // The full output is stored only if the shown one is cut; otherwise the draft is dropped.
    let is_cut = exit.stdout.is_truncated() || exit.stderr.is_truncated();
    if let Some(draft) = draft.filter(|_| is_cut) {
        let lacks = exit.output_file.is_none_or(|(_, lacks)| lacks);
        let new = stored_output::new_output("exec", &context, lacks, env);
        if let Some(id) = stored_output::store_draft(draft, new, env).await {
            stored_output::append_output_id(&mut answer, id);
        }
    }
    Ok(answer)
}

/// Forwards the output until the child ends; ends the child when the call is stopped.
async fn watch(child: &Child, env: &ToolEnv) -> Result<Arc<ChildExit>, hob_exec::ExecError> {
    let mut is_cancelling = false;
    loop {
        tokio::select! {
            piece = child.next_output() => match (piece, env.live_output()) {
                (Some(piece), Some(live_output)) => live_output.print(stream(piece.stream), &piece.text),
                (Some(_), None) => {}
                (None, _) => return child.wait().await,
            },
            // After the request the loop goes on until the child ends, so that its last output is sent.
            () = env.stop().cancelled(), if !is_cancelling => {
                child.request_cancel();
                is_cancelling = true;
            }
        }
    }
}

pub(crate) fn stream(source: ChildStream) -> OutputStream {
    match source {
        ChildStream::Stdout => OutputStream::Stdout,
        ChildStream::Stderr => OutputStream::Stderr,
    }
}

fn exec_answer(
    exit: &ChildExit,
    deadline_ms: u128,
    network: Option<&ProxyReport>,
) -> ToolExecuteResult {
    let mut text = streams_text(&exit.stdout, &exit.stderr);
    let why = match exit.cause {
        ExitCause::Itself => None,
        ExitCause::Cancelled => Some("It was stopped".to_owned()),
        ExitCause::Deadline => Some(format!("It took longer than {deadline_ms} ms")),
        ExitCause::Processes => Some("It had too many processes".to_owned()),
        ExitCause::Disk => Some("A disk it writes to was nearly full".to_owned()),
        ExitCause::Replaced => {
            Some("The script that was approved was replaced while it ran".to_owned())
        }
    };
    let is_error = why.is_some();
    let last = match (why, exit.status) {
        (Some(why), _) => format!("({why}: it was ended with everything it had started.)"),
        (None, WaitStatus::Code(0)) if text.is_empty() => "(no output)".to_owned(),
        (None, WaitStatus::Code(0)) => String::new(),
        (None, WaitStatus::Code(code)) => format!("(exit code {code})"),
        (None, WaitStatus::Signal(signal)) => format!("(ended by signal {signal})"),
    };
    text.push_str(&last);
    if let Some(network) = network {
        text = format!("{}({})", with_line_end(text), network.line());
    }
    let mut metadata = json!({
        "exitCode": exit.status.code(),
        "cause": exit.cause,
        "sandbox": exit.level.name(),
        "durationMs": u64::try_from(exit.duration.as_millis()).unwrap_or(u64::MAX),
        "bytes": exit.stdout.total_bytes + exit.stderr.total_bytes,
    });
    if let WaitStatus::Signal(signal) = exit.status {
        metadata["signal"] = json!(signal);
    }
    if let Some(network) = network {
        network.add_to(&mut metadata);
    }
    ToolExecuteResult {
        is_error,
        metadata: Some(metadata),
        ..succeeded(text)
    }
}

/// Both streams for the model, each with a final newline.
pub(crate) fn streams_text(stdout: &KeptOutput, stderr: &KeptOutput) -> String {
    let mut text = with_line_end(stdout.text());
    let stderr = with_line_end(stderr.text());
    if !stderr.is_empty() {
        text.push_str("[stderr]\n");
        text.push_str(&stderr);
    }
    text
}

fn with_line_end(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
#[path = "exec_tests.rs"]
mod tests;
