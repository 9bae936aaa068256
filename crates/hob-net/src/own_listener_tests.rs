//! Ports of this process, and ports without a listener.

use super::*;
use std::net::TcpListener;

#[test]
fn a_port_of_this_process_is_known_at_every_address() {
    for address in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0", "[::]:0"] {
        let Ok(listener) = TcpListener::bind(address) else {
            continue;
        };
        let port = listener.local_addr().expect("bound").port();
        assert!(is_own_listener(port).expect("readable"), "{address}");
        drop(listener);
        assert!(!is_own_listener(port).expect("readable"), "{address}");
    }
}
