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

#[test]
fn only_listeners_of_the_port_are_taken_from_the_table() {
    let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0FC8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1 0 100 0 0 10 0
   1: 0100007F:0FC8 0100007F:8A2C 01 00000000:00000000 00:00000000 00000000     0        0 4343 1 0 20 4 30 10 -1
   2: 0100007F:0FC9 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4444 1 0 100 0 0 10 0
";
    assert_eq!(listeners(table, 0x0FC8).collect::<Vec<_>>(), [4242]);
    assert_eq!(listeners(table, 80).count(), 0);
}
