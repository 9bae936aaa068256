//! Creates terminals, and recovers them after a restart.
//!
//! Invariant: a name has at most one live terminal, in the store and in tmux.

use super::TerminalContext;
use super::handle::TerminalHandle;
use super::messages::{conflict, invalid, stopping};
use super::owner::{OwnerInit, TerminalOwner};
use super::settings;
use super::tmux_link;
use hob_exec::tmux::shells::{self, KEY_DIGITS};
use hob_exec::tmux::{
    NewTmuxSession, TmuxError, TmuxProgram, TmuxServer, TmuxServerParts, TmuxSession,
};
use hob_store::{NewTerminal, TerminalRow, TerminalWrite};
use hob_wire::limits::TERMINALS_MAX;
use hob_wire::rooms::terminal::{TerminalCreateParams, TerminalInfo, TerminalState};
use hob_wire::{ErrorCode, WireError};
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Time for those who follow a terminal to read the end of its recording, also after the daemon
/// was started again.
const KEPT_AFTER_END: Duration = Duration::from_secs(10);

impl TerminalContext {
    /// Returns the tmux server, running or not. The error says that tmux is missing.
    pub(super) async fn server(&self) -> Result<TmuxServer, WireError> {
        let mut known = self.server.lock().await;
        if let Some(server) = &*known {
            return Ok(server.clone());
        }
        let deps = &self.deps;
        let settings = self.settings();
        let tmux = TmuxProgram::find(&deps.env, Some(settings.text("terminal.tmux"))).await;
        let tmux = tmux.map_err(|missing| conflict(missing.to_string()))?;
        let lines = settings.u64("terminal.history_lines");
        let server = TmuxServer::new(TmuxServerParts {
            tmux,
            socket: deps.home.tmux_socket(),
            spawner: self.spawner.clone(),
            recorder: self.recorder.clone(),
            env: deps.env.clone(),
            history_lines: u32::try_from(lines).unwrap_or(u32::MAX),
        });
        Ok(known.insert(server).clone())
    }

    /// Returns the live terminal of a name, after recovery has finished.
    pub(super) async fn find(&self, name: &str) -> Result<Option<TerminalHandle>, WireError> {
        let mut is_recovered = self.is_recovered.subscribe();
        tokio::select! {
            // The sender lives as long as this room.
            _ = is_recovered.wait_for(|is_recovered| *is_recovered) => {}
            () = self.stopping.cancelled() => return Err(stopping()),
        }
        loop {
            let found = self.handles().get(name).cloned();
            match found {
                // It has ended and its owner is cleaning up. The name is free in a moment.
                Some(handle) if handle.has_ended() => {
                    self.unless_stopping(handle.wait_until_forgotten()).await?;
                }
                found => return Ok(found),
            }
        }
    }

    /// Returns the terminal of a name, created if it is missing, and true if it was created.
    pub(super) async fn find_or_create(
        self: &Arc<Self>,
        name: &str,
        params: &TerminalCreateParams,
    ) -> Result<(TerminalHandle, bool), WireError> {
        if let Some(handle) = self.find(name).await? {
            return Ok((handle, false));
        }
        let _guard = self.creation_lock.lock().await;
        if self.is_recovery_pending.load(Ordering::Relaxed) {
            self.recover().await;
        }
        // Another request may have created it while this one waited for the lock.
        if let Some(handle) = self.find(name).await? {
            return Ok((handle, false));
        }
        let handle = self.create_terminal(name, params).await?;
        Ok((handle, true))
    }

    async fn create_terminal(
        self: &Arc<Self>,
        name: &str,
        params: &TerminalCreateParams,
    ) -> Result<TerminalHandle, WireError> {
        let server = self.server().await?;
        let (deps, settings) = (&self.deps, self.settings());
        let wanted = params.shell.as_deref();
        let shell = settings::shell(&settings, &deps.env, wanted).map_err(invalid)?;
        let (columns, rows) = settings::size(&settings, params).map_err(invalid)?;
        let dir = self.start_folder(params.folder.as_deref())?;
        let new = NewTerminal {
            id: deps.randomness.uuid(deps.clock.wall_ms()).to_string(),
            key: deps.randomness.hex(KEY_DIGITS / 2),
            name: name.to_owned(),
            shell: shell.display().to_string(),
            folder: None,
            columns,
            rows,
            live_max: TERMINALS_MAX,
        };
        let folder = deps.home.terminal(&new.id);
        create_folder(&folder).map_err(|error| folder_error(&folder, &error))?;
        // Stored before tmux knows of it: after a crash in between, recovery finds a row without a
        // session and marks it as lost. The other way round a session would have no owner.
        let row = deps.store.add_terminal(new).await?;
        let made = server.create(NewTmuxSession {
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
            Ok(_) => tmux_link::connect(&server, name).await,
            Err(error) => Err(error),
        };
        match linked {
            Ok(link) => {
                let init = OwnerInit {
                    row,
                    link: Some(link),
                    commands: Vec::new(),
                    gone_reason: None,
                };
                tracing::info!(terminal = name, "a terminal was created");
                self.spawn_owner(init)
            }
            Err(error) => Err(self.give_up_creation(&row, &folder, error).await),
        }
    }

    /// Records a terminal whose shell did not start as lost, and removes its folder.
    async fn give_up_creation(
        &self,
        row: &TerminalRow,
        folder: &Path,
        error: TmuxError,
    ) -> WireError {
        let message = match error {
            TmuxError::Gone(_) | TmuxError::NoSession(_) => format!(
                "The shell '{}' ended at once. Choose another with the setting terminal.shell.",
                row.shell
            ),
            other => other.to_string(),
        };
        self.record_lost(row, &message).await;
        if let Err(error) = remove_folder(folder) {
            tracing::debug!(
                terminal = row.name,
                "the terminal's folder was not removed: {error}"
            );
        }
        WireError::new(ErrorCode::ServiceUnavailable, message)
    }

    /// Returns the folder that a shell starts in.
    fn start_folder(&self, wanted: Option<&str>) -> Result<PathBuf, WireError> {
        let home = self.deps.env.os("HOME").map(PathBuf::from);
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

    fn spawn_owner(self: &Arc<Self>, init: OwnerInit) -> Result<TerminalHandle, WireError> {
        let name = init.row.name.clone();
        let folder = self.deps.home.terminal(&init.row.id);
        let handle =
            TerminalOwner::spawn(self, init).map_err(|error| folder_error(&folder, &error))?;
        self.handles().insert(name, handle.clone());
        Ok(handle)
    }

    /// Removes the handle of an ended terminal, unless another terminal has its name by now.
    pub(super) fn remove_handle(&self, name: &str, row_id: i64) {
        let mut roll = self.handles();
        if roll.get(name).is_some_and(|handle| handle.row_id == row_id) {
            roll.remove(name);
        }
    }

    /// Recovers the terminals of the previous daemon. A terminal that is gone still gets an owner,
    /// which processes the rest of its recording.
    pub(super) async fn recover(self: &Arc<Self>) {
        let rows = match self.deps.store.live_terminals().await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!("the terminals could not be read: {error}");
                return;
            }
        };
        self.remove_orphan_folders(&rows).await;
        if rows.is_empty() {
            return;
        }
        let sessions = match self.server().await {
            Ok(server) => server.sessions().await.map_err(|error| error.to_string()),
            Err(error) => Err(error.message),
        };
        let sessions = match sessions {
            Ok(sessions) => sessions,
            // Without an answer from tmux nothing is known, and the terminals may well be alive.
            Err(why) => {
                tracing::warn!("the terminals of the previous daemon are not recovered yet: {why}");
                self.is_recovery_pending.store(true, Ordering::Relaxed);
                return;
            }
        };
        self.is_recovery_pending.store(false, Ordering::Relaxed);
        for row in rows {
            // A repeated recovery meets terminals that already have an owner.
            if self.handles().contains_key(&row.name) {
                continue;
            }
            if let Err(error) = self.recover_terminal(&row, &sessions).await {
                tracing::warn!(terminal = row.name, "not recovered: {}", error.message);
                self.record_lost(&row, &error.message).await;
            }
        }
    }

    async fn recover_terminal(
        self: &Arc<Self>,
        row: &TerminalRow,
        sessions: &[TmuxSession],
    ) -> Result<(), WireError> {
        let folder = self.deps.home.terminal(&row.id);
        let mut link = None;
        // By its folder, which holds the unique id. Another session may have the name by now.
        if sessions.iter().any(|session| session.folder == folder) {
            link = tmux_link::reconnect(self, &row.name, &folder).await;
        }
        let reason = "it was gone when hob came back: its shell ended, or tmux was killed";
        let gone = link.is_none().then(|| reason.to_owned());
        let commands = self.deps.store.live_commands(row.row_id).await?;
        tracing::info!(
            terminal = row.name,
            found = link.is_some(),
            commands = commands.len(),
            "a terminal of the previous daemon"
        );
        self.spawn_owner(OwnerInit {
            row: row.clone(),
            link,
            commands,
            gone_reason: gone,
        })?;
        Ok(())
    }

    /// Stores that a terminal without an owner is lost.
    async fn record_lost(&self, row: &TerminalRow, why: &str) {
        let status = TerminalInfo {
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
        if let Err(error) = self.deps.store.write_terminal(Arc::new(write)).await {
            tracing::warn!(
                terminal = row.name,
                "the end of the terminal was not stored: {error}"
            );
        }
    }

    /// Removes folders that belong to no stored live terminal.
    async fn remove_orphan_folders(&self, known: &[TerminalRow]) {
        let known: Vec<String> = known.iter().map(|row| row.id.clone()).collect();
        let folder = self.deps.home.terminals();
        let found = tokio::task::spawn_blocking(move || -> io::Result<Vec<PathBuf>> {
            let entries = std::fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
            let is_known = |name: &OsStr| known.iter().any(|id| **id == *name);
            let orphans = entries.iter().filter(|entry| !is_known(&entry.file_name()));
            Ok(orphans.map(DirEntry::path).collect())
        });
        match found.await {
            Ok(Ok(orphans)) => orphans
                .into_iter()
                .for_each(|folder| self.remove_folder_later(folder)),
            Ok(Err(error)) => tracing::debug!("the terminals' folders were not listed: {error}"),
            Err(_) => {}
        }
    }

    /// Removes the folder of an ended terminal after [`KEPT_AFTER_END`]. At a stop of the daemon it
    /// stays, and the next daemon removes it as an orphan.
    pub(super) fn remove_folder_later(&self, folder: PathBuf) {
        self.deps
            .tasks
            .spawn_until_stop("ended terminal", async move {
                tokio::time::sleep(KEPT_AFTER_END).await;
                let removed = tokio::task::spawn_blocking(move || remove_folder(&folder)).await;
                if let Ok(Err(error)) = removed {
                    tracing::debug!("the folder of an ended terminal was not removed: {error}");
                }
            });
    }
}

/// Removes the folder of an ended terminal, and its command file, which may lie in memory.
fn remove_folder(folder: &Path) -> io::Result<()> {
    shells::discard(folder)?;
    std::fs::remove_dir_all(folder)
}

fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    // Private: the folder holds everything that the terminal shows.
    builder.recursive(true).mode(0o700).create(folder)
}

fn folder_error(folder: &Path, error: &io::Error) -> WireError {
    let message = format!("'{}' cannot be used: {error}", folder.display());
    WireError::new(ErrorCode::ServiceUnavailable, message)
}
