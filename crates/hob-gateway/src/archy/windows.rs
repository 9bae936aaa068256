//! Windows of the desktop, and applications started for the person.

use crate::archy::actions::window_program;
use crate::archy::client::{Client, Failure, unless_not_found};
use crate::archy::commands;
use crate::archy::fields::Fields;
use hob_wire::archy::{
    COMMAND_MISSING, Response, SESSION_NOT_FOUND, TERMINAL_NOT_FOUND, TERMINAL_UNKNOWN,
};
use hob_wire::rooms::desktop::{self, DesktopEntry};
use hob_wire::rooms::terminal::{self, CloseParams, OpenParams, Opened, TerminalState};
use hob_wire::{ErrorCode, WireError};
use serde_json::json;

/// Programs that may be asked for by name; anything else would be a way to start any program.
const PROGRAMS: [&str; 8] = [
    "foot",
    "kitty",
    "konsole",
    "gnome-terminal",
    "xfce4-terminal",
    "alacritty",
    "terminator",
    "xterm",
];
/// Sessions of windows that were opened for one command.
const WINDOWS_MAX: u32 = 8;
const NO_WINDOW: &str = "No terminal window of hob's is open on this session";

pub(crate) async fn open_terminal(
    client: &Client<'_>,
    data: Fields<'_>,
) -> Result<Response, Failure> {
    let session = data.session(&client.settings)?;
    match open(client, session, window_program(client)).await {
        Ok(opened) if opened.opened => Ok(Response::said("✓ Terminal opened")),
        Ok(_) => Ok(Response::said("✓ Terminal already open (reattached)")),
        Err(error) => Err(format!("Failed to open terminal: {}", error.message).into()),
    }
}

async fn open(
    client: &Client<'_>,
    session: String,
    program: Option<String>,
) -> Result<Opened, WireError> {
    let params = OpenParams {
        name: Some(session),
        program,
        display: client.display().await,
        another: false,
    };
    client.call::<terminal::Open>(&params).await
}

pub(crate) async fn close_terminal(
    client: &Client<'_>,
    data: Fields<'_>,
) -> Result<Response, Failure> {
    let params = CloseParams {
        name: Some(data.session(&client.settings)?),
        windows_only: true,
    };
    let closed = client.call::<terminal::Close>(&params).await;
    match unless_not_found(closed, SESSION_NOT_FOUND)? {
        Ok(closed) if closed.windows > 0 => Ok(Response::said("✓ Terminal window closed")),
        Ok(_) => Ok(Response::failed(NO_WINDOW)),
        Err(absent) => Ok(absent),
    }
}

/// Whether somebody sees the session; which program shows it makes no difference.
pub(crate) async fn is_foot_running(
    client: &Client<'_>,
    data: Fields<'_>,
) -> Result<Response, Failure> {
    let session = data.session(&client.settings)?;
    let found = client.find(&session).await?;
    Ok(known(found.is_some_and(|it| it.attached > 0)))
}

fn known(exists: bool) -> Response {
    Response {
        success: true,
        exists: Some(exists),
        ..Response::default()
    }
}

pub(crate) async fn detect_terminal(client: &Client<'_>) -> Result<Response, Failure> {
    let Some(terminal) = first_terminal(client).await? else {
        return Ok(Response::failed(TERMINAL_NOT_FOUND).with_exists(false));
    };
    let before = match terminal.as_str() {
        "gnome-terminal" => "--",
        _ => "-e",
    };
    let told = json!({ "terminal": terminal, "args": [before, "bash", "-c"] });
    Ok(Response::said(told.to_string()).with_exists(true))
}

/// The program a person chose, or the first one there is.
async fn first_terminal(client: &Client<'_>) -> Result<Option<String>, Failure> {
    if let Some(chosen) = window_program(client) {
        return Ok(Some(chosen));
    }
    let params = desktop::SystemParams::default();
    let system = client.call::<desktop::System>(&params).await?;
    Ok(system.terminals.into_iter().next())
}

/// A command in a window of its own, which is a session of its own. The window comes first: where
/// none can be shown nothing is run.
pub(crate) async fn launch_fallback(
    client: &Client<'_>,
    data: Fields<'_>,
) -> Result<Response, Failure> {
    let command = data.command(COMMAND_MISSING)?;
    let named = data.text("terminal")?.map(str::to_owned);
    if named.as_deref().is_some_and(|it| !PROGRAMS.contains(&it)) {
        return Ok(Response::failed(TERMINAL_UNKNOWN));
    }
    let program = named.or_else(|| window_program(client));
    let session = free_window(client).await?;
    let opened = open(client, session.clone(), program).await;
    let opened = opened.map_err(|error| format!("Failed to launch terminal: {}", error.message))?;
    commands::typed(client, session, vec![command.to_owned()]).await?;
    let program = opened.program;
    Ok(Response::said(format!(
        "✓ Command launched in new {program} terminal"
    )))
}

/// A session for a window: one that is not there, or has nothing to do.
async fn free_window(client: &Client<'_>) -> Result<String, Failure> {
    let all = terminal::ListParams::default();
    let listed = client.call::<terminal::List>(&all).await?;
    let is_free = |name: &String| {
        let mut named = listed.terminals.iter().filter(|it| it.name == *name);
        named.all(|it| match it.state {
            TerminalState::Lost | TerminalState::Closed => true,
            TerminalState::Idle => it.queued == 0,
            TerminalState::Starting | TerminalState::Busy => false,
        })
    };
    let mut names = (1..=WINDOWS_MAX).map(|number| format!("archy_window_{number}"));
    let free = names.find(is_free);
    free.ok_or_else(|| format!("{WINDOWS_MAX} windows have a command running; close one.").into())
}

pub(crate) async fn find_entry(client: &Client<'_>, data: Fields<'_>) -> Result<Response, Failure> {
    let name = data.need_name("app_name")?;
    Ok(match find(client, name).await? {
        Some(entry) => Response::said(entry.id).with_exists(true),
        None => Response {
            success: true,
            output: None,
            error: Some(format!("Desktop entry '{name}' not found")),
            exists: Some(false),
        },
    })
}

async fn find(client: &Client<'_>, name: &str) -> Result<Option<DesktopEntry>, WireError> {
    let name = name.to_owned();
    let params = desktop::FindParams { name };
    Ok(client.call::<desktop::Find>(&params).await?.entry)
}

pub(crate) async fn launch_app(client: &Client<'_>, data: Fields<'_>) -> Result<Response, Failure> {
    let entry = data.need_name("desktop_entry")?;
    launch(client, entry).await
}

async fn launch(client: &Client<'_>, entry: &str) -> Result<Response, Failure> {
    let params = desktop::LaunchParams {
        entry: entry.to_owned(),
        display: client.display().await,
    };
    match client.call::<desktop::Launch>(&params).await {
        Ok(_) => Ok(Response::said(format!("✓ GUI app '{entry}' launched"))),
        Err(error) if error.code == ErrorCode::NotFound => Ok(Response::failed(format!(
            "Failed to launch GUI app '{entry}' - not found or not accessible"
        ))),
        Err(error) => {
            let why = error.message;
            Err(format!("Failed to launch GUI app '{entry}': {why}").into())
        }
    }
}

/// An application by its bare name is started on the desktop; anything else is typed into the
/// session, and a window opened on it where nobody sees it yet.
pub(crate) async fn execute_smart(
    client: &Client<'_>,
    data: Fields<'_>,
) -> Result<Response, Failure> {
    let command = data.command(COMMAND_MISSING)?;
    let session = data.session(&client.settings)?;
    if let Some(entry) = application(client, command.trim()).await? {
        return launch(client, &entry.id).await;
    }
    commands::typed(client, session.clone(), vec![command.to_owned()]).await?;
    let found = client.find(&session).await?;
    let is_seen = found.is_some_and(|it| it.attached > 0);
    // Where there is no desktop the command has still been sent.
    let opened = !is_seen
        && open(client, session, window_program(client))
            .await
            .is_ok_and(|opened| opened.opened);
    let what = if opened {
        "Terminal reopened and command sent"
    } else {
        "Command sent to persistent terminal session"
    };
    Ok(Response::said(format!("✓ {what}: {command}")))
}

/// The application that a command is the name of, and nothing more: its arguments would be lost.
async fn application(
    client: &Client<'_>,
    command: &str,
) -> Result<Option<DesktopEntry>, WireError> {
    let is_bare = |letter: char| letter.is_alphanumeric() || "._+-".contains(letter);
    if !command.chars().all(is_bare) {
        return Ok(None);
    }
    let found = match find(client, command).await {
        // A machine without a desktop has no applications, and a terminal all the same.
        Err(error) if error.code != ErrorCode::Unauthorized => None,
        found => found?,
    };
    let is_named = |entry: &DesktopEntry| {
        let program = entry.exec.split_ascii_whitespace().next();
        let program = program.and_then(|path| path.rsplit('/').next());
        let names = [Some(entry.id.as_str()), Some(entry.name.as_str()), program];
        let mut names = names.into_iter().flatten();
        names.any(|name| name.eq_ignore_ascii_case(command))
    };
    Ok(found.filter(|entry| !entry.terminal && is_named(entry)))
}
