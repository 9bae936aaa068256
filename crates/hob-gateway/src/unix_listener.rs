//! The unix socket listener: frames as lines, for programs on this machine.
//!
//! Invariants: the socket has mode 0600 in a directory of mode 0700, and the peer's user id is
//! checked too. Being the same user is not enough: the first line must present a token. An existing
//! socket file is replaced only because the caller holds the home's lock, so no other daemon of
//! this home can be listening on it.

use crate::authenticator::Authenticator;
use crate::gateway::GatewayError;
use crate::line_codec::{LineBatch, LineReader, ReadLine};
use crate::shared::{self, ConnectionPermit, GatewayShared};
use crate::token_cache::Principal;
use hob_bus::{BusLink, BusOutlet, CloseReason};
use hob_kit::home_lock::HomeLock;
use hob_wire::frame::{self, Envelope};
use hob_wire::rooms::gateway::{Auth, GatewayAuthParams, GatewayAuthResult};
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

/// Time for the first line to arrive.
const AUTH_MS_MAX: u64 = 10_000;
/// The mode of a socket that only its user may open.
pub(crate) const SOCKET_MODE: u32 = 0o600;
/// Time to write a refusal before the socket is closed.
const FAREWELL_TIMEOUT: Duration = Duration::from_millis(400);

/// Binds the socket. The lock proves that no other daemon uses the path.
pub(crate) fn bind(path: &Path, _lock: &HomeLock) -> Result<UnixListener, GatewayError> {
    let failed = |source| GatewayError::Socket {
        path: path.to_owned(),
        source,
    };
    // The directory is closed first: bind creates the socket with the umask's mode, and between
    // bind and chmod only the directory keeps others out.
    if let Some(directory) = path.parent() {
        set_mode(directory, 0o700).map_err(failed)?;
    }
    remove_stale_socket(path).map_err(failed)?;
    let listener = UnixListener::bind(path).map_err(failed)?;
    set_mode(path, SOCKET_MODE).map_err(failed)?;
    Ok(listener)
}

pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// Removes an old socket. Any other kind of file is not hob's and stays.
fn remove_stale_socket(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => std::fs::remove_file(path),
        Ok(_) => Err(io::Error::other(
            "something that is not a socket is in its place",
        )),
        Err(failure) if failure.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(failure) => Err(failure),
    }
}

/// Accepts connections until the gateway stops, then removes the socket.
pub(crate) async fn accept(
    listener: UnixListener,
    path: PathBuf,
    authenticator: Arc<Authenticator>,
    shared: Arc<GatewayShared>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shared.accepting.cancelled() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(failure) => {
                crate::tcp_listener::pause_after_accept_error("unix", &failure).await;
                continue;
            }
        };
        // The socket's mode keeps other users out, but root and a changed mode do not respect it.
        if !is_same_user(&stream) {
            tracing::warn!(listener = "unix", "another user's connection was refused");
            continue;
        }
        let Some(permit) = shared.try_acquire_connection() else {
            let _ = stream.try_write(&error_line(
                frame::UNKNOWN_ID,
                &shared::too_many_connections(),
            ));
            continue;
        };
        let task = serve(
            stream,
            permit,
            Arc::clone(&authenticator),
            Arc::clone(&shared),
        );
        shared.tasks.spawn("unix", task);
    }
    // The home's lock is still held, so the file cannot belong to a newer daemon.
    let _ = std::fs::remove_file(path);
}

/// Returns true if the kernel reports the peer as hob's own user.
pub(crate) fn is_same_user(stream: &UnixStream) -> bool {
    let ours = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == ours)
}

async fn serve(
    stream: UnixStream,
    _permit: ConnectionPermit,
    authenticator: Arc<Authenticator>,
    shared: Arc<GatewayShared>,
) {
    let (read_half, mut write_half) = stream.into_split();
    let mut lines = LineReader::new(read_half);
    let (link, outlet) = match authenticate(&mut lines, &authenticator, &shared).await {
        Ok((answer, link, outlet)) => {
            if write_half.write_all(&answer).await.is_err() {
                return;
            }
            (link, outlet)
        }
        Err(Some(answer)) => {
            let _ = timeout(FAREWELL_TIMEOUT, write_half.write_all(&answer)).await;
            return;
        }
        Err(None) => return,
    };
    let ended = tokio::select! {
        // The futures are dropped when the first one ends; a half-read line is lost with its peer.
        ended = read(&mut lines, &link) => ended,
        () = write(&mut write_half, outlet, &shared) => None,
        () = wait_drained(&link) => None,
    };
    link.close();
    if let Some(answer) = ended {
        let _ = timeout(FAREWELL_TIMEOUT, write_half.write_all(&answer)).await;
    }
}

/// Reads the first line and connects its sender to the bus. The error is the line to answer, if
/// any.
async fn authenticate(
    lines: &mut LineReader<OwnedReadHalf>,
    authenticator: &Authenticator,
    shared: &GatewayShared,
) -> Result<(Vec<u8>, BusLink, BusOutlet), Option<Vec<u8>>> {
    let first = lines.next(limits::UNAUTHENTICATED_BYTES_MAX);
    let first = timeout(Duration::from_millis(AUTH_MS_MAX), first).await;
    let text = match first {
        Ok(Ok(ReadLine::Text(text))) => text,
        Ok(Ok(ReadLine::TooLong)) => {
            return Err(Some(error_line(frame::UNKNOWN_ID, &auth_too_long())));
        }
        Ok(Ok(ReadLine::End) | Err(_)) => return Err(None),
        Err(_) => return Err(Some(error_line(frame::UNKNOWN_ID, &auth_missing()))),
    };
    let (id, outcome) = read_auth(&text);
    // The version is checked before the token, so that an old client learns the real problem.
    let joined = outcome.and_then(|params| {
        check_version(params.protocol)?;
        let principal = authenticator.authenticate(&params.token)?;
        let (link, outlet) = shared.connect(&principal, authenticator.surface, authenticator)?;
        Ok((auth_response(&id, &principal)?, link, outlet))
    });
    joined.map_err(|error| Some(error_line(&id, &error)))
}

/// Parses the first frame into its id and the presented token.
fn read_auth(line: &[u8]) -> (String, Result<GatewayAuthParams, WireError>) {
    let unknown = || frame::UNKNOWN_ID.to_owned();
    let text = match std::str::from_utf8(line) {
        // Checked before parsing, so that deep nesting of an unknown peer is refused cheaply.
        Ok(text) if frame::is_depth_within(text, limits::JSON_DEPTH_MAX) => text,
        _ => return (unknown(), Err(parse_error("not a frame".to_owned()))),
    };
    match frame::read(text) {
        Ok(Envelope::Request(request)) if request.method == Auth::SPEC.name => {
            let params = request.params.map_or("{}", |params| params.get());
            let params = serde_json::from_str(params)
                .map_err(|failure| WireError::new(ErrorCode::InvalidParams, failure.to_string()));
            (request.id.into_owned(), params)
        }
        Ok(Envelope::Request(request)) => (request.id.into_owned(), Err(auth_missing())),
        Ok(_) => (unknown(), Err(auth_missing())),
        Err(malformed) => (
            malformed.id.unwrap_or_else(unknown),
            Err(parse_error(malformed.message)),
        ),
    }
}

fn check_version(offered: Option<u32>) -> Result<(), WireError> {
    match offered {
        Some(version) if version != PROTOCOL_VERSION => {
            let message = format!(
                "This hob speaks version {PROTOCOL_VERSION} of the wire, the client version {version}; bring both to the same version."
            );
            let details = serde_json::json!({ "supported": [PROTOCOL_VERSION] });
            Err(WireError::new(ErrorCode::InvalidParams, message).with_details(details))
        }
        _ => Ok(()),
    }
}

fn auth_response(id: &str, principal: &Principal) -> Result<Vec<u8>, WireError> {
    let welcome = GatewayAuthResult {
        name: principal.name.to_string(),
        scopes: principal.scopes.to_strings(),
        protocol: PROTOCOL_VERSION,
    };
    let payload = serde_json::to_vec(&welcome)
        .map_err(|failure| WireError::new(ErrorCode::Internal, failure.to_string()))?;
    let mut line = Vec::new();
    frame::write_response(&mut line, id, Ok(Some(&payload)));
    line.push(b'\n');
    Ok(line)
}

/// Reads frames until the peer leaves. Returns the line to answer if a frame is too long.
async fn read(lines: &mut LineReader<OwnedReadHalf>, link: &BusLink) -> Option<Vec<u8>> {
    loop {
        match lines.next(limits::FRAME_BYTES_MAX).await {
            Ok(ReadLine::Text(text)) => link.receive(text).await,
            Ok(ReadLine::TooLong) => {
                let message = format!("A frame has at most {} bytes.", limits::FRAME_BYTES_MAX);
                return Some(error_line(frame::UNKNOWN_ID, &parse_error(message)));
            }
            Ok(ReadLine::End) | Err(_) => return None,
        }
    }
}

/// Writes frames until the link is closed and drained, or the peer does not accept them in time.
async fn write(write_half: &mut OwnedWriteHalf, mut outlet: BusOutlet, shared: &GatewayShared) {
    let mut frames = Vec::new();
    let mut batch = LineBatch::default();
    loop {
        let closed: Option<CloseReason> = outlet.next(&mut frames).await;
        for frame in frames.drain(..) {
            batch.add(&frame);
        }
        // There are no pings on this socket; a peer that does not read gets the same time.
        let written = timeout(shared.ping_interval(), write_half.write_all(batch.bytes())).await;
        batch.clear();
        if closed.is_some() || !matches!(written, Ok(Ok(()))) {
            return;
        }
    }
}

/// Waits until the bus closed the link and its queued frames had time to leave.
async fn wait_drained(link: &BusLink) {
    let closed = link.closed().await;
    tokio::time::sleep(shared::drain_timeout(closed)).await;
}

fn error_line(id: &str, error: &WireError) -> Vec<u8> {
    let mut line = Vec::new();
    let error = serde_json::to_vec(error).unwrap_or_default();
    frame::write_response(&mut line, id, Err(&error));
    line.push(b'\n');
    line
}

fn parse_error(message: String) -> WireError {
    WireError::new(ErrorCode::ParseError, message)
}

fn auth_missing() -> WireError {
    WireError::new(
        ErrorCode::Unauthorized,
        format!(
            "The first line must be a request gateway.auth {{\"token\": …}}, within {} s; the owner's token is in owner.token in hob's home.",
            AUTH_MS_MAX / 1_000
        ),
    )
}

fn auth_too_long() -> WireError {
    parse_error(format!(
        "The first line has at most {} bytes.",
        limits::UNAUTHENTICATED_BYTES_MAX
    ))
}
