//! Network off means off (fault 68). Success is counted where it would matter: at the listener.

use crate::rig::{Rig, got, levels};
use hob_exec::{ChildExit, NetworkAccess};
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Listeners of every kind on the machine, and how often any was reached.
pub(crate) struct Ears {
    hits: Arc<AtomicUsize>,
    pub(crate) tcp: u16,
    udp: u16,
    name: String,
}

impl Ears {
    pub(crate) fn open(folder: &Path) -> Ears {
        let hits = Arc::new(AtomicUsize::new(0));
        let tcp = TcpListener::bind("127.0.0.1:0").expect("bound");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("bound");
        let name = crate::rig::mark("abstract");
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let ears = Ears {
            hits: Arc::clone(&hits),
            tcp: tcp.local_addr().expect("bound").port(),
            udp: udp.local_addr().expect("bound").port(),
            name,
        };
        let count = Arc::clone(&hits);
        std::thread::spawn(move || {
            for stream in tcp.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                answer(stream);
            }
        });
        let count = Arc::clone(&hits);
        std::thread::spawn(move || {
            while udp.recv(&mut [0; 64]).is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        for listener in [
            UnixListener::bind(folder.join("stream.sock")).expect("bound"),
            UnixListener::bind_addr(&address).expect("bound"),
        ] {
            let count = Arc::clone(&hits);
            std::thread::spawn(move || {
                for _ in listener.incoming().flatten() {
                    count.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let datagrams = UnixDatagram::bind(folder.join("datagram.sock")).expect("bound");
        std::thread::spawn(move || {
            while datagrams.recv(&mut [0; 64]).is_ok() {
                hits.fetch_add(1, Ordering::SeqCst);
            }
        });
        ears
    }

    pub(crate) fn hits(&self) -> usize {
        // A datagram is counted a moment after it was sent.
        std::thread::sleep(Duration::from_millis(50));
        self.hits.load(Ordering::SeqCst)
    }

    pub(crate) fn internet(&self) -> Vec<String> {
        let (tcp, udp) = (self.tcp, self.udp);
        vec![
            format!("exec 3<>/dev/tcp/127.0.0.1/{tcp} && echo GOT"),
            format!("echo x > /dev/udp/127.0.0.1/{udp} && echo SENT"),
            format!("curl -s -m 5 http://127.0.0.1:{tcp}/ && echo GOT"),
            python(&format!(
                "s=socket.create_connection((\"127.0.0.1\",{tcp}),5); print(\"GOT\")"
            )),
            python(&format!(
                "s=socket.socket(socket.AF_INET6,socket.SOCK_STREAM); s.connect((\"::ffff:127.0.0.1\",{tcp})); print(\"GOT\")"
            )),
            // What a resolver does: a datagram to a server.
            python(&format!(
                "s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b\"q\",(\"127.0.0.1\",{udp})); print(\"SENT\")"
            )),
        ]
    }

    fn unix(&self, folder: &Path) -> Vec<String> {
        let (folder, name) = (folder.display(), &self.name);
        vec![
            python(&format!(
                "s=socket.socket(socket.AF_UNIX); s.connect(\"{folder}/stream.sock\"); print(\"GOT\")"
            )),
            python(&format!(
                "s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); s.sendto(b\"x\",\"{folder}/datagram.sock\"); print(\"GOT\")"
            )),
            python(&format!(
                "a,b=socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM); a.sendto(b\"x\",\"{folder}/datagram.sock\"); print(\"GOT\")"
            )),
            python(&format!(
                "s=socket.socket(socket.AF_UNIX); s.connect(\"\\0{name}\"); print(\"GOT\")"
            )),
            // The kernel makes a datagram pair of a raw one.
            python(&format!(
                "a,b=socket.socketpair(socket.AF_UNIX,socket.SOCK_RAW); a.sendto(b\"x\",\"{folder}/datagram.sock\"); print(\"GOT\")"
            )),
            python(&format!(
                "a,b=socket.socketpair(socket.AF_UNIX,socket.SOCK_RAW|socket.SOCK_NONBLOCK); a.connect(\"{folder}/datagram.sock\"); a.send(b\"x\"); print(\"GOT\")"
            )),
        ]
    }
}

fn answer(mut stream: std::net::TcpStream) {
    let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
    let _ = stream.read(&mut [0; 1024]);
    let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi");
}

fn python(body: &str) -> String {
    format!("python3 -c 'import socket; {body}'")
}

async fn granted(rig: &Rig, act: &str, network: NetworkAccess, unix: bool) -> Arc<ChildExit> {
    rig.sh_with(act, |policy| {
        policy.network = network;
        policy.unix_sockets = unix;
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn off_means_off_and_a_grant_opens_it() {
    for rig in levels().await {
        let ears = Ears::open(rig.work());
        for act in ears.internet() {
            let before = ears.hits();
            for unix in [false, true] {
                let exit = granted(&rig, &act, NetworkAccess::Off, unix).await;
                assert!(!got(&exit), "{:?}: {act}\n{exit:#?}", rig.level);
            }
            assert_eq!(ears.hits(), before, "{:?}: {act}", rig.level);
            let exit = granted(&rig, &act, NetworkAccess::Host, false).await;
            assert!(
                ears.hits() > before,
                "control, {:?}: {act}\n{exit:#?}",
                rig.level
            );
        }
        for act in ears.unix(rig.work()) {
            let before = ears.hits();
            for network in [
                NetworkAccess::Off,
                NetworkAccess::Proxy,
                NetworkAccess::Host,
            ] {
                let exit = granted(&rig, &act, network, false).await;
                assert!(!got(&exit), "{:?}: {act}\n{exit:#?}", rig.level);
            }
            assert_eq!(ears.hits(), before, "{:?}: {act}", rig.level);
            let exit = granted(&rig, &act, NetworkAccess::Host, true).await;
            assert!(
                ears.hits() > before,
                "control, {:?}: {act}\n{exit:#?}",
                rig.level
            );
        }
    }
}

#[tokio::test]
async fn families_nobody_needs_are_closed_even_with_the_network() {
    // Packet, vsock, bluetooth, alg, and a netlink that is not for routes.
    let families = ["17,3,0", "40,1,0", "31,3,1", "38,5,0", "16,3,9"];
    for rig in levels().await {
        for family in families {
            let act = python(&format!("s=socket.socket({family}); print(\"GOT\")"));
            let exit = granted(&rig, &act, NetworkAccess::Host, true).await;
            assert!(!got(&exit), "{:?}: {family}", rig.level);
            assert!(exit.stderr.text().contains("PermissionError"), "{exit:#?}");
        }
        let act = python("s=socket.socket(2,1,0); print(\"GOT\")");
        assert!(
            got(&granted(&rig, &act, NetworkAccess::Host, true).await),
            "control"
        );
    }
}

#[tokio::test]
async fn a_program_still_talks_to_its_own_children() {
    for rig in levels().await {
        let act = python(
            "a,b=socket.socketpair(); a.send(b\"x\"); print(\"GOT\" if b.recv(1) else \"\")",
        );
        let exit = rig.sh(&act).await;
        assert!(got(&exit), "{:?}: {exit:#?}", rig.level);
    }
}

/// Every kind of pair but the connected ones is refused, whatever flags stand beside it.
#[tokio::test(flavor = "multi_thread")]
async fn pairs_are_streams_or_packets_and_lead_nowhere_else() {
    let pair = |family: i32, kind: i32| {
        // The call itself: Python gives its own flags to what its library makes.
        format!(
            "python3 -c 'import ctypes; c=ctypes.CDLL(None); print(\"GOT\" if c.socketpair({family}, {kind}, 0, ctypes.create_string_buffer(8)) == 0 else \"no\")'"
        )
    };
    let (unix, nonblock, cloexec) = (1, 0o4000, 0o2_000_000);
    for rig in levels().await {
        let ears = Ears::open(rig.work());
        for flags in [0, nonblock, cloexec, nonblock | cloexec] {
            for kind in [2, 3, 4, 6, 10] {
                let act = pair(unix, kind | flags);
                assert!(!got(&rig.sh(&act).await), "{:?}: {act}", rig.level);
            }
            for kind in [1, 5] {
                let act = pair(unix, kind | flags);
                assert!(got(&rig.sh(&act).await), "control, {:?}: {act}", rig.level);
            }
        }
        for family in [2, 10, 16, 38, 40] {
            let act = pair(family, 1);
            assert!(!got(&rig.sh(&act).await), "{:?}: {act}", rig.level);
        }
        // The same call by the numbers of another interface.
        let x32 = "python3 -c 'import ctypes; c=ctypes.CDLL(None); print(\"GOT\" if c.syscall(0x40000000 + 53, 1, 2, 0, ctypes.create_string_buffer(8)) == 0 else \"no\")'";
        assert!(!got(&rig.sh(x32).await), "{:?}", rig.level);
        let folder = rig.work().display();
        for kind in ["SOCK_STREAM", "SOCK_SEQPACKET"] {
            for deed in [
                format!("a.connect(\"{folder}/stream.sock\")"),
                format!("b.close(); a.connect(\"{folder}/stream.sock\")"),
                format!("a.sendto(b\"x\",\"{folder}/datagram.sock\")"),
            ] {
                let act = python(&format!("a,b=socket.socketpair(1,socket.{kind}); {deed}"));
                rig.sh(&act).await;
                assert_eq!(ears.hits(), 0, "{:?}: {act}", rig.level);
            }
        }
    }
}

/// Calls of the 32-bit interface are not filtered by number: whoever makes one is ended.
#[tokio::test]
#[cfg(target_arch = "x86_64")]
async fn the_32_bit_interface_is_closed() {
    // `mov eax, 20; int 0x80; ret`: getpid as 32-bit programs call it.
    let act = "python3 -c 'import ctypes, mmap; m=mmap.mmap(-1, 4096, prot=7); m.write(b\"\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3\"); f=ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m))); print(\"GOT\" if f() > 0 else \"no\")'";
    for rig in levels().await {
        let exit = rig.sh(act).await;
        assert!(!got(&exit), "{:?}: {exit:#?}", rig.level);
        let free = rig.sh_free(act).await;
        eprintln!("{:?}: without a sandbox: {}", rig.level, free.stdout.text());
    }
}
