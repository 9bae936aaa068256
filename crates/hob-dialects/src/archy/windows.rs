//! Opens terminal windows and starts desktop applications.

use crate::archy::client::{ArchyClient, ArchyFailure, unless_not_found};
use crate::archy::commands;
use crate::archy::fields::ArchyFields;
use crate::archy::settings;
use crate::archy::types::{
    ArchyResponse, COMMAND_MISSING, SESSION_NOT_FOUND, TERMINAL_NOT_FOUND, TERMINAL_UNKNOWN,
};
use hob_wire::rooms::desktop::{self, DesktopEntry};
use hob_wire::rooms::terminal::{
    self, TerminalCloseParams, TerminalOpenParams, TerminalOpenResult, TerminalState,
};
use hob_wire::{ErrorCode, WireError};
use serde_json::json;

/// Terminal programs that a client may name. Without this list it could start any program.
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
/// Maximum sessions for windows of single commands.
const WINDOWS_MAX: u32 = 8;
const NO_WINDOW: &str = "No terminal window of hob's is open on this session";

pub(crate) async fn open_terminal(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let session = data.session(&client.settings)?;
    match open_window(client, session, settings::terminal(&client.settings)).await {
        Ok(opened) if opened.opened => Ok(ArchyResponse::success_with("✓ Terminal opened")),
        Ok(_) => Ok(ArchyResponse::success_with(
            "✓ Terminal already open (reattached)",
        )),
        Err(error) => Err(format!("Failed to open terminal: {}", error.message).into()),
    }
}

async fn open_window(
    client: &ArchyClient<'_>,
    session: String,
    program: Option<String>,
) -> Result<TerminalOpenResult, WireError> {
    let params = TerminalOpenParams {
        name: Some(session),
        program,
        display: client.display().await,
        another: false,
    };
    client.call::<terminal::Open>(&params).await
}

pub(crate) async fn close_terminal(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let params = TerminalCloseParams {
        name: Some(data.session(&client.settings)?),
        windows_only: true,
    };
    let closed = client.call::<terminal::Close>(&params).await;
    match unless_not_found(closed, SESSION_NOT_FOUND)? {
        Ok(closed) if closed.windows > 0 => {
            Ok(ArchyResponse::success_with("✓ Terminal window closed"))
        }
        Ok(_) => Ok(ArchyResponse::failed(NO_WINDOW)),
        Err(absent) => Ok(absent),
    }
}

/// `is_foot_running`: tells if the session is visible, in whatever program.
pub(crate) async fn is_foot_running(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let session = data.session(&client.settings)?;
    let found = client.find_terminal(&session).await?;
    Ok(exists_response(found.is_some_and(|it| it.attached > 0)))
}

fn exists_response(exists: bool) -> ArchyResponse {
    ArchyResponse {
        success: true,
        exists: Some(exists),
        ..ArchyResponse::default()
    }
}

pub(crate) async fn detect_terminal(
    client: &ArchyClient<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let Some(terminal) = first_terminal(client).await? else {
        return Ok(ArchyResponse::failed(TERMINAL_NOT_FOUND).with_exists(false));
    };
    let before = match terminal.as_str() {
        // gnome-terminal takes a command with arguments only after `--`.
        "gnome-terminal" => "--",
        _ => "-e",
    };
    let found_terminal = json!({ "terminal": terminal, "args": [before, "bash", "-c"] });
    Ok(ArchyResponse::success_with(found_terminal.to_string()).with_exists(true))
}

/// Returns the chosen terminal program, or the first installed one.
async fn first_terminal(client: &ArchyClient<'_>) -> Result<Option<String>, ArchyFailure> {
    if let Some(chosen) = settings::terminal(&client.settings) {
        return Ok(Some(chosen));
    }
    let params = desktop::DesktopSystemParams::default();
    let system = client.call::<desktop::System>(&params).await?;
    Ok(system.terminals.into_iter().next())
}

/// Runs a command in a new window with its own session. The window is opened first, so that nothing
/// runs unseen.
pub(crate) async fn launch_fallback(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let command = data.command(COMMAND_MISSING)?;
    let named = data.text("terminal")?.map(str::to_owned);
    if named.as_deref().is_some_and(|it| !PROGRAMS.contains(&it)) {
        return Ok(ArchyResponse::failed(TERMINAL_UNKNOWN));
    }
    let program = named.or_else(|| settings::terminal(&client.settings));
    let session = free_window(client).await?;
    let opened = open_window(client, session.clone(), program).await;
    let opened = opened.map_err(|error| format!("Failed to launch terminal: {}", error.message))?;
    commands::enqueue(client, session, vec![command.to_owned()]).await?;
    let program = opened.program;
    Ok(ArchyResponse::success_with(format!(
        "✓ Command launched in new {program} terminal"
    )))
}

/// Returns the name of a window session that does not exist or is idle.
async fn free_window(client: &ArchyClient<'_>) -> Result<String, ArchyFailure> {
    let all = terminal::TerminalListParams::default();
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

pub(crate) async fn find_entry(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let name = data.require_name("app_name")?;
    Ok(match find_desktop_entry(client, name).await? {
        Some(entry) => ArchyResponse::success_with(entry.id).with_exists(true),
        None => ArchyResponse {
            success: true,
            output: None,
            error: Some(format!("Desktop entry '{name}' not found")),
            exists: Some(false),
        },
    })
}

async fn find_desktop_entry(
    client: &ArchyClient<'_>,
    name: &str,
) -> Result<Option<DesktopEntry>, WireError> {
    let name = name.to_owned();
    let params = desktop::DesktopFindParams { name };
    Ok(client.call::<desktop::Find>(&params).await?.entry)
}

pub(crate) async fn launch_app(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let entry = data.require_name("desktop_entry")?;
    launch_entry(client, entry).await
}

async fn launch_entry(
    client: &ArchyClient<'_>,
    entry: &str,
) -> Result<ArchyResponse, ArchyFailure> {
    let params = desktop::DesktopLaunchParams {
        entry: entry.to_owned(),
        display: client.display().await,
    };
    match client.call::<desktop::Launch>(&params).await {
        Ok(_) => Ok(ArchyResponse::success_with(format!(
            "✓ GUI app '{entry}' launched"
        ))),
        Err(error) if error.code == ErrorCode::NotFound => Ok(ArchyResponse::failed(format!(
            "Failed to launch GUI app '{entry}' - not found or not accessible"
        ))),
        Err(error) => {
            let why = error.message;
            Err(format!("Failed to launch GUI app '{entry}': {why}").into())
        }
    }
}

/// Starts an application if the command is its bare name. Anything else runs in the session, and a
/// window opens if none shows it.
pub(crate) async fn execute_smart(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let command = data.command(COMMAND_MISSING)?;
    let session = data.session(&client.settings)?;
    if let Some(entry) = application(client, command.trim()).await? {
        return launch_entry(client, &entry.id).await;
    }
    commands::enqueue(client, session.clone(), vec![command.to_owned()]).await?;
    let found = client.find_terminal(&session).await?;
    let is_seen = found.is_some_and(|it| it.attached > 0);
    // Without a desktop no window opens, but the command was still sent.
    let opened = !is_seen
        && open_window(client, session, settings::terminal(&client.settings))
            .await
            .is_ok_and(|opened| opened.opened);
    let what = if opened {
        "Terminal reopened and command sent"
    } else {
        "Command sent to persistent terminal session"
    };
    Ok(ArchyResponse::success_with(format!("✓ {what}: {command}")))
}

/// Returns the application that a command names. A command with arguments is none, because they
/// would be lost.
async fn application(
    client: &ArchyClient<'_>,
    command: &str,
) -> Result<Option<DesktopEntry>, WireError> {
    let is_bare = |letter: char| letter.is_alphanumeric() || "._+-".contains(letter);
    if !command.chars().all(is_bare) {
        return Ok(None);
    }
    let found = match find_desktop_entry(client, command).await {
        // A machine without a desktop has no applications; the command then runs in the terminal.
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
