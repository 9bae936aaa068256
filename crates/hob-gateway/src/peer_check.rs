//! Peers that are let in without a token on the opt-in listeners: ordinary programs of our own
//! user. What hob itself started for a command or a service is not among them.
//!
//! Invariant: a TCP peer is admitted only if the kernel lists its socket as our user's and every
//! process that holds it passes [`PeerGuard`]; a refusal is logged with its reason.

use hob_exec::peer::PeerGuard;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Semaphore;

/// Peers looked up at once. Each lookup reads the open files of every process, so a flood of
/// connections must not take all threads that wait for files.
const LOOKUPS_AT_ONCE: usize = 2;

/// Decides who may connect to one opt-in listener.
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

    /// Whether the program behind a TCP connection may use the listener.
    pub(crate) async fn admits(&self, stream: &TcpStream) -> bool {
        if hob_kit::failpoint::broken(46) {
            return true;
        }
        let (Ok(peer), Ok(ours)) = (stream.peer_addr(), stream.local_addr()) else {
            return false;
        };
        let check = self.clone();
        let checked = self.looked_up(move || check.check_tcp(peer, ours)).await;
        self.log(&checked)
    }

    /// Whether the program behind a connection to a unix socket may use the listener.
    pub(crate) async fn admits_unix(&self, stream: &UnixStream) -> bool {
        use std::os::fd::AsFd;
        if hob_kit::failpoint::broken(46) || cfg!(not(target_os = "linux")) {
            return true;
        }
        let check = self.clone();
        let checked = match stream.as_fd().try_clone_to_owned() {
            Ok(socket) => {
                let check = move || check.guard.check_unix(&socket, check.listener);
                self.looked_up(move || check().map_err(|refused| refused.to_string()))
                    .await
            }
            Err(failure) => Err(failure.to_string()),
        };
        self.log(&checked)
    }

    async fn looked_up(
        &self,
        check: impl FnOnce() -> Result<(), String> + Send + 'static,
    ) -> Result<(), String> {
        let _turn = self.lookups.acquire().await;
        let checked = tokio::task::spawn_blocking(check).await;
        checked.unwrap_or_else(|failure| Err(failure.to_string()))
    }

    fn log(&self, checked: &Result<(), String>) -> bool {
        if let Err(reason) = checked {
            let listener = self.listener;
            tracing::warn!(listener, "a connection was refused: {reason}");
        }
        checked.is_ok()
    }

    #[cfg(target_os = "linux")]
    fn check_tcp(&self, peer: SocketAddr, ours: SocketAddr) -> Result<(), String> {
        if !peer.ip().to_canonical().is_loopback() {
            return Err("it came from another machine".to_owned());
        }
        // An IPv4 peer may stand in either table.
        let found = ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|path| {
            let table = std::fs::read_to_string(path).unwrap_or_default();
            crate::procnet::find(&table, peer, ours)
        });
        let user = rustix::process::geteuid().as_raw();
        let socket = found
            .filter(|socket| socket.user == user)
            .ok_or("its socket is another user's, or closed already")?;
        let checked = self.guard.check_socket(socket.inode, self.listener);
        checked.map_err(|refused| refused.to_string())
    }

    /// Other kernels do not say; [`announce`] did.
    #[cfg(not(target_os = "linux"))]
    fn check_tcp(&self, peer: SocketAddr, _ours: SocketAddr) -> Result<(), String> {
        if peer.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        Err("it came from another machine".to_owned())
    }
}

/// Says what was opened.
pub(crate) fn announce(clients: &str, address: SocketAddr) {
    tracing::info!("{clients} clients of this user may connect to {address} without a token");
    if cfg!(not(target_os = "linux")) {
        tracing::warn!(
            "this system does not tell whose a connection is: every user of this machine may connect to {address}"
        );
    }
}
