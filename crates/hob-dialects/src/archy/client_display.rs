//! The display of the client's desktop. hob may have been started without one, at boot or over ssh,
//! while its client runs in one; the environment of the client's process names it.
//!
//! Invariant: only the few variables needed to show a window are read, and only from a process of
//! hob's user; the kernel does not show others.

use hob_wire::rooms::terminal::DisplayEnv;
use std::io::Read;
use tokio::net::UnixStream;

/// Maximum bytes of an environment.
const ENVIRON_BYTES_MAX: u64 = 1024 * 1024;

/// The display of the peer's process; `None` if it has no desktop.
pub(crate) async fn display(stream: &UnixStream) -> Option<DisplayEnv> {
    // The kernel names the process, so a client cannot claim another's desktop.
    let pid = stream.peer_cred().ok()?.pid()?;
    let read = tokio::task::spawn_blocking(move || read_environ(pid)).await;
    parse_display(&read.ok()??)
}

fn read_environ(pid: i32) -> Option<Vec<u8>> {
    let file = std::fs::File::open(format!("/proc/{pid}/environ")).ok()?;
    let mut bytes = Vec::new();
    file.take(ENVIRON_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn parse_display(environ: &[u8]) -> Option<DisplayEnv> {
    let variable = |name: &str| {
        let mut all = environ.split(|byte| *byte == 0);
        let value = all.find_map(|it| it.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        let value = std::str::from_utf8(value).ok()?;
        (!value.is_empty()).then(|| value.to_owned())
    };
    let display = DisplayEnv {
        x11: variable("DISPLAY"),
        wayland: variable("WAYLAND_DISPLAY"),
        authority: variable("XAUTHORITY"),
        runtime_dir: variable("XDG_RUNTIME_DIR"),
        bus: variable("DBUS_SESSION_BUS_ADDRESS"),
    };
    (display.x11.is_some() || display.wayland.is_some()).then_some(display)
}

#[cfg(test)]
#[path = "client_display_tests.rs"]
mod tests;
