//! Windows of the desktop on a terminal: opened for the person, and closed by detaching.
//!
//! Invariants: only windows that hob opened are closed; no process is ended for it.

use super::Shared;
use super::handle::Handle;
use super::words::{self, conflict};
use hob_bus::Call;
use hob_exec::tmux::Control;
use hob_exec::windows::{self, Desktop, Opening, Window};
use hob_wire::rooms::terminal::{CreateParams, Display, OpenParams, Opened};
use hob_wire::{ErrorCode, WireError};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a window that came up may take to be attached.
const ATTACH_WAIT: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Shared {
    pub(super) async fn open_window(
        self: &Arc<Self>,
        call: Call,
        params: OpenParams,
    ) -> Result<Opened, WireError> {
        let name = words::name(params.name.as_deref())?;
        let (handle, _) = self.want(name, &CreateParams::default()).await?;
        // One after the other, or two who ask at once would each open one.
        let _turn = self.opening.lock().await;
        let folder = self.folder_of(&handle);
        let control = handle.control().await?;
        let open = open_now(&control, &folder).await?;
        if !open.is_empty() && !params.another {
            return Ok(Opened {
                name: name.to_owned(),
                opened: false,
                program: self.program_of(&folder, &params),
                windows: count(&open),
            });
        }
        let matter = json!({ "terminal": name, "program": params.program });
        self.record(&call, "terminal.open", &matter).await?;
        let attach = self.server().await?.attach_argv(name);
        let attach = attach.map_err(|error| conflict(error.to_string()))?;
        let opening = Opening {
            name: name.to_owned(),
            folder: folder.clone(),
            attach,
            desktop: self.desktop(params.display.as_ref()),
            program: params.program.clone(),
            setting: Some(self.settings().text("terminal.window").to_owned()),
        };
        let opened = windows::open(&self.parts.env, opening);
        let opened = self.unless_leaving(opened).await?;
        let (program, window) = opened.map_err(|error| conflict(error.to_string()))?;
        attached(&control, window.pid).await;
        // Only so that it can be told again.
        let _ = std::fs::write(folder.join(PROGRAM), &program.name);
        Ok(Opened {
            name: name.to_owned(),
            opened: true,
            program: program.name,
            windows: count(&open).saturating_add(1),
        })
    }

    /// Closes the windows hob opened on a terminal; says how many there were.
    pub(super) async fn close_windows(&self, handle: &Handle) -> Result<u32, WireError> {
        let folder = self.folder_of(handle);
        let control = handle.control().await?;
        let mut closed = 0;
        for window in open_now(&control, &folder).await? {
            let detached = control.detach(window.pid).await;
            closed += u32::from(detached.map_err(|error| unavailable(&error))?);
            forget(&folder, window.number);
        }
        Ok(closed)
    }

    fn folder_of(&self, handle: &Handle) -> PathBuf {
        self.parts.home.terminal(&handle.id)
    }

    fn desktop(&self, display: Option<&Display>) -> Desktop {
        let Some(display) = display else {
            return Desktop::of(&self.parts.env);
        };
        Desktop {
            x11: display.x11.clone(),
            wayland: display.wayland.clone(),
            authority: display.authority.clone(),
            runtime_dir: display.runtime_dir.clone(),
            bus: display.bus.clone(),
        }
    }

    /// The program of the window that is open already.
    fn program_of(&self, folder: &Path, params: &OpenParams) -> String {
        let kept = std::fs::read_to_string(folder.join(PROGRAM)).ok();
        kept.unwrap_or_else(|| {
            let desktop = self.desktop(params.display.as_ref());
            let first = windows::detect(&self.parts.env, &desktop)
                .into_iter()
                .next();
            first.map(|program| program.name).unwrap_or_default()
        })
    }
}

/// The file with the name of the program that showed the last window.
const PROGRAM: &str = "window-program";

/// The windows of hob's that are still attached; others are forgotten.
async fn open_now(control: &Control, folder: &Path) -> Result<Vec<Window>, WireError> {
    let clients = control
        .clients()
        .await
        .map_err(|error| unavailable(&error))?;
    let mut open = windows::opened(folder).unwrap_or_default();
    open.retain(|window| {
        let is_there = clients.iter().any(|client| client.pid == window.pid);
        if !is_there {
            forget(folder, window.number);
        }
        is_there
    });
    Ok(open)
}

/// Waits until a window's client is attached, for a moment.
async fn attached(control: &Control, pid: u32) {
    let until = Instant::now() + ATTACH_WAIT;
    while Instant::now() < until {
        match control.clients().await {
            Ok(clients) if clients.iter().any(|client| client.pid == pid) => return,
            Ok(_) => tokio::time::sleep(LOOK_AGAIN).await,
            Err(_) => return,
        }
    }
}

fn forget(folder: &Path, number: u32) {
    if let Err(error) = windows::forget(folder, number) {
        tracing::debug!("a window was not forgotten: {error}");
    }
}

fn count(windows: &[Window]) -> u32 {
    u32::try_from(windows.len()).unwrap_or(u32::MAX)
}

pub(super) fn unavailable(error: &hob_exec::tmux::TmuxError) -> WireError {
    WireError::new(ErrorCode::ServiceUnavailable, error.to_string())
}
