//! `terminal`: types into a terminal that the person shares, and reads its output.
//!
//! - `guard`: refuses command lines that would end or nest the terminal
//! - `command_run`: one command from its start to its end
//! - `plain_language`: the prompt of a request in plain words
//! - `presentation`: the preview for a person, and the answers to the model
//!
//! Invariants: a command is typed once per call, even if the call is repeated; no command of a call
//! begins after its answer; the run id comes from the context of the call, never from the model.

mod command_run;
mod guard;
mod plain_language;
mod presentation;

use crate::commands::scripts::{CommandScripts, ScriptContext};
use crate::commands::{CommandRunner, check_state};
use crate::outcome::failed;
use crate::room_calls::{answer_lines, call_room};
use crate::workspace_path::{ToolRefusal, sha256_hex};
use crate::{CallPreview, EffectHooks, ToolEntry, ToolEnv, ToolFuture, arguments};
use hob_core::permission::{Approved, PreparedCall};
use hob_core::tool_traits::ToolTraits;
use hob_exec::protected_paths::PersonHome;
use hob_wire::limits::TERMINAL_COMMAND_CHARS_MAX;
use hob_wire::rooms::terminal::{
    Capture, DEFAULT_TERMINAL, Keys, List, TerminalCaptureParams, TerminalInfo, TerminalKeysParams,
    TerminalListParams, TerminalListResult, TerminalState,
};
use hob_wire::rooms::tool::{ToolExecuteResult, ToolProbeResult};
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// Characters of a terminal's name.
const NAME_CHARS_MAX: usize = 64;
/// Characters of a reason: it is one line on a screen.
const REASON_CHARS_MAX: usize = 200;
/// Characters typed at once.
const TEXT_CHARS_MAX: usize = 4_096;
/// Keys pressed at once, and characters of a key's name.
const KEYS_MAX: usize = 32;
const KEY_CHARS_MAX: usize = 32;
/// Default number of scrollback lines in a capture.
const LINES: u32 = 100;
const LINES_MAX: u32 = 1_000;
/// The longest timeout of a command.
const TIMEOUT_MS_MAX: u64 = 3_600_000;
/// The timeout of the tool room; the tool itself answers before.
const ROOM_TIMEOUT_MS: u64 = 240_000;
/// The time a program has to react to keys before the screen is captured.
const KEYS_SETTLE: Duration = Duration::from_millis(300);

pub(crate) const ENTRY: ToolEntry = ToolEntry {
    effect_hooks: Some(EffectHooks {
        preview,
        probe: |work, env| Box::pin(async move { probe(&work, &env).await }),
    }),
    traits: ToolTraits {
        hidden_when_unwatched: true,
        needs_admin: true,
        typed_argument: Some("command"),
        plain_language: Some(plain_language::PROMPT),
        ..ToolTraits::NONE
    },
    ..ToolEntry::plain(spec, run)
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TerminalArguments {
    action: TerminalAction,
    name: Option<String>,
    command: Option<String>,
    reason: Option<String>,
    text: Option<String>,
    keys: Option<Vec<String>>,
    lines: Option<u32>,
    timeout_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TerminalAction {
    Run,
    Keys,
    Capture,
    List,
}

/// A checked call.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TerminalRequest {
    Run(TerminalCommandLine),
    Keys { text: String, keys: Vec<String> },
    Capture { lines: u32 },
    List,
}

/// A command line to run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TerminalCommandLine {
    command: String,
    reason: String,
    timeout_ms: Option<u64>,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "terminal".to_owned(),
        aliases: Vec::new(),
        description: "The terminal that the person sees and shares: runs a command line in their own shell, with no sandbox, and answers with what it printed and its exit code. Use it for what must happen on their machine before their eyes. Say in 'reason' why, in one line for the person."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "action": {
                    "enum": ["run", "keys", "capture", "list"],
                    "description": "run a command line; keys types into what runs; capture shows the screen; list shows which terminals there are.",
                },
                "name": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": NAME_CHARS_MAX,
                    "description": "Which terminal; 'main' when missing.",
                },
                "command": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": TERMINAL_COMMAND_CHARS_MAX,
                    "description": "run: the command line, as one would type it.",
                },
                "reason": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": REASON_CHARS_MAX,
                    "description": "run: why, in one line for the person.",
                },
                "text": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": TEXT_CHARS_MAX,
                    "description": "keys: typed letter by letter.",
                },
                "keys": {
                    "type": "array",
                    "items": { "type": "string", "minLength": 1, "maxLength": KEY_CHARS_MAX },
                    "maxItems": KEYS_MAX,
                    "description": "keys: pressed after the text, by name: Enter, Tab, Escape, Up, C-c, F5.",
                },
                "lines": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": LINES_MAX,
                    "description": "capture: lines of the past beside the screen; 100 when missing.",
                },
                "timeoutMs": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": TIMEOUT_MS_MAX,
                    "description": "run: when to interrupt it; when missing it may run on after the answer.",
                },
            },
            "required": ["action"],
            "additionalProperties": false,
        }),
        tier: Tier::Exec,
        effect: Idempotency::Probeable,
        needs: vec![ResourceNeed::new(NeedKind::Command, "command")],
        approval: "Shared terminal[ {name}][: run {command}][: type {text}][: press {keys}]"
            .to_owned(),
        timeout_ms: Some(ROOM_TIMEOUT_MS),
    }
}

impl TerminalArguments {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(DEFAULT_TERMINAL)
    }

    /// Checks the arguments. Arguments of another action are refused: a rule that allows a command
    /// must not let keys through with it.
    fn request(&self) -> Result<TerminalRequest, ToolRefusal> {
        let stray = |name: &str, is_there: bool| (is_there).then(|| name.to_owned());
        let (run, keys) = (
            self.action == TerminalAction::Run,
            self.action == TerminalAction::Keys,
        );
        let capture = self.action == TerminalAction::Capture;
        let stray = [
            stray("command", !run && self.command.is_some()),
            stray("reason", !run && self.reason.is_some()),
            stray("timeoutMs", !run && self.timeout_ms.is_some()),
            stray("text", !keys && self.text.is_some()),
            stray("keys", !keys && self.keys.is_some()),
            stray("lines", !capture && self.lines.is_some()),
        ];
        if let Some(name) = stray.into_iter().flatten().next() {
            return Err(ToolRefusal(format!(
                "'{name}' does not belong to this action; leave it out."
            )));
        }
        match self.action {
            TerminalAction::Run => self.command_line().map(TerminalRequest::Run),
            TerminalAction::Keys => {
                let text = self.text.clone().unwrap_or_default();
                let keys = self.keys.clone().unwrap_or_default();
                if text.is_empty() && keys.is_empty() {
                    return Err(ToolRefusal("Give 'text', 'keys' or both.".to_owned()));
                }
                Ok(TerminalRequest::Keys { text, keys })
            }
            TerminalAction::Capture => Ok(TerminalRequest::Capture {
                lines: self.lines.unwrap_or(LINES),
            }),
            TerminalAction::List => Ok(TerminalRequest::List),
        }
    }

    fn command_line(&self) -> Result<TerminalCommandLine, ToolRefusal> {
        let given = |text: &Option<String>, missing: &str| {
            let text = text.as_deref().map(str::trim).unwrap_or_default();
            if text.is_empty() {
                return Err(ToolRefusal(missing.to_owned()));
            }
            Ok(text.to_owned())
        };
        let command = given(&self.command, "Give the 'command' to run.")?;
        if command.contains('\0') {
            return Err(ToolRefusal("A command line cannot hold a NUL.".to_owned()));
        }
        guard::check(&command)?;
        let reason = given(
            &self.reason,
            "Say in 'reason' why it is to be run, in one line for the person.",
        )?;
        Ok(TerminalCommandLine {
            command,
            reason,
            timeout_ms: self.timeout_ms,
        })
    }
}

fn preview(work: &PreparedCall, env: &ToolEnv) -> CallPreview {
    let seen = arguments::<TerminalArguments>(work).and_then(|args| {
        let request = args.request()?;
        // Previews run on a blocking thread, so blocking on the runtime is safe here.
        let found = tokio::runtime::Handle::current().block_on(find_terminal(env, args.name()))?;
        Ok((args, request, found))
    });
    match seen {
        Ok((args, request, found)) => {
            let scripts = scripts(&request, found.as_ref(), env);
            let mut preview = presentation::preview(args.name(), &request, found.as_ref());
            preview.push_str(&scripts.preview(false));
            CallPreview {
                preview,
                state: state(args.name(), found.as_ref(), &scripts),
                would_fail: None,
                asks_always: false,
            }
        }
        Err(ToolRefusal(reason)) => CallPreview::failing(reason),
    }
}

/// The state an approval is bound to: the terminal, its working directory and the named scripts.
fn state(name: &str, found: Option<&TerminalInfo>, scripts: &CommandScripts) -> String {
    let folder = found.map(|terminal| terminal.folder.as_deref().unwrap_or_default());
    let scripts = scripts.fingerprint();
    sha256_hex(format!("{name}\n{folder:?}\n{scripts}").as_bytes())
}

/// The scripts that a line names. The shell is the person's own, so they may lie anywhere; its
/// working directory is known only while no other command is queued.
fn scripts(
    request: &TerminalRequest,
    found: Option<&TerminalInfo>,
    env: &ToolEnv,
) -> CommandScripts {
    let TerminalRequest::Run(line) = request else {
        return CommandScripts::default();
    };
    let folder = found.and_then(|terminal| terminal.folder.as_deref());
    let home = env.commands().and_then(CommandRunner::home);
    let place = ScriptContext {
        root: Path::new("/"),
        folder: folder.map(Path::new).filter(|folder| folder.is_absolute()),
        home: home.map(PersonHome::path),
        hidden: env.hidden(),
    };
    CommandScripts::find(&line.command, &place)
}

/// The terminal of that name, if it exists and is alive.
async fn find_terminal(env: &ToolEnv, name: &str) -> Result<Option<TerminalInfo>, ToolRefusal> {
    let all = list_terminals(env).await?;
    if let Some(problem) = all.problem {
        return Err(ToolRefusal(problem));
    }
    let mut found = all.terminals.into_iter().filter(is_alive);
    Ok(found.find(|terminal| terminal.name == name))
}

async fn list_terminals(env: &ToolEnv) -> Result<TerminalListResult, ToolRefusal> {
    call_room::<List>(env, &TerminalListParams {}).await
}

fn is_alive(terminal: &TerminalInfo) -> bool {
    !matches!(terminal.state, TerminalState::Lost | TerminalState::Closed)
}

fn run(call: Approved<PreparedCall>, env: ToolEnv) -> ToolFuture {
    Box::pin(async move {
        let work = call.into_call();
        let done = perform(&work, &env).await;
        done.unwrap_or_else(|ToolRefusal(reason)| failed(reason))
    })
}

async fn perform(work: &PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let args: TerminalArguments = arguments(work)?;
    let name = args.name().to_owned();
    match args.request()? {
        TerminalRequest::Run(line) => {
            check_unchanged(work, env).await?;
            command_run::run(work, env, &name, line).await
        }
        TerminalRequest::Keys { text, keys } => {
            let params = TerminalKeysParams {
                name: Some(name.clone()),
                text: Some(text).filter(|text| !text.is_empty()),
                keys,
                run_id: work.context.run_id,
            };
            call_room::<Keys>(env, &params).await?;
            tokio::time::sleep(KEYS_SETTLE).await;
            capture_screen(env, name, 0).await
        }
        TerminalRequest::Capture { lines } => capture_screen(env, name, lines).await,
        TerminalRequest::List => {
            let all = list_terminals(env).await?;
            Ok(answer_lines(&presentation::terminal_lines(&all), &all))
        }
    }
}

/// Refuses a command whose scripts or folder changed since it was approved. A terminal has no
/// sandbox that binds files, so this check right before typing is the last one possible.
async fn check_unchanged(work: &PreparedCall, env: &ToolEnv) -> Result<(), ToolRefusal> {
    if work.state.is_none() {
        return Ok(());
    }
    let (call, seen) = (work.clone(), env.clone());
    let looked = tokio::task::spawn_blocking(move || preview(&call, &seen)).await;
    let interrupted = |_| ToolRefusal("Looking at it was interrupted.".to_owned());
    check_state(work, &looked.map_err(interrupted)?)
}

async fn capture_screen(
    env: &ToolEnv,
    name: String,
    lines: u32,
) -> Result<ToolExecuteResult, ToolRefusal> {
    let params = TerminalCaptureParams {
        name: Some(name),
        lines: Some(lines),
    };
    let mut screen = call_room::<Capture>(env, &params).await?;
    screen.text = env.mask().apply_to_screen(&screen.text).into_owned();
    Ok(presentation::screen_answer(&screen))
}

/// Finds out whether a call happened: the terminal records a command under the call's key.
async fn probe(work: &PreparedCall, env: &ToolEnv) -> ToolProbeResult {
    let request = arguments::<TerminalArguments>(work)
        .and_then(|args| Ok((args.name().to_owned(), args.request()?)));
    match request {
        Ok((name, TerminalRequest::Run(_))) => command_run::probe(work, env, &name).await,
        Ok((_, TerminalRequest::Keys { .. })) => ToolProbeResult::Unknown {
            known: "The keys may have been typed or not; `hob terminal capture` shows the screen."
                .to_owned(),
        },
        // A capture, a list or a refused call: nothing can have happened.
        _ => ToolProbeResult::No,
    }
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;
