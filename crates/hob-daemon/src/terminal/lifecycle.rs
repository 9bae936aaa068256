//! Which terminals there are: making them, and finding them again after a start.
//!
//! Invariant: a name has one terminal that is alive, in the record and in tmux.

use super::Shared;
use super::handle::Handle;
use super::link;
use super::owner::{Beginning, Owner};
use super::settings;
use super::words::{conflict, invalid, stopping};
use hob_exec::tmux::shells::{self, KEY_DIGITS};
use hob_exec::tmux::{New, Server, ServerParts, Session, Tmux, TmuxError};
use hob_store::{NewTerminal, TerminalRow, TerminalWrite};
use hob_wire::limits::TERMINALS_MAX;
use hob_wire::rooms::terminal::{CreateParams, Terminal, TerminalState};
use hob_wire::{ErrorCode, WireError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Shared {
    /// The tmux server, whether it runs or not. Without tmux there is a sentence.
    pub(super) async fn server(&self) -> Result<Server, WireError> {
        let mut known = self.server.lock().await;
        if let Some(server) = &*known {
            return Ok(server.clone());
        }
        let parts = &self.parts;
        let settings = self.settings();
        let tmux = Tmux::find(&parts.env, Some(settings.text("terminal.tmux"))).await;
        let tmux = tmux.map_err(|missing| conflict(missing.to_string()))?;
        let lines = settings.u64("terminal.history_lines");
        let server = Server::new(ServerParts {
            tmux,
            socket: parts.home.tmux_socket(),
            spawner: parts.spawner.clone(),
            recorder: parts.recorder.clone(),
            env: parts.env.clone(),
            history_lines: u32::try_from(lines).unwrap_or(u32::MAX),
        });
        Ok(known.insert(server).clone())
    }

    /// A terminal that is alive.
    pub(super) async fn find(&self, name: &str) -> Result<Option<Handle>, WireError> {
        let mut is_open = self.is_open.subscribe();
        tokio::select! {
            // The sender lives as long as this room.
            _ = is_open.wait_for(|is_open| *is_open) => {}
            () = self.leaving.cancelled() => return Err(stopping()),
        }
        loop {
            let found = self.roll().get(name).cloned();
            match found {
                // Its name is free in a moment.
                Some(handle) if handle.is_over() => {
                    self.unless_leaving(handle.forgotten()).await?;
                }
                found => return Ok(found),
            }
        }
    }

    /// The terminal of a name, made if it is not there; says whether it was.
    pub(super) async fn want(
        self: &Arc<Self>,
        name: &str,
        params: &CreateParams,
    ) -> Result<(Handle, bool), WireError> {
        if let Some(handle) = self.find(name).await? {
            return Ok((handle, false));
        }
        let _turn = self.making.lock().await;
        if self.are_left.load(Ordering::Relaxed) {
            self.find_again().await;
        }
        if let Some(handle) = self.find(name).await? {
            return Ok((handle, false));
        }
        let handle = self.make(name, params).await?;
        Ok((handle, true))
    }

    async fn make(
        self: &Arc<Self>,
        name: &str,
        params: &CreateParams,
    ) -> Result<Handle, WireError> {
        let server = self.server().await?;
        let (parts, settings) = (&self.parts, self.settings());
        let wanted = params.shell.as_deref();
        let shell = settings::shell(&settings, &parts.env, wanted).map_err(invalid)?;
        let (columns, rows) = settings::size(&settings, params).map_err(invalid)?;
        let dir = self.folder(params.folder.as_deref())?;
        let new = NewTerminal {
            id: parts.dice.uuid(parts.clock.wall_ms()).to_string(),
            key: parts.dice.hex(KEY_DIGITS / 2),
            name: name.to_owned(),
            shell: shell.display().to_string(),
            folder: None,
            columns,
            rows,
            live_max: TERMINALS_MAX,
        };
        let folder = parts.home.terminal(&new.id);
        make_folder(&folder).map_err(|error| failed(&folder, &error))?;
        let row = parts.store.add_terminal(new).await?;
        let made = server.create(New {
            name: name.to_owned(),
            folder: folder.clone(),
            shell,
            key: row.key.clone(),
            dir,
            columns,
            rows,
            env: Vec::new(),
        });
        let linked = match made.await {
            Ok(_) => link::connect(&server, name).await,
            Err(error) => Err(error),
        };
        match linked {
            Ok(link) => {
                let beginning = Beginning {
                    row,
                    link: Some(link),
                    commands: Vec::new(),
                    gone: None,
                };
                tracing::info!(terminal = name, "a terminal was made");
                self.own(beginning)
            }
            Err(error) => {
                let message = match error {
                    TmuxError::Gone(_) | TmuxError::NoSession(_) => format!(
                        "The shell '{}' ended at once. Choose another with the setting terminal.shell.",
                        row.shell
                    ),
                    other => other.to_string(),
                };
                self.write_off(&row, &message).await;
                let removed = remove_folder(&folder);
                if let Err(error) = removed {
                    tracing::debug!(terminal = name, "its folder was not removed: {error}");
                }
                Err(WireError::new(ErrorCode::ServiceUnavailable, message))
            }
        }
    }

    /// The folder a shell starts in.
    fn folder(&self, wanted: Option<&str>) -> Result<PathBuf, WireError> {
        let home = self.parts.env.os("HOME").map(PathBuf::from);
        let folder = match wanted {
            Some(folder) => PathBuf::from(folder),
            None => home.unwrap_or_else(|| PathBuf::from("/")),
        };
        if folder.is_absolute() && folder.is_dir() {
            return Ok(folder);
        }
        if wanted.is_none() {
            return Ok(PathBuf::from("/"));
        }
        let message = format!(
            "'{}' is not an absolute path of a folder.",
            folder.display()
        );
        Err(invalid(message))
    }

    fn own(self: &Arc<Self>, beginning: Beginning) -> Result<Handle, WireError> {
        let name = beginning.row.name.clone();
        let folder = self.parts.home.terminal(&beginning.row.id);
        let handle = Owner::begin(self, beginning).map_err(|error| failed(&folder, &error))?;
        self.roll().insert(name, handle.clone());
        Ok(handle)
    }

    /// A terminal is over; another one may have its name already.
    pub(super) fn forget(&self, name: &str, row_id: i64) {
        let mut roll = self.roll();
        if roll.get(name).is_some_and(|handle| handle.row_id == row_id) {
            roll.remove(name);
        }
    }

    /// Finds the terminals of a former daemon again, or lives through the last of them.
    pub(super) async fn find_again(self: &Arc<Self>) {
        let rows = match self.parts.store.live_terminals().await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!("the terminals could not be read: {error}");
                return;
            }
        };
        self.sweep(&rows).await;
        if rows.is_empty() {
            return;
        }
        let sessions = match self.server().await {
            Ok(server) => server.sessions().await.map_err(|error| error.to_string()),
            Err(error) => Err(error.message),
        };
        let sessions = match sessions {
            Ok(sessions) => sessions,
            // They may well live: who cannot ask does not know.
            Err(why) => {
                tracing::warn!("the terminals of before are left as they are: {why}");
                self.are_left.store(true, Ordering::Relaxed);
                return;
            }
        };
        self.are_left.store(false, Ordering::Relaxed);
        for row in rows {
            if self.roll().contains_key(&row.name) {
                continue;
            }
            if let Err(error) = self.take_up(&row, &sessions).await {
                tracing::warn!(terminal = row.name, "not found again: {}", error.message);
                self.write_off(&row, &error.message).await;
            }
        }
    }

    async fn take_up(
        self: &Arc<Self>,
        row: &TerminalRow,
        sessions: &[Session],
    ) -> Result<(), WireError> {
        let folder = self.parts.home.terminal(&row.id);
        let mut link = None;
        if sessions.iter().any(|session| session.folder == folder) {
            link = link::again(self, &row.name, &folder).await;
        }
        let said = "it was gone when hob came back: its shell ended, or tmux was killed";
        let gone = link.is_none().then(|| said.to_owned());
        let commands = self.parts.store.live_commands(row.row_id).await?;
        tracing::info!(
            terminal = row.name,
            found = link.is_some(),
            commands = commands.len(),
            "a terminal of a former daemon"
        );
        self.own(Beginning {
            row: row.clone(),
            link,
            commands,
            gone,
        })?;
        Ok(())
    }

    /// Notes that a terminal which has no owner is over.
    async fn write_off(&self, row: &TerminalRow, why: &str) {
        let status = Terminal {
            name: row.name.clone(),
            state: TerminalState::Lost,
            detail: Some(why.to_owned()),
            shell: row.shell.clone(),
            folder: row.folder.clone(),
            pid: None,
            columns: row.columns,
            rows: row.rows,
            queued: 0,
            running: None,
            attached: 0,
            created_at: row.created_at,
        };
        let write = TerminalWrite {
            terminal: row.row_id,
            status: Some(status),
            ..TerminalWrite::default()
        };
        if let Err(error) = self.parts.store.write_terminal(Arc::new(write)).await {
            tracing::warn!(terminal = row.name, "its end was not written: {error}");
        }
    }

    /// Removes folders that no terminal of the record has.
    async fn sweep(&self, known: &[TerminalRow]) {
        let known: Vec<String> = known.iter().map(|row| row.id.clone()).collect();
        let folder = self.parts.home.terminals();
        let swept = tokio::task::spawn_blocking(move || -> io::Result<()> {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                let name = entry.file_name();
                if !known.iter().any(|id| **id == *name) {
                    remove_folder(&entry.path())?;
                }
            }
            Ok(())
        });
        if let Ok(Err(error)) = swept.await {
            tracing::debug!("folders of former terminals were not removed: {error}");
        }
    }
}

/// Removes the folder of a terminal that is over, and what lies elsewhere for it.
pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    shells::discard(folder)?;
    std::fs::remove_dir_all(folder)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut maker = std::fs::DirBuilder::new();
    maker.recursive(true).mode(0o700).create(folder)
}

fn failed(folder: &Path, error: &io::Error) -> WireError {
    let message = format!("'{}' cannot be used: {error}", folder.display());
    WireError::new(ErrorCode::ServiceUnavailable, message)
}
