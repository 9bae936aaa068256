//! The desktop of whoever asks. hob may have been started where there is none, at boot or over ssh,
//! while its client sits in one; what the client's process was given says where.
//!
//! Invariant: only the few variables that show a window are taken, and only of a process of our own
//! user: the kernel shows no other's.

use hob_wire::rooms::terminal::Display;
use std::io::Read;
use tokio::net::UnixStream;

/// Of a process's environment.
const ENVIRON_BYTES_MAX: u64 = 1024 * 1024;

/// Where the peer's process would show a window; none if it has no desktop either.
pub(crate) async fn display(stream: &UnixStream) -> Option<Display> {
    let pid = stream.peer_cred().ok()?.pid()?;
    let read = tokio::task::spawn_blocking(move || environ(pid)).await;
    shown(&read.ok()??)
}

fn environ(pid: i32) -> Option<Vec<u8>> {
    let file = std::fs::File::open(format!("/proc/{pid}/environ")).ok()?;
    let mut bytes = Vec::new();
    file.take(ENVIRON_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn shown(environ: &[u8]) -> Option<Display> {
    let variable = |name: &str| {
        let mut all = environ.split(|byte| *byte == 0);
        let value = all.find_map(|it| it.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        let value = std::str::from_utf8(value).ok()?;
        (!value.is_empty()).then(|| value.to_owned())
    };
    let display = Display {
        x11: variable("DISPLAY"),
        wayland: variable("WAYLAND_DISPLAY"),
        authority: variable("XAUTHORITY"),
        runtime_dir: variable("XDG_RUNTIME_DIR"),
        bus: variable("DBUS_SESSION_BUS_ADDRESS"),
    };
    (display.x11.is_some() || display.wayland.is_some()).then_some(display)
}

#[cfg(test)]
#[path = "asker_tests.rs"]
mod tests;
