//! The check of peers on the opt-in listeners, which need no token. It admits ordinary programs of
//! hob's user, but none that hob itself started for a command or a service.
//!
//! Invariant: a TCP peer is admitted only if the kernel lists its socket under hob's user and every
//! process that holds the socket passes [`PeerGuard`]. A refusal is logged with its reason.

use hob_exec::peer::PeerGuard;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Semaphore;

/// Concurrent lookups. Each one reads the open files of every process, so a flood of connections
/// must not take all blocking threads.
const LOOKUPS_AT_ONCE: usize = 2;

/// Decides which programs may connect to one opt-in listener.
#[derive(Clone, Debug)]
pub(crate) struct PeerCheck {
    listener: &'static str,
    guard: PeerGuard,
    lookups: Arc<Semaphore>,
}

impl PeerCheck {
    pub(crate) fn new(listener: &'static str, guard: PeerGuard) -> PeerCheck {
        PeerCheck {
            listener,
            guard,
            lookups: Arc::new(Semaphore::new(LOOKUPS_AT_ONCE)),
        }
    }

    /// The surface of the listener.
    pub(crate) fn listener(&self) -> &'static str {
        self.listener
    }

    /// Returns true if the program behind a TCP connection may use the listener.
    pub(crate) async fn admits_tcp(&self, stream: &TcpStream) -> bool {
        let (Ok(peer), Ok(ours)) = (stream.peer_addr(), stream.local_addr()) else {
            return false;
        };
        let check = self.clone();
        let checked = self.run_lookup(move || check.check_tcp(peer, ours)).await;
        self.log_refusal(&checked)
    }

    /// Returns true if the program behind a unix socket connection may use the listener.
    pub(crate) async fn admits_unix(&self, stream: &UnixStream) -> bool {
        use std::os::fd::AsFd;
        if cfg!(not(target_os = "linux")) {
            return true;
        }
        let check = self.clone();
        // The blocking task needs a descriptor that outlives this borrow.
        let checked = match stream.as_fd().try_clone_to_owned() {
            Ok(socket) => {
                let check = move || check.guard.check_unix(&socket, check.listener);
                self.run_lookup(move || check().map_err(|refused| refused.to_string()))
                    .await
            }
            Err(failure) => Err(failure.to_string()),
        };
        self.log_refusal(&checked)
    }

    async fn run_lookup(
        &self,
        check: impl FnOnce() -> Result<(), String> + Send + 'static,
    ) -> Result<(), String> {
        // An error would mean a closed semaphore, which never happens; the check then runs anyway.
        let _turn = self.lookups.acquire().await;
        let checked = tokio::task::spawn_blocking(check).await;
        checked.unwrap_or_else(|failure| Err(failure.to_string()))
    }

    fn log_refusal(&self, checked: &Result<(), String>) -> bool {
        if let Err(reason) = checked {
            let listener = self.listener;
            tracing::warn!(listener, "a connection was refused: {reason}");
        }
        checked.is_ok()
    }

    #[cfg(target_os = "linux")]
    fn check_tcp(&self, peer: SocketAddr, ours: SocketAddr) -> Result<(), String> {
        // Defence in depth: the listener is bound to loopback anyway.
        if !peer.ip().to_canonical().is_loopback() {
            return Err("it came from another machine".to_owned());
        }
        // An IPv4 peer may be listed in either table.
        let found = ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|path| {
            let table = std::fs::read_to_string(path).unwrap_or_default();
            crate::procnet::find_socket(&table, peer, ours)
        });
        let user = rustix::process::geteuid().as_raw();
        let socket = found
            .filter(|socket| socket.user == user)
            .ok_or("its socket is another user's, or closed already")?;
        let checked = self.guard.check_socket(socket.inode, self.listener);
        checked.map_err(|refused| refused.to_string())
    }

    /// Other kernels do not tell the peer's user; [`announce`] has warned about it.
    #[cfg(not(target_os = "linux"))]
    fn check_tcp(&self, peer: SocketAddr, _ours: SocketAddr) -> Result<(), String> {
        if peer.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        Err("it came from another machine".to_owned())
    }
}

/// Logs that a listener without tokens is open.
pub(crate) fn announce(clients: &str, address: SocketAddr) {
    tracing::info!("{clients} clients of this user may connect to {address} without a token");
    if cfg!(not(target_os = "linux")) {
        tracing::warn!(
            "this system does not reveal the user behind a connection: every user of this machine may connect to {address}"
        );
    }
}
