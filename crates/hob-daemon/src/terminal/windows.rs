//! Desktop windows on a terminal: opened for the user, and closed by detaching their client.
//!
//! Invariants: only windows that hob opened are closed; closing one ends no process.

use super::TerminalContext;
use super::handle::TerminalHandle;
use super::messages::{self, conflict};
use hob_bus::RequestContext;
use hob_exec::tmux::TmuxConnection;
use hob_exec::windows::{self, Desktop, Window, WindowRequest};
use hob_wire::rooms::terminal::{
    DisplayEnv, TerminalCreateParams, TerminalOpenParams, TerminalOpenResult,
};
use hob_wire::{ErrorCode, WireError};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Time for the tmux client in a new window to attach.
const ATTACH_WAIT: Duration = Duration::from_secs(5);
const ATTACH_POLL: Duration = Duration::from_millis(20);

impl TerminalContext {
    pub(super) async fn open_window(
        self: &Arc<Self>,
        call: RequestContext,
        params: TerminalOpenParams,
    ) -> Result<TerminalOpenResult, WireError> {
        let name = messages::check_name(params.name.as_deref())?;
        let (handle, _) = self
            .find_or_create(name, &TerminalCreateParams::default())
            .await?;
        // One at a time, or two requests at once would each open a window.
        let _guard = self.window_lock.lock().await;
        let folder = self.folder_of(&handle);
        let control = handle.control().await?;
        let open = attached_windows(&control, &folder).await?;
        if !open.is_empty() && !params.another {
            return Ok(TerminalOpenResult {
                name: name.to_owned(),
                opened: false,
                program: self.program_of(&folder, &params),
                windows: count(&open),
            });
        }
        // Audited before it happens, so no window opens without a record.
        let matter = json!({ "terminal": name, "program": params.program });
        self.record_act(&call, "terminal.open", &matter).await?;
        let attach = self.server().await?.attach_argv(name);
        let attach = attach.map_err(|error| conflict(error.to_string()))?;
        let opening = WindowRequest {
            name: name.to_owned(),
            folder: folder.clone(),
            attach,
            desktop: self.desktop(params.display.as_ref()),
            program: params.program.clone(),
            setting: Some(self.settings().text("terminal.window").to_owned()),
        };
        let opened = windows::open(&self.deps.env, opening);
        let opened = self.unless_stopping(opened).await?;
        let (program, window) = opened.map_err(|error| conflict(error.to_string()))?;
        wait_attached(&control, window.pid).await;
        // Best effort: the name is only shown when the window is asked for again.
        let _ = std::fs::write(folder.join(PROGRAM), &program.name);
        Ok(TerminalOpenResult {
            name: name.to_owned(),
            opened: true,
            program: program.name,
            windows: count(&open).saturating_add(1),
        })
    }

    /// Closes the windows that hob opened on a terminal and returns their number.
    pub(super) async fn close_windows(&self, handle: &TerminalHandle) -> Result<u32, WireError> {
        let folder = self.folder_of(handle);
        let control = handle.control().await?;
        let mut closed = 0;
        for window in attached_windows(&control, &folder).await? {
            let detached = control.detach(window.pid).await;
            closed += u32::from(detached.map_err(|error| unavailable(&error))?);
            forget_window(&folder, window.number);
        }
        Ok(closed)
    }

    fn folder_of(&self, handle: &TerminalHandle) -> PathBuf {
        self.deps.home.terminal(&handle.id)
    }

    fn desktop(&self, display: Option<&DisplayEnv>) -> Desktop {
        let Some(display) = display else {
            return Desktop::of(&self.deps.env);
        };
        Desktop {
            x11: display.x11.clone(),
            wayland: display.wayland.clone(),
            authority: display.authority.clone(),
            runtime_dir: display.runtime_dir.clone(),
            bus: display.bus.clone(),
        }
    }

    /// Returns the program of the window that is already open.
    fn program_of(&self, folder: &Path, params: &TerminalOpenParams) -> String {
        let kept = std::fs::read_to_string(folder.join(PROGRAM)).ok();
        kept.unwrap_or_else(|| {
            let desktop = self.desktop(params.display.as_ref());
            let first = windows::detect(&self.deps.env, &desktop).into_iter().next();
            first.map(|program| program.name).unwrap_or_default()
        })
    }
}

/// The file that holds the name of the program of the last window.
const PROGRAM: &str = "window-program";

/// Returns hob's windows that are still attached, and forgets the others.
async fn attached_windows(
    control: &TmuxConnection,
    folder: &Path,
) -> Result<Vec<Window>, WireError> {
    let clients = control
        .clients()
        .await
        .map_err(|error| unavailable(&error))?;
    let mut open = windows::list_opened(folder).unwrap_or_default();
    open.retain(|window| {
        // The client's pid identifies a window: it lives exactly as long as the window is attached.
        let is_there = clients.iter().any(|client| client.pid == window.pid);
        if !is_there {
            forget_window(folder, window.number);
        }
        is_there
    });
    Ok(open)
}

/// Waits until a window's client is attached, at most [`ATTACH_WAIT`].
async fn wait_attached(control: &TmuxConnection, pid: u32) {
    let until = Instant::now() + ATTACH_WAIT;
    while Instant::now() < until {
        match control.clients().await {
            Ok(clients) if clients.iter().any(|client| client.pid == pid) => return,
            Ok(_) => tokio::time::sleep(ATTACH_POLL).await,
            // The window is open in any case; only its attaching cannot be observed.
            Err(_) => return,
        }
    }
}

fn forget_window(folder: &Path, number: u32) {
    if let Err(error) = windows::forget(folder, number) {
        tracing::debug!("the entry of a closed window was not removed: {error}");
    }
}

fn count(windows: &[Window]) -> u32 {
    u32::try_from(windows.len()).unwrap_or(u32::MAX)
}

pub(super) fn unavailable(error: &hob_exec::tmux::TmuxError) -> WireError {
    WireError::new(ErrorCode::ServiceUnavailable, error.to_string())
}
