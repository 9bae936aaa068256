//! Peers that are let in without a token on the opt-in listeners, because the kernel says that
//! their socket belongs to our own user.

use std::net::SocketAddr;

/// Whether `peer` is a socket of our user on this machine.
pub(crate) fn is_ours(peer: SocketAddr, ours: SocketAddr) -> bool {
    if hob_kit::failpoint::broken(46) {
        return true;
    }
    let allowed = peer.ip().to_canonical().is_loopback() && owned_by_us(peer, ours);
    if !allowed {
        tracing::warn!(port = ours.port(), "another user's connection was refused");
    }
    allowed
}

/// An IPv4 peer may stand in either table.
#[cfg(target_os = "linux")]
fn owned_by_us(peer: SocketAddr, ours: SocketAddr) -> bool {
    let user = rustix::process::geteuid().as_raw();
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().any(|path| {
        let table = std::fs::read_to_string(path).unwrap_or_default();
        crate::procnet::owner(&table, peer, ours) == Some(user)
    })
}

/// Other kernels do not say; [`announce`] did.
#[cfg(not(target_os = "linux"))]
fn owned_by_us(_peer: SocketAddr, _ours: SocketAddr) -> bool {
    true
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
