//! Messages of SOCKS5.

use super::*;
use proptest::prelude::*;

#[test]
fn a_greeting_must_offer_no_authentication() {
    assert_eq!(read_greeting(&[5, 1, 0]), SocksParse::Whole((), 3));
    assert_eq!(read_greeting(&[5, 2, 2, 0, 9]), SocksParse::Whole((), 4));
    assert_eq!(read_greeting(&[5]), SocksParse::Partial);
    assert_eq!(read_greeting(&[5, 3, 0]), SocksParse::Partial);
    assert_eq!(read_greeting(&[5, 1, 2]), SocksParse::Wrong(vec![5, 0xff]));
    assert_eq!(read_greeting(&[5, 0]), SocksParse::Wrong(vec![5, 0xff]));
}

#[test]
fn a_request_names_an_address_or_a_name() {
    let address = |text: &str| ProxyDestination::Address(text.parse().expect("is one"));
    let v4 = [5, 1, 0, 1, 127, 0, 0, 1, 0, 80, 7];
    assert_eq!(
        read_request(&v4),
        SocksParse::Whole(address("127.0.0.1:80"), 10)
    );
    let mut v6 = vec![5, 1, 0, 4];
    v6.extend(Ipv6Addr::LOCALHOST.octets());
    v6.extend([1, 187]);
    assert_eq!(
        read_request(&v6),
        SocksParse::Whole(address("[::1]:443"), 22)
    );
    let name = b"\x05\x01\x00\x03\x06a.test\x01\xbbmore";
    let wanted = ProxyDestination::Authority("a.test:443".to_owned());
    assert_eq!(read_request(name), SocksParse::Whole(wanted, 13));
    for length in 0..10 {
        assert_eq!(read_request(&v4[..length]), SocksParse::Partial, "{length}");
    }
}

#[test]
fn what_is_not_offered_is_answered_with_its_code() {
    let code = |bytes: &[u8]| match read_request(bytes) {
        SocksParse::Wrong(answer) => answer[1],
        other => panic!("{bytes:?}: {other:?}"),
    };
    // To listen, and to send datagrams.
    assert_eq!(code(&[5, 2, 0, 1, 127, 0, 0, 1, 0, 80]), COMMAND_UNKNOWN);
    assert_eq!(code(&[5, 3, 0, 1, 127, 0, 0, 1, 0, 80]), COMMAND_UNKNOWN);
    assert_eq!(code(&[5, 1, 0, 9, 0]), ADDRESS_UNKNOWN);
    assert_eq!(code(&[4, 1, 0, 1, 0]), REFUSED);
    assert_eq!(code(b"\x05\x01\x00\x03\x02\xff\xfe\x00\x50"), REFUSED);
    assert_eq!(code(b"\x05\x01\x00\x03\x04a:22\x00\x50"), REFUSED);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = (read_greeting(&bytes), read_request(&bytes));
        if bytes.len() >= 262 {
            prop_assert_ne!(read_request(&bytes), SocksParse::Partial);
        }
    }
}
