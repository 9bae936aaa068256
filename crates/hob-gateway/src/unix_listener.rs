//! The unix socket: frames as lines, for programs on this machine.
//!
//! Invariants: the socket is 0600 in a directory of 0700, and the kernel's word for the peer's
//! user is checked all the same; being the same user is not enough, so the first line presents a
//! token; a socket file found there is replaced only because the caller holds the home's lock, so
//! no other daemon of this home can be behind it.

use crate::book::Principal;
use crate::door::Door;
use crate::gateway::GatewayError;
use crate::lines::{Line, LineBatch, LineReader};
use crate::shared::{self, Seat, Shared};
use hob_bus::{Closed, Link, Outlet};
use hob_kit::lock::HomeLock;
use hob_wire::frame::{self, Envelope};
use hob_wire::rooms::gateway::{Auth, AuthParams, Authenticated};
use hob_wire::{ErrorCode, Method, PROTOCOL_VERSION, WireError, limits};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

/// Time until the first line must have come.
const AUTH_MS_MAX: u64 = 10_000;
/// Of a socket that is private to its user.
pub(crate) const SOCKET_MODE: u32 = 0o600;
/// Time to write a refusal before the socket is closed.
const GOODBYE: Duration = Duration::from_millis(400);

/// Binds the socket.
pub(crate) fn bind(path: &Path, _lock: &HomeLock) -> Result<UnixListener, GatewayError> {
    let failed = |source| GatewayError::Socket {
        path: path.to_owned(),
        source,
    };
    let open = hob_kit::failpoint::broken(46);
    let (directory_mode, socket_mode) = if open {
        (0o755, 0o666)
    } else {
        (0o700, SOCKET_MODE)
    };
    if let Some(directory) = path.parent() {
        set_mode(directory, directory_mode).map_err(failed)?;
    }
    remove_stale(path).map_err(failed)?;
    let listener = UnixListener::bind(path).map_err(failed)?;
    set_mode(path, socket_mode).map_err(failed)?;
    Ok(listener)
}

pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// Only a socket is removed: anything else there is not ours.
fn remove_stale(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => std::fs::remove_file(path),
        Ok(_) => Err(io::Error::other(
            "something that is not a socket is in its place",
        )),
        Err(failure) if failure.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(failure) => Err(failure),
    }
}

/// Accepts until no connection is wanted any more, then takes the socket away.
pub(crate) async fn accept(
    listener: UnixListener,
    path: PathBuf,
    door: Arc<Door>,
    shared: Arc<Shared>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shared.accepting.cancelled() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(failure) => {
                crate::listener::accept_failed("unix", &failure).await;
                continue;
            }
        };
        if !is_ours(&stream) {
            tracing::warn!(listener = "unix", "another user's connection was refused");
            continue;
        }
        let Some(seat) = shared.seat() else {
            let _ = stream.try_write(&refusal(frame::UNKNOWN_ID, &shared::too_many()));
            continue;
        };
        let task = serve(stream, seat, Arc::clone(&door), Arc::clone(&shared));
        shared.tasks.spawn("unix", task);
    }
    let _ = std::fs::remove_file(path);
}

/// Whether the kernel says that the peer is our own user.
pub(crate) fn is_ours(stream: &UnixStream) -> bool {
    let ours = rustix::process::geteuid().as_raw();
    hob_kit::failpoint::broken(46) || stream.peer_cred().is_ok_and(|peer| peer.uid() == ours)
}

async fn serve(stream: UnixStream, _seat: Seat, door: Arc<Door>, shared: Arc<Shared>) {
    let (read_half, mut write_half) = stream.into_split();
    let mut lines = LineReader::new(read_half);
    let (link, outlet) = match authenticate(&mut lines, &door, &shared).await {
        Ok((answer, link, outlet)) => {
            if write_half.write_all(&answer).await.is_err() {
                return;
            }
            (link, outlet)
        }
        Err(Some(answer)) => {
            let _ = timeout(GOODBYE, write_half.write_all(&answer)).await;
            return;
        }
        Err(None) => return,
    };
    let ended = tokio::select! {
        ended = read(&mut lines, &link) => ended,
        () = write(&mut write_half, outlet, &shared) => None,
        () = cut(&link) => None,
    };
    link.close();
    if let Some(answer) = ended {
        let _ = timeout(GOODBYE, write_half.write_all(&answer)).await;
    }
}

/// Reads the first line and joins its sender to the bus. An error is what to answer, if anything.
async fn authenticate(
    lines: &mut LineReader<OwnedReadHalf>,
    door: &Door,
    shared: &Shared,
) -> Result<(Vec<u8>, Link, Outlet), Option<Vec<u8>>> {
    let first = lines.next(limits::UNAUTHENTICATED_BYTES_MAX);
    let first = timeout(Duration::from_millis(AUTH_MS_MAX), first).await;
    let text = match first {
        Ok(Ok(Line::Text(text))) => text,
        Ok(Ok(Line::TooLong)) => return Err(Some(refusal(frame::UNKNOWN_ID, &first_too_long()))),
        Ok(Ok(Line::End) | Err(_)) => return Err(None),
        Err(_) => return Err(Some(refusal(frame::UNKNOWN_ID, &first_missing()))),
    };
    let (id, outcome) = read_auth(&text);
    let joined = outcome.and_then(|params| {
        check_version(params.protocol)?;
        let principal = door.admit(&params.token)?;
        let (link, outlet) = shared.connect(&principal, door)?;
        Ok((welcome(&id, &principal)?, link, outlet))
    });
    joined.map_err(|error| Some(refusal(&id, &error)))
}

/// The id of the first frame, and the token it presents.
fn read_auth(line: &[u8]) -> (String, Result<AuthParams, WireError>) {
    let unknown = || frame::UNKNOWN_ID.to_owned();
    let text = match std::str::from_utf8(line) {
        Ok(text) if frame::depth_within(text, limits::JSON_DEPTH_MAX) => text,
        _ => return (unknown(), Err(parse_error("not a frame".to_owned()))),
    };
    match frame::read(text) {
        Ok(Envelope::Request(request)) if request.method == Auth::SPEC.name => {
            let params = request.params.map_or("{}", |params| params.get());
            let params = serde_json::from_str(params)
                .map_err(|failure| WireError::new(ErrorCode::InvalidParams, failure.to_string()));
            (request.id.into_owned(), params)
        }
        Ok(Envelope::Request(request)) => (request.id.into_owned(), Err(first_missing())),
        Ok(_) => (unknown(), Err(first_missing())),
        Err(malformed) => (
            malformed.id.unwrap_or_else(unknown),
            Err(parse_error(malformed.message)),
        ),
    }
}

fn check_version(offered: Option<u32>) -> Result<(), WireError> {
    match offered {
        Some(version) if version != PROTOCOL_VERSION && !hob_kit::failpoint::broken(38) => {
            let message = format!(
                "This hob speaks version {PROTOCOL_VERSION} of the wire, the client version {version}; bring both to the same version."
            );
            let details = serde_json::json!({ "supported": [PROTOCOL_VERSION] });
            Err(WireError::new(ErrorCode::InvalidParams, message).with_details(details))
        }
        _ => Ok(()),
    }
}

fn welcome(id: &str, principal: &Principal) -> Result<Vec<u8>, WireError> {
    let welcome = Authenticated {
        name: principal.name.to_string(),
        scopes: principal.scopes.to_texts(),
        protocol: PROTOCOL_VERSION,
    };
    let payload = serde_json::to_vec(&welcome)
        .map_err(|failure| WireError::new(ErrorCode::Internal, failure.to_string()))?;
    let mut line = Vec::new();
    frame::write_response(&mut line, id, Ok(Some(&payload)));
    line.push(b'\n');
    Ok(line)
}

/// Reads until the peer leaves; what to tell it, if it is being closed for its frames.
async fn read(lines: &mut LineReader<OwnedReadHalf>, link: &Link) -> Option<Vec<u8>> {
    loop {
        match lines.next(shared::frame_bytes_max()).await {
            Ok(Line::Text(text)) => link.receive(text).await,
            Ok(Line::TooLong) => {
                let message = format!("A frame has at most {} bytes.", limits::FRAME_BYTES_MAX);
                return Some(refusal(frame::UNKNOWN_ID, &parse_error(message)));
            }
            Ok(Line::End) | Err(_) => return None,
        }
    }
}

/// Writes until the link is closed and drained, or the peer does not accept it in time.
async fn write(write_half: &mut OwnedWriteHalf, mut outlet: Outlet, shared: &Shared) {
    let mut frames = Vec::new();
    let mut batch = LineBatch::default();
    loop {
        let closed: Option<Closed> = outlet.next(&mut frames).await;
        for frame in frames.drain(..) {
            batch.add(&frame);
        }
        let written = timeout(shared.ping_interval(), write_half.write_all(batch.bytes())).await;
        batch.clear();
        if closed.is_some() || !matches!(written, Ok(Ok(()))) {
            return;
        }
    }
}

async fn cut(link: &Link) {
    let closed = link.closed().await;
    tokio::time::sleep(shared::parting(closed)).await;
}

fn refusal(id: &str, error: &WireError) -> Vec<u8> {
    let mut line = Vec::new();
    let error = serde_json::to_vec(error).unwrap_or_default();
    frame::write_response(&mut line, id, Err(&error));
    line.push(b'\n');
    line
}

fn parse_error(message: String) -> WireError {
    WireError::new(ErrorCode::ParseError, message)
}

fn first_missing() -> WireError {
    WireError::new(
        ErrorCode::Unauthorized,
        format!(
            "The first line must be a request gateway.auth {{\"token\": …}}, within {} s; the owner's token is in owner.token in hob's home.",
            AUTH_MS_MAX / 1_000
        ),
    )
}

fn first_too_long() -> WireError {
    parse_error(format!(
        "The first line has at most {} bytes.",
        limits::UNAUTHENTICATED_BYTES_MAX
    ))
}
