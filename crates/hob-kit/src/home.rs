//! The paths of hob: one directory if `HOB_HOME` is set, else the XDG directories. Every path that
//! another program relies on is defined here.
//!
//! Invariants: each directory created here is private (0700); the path of every socket fits into a
//! socket address; the same environment always gives the same paths. So `XDG_RUNTIME_DIR`, which
//! cron and ssh may lack, decides nothing a client needs, and a terminal outlives the login that
//! removes that directory. A socket whose path would be too long is in a private folder in `/tmp`;
//! call [`check_socket_folder`] before using it.

use crate::host_environment::EnvVars;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest path of a unix socket: `sun_path` holds 108 bytes with the final zero.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;
/// The longest home path whose sockets all fit below it.
const HOME_PATH_BYTES_MAX: usize = SOCKET_PATH_BYTES_MAX - "/run/tmux.sock".len();
/// The directory of the folder for sockets whose usual paths are too long.
const SHARED_FOLDER: &str = "/tmp";

/// The file in [`Home::root`] with the instructions for the heartbeat.
pub const HEARTBEAT_FILE: &str = "HEARTBEAT.md";

/// The paths of one home; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(Arc<HomePaths>);

#[derive(Debug, PartialEq, Eq)]
struct HomePaths {
    config: PathBuf,
    data: PathBuf,
    state: PathBuf,
    socket: PathBuf,
    tmux_socket: PathBuf,
}

/// The reason for which a home cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error("Neither HOB_HOME nor HOME is set; set HOB_HOME to the directory hob should live in.")]
    Nowhere,
    #[error("'{}' is not an absolute path and the current directory cannot be read: {source}", path.display())]
    Relative { path: PathBuf, source: io::Error },
    #[error("'{}' cannot be created: {source}", path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("'{}' belongs to another user; set HOB_HOME to a directory of your own.", path.display())]
    Foreign { path: PathBuf },
    #[error("Other users can write to '{}' and could replace hob's files there; run: chmod 700 '{}'", path.display(), path.display())]
    Open { path: PathBuf },
    #[error("'{}' holds the sockets of this home, because the home's path is too long for a socket, but the folder cannot be trusted: {why}. Set HOB_HOME to a shorter path (at most {HOME_PATH_BYTES_MAX} bytes), or remove that folder.", path.display())]
    SocketFolder { path: PathBuf, why: String },
}

impl Home {
    /// Resolves the home from the environment variables.
    pub fn resolve(env: &EnvVars) -> Result<Home, HomeError> {
        if let Some(root) = env.os("HOB_HOME") {
            let root = std::path::absolute(root).map_err(|source| HomeError::Relative {
                path: PathBuf::from(root),
                source,
            })?;
            return Ok(Home::at(&root));
        }
        let user = env
            .os("HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        let base = |variable: &str, below_home: &str| -> Result<PathBuf, HomeError> {
            // The XDG specification says to ignore relative paths.
            let given = env
                .os(variable)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute());
            let base = match given {
                Some(base) => base,
                None => user.as_ref().ok_or(HomeError::Nowhere)?.join(below_home),
            };
            Ok(base.join("hob"))
        };
        Ok(Home::from_parts(
            base("XDG_CONFIG_HOME", ".config")?,
            base("XDG_DATA_HOME", ".local/share")?,
            base("XDG_STATE_HOME", ".local/state")?,
        ))
    }

    /// Returns a home with everything below `root`, which is absolute.
    pub fn at(root: &Path) -> Home {
        Home::from_parts(root.to_owned(), root.to_owned(), root.to_owned())
    }

    fn from_parts(config: PathBuf, data: PathBuf, state: PathBuf) -> Home {
        let socket = socket_path(&state, "hob.sock");
        let tmux_socket = socket_path(&state, "tmux.sock");
        Home(Arc::new(HomePaths {
            config,
            data,
            state,
            socket,
            tmux_socket,
        }))
    }

    /// The directory of the database, which people call the home.
    pub fn root(&self) -> &Path {
        &self.0.data
    }

    pub fn config_file(&self) -> PathBuf {
        self.0.config.join("config.toml")
    }

    pub fn database(&self) -> PathBuf {
        self.0.data.join("hob.db")
    }

    pub fn index(&self) -> PathBuf {
        self.0.data.join("index.db")
    }

    pub fn blobs(&self) -> PathBuf {
        self.0.data.join("blobs")
    }

    pub fn owner_token(&self) -> PathBuf {
        self.0.data.join("owner.token")
    }

    pub fn lock_file(&self) -> PathBuf {
        self.0.data.join("hob.db.lock")
    }

    /// The directory of the state file and, unless its path is too long, the socket.
    pub fn run(&self) -> PathBuf {
        self.0.state.join("run")
    }

    pub fn state_file(&self) -> PathBuf {
        self.run().join("daemon.json")
    }

    /// The mark of the last `hob down`.
    pub fn last_down_file(&self) -> PathBuf {
        self.run().join("last_down")
    }

    /// The unix socket. Clients read its path from the state file.
    pub fn socket(&self) -> PathBuf {
        self.0.socket.clone()
    }

    /// The socket of the tmux server of the terminals.
    pub fn tmux_socket(&self) -> PathBuf {
        self.0.tmux_socket.clone()
    }

    /// The parent of the terminal folders.
    pub fn terminals(&self) -> PathBuf {
        self.0.data.join("terminals")
    }

    /// The folder of one terminal: its recording and the files for its shell.
    pub fn terminal(&self, id: &str) -> PathBuf {
        self.terminals().join(id)
    }

    /// The input history of `hob chat`.
    pub fn chat_history(&self) -> PathBuf {
        self.0.state.join("chat_history")
    }

    /// The key from which the webhook secrets are derived.
    pub fn hooks_key(&self) -> PathBuf {
        self.0.data.join("hooks.key")
    }

    /// The folder of provider keys that a person pasted, one file each.
    pub fn keys(&self) -> PathBuf {
        self.0.data.join("keys")
    }

    /// The instructions for the heartbeat, if any.
    pub fn heartbeat_file(&self) -> PathBuf {
        self.0.data.join(HEARTBEAT_FILE)
    }

    /// The record of notices and questions that are shown only once.
    pub fn notices(&self) -> PathBuf {
        self.0.state.join("notices.json")
    }

    /// The folder of user-defined services, with one file `NAME.toml` for each.
    pub fn service_files(&self) -> PathBuf {
        self.0.config.join("services")
    }

    /// The folder of one service: its installation and its data.
    pub fn service(&self, name: &str) -> PathBuf {
        self.0.data.join("services").join(name)
    }

    /// The folder of fetched model files, with one folder for each model.
    pub fn models(&self) -> PathBuf {
        self.0.data.join("models")
    }

    pub fn logs(&self) -> PathBuf {
        self.0.state.join("logs")
    }

    /// The output of a service.
    pub fn service_log(&self, name: &str) -> PathBuf {
        self.logs().join("services").join(format!("{name}.log"))
    }

    pub fn log_file(&self) -> PathBuf {
        self.logs().join("hob.log")
    }

    /// All of hob's own folders, which no tool may see.
    pub fn folders(&self) -> Vec<&Path> {
        let paths = &*self.0;
        let kept = [&paths.config, &paths.data, &paths.state].map(PathBuf::as_path);
        kept.into_iter().chain(self.socket_folders()).collect()
    }

    /// The folders of the sockets, each once. They may differ: the socket names have different
    /// lengths, so that perhaps only one is in `/tmp`.
    fn socket_folders(&self) -> impl Iterator<Item = &Path> {
        let (first, second) = (self.0.socket.parent(), self.0.tmux_socket.parent());
        first.into_iter().chain(second.filter(|_| second != first))
    }

    /// Creates every directory as private and refuses a home that other users could change.
    pub fn ensure(&self) -> Result<(), HomeError> {
        for directory in [&self.0.config, &self.0.data, &self.0.state] {
            make_private(directory)?;
        }
        for directory in [self.run(), self.logs(), self.blobs(), self.terminals()] {
            make_private(&directory)?;
        }
        let sockets = [&self.0.socket, &self.0.tmux_socket];
        sockets
            .into_iter()
            .try_for_each(|socket| check_socket_folder(socket))
    }
}

/// Checks, right before a socket is used, that only this user can have created it. Another user may
/// have removed and recreated a folder in `/tmp` since the daemon started. Folders below the home
/// are checked by [`Home::ensure`] and cannot be replaced by others.
pub fn check_socket_folder(socket: &Path) -> Result<(), HomeError> {
    match socket.parent() {
        Some(folder) if folder == short_folder() => make_private_shared(folder),
        _ => Ok(()),
    }
}

/// Returns `run/NAME`, or a short path in `/tmp` that is unique to this home if that is too long.
fn socket_path(state: &Path, name: &str) -> PathBuf {
    let usual = state.join("run").join(name);
    if usual.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return usual;
    }
    // The hash keeps several homes of one user apart.
    let name = format!("{:016x}.{name}", fingerprint(state.as_os_str()));
    short_folder().join(name)
}

/// The folder for this user's sockets whose usual paths are too long.
fn short_folder() -> PathBuf {
    let user = rustix::process::getuid().as_raw();
    Path::new(SHARED_FOLDER).join(format!("hob-{user}"))
}

/// Hashes with FNV-1a. Unlike the standard hasher it gives the same result in every version.
fn fingerprint(text: &OsStr) -> u64 {
    text.as_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

/// Creates a directory with mode 0700, or checks that an existing one is ours and not writable by
/// others.
fn make_private(directory: &Path) -> Result<(), HomeError> {
    let failed = |source| HomeError::Create {
        path: directory.to_owned(),
        source,
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(failed)?;
    // A symbolic link is followed where the user set it up, but never in `/tmp`, where anyone could
    // have put it.
    let found = if directory.parent() == Some(Path::new(SHARED_FOLDER)) {
        std::fs::symlink_metadata(directory)
    } else {
        std::fs::metadata(directory)
    };
    let found = found.map_err(failed)?;
    if found.uid() != rustix::process::getuid().as_raw() || !found.is_dir() {
        return Err(HomeError::Foreign {
            path: directory.to_owned(),
        });
    }
    if found.mode() & 0o022 != 0 {
        return Err(HomeError::Open {
            path: directory.to_owned(),
        });
    }
    Ok(())
}

/// Creates a private folder in a shared directory, or checks that an existing one is a real folder
/// of ours that no one else can enter.
fn make_private_shared(folder: &Path) -> Result<(), HomeError> {
    let refused = |why: String| HomeError::SocketFolder {
        path: folder.to_owned(),
        why,
    };
    // With the sticky bit on the directory above, no other user can replace our folder once it
    // exists.
    let above = folder.parent().unwrap_or(Path::new("/"));
    let found = std::fs::metadata(above).map_err(|error| refused(error.to_string()))?;
    let is_sticky = found.mode() & 0o1000 != 0;
    if found.mode() & 0o022 != 0 && !is_sticky {
        let above = above.display();
        return Err(refused(format!("other users may replace it in '{above}'")));
    }
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(refused(error.to_string()));
        }
        Ok(()) | Err(_) => {}
    }
    // No link is followed: another user could have planted one that points to a folder of ours.
    let found = std::fs::symlink_metadata(folder).map_err(|error| refused(error.to_string()))?;
    if !found.is_dir() {
        return Err(refused("it is not a folder".to_owned()));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused(format!("it belongs to user {}", found.uid())));
    }
    if found.mode() & 0o077 != 0 {
        let mode = found.mode() & 0o777;
        return Err(refused(format!("its mode is {mode:o} and not 700")));
    }
    Ok(())
}

#[cfg(test)]
#[path = "home_tests.rs"]
mod tests;
