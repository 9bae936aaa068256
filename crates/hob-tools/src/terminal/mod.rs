//! `terminal`: typing into a terminal that the person shares, and reading what comes of it.
//!
//! - `guard`: command lines that would end or nest the terminal
//! - `running`: one command from its order to its end
//! - `shown`: what a person is asked, and what the model is told
//!
//! Invariants: a command is typed once for one call, however often the call is made; nothing that a
//! call asked for begins after its answer; which run it is for comes from the call's context, never
//! from the model.

mod guard;
mod running;
mod shown;

use crate::commands::scripts::{ScriptPlace, Scripts};
use crate::commands::{Commands, check_state};
use crate::outcome::failed;
use crate::rooms::{ask, told};
use crate::spot::{Refused, hash};
use crate::{Entry, Ground, Look, Looks, Running, arguments};
use hob_core::permission::{Approved, Work};
use hob_exec::protected_paths::PersonHome;
use hob_wire::limits::TERMINAL_COMMAND_CHARS_MAX;
use hob_wire::rooms::terminal::{
    Capture, CaptureParams, DEFAULT_TERMINAL, Keys, KeysParams, List, ListParams, Terminal,
    TerminalState, Terminals,
};
use hob_wire::rooms::tool::{Executed, Probed};
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// Its name, which also says which tool runs that nobody watches are not told of.
pub const NAME: &str = "terminal";

/// Letters of a terminal's name.
const NAME_CHARS_MAX: usize = 64;
/// Letters of a reason: it is one line on a screen.
const REASON_CHARS_MAX: usize = 200;
/// Letters typed at once.
const TEXT_CHARS_MAX: usize = 4_096;
/// Keys pressed at once, and letters of a key's name.
const KEYS_MAX: usize = 32;
const KEY_CHARS_MAX: usize = 32;
/// Lines of the past that one look shows, unless it says less or more.
const LINES: u32 = 100;
const LINES_MAX: u32 = 1_000;
/// The longest time a command may be given.
const TIMEOUT_MS_MAX: u64 = 3_600_000;
/// What the tool room waits; the tool itself answers before.
const ROOM_TIMEOUT_MS: u64 = 240_000;
/// How long a program may take to answer keys before the screen is looked at.
const KEYS_SETTLE: Duration = Duration::from_millis(300);

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run,
    check: None,
    looks: Some(Looks {
        look,
        probe: |work, ground| Box::pin(async move { probe(&work, &ground).await }),
    }),
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    action: Action,
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
enum Action {
    Run,
    Keys,
    Capture,
    List,
}

/// What a call asks for, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wish {
    Run(Order),
    Keys { text: String, keys: Vec<String> },
    Capture { lines: u32 },
    List,
}

/// A command line to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Order {
    command: String,
    reason: String,
    timeout_ms: Option<u64>,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
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
        effect: Effect::Probeable,
        needs: vec![Need::new(NeedKind::Command, "command")],
        approval: "Shared terminal[ {name}][: run {command}][: type {text}][: press {keys}]"
            .to_owned(),
        timeout_ms: Some(ROOM_TIMEOUT_MS),
    }
}

impl Args {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(DEFAULT_TERMINAL)
    }

    /// What is asked for. Arguments of another action are refused: a rule that allows a command
    /// must not let keys through beside it.
    fn wish(&self) -> Result<Wish, Refused> {
        let stray = |name: &str, is_there: bool| (is_there).then(|| name.to_owned());
        let (run, keys) = (self.action == Action::Run, self.action == Action::Keys);
        let capture = self.action == Action::Capture;
        let stray = [
            stray("command", !run && self.command.is_some()),
            stray("reason", !run && self.reason.is_some()),
            stray("timeoutMs", !run && self.timeout_ms.is_some()),
            stray("text", !keys && self.text.is_some()),
            stray("keys", !keys && self.keys.is_some()),
            stray("lines", !capture && self.lines.is_some()),
        ];
        if let Some(name) = stray.into_iter().flatten().next() {
            return Err(Refused(format!(
                "'{name}' does not belong to this action; leave it out."
            )));
        }
        match self.action {
            Action::Run => self.order().map(Wish::Run),
            Action::Keys => {
                let text = self.text.clone().unwrap_or_default();
                let keys = self.keys.clone().unwrap_or_default();
                if text.is_empty() && keys.is_empty() {
                    return Err(Refused("Give 'text', 'keys' or both.".to_owned()));
                }
                Ok(Wish::Keys { text, keys })
            }
            Action::Capture => Ok(Wish::Capture {
                lines: self.lines.unwrap_or(LINES),
            }),
            Action::List => Ok(Wish::List),
        }
    }

    fn order(&self) -> Result<Order, Refused> {
        let given = |text: &Option<String>, missing: &str| {
            let text = text.as_deref().map(str::trim).unwrap_or_default();
            if text.is_empty() {
                return Err(Refused(missing.to_owned()));
            }
            Ok(text.to_owned())
        };
        let command = given(&self.command, "Give the 'command' to run.")?;
        if command.contains('\0') {
            return Err(Refused("A command line cannot hold a NUL.".to_owned()));
        }
        guard::check(&command)?;
        let reason = given(
            &self.reason,
            "Say in 'reason' why it is to be run, in one line for the person.",
        )?;
        Ok(Order {
            command,
            reason,
            timeout_ms: self.timeout_ms,
        })
    }
}

fn look(work: &Work, ground: &Ground) -> Look {
    let seen = arguments::<Args>(work).and_then(|args| {
        let wish = args.wish()?;
        // A look has a thread of its own.
        let found = tokio::runtime::Handle::current().block_on(find(ground, args.name()))?;
        Ok((args, wish, found))
    });
    match seen {
        Ok((args, wish, found)) => {
            let scripts = scripts(&wish, found.as_ref(), ground);
            let mut preview = shown::preview(args.name(), &wish, found.as_ref());
            preview.push_str(&scripts.shown(false));
            Look {
                preview,
                state: state(args.name(), found.as_ref(), &scripts),
                would_fail: None,
                asks_always: false,
            }
        }
        Err(Refused(reason)) => Look::failing(reason),
    }
}

/// What an approval rests on: the terminal, the folder its shell is in, and the scripts it names.
fn state(name: &str, found: Option<&Terminal>, scripts: &Scripts) -> String {
    let folder = found.map(|terminal| terminal.folder.as_deref().unwrap_or_default());
    let scripts = scripts.mark();
    hash(format!("{name}\n{folder:?}\n{scripts}").as_bytes())
}

/// The scripts that a line names. The shell is the person's own, so they may lie anywhere; its
/// folder is known only while nothing else waits to be typed.
fn scripts(wish: &Wish, found: Option<&Terminal>, ground: &Ground) -> Scripts {
    let Wish::Run(order) = wish else {
        return Scripts::default();
    };
    let folder = found.and_then(|terminal| terminal.folder.as_deref());
    let home = ground.commands().and_then(Commands::home);
    let place = ScriptPlace {
        root: Path::new("/"),
        folder: folder.map(Path::new).filter(|folder| folder.is_absolute()),
        home: home.map(PersonHome::path),
        hidden: ground.hidden(),
    };
    Scripts::of(&order.command, &place)
}

/// The terminal of that name, if it is there and alive.
async fn find(ground: &Ground, name: &str) -> Result<Option<Terminal>, Refused> {
    let all = all(ground).await?;
    if let Some(problem) = all.problem {
        return Err(Refused(problem));
    }
    let mut found = all.terminals.into_iter().filter(is_alive);
    Ok(found.find(|terminal| terminal.name == name))
}

async fn all(ground: &Ground) -> Result<Terminals, Refused> {
    ask::<List>(ground, &ListParams {}).await
}

fn is_alive(terminal: &Terminal) -> bool {
    !matches!(terminal.state, TerminalState::Lost | TerminalState::Closed)
}

fn run(call: Approved<Work>, ground: Ground) -> Running {
    Box::pin(async move {
        let work = call.into_call();
        let done = act(&work, &ground).await;
        done.unwrap_or_else(|Refused(reason)| failed(reason))
    })
}

async fn act(work: &Work, ground: &Ground) -> Result<Executed, Refused> {
    let args: Args = arguments(work)?;
    let name = args.name().to_owned();
    match args.wish()? {
        Wish::Run(order) => {
            compare_again(work, ground).await?;
            running::run(work, ground, &name, order).await
        }
        Wish::Keys { text, keys } => {
            let params = KeysParams {
                name: Some(name.clone()),
                text: Some(text).filter(|text| !text.is_empty()),
                keys,
                run_id: work.context.run_id,
            };
            ask::<Keys>(ground, &params).await?;
            tokio::time::sleep(KEYS_SETTLE).await;
            captured(ground, name, 0).await
        }
        Wish::Capture { lines } => captured(ground, name, lines).await,
        Wish::List => {
            let all = all(ground).await?;
            Ok(told(&shown::list(&all), &all))
        }
    }
}

/// Refuses a command whose scripts or folder changed since it was approved. There are no mounts
/// around a terminal, so this is right before the line is handed over, and no later.
async fn compare_again(work: &Work, ground: &Ground) -> Result<(), Refused> {
    if work.state.is_none() {
        return Ok(());
    }
    let (call, seen) = (work.clone(), ground.clone());
    let looked = tokio::task::spawn_blocking(move || look(&call, &seen)).await;
    let interrupted = |_| Refused("Looking at it was interrupted.".to_owned());
    check_state(work, &looked.map_err(interrupted)?)
}

async fn captured(ground: &Ground, name: String, lines: u32) -> Result<Executed, Refused> {
    let params = CaptureParams {
        name: Some(name),
        lines: Some(lines),
    };
    let mut screen = ask::<Capture>(ground, &params).await?;
    screen.text = ground.mask().apply_to_screen(&screen.text).into_owned();
    Ok(shown::screen(&screen))
}

/// Whether a call happened: a command is in the terminal's record under the call's key.
async fn probe(work: &Work, ground: &Ground) -> Probed {
    let wish = arguments::<Args>(work).and_then(|args| Ok((args.name().to_owned(), args.wish()?)));
    match wish {
        Ok((name, Wish::Run(_))) => running::probe(work, ground, &name).await,
        Ok((_, Wish::Keys { .. })) => Probed::Unknown {
            known: "The keys may have been typed or not; `hob terminal capture` shows the screen."
                .to_owned(),
        },
        // A look, or something that is refused: nothing can have happened.
        _ => Probed::No,
    }
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;
