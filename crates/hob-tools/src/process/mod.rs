//! `process`: background programs, in the same sandbox as `exec`.
//!
//! Invariants: a process belongs to the session that started it, and no other session sees it; no
//! process outlives the daemon; its kept output is bounded.

mod session_processes;

use crate::commands::{self, COMMAND_CHARS_MAX, CommandArguments, SandboxedCommand};
use crate::outcome::succeeded;
use crate::workspace_path::{ToolRefusal, sha256_hex};
use crate::{CallPreview, EffectHooks, ToolEntry, ToolEnv, ToolFuture, arguments};
use hob_core::permission::{Approved, PreparedCall};
use hob_wire::NetworkGrant;
use hob_wire::rooms::tool::{ToolExecuteResult, ToolProbeResult};
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;
pub(crate) use session_processes::ProcessOwners;

/// Characters written to a process at once.
const TEXT_CHARS_MAX: usize = 64 * 1024;
/// The longest wait of a poll for new output.
const WAIT_MS_MAX: u64 = 30_000;

pub(crate) const ENTRY: ToolEntry = ToolEntry {
    effect_hooks: Some(EffectHooks {
        preview,
        probe: |work, _| {
            let probed = probe(&work);
            Box::pin(async { probed })
        },
    }),
    ..ToolEntry::plain(spec, run)
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProcessArguments {
    action: ProcessAction,
    command: Option<String>,
    cwd: Option<String>,
    #[serde(default)]
    network: NetworkGrant,
    hosts: Option<Vec<String>>,
    id: Option<u64>,
    text: Option<String>,
    close: Option<bool>,
    wait_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ProcessAction {
    Start,
    Poll,
    Write,
    Kill,
    List,
}

fn spec() -> ToolSpec {
    let (network, hosts) = commands::network_parameters("start: ");
    ToolSpec {
        name: "process".to_owned(),
        aliases: Vec::new(),
        description: "Runs programs in the background, in the same sandbox as exec: start a command line, poll what it printed since, write to its input, kill it, list what runs."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "action": { "enum": ["start", "poll", "write", "kill", "list"] },
                "command": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": COMMAND_CHARS_MAX,
                    "description": "start: the command line, for bash.",
                },
                "cwd": {
                    "type": "string",
                    "description": "start: the folder to run in, relative to the workspace.",
                },
                "network": network,
                "hosts": hosts,
                "id": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "poll, write, kill: which process.",
                },
                "text": {
                    "type": "string",
                    "maxLength": TEXT_CHARS_MAX,
                    "description": "write: what it reads; end a line with a line break.",
                },
                "close": {
                    "type": "boolean",
                    "description": "write: whether its input ends after that.",
                },
                "waitMs": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": WAIT_MS_MAX,
                    "description": "poll: how long to wait for something new; 0 when missing.",
                },
            },
            "required": ["action"],
            "additionalProperties": false,
        }),
        tier: Tier::Exec,
        effect: Idempotency::Probeable,
        needs: vec![
            ResourceNeed::new(NeedKind::Command, "command"),
            ResourceNeed::new(NeedKind::Path, "cwd"),
            ResourceNeed::new(NeedKind::Network, "network"),
            ResourceNeed::new(NeedKind::Hosts, "hosts"),
        ],
        approval: "Background process: {action}".to_owned(),
        timeout_ms: None,
    }
}

impl ProcessArguments {
    fn sandboxed_command(
        &self,
        work: &PreparedCall,
        env: &ToolEnv,
    ) -> Result<SandboxedCommand, ToolRefusal> {
        let missing = || ToolRefusal("To start something, give the command.".to_owned());
        let arguments = CommandArguments {
            command: self.command.as_deref().ok_or_else(missing)?,
            cwd: self.cwd.as_deref(),
            network: self.network,
            hosts: self.hosts.as_deref(),
        };
        SandboxedCommand::new(work, arguments, env)
    }

    fn id(&self) -> Result<u64, ToolRefusal> {
        let missing = || ToolRefusal("Say which process: give its id.".to_owned());
        self.id.ok_or_else(missing)
    }
}

fn preview(work: &PreparedCall, env: &ToolEnv) -> CallPreview {
    let nothing = CallPreview::failing;
    // The call runs, and there is nothing to preview.
    let plain = |about: &str| CallPreview {
        would_fail: None,
        ..CallPreview::failing(about.to_owned())
    };
    let args: ProcessArguments = match arguments(work) {
        Ok(args) => args,
        Err(ToolRefusal(reason)) => return nothing(reason),
    };
    match args.action {
        ProcessAction::Start => {
            let sandboxed = args.sandboxed_command(work, env);
            commands::preview(sandboxed.as_ref().map_err(ToolRefusal::clone), env)
        }
        // A session may inspect and end its own processes without another question.
        ProcessAction::Poll | ProcessAction::List => {
            plain("It only looks at what this session started.")
        }
        ProcessAction::Kill => plain("It only ends what this session started."),
        ProcessAction::Write => match process_command(work, &args, env) {
            Ok(command) => CallPreview {
                preview: format!(
                    "write to the process {}\n  {command}\nthis:\n{}",
                    args.id.unwrap_or(0),
                    args.text.as_deref().unwrap_or_default()
                ),
                state: sha256_hex(command.as_bytes()),
                would_fail: None,
                asks_always: false,
            },
            Err(ToolRefusal(reason)) => nothing(reason),
        },
    }
}

fn process_command(
    work: &PreparedCall,
    args: &ProcessArguments,
    env: &ToolEnv,
) -> Result<String, ToolRefusal> {
    let session = work.context.session_key.as_deref();
    let found = commands::command_runner(env)?.find(session, args.id()?)?;
    Ok(found.child.command().to_owned())
}

/// Background processes end with the daemon, so a probe after a crash finds none of them.
fn probe(work: &PreparedCall) -> ToolProbeResult {
    let action = arguments::<ProcessArguments>(work).map(|args| args.action);
    match action {
        Ok(ProcessAction::Poll | ProcessAction::List | ProcessAction::Kill) => ToolProbeResult::No,
        _ => ToolProbeResult::Unknown {
            known: "It ended with hob; what it did until then is not known.".to_owned(),
        },
    }
}

fn run(call: Approved<PreparedCall>, env: ToolEnv) -> ToolFuture {
    Box::pin(async move {
        let done = perform(call.into_call(), &env).await;
        done.unwrap_or_else(commands::refusal_answer)
    })
}

async fn perform(work: PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let args: ProcessArguments = arguments(&work)?;
    let commands = commands::command_runner(env)?;
    let session = work.context.session_key.clone();
    let session = session.as_deref();
    match args.action {
        ProcessAction::Start => start(work, args, env).await,
        ProcessAction::List => Ok(commands.list_processes(session)),
        ProcessAction::Poll => {
            let wait_ms = args.wait_ms.unwrap_or(0).min(WAIT_MS_MAX);
            commands.poll(session, args.id()?, wait_ms).await
        }
        ProcessAction::Kill => commands.kill(session, args.id()?).await,
        ProcessAction::Write => {
            let found = commands.find(session, args.id()?)?;
            let text = args.text.as_deref().unwrap_or_default();
            found.write(text, args.close == Some(true)).await?;
            Ok(succeeded("Written."))
        }
    }
}

async fn start(
    work: PreparedCall,
    args: ProcessArguments,
    env: &ToolEnv,
) -> Result<ToolExecuteResult, ToolRefusal> {
    let seen = env.clone();
    let session = work.context.session_key.clone();
    let planned = tokio::task::spawn_blocking(move || {
        // The compared scripts are the ones that run: they are not read again.
        let sandboxed = args.sandboxed_command(&work, &seen)?;
        commands::check_state(&work, &commands::preview(Ok(&sandboxed), &seen))?;
        Ok(sandboxed)
    });
    let interrupted = |_| Err(ToolRefusal("Starting it was interrupted.".to_owned()));
    let sandboxed = planned.await.unwrap_or_else(interrupted)?;
    let mut plan = sandboxed.plan(env).await?;
    plan.mask = Some(env.mask().clone());
    let hosts = sandboxed.network().hosts();
    commands::command_runner(env)?
        .start(session, plan, hosts)
        .await
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
