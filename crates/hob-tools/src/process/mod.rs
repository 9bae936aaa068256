//! `process`: programs that run on in the background, in the same sandbox as `exec`.
//!
//! Invariants: a process belongs to the session that started it, and no other sees it; none outlives
//! the daemon; what is kept of its output is bounded.

mod running;

use crate::commands::{self, COMMAND_CHARS_MAX, Errand, Said};
use crate::outcome::said;
use crate::spot::{Refused, hash};
use crate::{Entry, Ground, Look, Looks, Running, arguments};
use hob_core::permission::{Approved, Work};
use hob_wire::NetworkGrant;
use hob_wire::rooms::tool::{Executed, Probed};
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
pub(crate) use running::Owners;
use serde::Deserialize;
use serde_json::json;

/// Letters written to a process at once.
const TEXT_CHARS_MAX: usize = 64 * 1024;
/// How long a poll may wait for something new.
const WAIT_MS_MAX: u64 = 30_000;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run,
    check: None,
    looks: Some(Looks {
        look,
        probe: |work, _| {
            let probed = probe(&work);
            Box::pin(async { probed })
        },
    }),
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    action: Action,
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
enum Action {
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
        effect: Effect::Probeable,
        needs: vec![
            Need::new(NeedKind::Command, "command"),
            Need::new(NeedKind::Path, "cwd"),
            Need::new(NeedKind::Network, "network"),
            Need::new(NeedKind::Hosts, "hosts"),
        ],
        approval: "Background process: {action}".to_owned(),
        timeout_ms: None,
    }
}

impl Args {
    fn errand(&self, work: &Work, ground: &Ground) -> Result<Errand, Refused> {
        let missing = || Refused("To start something, give the command.".to_owned());
        let said = Said {
            command: self.command.as_deref().ok_or_else(missing)?,
            cwd: self.cwd.as_deref(),
            network: self.network,
            hosts: self.hosts.as_deref(),
        };
        Errand::new(work, said, ground)
    }

    fn id(&self) -> Result<u64, Refused> {
        let missing = || Refused("Say which process: give its id.".to_owned());
        self.id.ok_or_else(missing)
    }
}

fn look(work: &Work, ground: &Ground) -> Look {
    let nothing = Look::failing;
    // It runs, and there is nothing to show of it.
    let plain = |about: &str| Look {
        would_fail: None,
        ..Look::failing(about.to_owned())
    };
    let args: Args = match arguments(work) {
        Ok(args) => args,
        Err(Refused(reason)) => return nothing(reason),
    };
    match args.action {
        Action::Start => {
            let errand = args.errand(work, ground);
            commands::look(errand.as_ref().map_err(Refused::clone), ground)
        }
        // What a session started it may look at and end without asking anybody again.
        Action::Poll | Action::List => plain("It only looks at what this session started."),
        Action::Kill => plain("It only ends what this session started."),
        Action::Write => match seen(work, &args, ground) {
            Ok(command) => Look {
                preview: format!(
                    "write to the process {}\n  {command}\nthis:\n{}",
                    args.id.unwrap_or(0),
                    args.text.as_deref().unwrap_or_default()
                ),
                state: hash(command.as_bytes()),
                would_fail: None,
                asks_always: false,
            },
            Err(Refused(reason)) => nothing(reason),
        },
    }
}

fn seen(work: &Work, args: &Args, ground: &Ground) -> Result<String, Refused> {
    let session = work.context.session_key.as_deref();
    let found = commands::commands(ground)?.find(session, args.id()?)?;
    Ok(found.child.command().to_owned())
}

/// Background processes end with the daemon, so a look after a crash finds none of them.
fn probe(work: &Work) -> Probed {
    let action = arguments::<Args>(work).map(|args| args.action);
    match action {
        Ok(Action::Poll | Action::List | Action::Kill) => Probed::No,
        _ => Probed::Unknown {
            known: "It ended with hob; what it did until then is not known.".to_owned(),
        },
    }
}

fn run(call: Approved<Work>, ground: Ground) -> Running {
    Box::pin(async move {
        let done = act(call.into_call(), &ground).await;
        done.unwrap_or_else(commands::told)
    })
}

async fn act(work: Work, ground: &Ground) -> Result<Executed, Refused> {
    let args: Args = arguments(&work)?;
    let commands = commands::commands(ground)?;
    let session = work.context.session_key.clone();
    let session = session.as_deref();
    match args.action {
        Action::Start => start(work, args, ground).await,
        Action::List => Ok(commands.listed(session)),
        Action::Poll => {
            let wait_ms = args.wait_ms.unwrap_or(0).min(WAIT_MS_MAX);
            commands.poll(session, args.id()?, wait_ms).await
        }
        Action::Kill => commands.kill(session, args.id()?).await,
        Action::Write => {
            let found = commands.find(session, args.id()?)?;
            let text = args.text.as_deref().unwrap_or_default();
            found.write(text, args.close == Some(true)).await?;
            Ok(said("Written."))
        }
    }
}

async fn start(work: Work, args: Args, ground: &Ground) -> Result<Executed, Refused> {
    let seen = ground.clone();
    let session = work.context.session_key.clone();
    let planned = tokio::task::spawn_blocking(move || {
        // What is compared is what runs: the scripts are not read again.
        let errand = args.errand(&work, &seen)?;
        commands::check_state(&work, &commands::look(Ok(&errand), &seen))?;
        Ok(errand)
    });
    let interrupted = |_| Err(Refused("Starting it was interrupted.".to_owned()));
    let errand = planned.await.unwrap_or_else(interrupted)?;
    let mut plan = errand.plan(ground).await?;
    plan.mask = Some(ground.mask().clone());
    let hosts = errand.network().hosts();
    commands::commands(ground)?
        .start(session, plan, hosts)
        .await
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
