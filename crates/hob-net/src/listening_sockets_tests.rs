//! The kernel's answer, the tables, and malformed bytes.

use super::*;
use std::net::TcpListener;

const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0FC8 00000000:0000 0A 00000000:00000000 00:00000000 00000000   998        0 4242 1 0 100 0 0 10 0
   1: 0100007F:0FC8 0100007F:8A2C 01 00000000:00000000 00:00000000 00000000     0        0 4343 1 0 20 4 30 10 -1
   2: 0100007F:0FC9 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4444 1 0 100 0 0 10 0
   3: 0000000000000000FFFF00000100007F:0FC8 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 4545 1 0 100 0 0 10 0
   4: 0100007F:0FC8 00000000:0000 0A cut
";

#[test]
#[cfg(target_endian = "little")]
fn only_listeners_of_the_port_are_taken_from_the_table() {
    let at = |port| TABLE.lines().filter_map(move |row| table_socket(row, port));
    let localhost = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let socket = |user, inode| ListeningSocket {
        address: localhost,
        user,
        inode,
    };
    let found: Vec<_> = at(0x0FC8).collect();
    assert_eq!(found, [socket(998, 4242), socket(7, 4545)]);
    assert_eq!(at(80).count(), 0);
}

#[test]
fn the_kernel_and_the_tables_agree() {
    for address in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0", "[::]:0"] {
        let Ok(listener) = TcpListener::bind(address) else {
            continue;
        };
        let bound = listener.local_addr().expect("bound");
        let found = from_kernel(bound.port()).expect("the kernel answers");
        assert_eq!(found, from_tables(bound.port()).expect("readable"));
        let [socket] = found.as_slice() else {
            panic!("{address}: {found:?}");
        };
        assert_eq!(socket.address, bound.ip());
        assert_eq!(socket.user, rustix::process::geteuid().as_raw());
        // A connection to it is no listener.
        let client = std::net::TcpStream::connect(bound);
        assert_eq!(from_kernel(bound.port()).expect("an answer").len(), 1);
        drop((client, listener));
        assert_eq!(from_kernel(bound.port()).expect("an answer"), []);
    }
}

#[test]
fn cut_messages_end_the_answer() {
    let request = diag_request(AddressFamily::INET, 80);
    let (kind, body, after) = next_message(&request).expect("whole");
    assert_eq!((kind, body.len(), after.len()), (BY_FAMILY, 56, 0));
    for length in 0..REQUEST_BYTES {
        let cut = request.get(..length).expect("shorter");
        assert_eq!(next_message(cut), None, "{length}");
    }
    // A length below that of the header.
    assert_eq!(next_message(&[0; HEADER_BYTES]), None);
    let mut socket = [0; 72];
    socket[0] = 2;
    assert!(diag_socket(&socket, 0).is_some());
    for length in 0..socket.len() {
        assert_eq!(diag_socket(&socket[..length], 0), None, "{length}");
    }
}
