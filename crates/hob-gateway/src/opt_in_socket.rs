//! The unix socket for Archy's clients, at any path, `/tmp` included.
//!
//! Invariants: the socket has mode 0600, and the peer's user and process are checked too. Only a
//! dead socket of hob's user is replaced; anything else at the path stays, and the listener is not
//! opened. At the end, only the socket that was created here is removed.

use crate::archy::{SURFACE, connection, principal};
use crate::peer_check::PeerCheck;
use crate::shared::{self, GatewayShared};
use crate::unix_listener;
use hob_bus::Caller;
use hob_wire::archy::ArchyResponse;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

/// Maximum connections; each may wait for a command for up to an hour.
const CONNECTIONS_MAX: usize = 256;
/// Time to probe for another listener on the path.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// The reason why the listener was not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchyListenError {
    #[error("something that is not a socket is at '{}'", .0.display())]
    NotASocket(PathBuf),
    #[error("the socket at '{}' belongs to another user", .0.display())]
    NotOurs(PathBuf),
    #[error("another program listens at '{}'", .0.display())]
    InUse(PathBuf),
    #[error("the socket '{}' cannot be made: {source}", path.display())]
    Failed { path: PathBuf, source: io::Error },
}

/// Opens the socket and starts accepting.
pub(crate) async fn open(
    path: PathBuf,
    shared: &Arc<GatewayShared>,
    check: PeerCheck,
) -> Result<(), ArchyListenError> {
    let failed = |source| ArchyListenError::Failed {
        path: path.clone(),
        source,
    };
    remove_dead_socket(&path).await?;
    let listener = UnixListener::bind(&path).map_err(failed)?;
    // Until here the umask decides; the peer's user is checked on every connection anyway.
    unix_listener::set_mode(&path, unix_listener::SOCKET_MODE).map_err(failed)?;
    let made = std::fs::symlink_metadata(&path).map_err(failed)?;
    tracing::info!(
        "Archy's clients of this user may connect to {} without a token",
        path.display()
    );
    let file = ArchySocketFile {
        identity: identity(&made),
        path,
    };
    let accept = accept(listener, file, Arc::clone(shared), check);
    shared.tasks.spawn("archy-listener", accept);
    Ok(())
}

/// Removes a dead socket of hob's user.
async fn remove_dead_socket(path: &Path) -> Result<(), ArchyListenError> {
    let owned_path = || path.to_owned();
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(failure) if failure.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            let path = owned_path();
            return Err(ArchyListenError::Failed { path, source });
        }
    };
    if !found.file_type().is_socket() {
        return Err(ArchyListenError::NotASocket(owned_path()));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(ArchyListenError::NotOurs(owned_path()));
    }
    // Only a refused connection proves that nobody listens; a silent listener may just be busy.
    match tokio::time::timeout(PROBE_TIMEOUT, UnixStream::connect(path)).await {
        Ok(Err(failure)) if failure.kind() == io::ErrorKind::ConnectionRefused => {}
        _ => return Err(ArchyListenError::InUse(owned_path())),
    }
    std::fs::remove_file(path).map_err(|source| ArchyListenError::Failed {
        path: owned_path(),
        source,
    })
}

/// The created socket. Its identity tells it from a later file at the same path.
struct ArchySocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

impl ArchySocketFile {
    fn remove_if_ours(&self) {
        let found = std::fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| identity(&found) == self.identity) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Accepts connections until the gateway stops, then removes the socket.
async fn accept(
    listener: UnixListener,
    file: ArchySocketFile,
    shared: Arc<GatewayShared>,
    check: PeerCheck,
) {
    let archy_permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shared.accepting.cancelled() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(failure) => {
                crate::tcp_listener::pause_after_accept_error(SURFACE, &failure).await;
                continue;
            }
        };
        if !unix_listener::is_same_user(&stream) {
            tracing::warn!(listener = SURFACE, "another user's connection was refused");
            continue;
        }
        let permits = (
            shared.try_acquire_connection(),
            Arc::clone(&archy_permits).try_acquire_owned(),
        );
        // Both limits apply: these clients must not use up the connections of all listeners.
        let (Some(all), Ok(own)) = permits else {
            write_refusal(&stream, &shared::too_many_connections().message);
            continue;
        };
        let caller = match caller(&shared) {
            Ok(caller) => caller,
            Err(error) => {
                write_refusal(&stream, &error.message);
                continue;
            }
        };
        let (served, check) = (Arc::clone(&shared), check.clone());
        shared.tasks.spawn("archy", async move {
            if check.admits_unix(&stream).await {
                connection::serve(stream, &caller, &served).await;
            }
            drop((all, own));
        });
    }
    file.remove_if_ours();
}

fn caller(shared: &GatewayShared) -> Result<Caller, hob_wire::WireError> {
    shared.bus.caller_as(shared::peer(&principal(), SURFACE))
}

/// Sends the reason, if the peer can receive it without waiting.
fn write_refusal(stream: &UnixStream, why: &str) {
    let bytes = serde_json::to_vec(&ArchyResponse::failed(why)).unwrap_or_default();
    let _ = stream.try_write(&bytes);
}
