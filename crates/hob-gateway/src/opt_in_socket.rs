//! The unix socket of an opt-in listener, at any path, `/tmp` included.
//!
//! Invariants: the socket has mode 0600, and the peer's user and process are checked too. Only a
//! dead socket of hob's user is replaced; anything else at the path stays, and the listener is not
//! opened. At the end, only the socket that was created here is removed.

use crate::dialect::SocketProtocol;
use crate::peer_check::PeerCheck;
use crate::shared::{self, GatewayShared};
use crate::token_cache::Principal;
use crate::{tcp_listener, unix_listener};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

/// Maximum connections of one socket; each may wait for a long time.
const CONNECTIONS_MAX: usize = 256;
/// Time to probe for another listener on the path.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// The reason why the listener was not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OptInSocketError {
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
    protocol: SocketProtocol,
    shared: &Arc<GatewayShared>,
    (grant, check): (Principal, PeerCheck),
) -> Result<(), OptInSocketError> {
    let failed = |source| OptInSocketError::Failed {
        path: path.clone(),
        source,
    };
    remove_dead_socket(&path).await?;
    let listener = UnixListener::bind(&path).map_err(failed)?;
    // Until here the umask decides; the peer's user is checked on every connection anyway.
    unix_listener::set_mode(&path, unix_listener::SOCKET_MODE).map_err(failed)?;
    let made = std::fs::symlink_metadata(&path).map_err(failed)?;
    let socket = OptInSocket {
        protocol,
        shared: Arc::clone(shared),
        grant,
        check,
    };
    let file = CreatedSocket {
        identity: identity(&made),
        path,
    };
    shared
        .tasks
        .spawn("opt-in-socket", socket.accept(listener, file));
    Ok(())
}

/// Removes a dead socket of hob's user.
async fn remove_dead_socket(path: &Path) -> Result<(), OptInSocketError> {
    let owned_path = || path.to_owned();
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(failure) if failure.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            let path = owned_path();
            return Err(OptInSocketError::Failed { path, source });
        }
    };
    if !found.file_type().is_socket() {
        return Err(OptInSocketError::NotASocket(owned_path()));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(OptInSocketError::NotOurs(owned_path()));
    }
    // Only a refused connection proves that nobody listens; a silent listener may just be busy.
    match tokio::time::timeout(PROBE_TIMEOUT, UnixStream::connect(path)).await {
        Ok(Err(failure)) if failure.kind() == io::ErrorKind::ConnectionRefused => {}
        _ => return Err(OptInSocketError::InUse(owned_path())),
    }
    std::fs::remove_file(path).map_err(|source| OptInSocketError::Failed {
        path: owned_path(),
        source,
    })
}

/// The created socket. Its identity tells it from a later file at the same path.
struct CreatedSocket {
    path: PathBuf,
    identity: (u64, u64),
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

impl CreatedSocket {
    fn remove_if_ours(&self) {
        let found = std::fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| identity(&found) == self.identity) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// An open socket.
struct OptInSocket {
    protocol: SocketProtocol,
    shared: Arc<GatewayShared>,
    /// The sender of every request here.
    grant: Principal,
    check: PeerCheck,
}

impl OptInSocket {
    /// Accepts connections until the gateway stops, then removes the socket.
    async fn accept(self, listener: UnixListener, file: CreatedSocket) {
        let (shared, surface) = (&self.shared, self.check.listener());
        let own_permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = shared.accepting.cancelled() => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(failure) => {
                    tcp_listener::pause_after_accept_error(surface, &failure).await;
                    continue;
                }
            };
            if !unix_listener::is_same_user(&stream) {
                tracing::warn!(listener = surface, "another user's connection was refused");
                continue;
            }
            let permits = (
                shared.try_acquire_connection(),
                Arc::clone(&own_permits).try_acquire_owned(),
            );
            // Both limits apply: these clients must not use up the connections of all listeners.
            let (Some(all), Ok(own)) = permits else {
                self.refuse(&stream, &shared::too_many_connections().message);
                continue;
            };
            let caller = match shared.bus.caller_as(shared::peer(&self.grant, surface)) {
                Ok(caller) => caller,
                Err(error) => {
                    self.refuse(&stream, &error.message);
                    continue;
                }
            };
            let (served, check) = (Arc::clone(shared), self.check.clone());
            let serve = self.protocol.serve;
            shared.tasks.spawn(surface, async move {
                if check.admits_unix(&stream).await {
                    serve(stream, caller, served).await;
                }
                // Both permits are held until the connection has ended.
                drop((all, own));
            });
        }
        file.remove_if_ours();
    }

    /// Sends the reason, if the peer can receive it without waiting.
    fn refuse(&self, stream: &UnixStream, why: &str) {
        let _ = stream.try_write(&(self.protocol.refusal)(why));
    }
}
