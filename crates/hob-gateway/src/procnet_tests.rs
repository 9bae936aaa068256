//! Rows of a real Linux machine.

#![cfg(target_endian = "little")]

use super::{ListedSocket, find_socket};
use std::net::SocketAddr;

const TCP: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1E25 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
   1: 0100007F:1E25 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 20 4 30 10 -1
   2: 0100007F:C350 0100007F:1E25 01 00000000:00000000 02:00000000 00000000  1001        0 3 1 0 20 4 30 10 -1
   3: 0100007F:C351 0100007F:1E25 06 00000000:00000000 03:00000176 00000000     0        0 0 3 0
   4: garbage
   5: 0100007F:C352 0100007F:1E25 01
";

const TCP6: &str = "\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000001000000:C350 00000000000000000000000001000000:1E25 01 00000000:00000000 00:00000000 00000000  1002        0 4 1 0 20 4 30 10 -1
   1: 0000000000000000FFFF00000100007F:C360 0000000000000000FFFF00000100007F:1E25 01 00000000:00000000 00:00000000 00000000  1003        0 5 1 0 20 4 30 10 -1
";

fn owner(table: &str, peer: SocketAddr, ours: SocketAddr) -> Option<u32> {
    find_socket(table, peer, ours).map(|socket| socket.user)
}

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn the_peers_own_row_names_its_user_and_inode() {
    let ours = at("127.0.0.1:7717");
    let socket = ListedSocket {
        user: 1001,
        inode: 3,
    };
    assert_eq!(find_socket(TCP, at("127.0.0.1:50000"), ours), Some(socket));
}

#[test]
fn our_own_side_of_the_connection_is_not_the_peers() {
    let (peer, ours) = (at("127.0.0.1:50000"), at("127.0.0.1:7717"));
    assert_eq!(owner(TCP, ours, peer), Some(1000));
}

#[test]
fn closing_unknown_and_torn_rows_have_no_owner() {
    let ours = at("127.0.0.1:7717");
    assert_eq!(owner(TCP, at("127.0.0.1:50001"), ours), None);
    assert_eq!(owner(TCP, at("127.0.0.1:50002"), ours), None);
    assert_eq!(owner(TCP, at("127.0.0.1:50003"), ours), None);
    assert_eq!(owner("", at("127.0.0.1:50000"), ours), None);
    assert_eq!(
        owner(TCP, at("127.0.0.1:50000"), at("127.0.0.1:7718")),
        None
    );
}

#[test]
fn six_and_mapped_addresses_are_read() {
    assert_eq!(owner(TCP6, at("[::1]:50000"), at("[::1]:7717")), Some(1002));
    let mapped = owner(TCP6, at("127.0.0.1:50016"), at("127.0.0.1:7717"));
    assert_eq!(mapped, Some(1003));
}
