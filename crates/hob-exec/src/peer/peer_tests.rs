//! Peers of a real machine: this test's own process and children of it.

use super::access::{ListenerAccess, ListeningService};
use super::process::{ProcessHandle, ProcessStat, parse_stat};
use super::{OwnProcess, PeerGuard, PeerRefusal, holders, own_pid};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};

const LISTENER: &str = "first";

fn guard(own_process: OwnProcess) -> PeerGuard {
    PeerGuard::new(ListenerAccess::default(), own_process)
}

fn inode(stream: &TcpStream) -> u64 {
    rustix::fs::fstat(stream).expect("a socket").st_ino
}

fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let peer = TcpStream::connect(listener.local_addr().expect("an address")).expect("connects");
    (peer, listener.accept().expect("accepts").0)
}

/// A child that inherits `stream` as its input and lives until it is killed.
#[expect(clippy::disallowed_methods, reason = "a peer of the test's own")]
fn holder(stream: &TcpStream, program: &[&str]) -> Ended {
    let input = stream.try_clone().expect("a copy");
    let child = Command::new(program[0])
        .args(&program[1..])
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(input)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child");
    Ended(child)
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_is_read_of_a_process_follows_its_name() {
    let stat = b"42 (a) S 1 ((x) S 7 42 42 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0";
    let read = ProcessStat {
        parent: 7,
        started: 12_345,
    };
    assert_eq!(parse_stat(stat), Some(read));
    assert_eq!(parse_stat(b"42 (a) S"), None);
}

#[test]
fn the_daemon_itself_is_refused_unless_a_test_says_otherwise() {
    let (peer, _served) = connection();
    let refused = guard(OwnProcess::Refused).check_socket(inode(&peer), LISTENER);
    assert_eq!(refused, Err(PeerRefusal::OwnProcess));
    let admitted = guard(OwnProcess::Admitted).check_socket(inode(&peer), LISTENER);
    assert_eq!(admitted, Ok(()));
}

#[test]
fn an_ordinary_program_is_admitted_and_every_holder_is_checked() {
    let (peer, _served) = connection();
    let inode = inode(&peer);
    let child = holder(&peer, &["sleep", "60"]);
    assert_eq!(holders::find_holders(inode).processes.len(), 2);
    let both = guard(OwnProcess::Refused).check_socket(inode, LISTENER);
    assert_eq!(both, Err(PeerRefusal::OwnProcess), "one of two is enough");
    drop(peer);
    assert_eq!(
        guard(OwnProcess::Refused).check_socket(inode, LISTENER),
        Ok(())
    );
    drop(child);
    let gone = guard(OwnProcess::Refused).check_socket(inode, LISTENER);
    assert!(
        matches!(gone, Err(PeerRefusal::NotFound { .. })),
        "{gone:?}"
    );
}

#[test]
fn a_marked_process_is_refused_even_when_its_parents_are_gone() {
    let (peer, _served) = connection();
    let inode = inode(&peer);
    let marked = format!("prlimit --locks={m}:{m} sleep 60", m = 1_u64 << 40);
    let direct = holder(&peer, &["sh", "-c", &format!("exec {marked}")]);
    wait_for_program(&direct, "sleep");
    drop(peer);
    let refused = guard(OwnProcess::Refused).check_socket(inode, LISTENER);
    assert!(
        matches!(refused, Err(PeerRefusal::BelowShim { service: None, .. })),
        "{refused:?}"
    );
}

#[test]
fn a_service_is_admitted_where_its_entry_says_so() {
    let (peer, _served) = connection();
    let inode = inode(&peer);
    let marked = format!("prlimit --locks={m}:{m} sleep 60", m = 1_u64 << 40);
    let shim = holder(&peer, &["sh", "-c", &format!("exec {marked}")]);
    wait_for_program(&shim, "sleep");
    drop(peer);
    let access = ListenerAccess::default();
    let guard = PeerGuard::new(access.clone(), OwnProcess::Refused);
    let pid = i32::try_from(shim.0.id()).expect("a pid");
    let entry = access.register(
        pid,
        ListeningService {
            name: "bridge".to_owned(),
            listeners: vec![LISTENER.to_owned()],
        },
    );
    assert!(entry.is_some());
    assert_eq!(guard.check_socket(inode, LISTENER), Ok(()));
    let other = guard.check_socket(inode, "second");
    let named = matches!(&other, Err(PeerRefusal::BelowShim { service: Some(name), .. }) if name == "bridge");
    assert!(named, "{other:?}");
    drop(entry);
    assert!(guard.check_socket(inode, LISTENER).is_err());
}

#[test]
fn another_namespace_is_refused() {
    let (peer, _served) = connection();
    let inode = inode(&peer);
    let inside = holder(&peer, &["unshare", "--user", "--mount", "sleep", "60"]);
    if !wait_for_program(&inside, "sleep") {
        // This machine gives no namespaces to programs.
        return;
    }
    drop(peer);
    let refused = guard(OwnProcess::Refused).check_socket(inode, LISTENER);
    let other = matches!(
        refused,
        Err(PeerRefusal::OtherNamespace { which: "user", .. })
    );
    assert!(other, "{refused:?}");
}

#[test]
fn a_unix_peer_is_the_process_that_connected() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).expect("a socket");
    let client = UnixStream::connect(&path).expect("connects");
    let (served, _) = listener.accept().expect("accepts");
    assert_eq!(
        guard(OwnProcess::Refused).check_unix(&served, LISTENER),
        Err(PeerRefusal::OwnProcess)
    );
    assert_eq!(
        guard(OwnProcess::Admitted).check_unix(&served, LISTENER),
        Ok(())
    );
    assert!(client.as_raw_fd() >= 0);
}

#[test]
fn the_walk_upwards_ends_at_the_daemon() {
    let own = ProcessHandle::open(own_pid()).expect("this process");
    let parent = own.stat().expect("its place").parent;
    let access = ListenerAccess::default();
    assert_eq!(access.service_above(&own, parent), None);
}

/// Waits until the child has become that program; whether it did.
fn wait_for_program(child: &Ended, program: &str) -> bool {
    let path = format!("/proc/{}/comm", child.0.id());
    for _ in 0..500 {
        match std::fs::read_to_string(&path) {
            Ok(name) if name.trim() == program => return true,
            Ok(_) => std::thread::sleep(std::time::Duration::from_millis(10)),
            Err(_) => return false,
        }
    }
    false
}
