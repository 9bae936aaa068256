//! Fault 46: another user of the same machine.

use super::children;
use crate::faults::http;
use crate::faults::peer::Peer;
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use rustix::process::{Gid, Uid, getuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use serde_json::json;
use std::fs::Permissions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

const NOBODY: u32 = 65_534;

#[test]
fn f46_another_local_user() {
    let trial = Trial::begin(46);
    if !getuid().is_root() {
        return trial.not_run("only root can become another user: run it as root");
    }
    let mut rig = Rig::new();
    // The way to the home is open, so that only the home itself is in the way.
    open(rig.scratch(), 0o755);
    let archy = rig.scratch().join("archy.sock");
    rig.env("HOB_LISTEN_ARCHY", &archy.display().to_string());
    rig.env("HOB_LISTEN_VARGOS", "127.0.0.1:0");
    rig.start();
    let token = rig.token();
    let socket = rig.socket().to_owned();
    let port = rig.port();
    private(&rig);

    let mut tried = 0;
    let mut accepted = 0;
    // By file mode: nothing of the home can be reached.
    for path in [
        rig.home().join("owner.token"),
        rig.home().join("hob.db"),
        rig.home().join("run/daemon.json"),
    ] {
        tried += 1;
        accepted += usize::from(as_nobody(move || std::fs::read(path).is_ok()));
    }
    tried += 2;
    accepted += usize::from(reaches(&socket, &token));
    accepted += usize::from(is_answered(&archy));

    // Even with every mode open and the right token, the peer's uid says no.
    for folder in [rig.home().to_owned(), rig.home().join("run")] {
        open(&folder, 0o755);
    }
    open(&socket, 0o666);
    open(&archy, 0o666);
    tried += 2;
    accepted += usize::from(reaches(&socket, &token));
    accepted += usize::from(is_answered(&archy));

    // The port tells nobody anything without a token.
    for path in [
        "/api/rpc/session.list",
        "/ready",
        "/metrics",
        "/api/openapi.json",
    ] {
        tried += 1;
        let method = if path.starts_with("/api/rpc") {
            "POST"
        } else {
            "GET"
        };
        let request = http::request(method, port, path, &[], "");
        accepted += usize::from(as_nobody(move || {
            http::exchange(port, &request).is_ok_and(|reply| reply.status < 400)
        }));
    }
    // Our own children are no other user, and are refused all the same.
    let (children, of_children) = children::accepted(&rig);
    tried += children;
    accepted += of_children.len();
    assert_eq!(accepted, 0, "of {tried} tries; {of_children:?}");
    rig.peer().must("daemon.status", &json!({}));
    trial.figure("accepted", format_args!("{accepted}/{tried}"));
}

/// Whether another user gets any answer to the right token over the socket.
fn reaches(socket: &Path, token: &str) -> bool {
    let (socket, token): (PathBuf, String) = (socket.to_owned(), token.to_owned());
    as_nobody(move || {
        Peer::open(&socket).is_ok_and(|mut peer| {
            let answer = peer.call("gateway.auth", &json!({ "token": token }));
            answer.is_ok_and(|answer| answer.is_ok())
        })
    })
}

/// Whether another user gets any answer on the socket for Archy's clients, which asks for no token.
fn is_answered(socket: &Path) -> bool {
    let socket = socket.to_owned();
    as_nobody(move || {
        let Ok(mut stream) = UnixStream::connect(socket) else {
            return false;
        };
        let _ = stream.write_all(br#"{"action":"check_session","data":{}}"#);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        !answer.is_empty()
    })
}

/// Everything under the home is the owner's alone.
fn private(rig: &Rig) {
    for name in [
        "",
        "owner.token",
        "hob.db",
        "run",
        "run/daemon.json",
        "run/hob.sock",
        "logs",
        "blobs",
    ] {
        let path = rig.home().join(name);
        let Ok(meta) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        assert_eq!(
            meta.permissions().mode() & 0o077,
            0,
            "{} is private",
            path.display()
        );
    }
}

fn open(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("the mode can be set");
}

/// Runs `act` on a thread that has become another user; the rest of this process stays as it is.
pub(crate) fn as_nobody<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::spawn(move || {
        let (uid, gid) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
        set_thread_groups(&[]).expect("groups can be left");
        set_thread_res_gid(gid, gid, gid).expect("the group can be changed");
        set_thread_res_uid(uid, uid, uid).expect("the user can be changed");
        act()
    });
    thread.join().expect("an act that only tries")
}
