//! The listener of Archy's clients: a unix socket anywhere a person wants it, `/tmp` included.
//!
//! Invariants: the socket is ours alone (0600), and the kernel's word for the peer's user and
//! process is checked all the same; only a dead socket of our own user is replaced, anything else in its place
//! stays and the listener is not opened; at the end only the socket that was made here is removed.

use crate::archy::{SURFACE, conversation, principal};
use crate::peer_check::PeerCheck;
use crate::shared::{self, Shared};
use crate::unix;
use hob_bus::Caller;
use hob_wire::archy::Response;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

/// Connections at once; each may wait for a command for up to an hour.
const CONNECTIONS_MAX: usize = 256;
/// Time in which whoever listens at the place is asked whether they do.
const KNOCK: Duration = Duration::from_secs(1);

/// Why the listener was not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("something that is not a socket is at '{}'", .0.display())]
    NotASocket(PathBuf),
    #[error("the socket at '{}' belongs to another user", .0.display())]
    NotOurs(PathBuf),
    #[error("another program listens at '{}'", .0.display())]
    InUse(PathBuf),
    #[error("the socket '{}' cannot be made: {source}", path.display())]
    Failed { path: PathBuf, source: io::Error },
}

/// Opens the socket and begins to accept.
pub(crate) async fn open(
    path: PathBuf,
    shared: &Arc<Shared>,
    check: PeerCheck,
) -> Result<(), Refused> {
    let failed = |source| Refused::Failed {
        path: path.clone(),
        source,
    };
    make_room(&path).await?;
    let listener = UnixListener::bind(&path).map_err(failed)?;
    unix::set_mode(&path, unix::SOCKET_MODE).map_err(failed)?;
    let made = std::fs::symlink_metadata(&path).map_err(failed)?;
    tracing::info!(
        "Archy's clients of this user may connect to {} without a token",
        path.display()
    );
    let place = Place {
        identity: identity(&made),
        path,
    };
    let accept = accept(listener, place, Arc::clone(shared), check);
    shared.tasks.spawn("archy-listener", accept);
    Ok(())
}

/// Takes a dead socket of ours away.
async fn make_room(path: &Path) -> Result<(), Refused> {
    let place = || path.to_owned();
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(failure) if failure.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            let path = place();
            return Err(Refused::Failed { path, source });
        }
    };
    if !found.file_type().is_socket() {
        return Err(Refused::NotASocket(place()));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(Refused::NotOurs(place()));
    }
    // Only a refusal says that nobody is there; a silent or busy listener lives.
    match tokio::time::timeout(KNOCK, UnixStream::connect(path)).await {
        Ok(Err(failure)) if failure.kind() == io::ErrorKind::ConnectionRefused => {}
        _ => return Err(Refused::InUse(place())),
    }
    std::fs::remove_file(path).map_err(|source| Refused::Failed {
        path: place(),
        source,
    })
}

/// The socket that was made, whatever stands at its path later.
struct Place {
    path: PathBuf,
    identity: (u64, u64),
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

impl Place {
    fn clear(&self) {
        let found = std::fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| identity(&found) == self.identity) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Accepts until no connection is wanted any more, then takes the socket away.
async fn accept(listener: UnixListener, place: Place, shared: Arc<Shared>, check: PeerCheck) {
    let seats = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shared.accepting.cancelled() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(failure) => {
                crate::listener::accept_failed(SURFACE, &failure).await;
                continue;
            }
        };
        if !unix::is_ours(&stream) {
            tracing::warn!(listener = SURFACE, "another user's connection was refused");
            continue;
        }
        let seat = (shared.seat(), Arc::clone(&seats).try_acquire_owned());
        let (Some(all), Ok(own)) = seat else {
            refuse(&stream, &shared::too_many().message);
            continue;
        };
        let caller = match caller(&shared) {
            Ok(caller) => caller,
            Err(error) => {
                refuse(&stream, &error.message);
                continue;
            }
        };
        let (served, check) = (Arc::clone(&shared), check.clone());
        shared.tasks.spawn("archy", async move {
            if check.admits_unix(&stream).await {
                conversation::hold(stream, &caller, &served).await;
            }
            drop((all, own));
        });
    }
    place.clear();
}

fn caller(shared: &Shared) -> Result<Caller, hob_wire::WireError> {
    shared.bus.caller_as(shared::peer(&principal(), SURFACE))
}

/// Says why, if the peer can take it at once.
fn refuse(stream: &UnixStream, why: &str) {
    let said = serde_json::to_vec(&Response::failed(why)).unwrap_or_default();
    let _ = stream.try_write(&said);
}
