//! Fault 68: a command without the network reaches nobody: not over TCP, UDP or DNS, not over
//! sockets of the file system or abstract ones, not by `io_uring`. Reaching is counted at the ear.

use super::proxied;
use super::tools::{LEVELS, Tools};
use crate::faults::rig::eventually;
use crate::faults::trial::Trial;
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Listeners of every kind, and how often one was reached.
struct Ears {
    hits: Arc<AtomicUsize>,
    tcp: u16,
    udp: u16,
    name: String,
}

impl Ears {
    fn open(workspace: &Path) -> Ears {
        let hits = Arc::new(AtomicUsize::new(0));
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let name = format!("hob-fault-68-{}", tcp.local_addr().expect("a port").port());
        let ears = Ears {
            hits: Arc::clone(&hits),
            tcp: tcp.local_addr().expect("a port").port(),
            udp: udp.local_addr().expect("a port").port(),
            name,
        };
        let count = Arc::clone(&hits);
        thread::spawn(move || {
            for mut stream in tcp.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let _ = stream.read(&mut [0; 512]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nheard");
            }
        });
        let count = Arc::clone(&hits);
        thread::spawn(move || {
            while udp.recv(&mut [0; 64]).is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        let datagrams = UnixDatagram::bind(workspace.join("datagram.sock")).expect("a socket");
        let count = Arc::clone(&hits);
        thread::spawn(move || {
            while datagrams.recv(&mut [0; 64]).is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        let address = SocketAddr::from_abstract_name(&ears.name).expect("a name");
        for listener in [
            UnixListener::bind(workspace.join("ear.sock")).expect("a socket"),
            UnixListener::bind_addr(&address).expect("a socket"),
        ] {
            let count = Arc::clone(&hits);
            thread::spawn(move || {
                for _ in listener.incoming().flatten() {
                    count.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        ears
    }

    /// Ways to reach one of them.
    fn attacks(&self) -> Vec<String> {
        let Ears { tcp, udp, name, .. } = self;
        let python = |code: &str| format!("python3 -c \"import socket,os\n{code}\"");
        vec![
            format!("curl -s --max-time 3 http://127.0.0.1:{tcp}/"),
            format!("curl -s --max-time 3 http://localhost:{tcp}/"),
            format!("curl -s -6 --max-time 3 'http://[::ffff:127.0.0.1]:{tcp}/'"),
            format!("timeout 3 bash -c 'echo x > /dev/tcp/127.0.0.1/{tcp}'"),
            format!("timeout 3 bash -c 'echo x > /dev/udp/127.0.0.1/{udp}'"),
            python(&format!("socket.create_connection(('127.0.0.1',{tcp}),3)")),
            python(&format!(
                "socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b'x',('127.0.0.1',{udp}))"
            )),
            python(&format!(
                "s=socket.socket(socket.AF_INET,socket.SOCK_STREAM); s.setblocking(False); \
                 s.connect_ex(('127.0.0.1',{tcp}))"
            )),
            python("s=socket.socket(socket.AF_UNIX); s.connect('ear.sock')"),
            python(&format!(
                "s=socket.socket(socket.AF_UNIX); s.connect('\\0{name}')"
            )),
            // Pairs of every kind that the kernel makes datagram sockets of.
            python("a,b=socket.socketpair(1,socket.SOCK_DGRAM); a.sendto(b'x','datagram.sock')"),
            python("a,b=socket.socketpair(1,socket.SOCK_RAW); a.sendto(b'x','datagram.sock')"),
            python(
                "a,b=socket.socketpair(1,socket.SOCK_RAW|socket.SOCK_NONBLOCK); \
                 a.connect('datagram.sock'); a.send(b'x')",
            ),
        ]
    }
}

/// What must fail by itself, whatever it would reach.
const REFUSED: &[(&str, &str)] = &[
    ("a name is looked up", "getent ahostsv4 example.org"),
    (
        "an echo is sent",
        "python3 -c \"import socket; s=socket.socket(socket.AF_INET,socket.SOCK_RAW,1); \
         s.sendto(b'x'*8,('127.0.0.1',0))\"",
    ),
    (
        "io_uring is set up",
        "python3 -c \"import ctypes,sys; l=ctypes.CDLL(None,use_errno=True); \
         b=ctypes.create_string_buffer(120); sys.exit(0 if l.syscall(425,8,b)>=0 else 1)\"",
    ),
    (
        "a packet socket is opened",
        "python3 -c \"import socket; socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\"",
    ),
    (
        "a netlink socket changes an interface",
        "ip link set lo down || ip link add dummy9 type dummy",
    ),
    (
        "a vsock is opened",
        "python3 -c \"import socket; s=socket.socket(socket.AF_VSOCK,socket.SOCK_STREAM); \
         s.connect((2,1))\"",
    ),
];

#[test]
fn f68_network_off_means_off() {
    let trial = Trial::begin(68);
    let mut tries = 0;
    for level in LEVELS {
        let mut tools = Tools::behind(level, "", &[]);
        let ears = Ears::open(&tools.workspace);
        for attack in ears.attacks() {
            tries += 1;
            let said = tools.exec(&attack);
            let hits = ears.hits.load(Ordering::SeqCst);
            assert_eq!(hits, 0, "{level}: {attack} reached an ear: {said:?}");
        }
        for (what, attack) in REFUSED {
            for network in [false, true] {
                tries += 1;
                let args = json!({ "command": attack, "network": network });
                let said = tools.call("exec", &args);
                assert_ne!(said.metadata["exitCode"], 0, "{level}: {what}: {said:?}");
            }
        }
        // With the network granted, what goes past the proxy reaches nobody either, and what goes
        // through it reaches nobody on this machine.
        for attack in ears.attacks() {
            for attack in [attack.replace("curl ", "curl --noproxy '*' "), attack] {
                tries += 1;
                let said = tools.call("exec", &json!({ "command": attack, "network": true }));
                let hits = ears.hits.load(Ordering::SeqCst);
                assert_eq!(hits, 0, "{level}: {attack} reached an ear: {said:?}");
                let note = "programs that ignore proxy settings have no network";
                assert!(said.text.contains(note), "{level}: {said:?}");
            }
        }
        controls(&mut tools, &ears);
        tries += proxied::own_listeners(level);
    }
    trial.figure("tries", tries);
    trial.figure("successes", 0);
}

/// The same attacks reach the ears from outside the walls, and TCP does from inside once this
/// machine's own network is granted.
fn controls(tools: &mut Tools, ears: &Ears) {
    for attack in ears.attacks() {
        let before = ears.hits.load(Ordering::SeqCst);
        let _ = Command::new("bash")
            .args(["-c", &attack])
            .current_dir(&tools.workspace)
            .output();
        eventually(&attack, || ears.hits.load(Ordering::SeqCst) > before);
    }
    let command = format!("curl -s --max-time 5 http://127.0.0.1:{}/", ears.tcp);
    let args = json!({ "command": command, "network": "host" });
    let said = tools.call("exec", &args);
    assert!(said.text.contains("heard"), "{said:?}");
    assert_eq!(said.metadata["network"], "host");
}
