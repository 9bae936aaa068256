//! Dispatches a request to its action. The small actions are here.

use crate::archy::client::{ArchyClient, ArchyFailure, unless_not_found};
use crate::archy::fields::ArchyFields;
use crate::archy::types::{
    ArchyAnswer, ArchyRequest, ArchyResponse, COMMAND_MISSING, DIRECTORY_NOT_FOUND,
    SESSION_NOT_FOUND,
};
use crate::archy::{
    batch, commands, extra_actions, prompt_folder, service_actions, waiting, windows,
};
use hob_wire::ErrorCode;
use hob_wire::rooms::terminal;
use hob_wire::rooms::{desktop, desktop::SystemInfo};

/// Runs the action of a request.
pub(crate) async fn run_action(
    client: &ArchyClient<'_>,
    request: ArchyRequest,
) -> Result<ArchyAnswer, ArchyFailure> {
    tracing::debug!(action = request.action, "request of an Archy client");
    let data = ArchyFields(&request.data);
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
        "send_keys" => extra_actions::send_keys(client, data).await?,
        "cancel" => extra_actions::cancel(client, data).await?,
        "list_sessions" => extra_actions::list_sessions(client).await?,
        _ => return service_actions::call_service(client, &request).await,
    };
    Ok(response.into())
}

async fn check_session(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let session = data.session(&client.settings)?;
    let exists = client.find_terminal(&session).await?.is_some();
    Ok(ArchyResponse {
        success: exists,
        exists: Some(exists),
        ..ArchyResponse::default()
    })
}

async fn close_session(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let params = terminal::TerminalCloseParams {
        name: Some(data.session(&client.settings)?),
        windows_only: false,
    };
    let closed = client.call::<terminal::Close>(&params).await;
    match unless_not_found(closed, SESSION_NOT_FOUND)? {
        Ok(closed) if closed.terminal => Ok(ArchyResponse::success_with("✓ Session closed")),
        Ok(_) => Ok(ArchyResponse::failed(SESSION_NOT_FOUND)),
        Err(absent) => Ok(absent),
    }
}

/// Returns the folder in a prompt; without a text, the current folder of the session's shell.
async fn extract_directory(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let folder = match data.text("terminal_output")? {
        Some(text) => prompt_folder::prompt_folder(text),
        None if data.text("session")?.is_none() => {
            return Ok(ArchyResponse::failed("Missing terminal_output parameter"));
        }
        None => {
            let session = data.session(&client.settings)?;
            let found = client.find_terminal(&session).await?;
            found.ok_or(SESSION_NOT_FOUND)?.folder
        }
    };
    Ok(folder.map_or_else(
        || ArchyResponse::failed(DIRECTORY_NOT_FOUND),
        ArchyResponse::success_with,
    ))
}

async fn check_command(
    client: &ArchyClient<'_>,
    data: ArchyFields<'_>,
) -> Result<ArchyResponse, ArchyFailure> {
    let program = data.require_text("command", COMMAND_MISSING)?.to_owned();
    let params = desktop::DesktopProgramParams { program };
    let found = match client.call::<desktop::Program>(&params).await {
        // A name that no program can have: the answer to the question is no.
        Err(error) if error.code == ErrorCode::InvalidParams => None,
        found => Some(found?),
    };
    Ok(ArchyResponse {
        // Archy reports a missing program by `exists`, not as a failure.
        success: true,
        exists: Some(found.as_ref().is_some_and(|found| found.found)),
        output: found.and_then(|found| found.path),
        error: None,
    })
}

async fn get_system_info(client: &ArchyClient<'_>) -> Result<ArchyResponse, ArchyFailure> {
    let params = desktop::DesktopSystemParams::default();
    let system = client.call::<desktop::System>(&params).await?;
    Ok(ArchyResponse::success_with(system_text(&system)))
}

fn system_text(system: &SystemInfo) -> String {
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
