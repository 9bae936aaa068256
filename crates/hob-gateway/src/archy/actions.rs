//! Which action is what. The small ones are here; the others name where they are.

use crate::archy::client::{Client, Failure, unless_not_found};
use crate::archy::fields::Fields;
use crate::archy::{added, batch, commands, offered, prompt, waiting, windows};
use crate::settings;
use hob_wire::archy::{
    Answer, COMMAND_MISSING, DIRECTORY_NOT_FOUND, Request, Response, SESSION_NOT_FOUND,
};
use hob_wire::rooms::terminal;
use hob_wire::rooms::{desktop, desktop::SystemInfo};

/// Does what a request asks for.
pub(crate) async fn answer(client: &Client<'_>, request: Request) -> Result<Answer, Failure> {
    tracing::debug!(action = request.action, "asked by a client of Archy's");
    let data = Fields(&request.data);
    let response = match request.action.as_str() {
        "execute" => commands::execute(client, data).await?,
        "execute_smart" => windows::execute_smart(client, data).await?,
        "execute_analyzed" => return commands::execute_analyzed(client, data).await,
        "execute_and_wait" => return commands::execute_and_wait(client, data).await,
        "batch_execute" => return batch::execute(client, data).await,
        "capture" => commands::capture(client, data).await?,
        "capture_analyzed" => return commands::capture_analyzed(client, data).await,
        "wait_for_prompt" => waiting::wait_for_prompt(client, data).await?,
        "check_session" => check_session(client, data).await?,
        "close_session" => close_session(client, data).await?,
        "extract_directory" => extract_directory(client, data).await?,
        "check_command" => check_command(client, data).await?,
        "get_system_info" => get_system_info(client).await?,
        "open_terminal" => windows::open_terminal(client, data).await?,
        "close_terminal" => windows::close_terminal(client, data).await?,
        "is_foot_running" => windows::is_foot_running(client, data).await?,
        "detect_terminal" => windows::detect_terminal(client).await?,
        "launch_fallback_terminal" => windows::launch_fallback(client, data).await?,
        "find_desktop_entry" => windows::find_entry(client, data).await?,
        "launch_gui_app" => windows::launch_app(client, data).await?,
        "send_keys" => added::send_keys(client, data).await?,
        "cancel" => added::cancel(client, data).await?,
        "list_sessions" => added::list_sessions(client).await?,
        _ => return offered::answer(client, &request).await,
    };
    Ok(response.into())
}

async fn check_session(client: &Client<'_>, data: Fields<'_>) -> Result<Response, Failure> {
    let session = data.session(&client.settings)?;
    let exists = client.find(&session).await?.is_some();
    Ok(Response {
        success: exists,
        exists: Some(exists),
        ..Response::default()
    })
}

async fn close_session(client: &Client<'_>, data: Fields<'_>) -> Result<Response, Failure> {
    let params = terminal::CloseParams {
        name: Some(data.session(&client.settings)?),
        windows_only: false,
    };
    let closed = client.call::<terminal::Close>(&params).await;
    match unless_not_found(closed, SESSION_NOT_FOUND)? {
        Ok(closed) if closed.terminal => Ok(Response::said("✓ Session closed")),
        Ok(_) => Ok(Response::failed(SESSION_NOT_FOUND)),
        Err(absent) => Ok(absent),
    }
}

/// The folder a prompt shows; without a text, the one the session's shell is in.
async fn extract_directory(client: &Client<'_>, data: Fields<'_>) -> Result<Response, Failure> {
    let folder = match data.text("terminal_output")? {
        Some(text) => prompt::folder(text),
        None if data.text("session")?.is_none() => {
            return Ok(Response::failed("Missing terminal_output parameter"));
        }
        None => {
            let session = data.session(&client.settings)?;
            let found = client.find(&session).await?;
            found.ok_or(SESSION_NOT_FOUND)?.folder
        }
    };
    Ok(folder.map_or_else(|| Response::failed(DIRECTORY_NOT_FOUND), Response::said))
}

async fn check_command(client: &Client<'_>, data: Fields<'_>) -> Result<Response, Failure> {
    let program = data.command(COMMAND_MISSING)?.to_owned();
    let params = desktop::ProgramParams { program };
    let found = client.call::<desktop::Program>(&params).await?;
    Ok(Response {
        success: true,
        output: found.path,
        exists: Some(found.found),
        error: None,
    })
}

async fn get_system_info(client: &Client<'_>) -> Result<Response, Failure> {
    let params = desktop::SystemParams::default();
    let system = client.call::<desktop::System>(&params).await?;
    Ok(Response::said(described(&system)))
}

fn described(system: &SystemInfo) -> String {
    const GIB: f64 = 1_073_741_824.0;
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / GIB);
    let (hours, minutes) = (
        system.uptime_seconds / 3_600,
        system.uptime_seconds / 60 % 60,
    );
    let [one, five, fifteen] = system.load;
    format!(
        "System: Linux {} {} {}\nOS: {}\nUser: {} ({})\nProcessors: {}, load {one:.2} {five:.2} {fifteen:.2}\nMemory: {} of {} available\nUptime: {hours} h {minutes} min",
        system.hostname,
        system.kernel,
        system.architecture,
        system.os,
        system.user,
        system.shell,
        system.processors,
        gib(system.memory_available_bytes),
        gib(system.memory_bytes),
    )
}

/// The program for windows that a person chose for Archy's clients.
pub(crate) fn window_program(client: &Client<'_>) -> Option<String> {
    settings::archy_terminal(&client.settings).map(str::to_owned)
}
