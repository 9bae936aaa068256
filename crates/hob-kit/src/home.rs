//! Where hob lives: one directory when `HOB_HOME` says so, else the XDG directories. Every path
//! that another program relies on is named here and nowhere else.
//!
//! Invariants: each directory made here is private (0700); the path of every socket fits into a
//! socket address; the same environment always gives the same paths, whatever kind of login it
//! comes from (so `XDG_RUNTIME_DIR`, which cron and ssh may lack, decides nothing a client needs,
//! and a terminal outlives the login that removes it). A socket whose path would be too long lies
//! in a folder of ours in `/tmp`; whoever uses it calls [`check_socket_folder`] first.

use crate::world::Env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Longest path of a unix socket: `sun_path` holds 108 bytes with its closing zero.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;
/// Longest home whose sockets all fit below it.
const HOME_PATH_BYTES_MAX: usize = SOCKET_PATH_BYTES_MAX - "/run/tmux.sock".len();
/// Where the folder of sockets is whose usual paths are too long.
const SHARED_FOLDER: &str = "/tmp";

/// The file of [`Home::root`] that says what hob looks after by itself.
pub const HEARTBEAT_FILE: &str = "HEARTBEAT.md";

/// The paths of one home; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(Arc<Paths>);

#[derive(Debug, PartialEq, Eq)]
struct Paths {
    config: PathBuf,
    data: PathBuf,
    state: PathBuf,
    socket: PathBuf,
    tmux_socket: PathBuf,
}

/// Why there is no usable home.
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
    #[error("Others may write to '{}', so they could replace what hob keeps there; run: chmod 700 '{}'", path.display(), path.display())]
    Open { path: PathBuf },
    #[error("'{}' is where a socket of this home has to be, because the home's own path is too long for one, and it cannot be trusted: {why}. Set HOB_HOME to a shorter path (at most {HOME_PATH_BYTES_MAX} bytes), or have that folder removed.", path.display())]
    SocketFolder { path: PathBuf, why: String },
}

impl Home {
    /// The home this environment names.
    pub fn resolve(env: &Env) -> Result<Home, HomeError> {
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

    /// A home with everything below `root`, which is absolute.
    pub fn at(root: &Path) -> Home {
        Home::from_parts(root.to_owned(), root.to_owned(), root.to_owned())
    }

    fn from_parts(config: PathBuf, data: PathBuf, state: PathBuf) -> Home {
        let socket = socket_path(&state, "hob.sock");
        let tmux_socket = socket_path(&state, "tmux.sock");
        Home(Arc::new(Paths {
            config,
            data,
            state,
            socket,
            tmux_socket,
        }))
    }

    /// The directory that holds the database: what a person calls the home.
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

    /// Where AgentLoop's clients find the listener for them.
    pub fn agentloop_file(&self) -> PathBuf {
        self.run().join("agentloop.json")
    }

    /// The unix socket. A client takes it from the state file.
    pub fn socket(&self) -> PathBuf {
        self.0.socket.clone()
    }

    /// The socket of the tmux server of the terminals.
    pub fn tmux_socket(&self) -> PathBuf {
        self.0.tmux_socket.clone()
    }

    /// Where each terminal has its folder.
    pub fn terminals(&self) -> PathBuf {
        self.0.data.join("terminals")
    }

    /// The folder of one terminal: its recording, and what its shell reads.
    pub fn terminal(&self, id: &str) -> PathBuf {
        self.terminals().join(id)
    }

    /// What a person typed in `hob chat`.
    pub fn chat_history(&self) -> PathBuf {
        self.0.state.join("chat_history")
    }

    /// The key that the secrets of webhooks derive from.
    pub fn hooks_key(&self) -> PathBuf {
        self.0.data.join("hooks.key")
    }

    /// What hob looks after by itself, if anything.
    pub fn heartbeat_file(&self) -> PathBuf {
        self.0.data.join(HEARTBEAT_FILE)
    }

    /// What a person was told or asked once, and is not again.
    pub fn notices(&self) -> PathBuf {
        self.0.state.join("notices.json")
    }

    /// Where a person describes services of their own, a file `NAME.toml` each.
    pub fn service_files(&self) -> PathBuf {
        self.0.config.join("services")
    }

    /// The folder of one service: what was installed, and what it keeps.
    pub fn service(&self, name: &str) -> PathBuf {
        self.0.data.join("services").join(name)
    }

    pub fn logs(&self) -> PathBuf {
        self.0.state.join("logs")
    }

    /// What a service printed.
    pub fn service_log(&self, name: &str) -> PathBuf {
        self.logs().join("services").join(format!("{name}.log"))
    }

    pub fn log_file(&self) -> PathBuf {
        self.logs().join("hob.log")
    }

    /// Every folder that is hob's own: what no tool is shown.
    pub fn folders(&self) -> Vec<&Path> {
        let paths = &*self.0;
        let kept = [&paths.config, &paths.data, &paths.state].map(PathBuf::as_path);
        kept.into_iter().chain(self.socket_folders()).collect()
    }

    /// The folders of the sockets, each once. One of them alone may be in `/tmp`, because the names
    /// of the sockets differ in length.
    fn socket_folders(&self) -> impl Iterator<Item = &Path> {
        let (first, second) = (self.0.socket.parent(), self.0.tmux_socket.parent());
        first.into_iter().chain(second.filter(|_| second != first))
    }

    /// Makes every directory, private, and refuses a home that others could tamper with.
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

/// Makes sure, right before a socket is used, that only we can have put it there: a folder in
/// `/tmp` may have been removed and made again by another user since the daemon started. Folders
/// below the home are checked by [`Home::ensure`] and cannot be replaced by others.
pub fn check_socket_folder(socket: &Path) -> Result<(), HomeError> {
    match socket.parent() {
        Some(folder) if folder == short_folder() => make_private_shared(folder),
        _ => Ok(()),
    }
}

/// `run/NAME`, or a short path of the same home's own when that does not fit.
fn socket_path(state: &Path, name: &str) -> PathBuf {
    let usual = state.join("run").join(name);
    if usual.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return usual;
    }
    let name = format!("{:016x}.{name}", fingerprint(state.as_os_str()));
    short_folder().join(name)
}

/// Where the sockets of this user lie whose usual paths are too long.
fn short_folder() -> PathBuf {
    let user = rustix::process::getuid().as_raw();
    Path::new(SHARED_FOLDER).join(format!("hob-{user}"))
}

/// FNV-1a: the same on every machine and in every version, which the standard hasher is not.
fn fingerprint(text: &OsStr) -> u64 {
    text.as_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

/// Makes a directory with mode 0700, or checks that one found there is ours and not writable by
/// others. A symbolic link is followed for what a person set up, never in `/tmp`, where anyone may
/// have put it.
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

/// Makes a folder among those of other users, or checks that one found there is a real folder of
/// ours that nobody else can enter. Once it is, nobody else can replace it: the folder above is
/// sticky, which is checked too.
fn make_private_shared(folder: &Path) -> Result<(), HomeError> {
    // Fault test 46: a planted folder that is taken must be noticed.
    if crate::failpoint::broken(46) {
        return Ok(());
    }
    let refused = |why: String| HomeError::SocketFolder {
        path: folder.to_owned(),
        why,
    };
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
    // Without following a link: what counts is what lies there.
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
