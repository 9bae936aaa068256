//! Tells the service manager that started the daemon when it answers (`sd_notify`).
//!
//! Invariant: without `NOTIFY_SOCKET` nothing is sent, and a manager that is gone changes nothing.

use hob_kit::host_environment::EnvVars;
use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The variable with the socket of the service manager.
const SOCKET_VARIABLE: &str = "NOTIFY_SOCKET";

/// Says that the daemon answers now.
pub(super) fn announce_ready(env: &EnvVars) {
    let pid = std::process::id();
    notify(env, &format!("READY=1\nMAINPID={pid}\nSTATUS=Answering"));
}

/// Says that the daemon began to stop.
pub(super) fn announce_stopping(env: &EnvVars) {
    notify(env, "STOPPING=1");
}

fn notify(env: &EnvVars, state: &str) {
    let Some(name) = env.os(SOCKET_VARIABLE) else {
        return;
    };
    let sent = address(name).and_then(|address| {
        let socket = UnixDatagram::unbound()?;
        socket.send_to_addr(state.as_bytes(), &address)
    });
    if let Err(error) = sent {
        tracing::warn!("the service manager cannot be told '{state}': {error}");
    }
}

/// A name that begins with `@` is in the abstract namespace.
fn address(name: &OsStr) -> std::io::Result<SocketAddr> {
    match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(name),
    }
}
