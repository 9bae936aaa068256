//! Heads of requests to the proxy.

use super::*;
use proptest::prelude::*;

fn whole(text: &str) -> ProxyRequest {
    match read_head(text.as_bytes()) {
        HeadParse::Whole(request) => request,
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn a_tunnel_names_its_host_and_leaves_what_follows() {
    let head = "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n";
    let request = whole(&format!("{head}early bytes"));
    let wanted = ProxyDestination::Authority("example.org:443".to_owned());
    assert_eq!(request.destination, wanted);
    assert_eq!(request.forwarded, None);
    assert_eq!(request.head_bytes, head.len());
}

#[test]
fn a_plain_request_goes_on_to_the_host_of_its_address() {
    let request = whole(
        "POST http://Example.org:8080/a/b?q=1#part HTTP/1.1\r\nHost: evil.test\r\n\
         User-Agent: x\r\nProxy-Authorization: Basic c2VjcmV0\r\nConnection: keep-alive, X-Odd, \
         Content-Length\r\nX-Odd: 1\r\nProxy-Connection: keep-alive\r\nContent-Length: 2\r\n\r\nhi",
    );
    let sent = String::from_utf8(request.forwarded.expect("is plain")).expect("is text");
    assert_eq!(
        sent,
        "POST /a/b?q=1 HTTP/1.1\r\nHost: example.org:8080\r\nUser-Agent: x\r\n\
         Content-Length: 2\r\nConnection: close\r\n\r\n"
    );
    let old = whole("GET http://a.test HTTP/1.0\r\n\r\n");
    let sent = String::from_utf8(old.forwarded.expect("is plain")).expect("is text");
    assert!(
        sent.starts_with("GET / HTTP/1.0\r\nHost: a.test\r\n"),
        "{sent}"
    );
}

#[test]
fn what_is_no_request_to_a_proxy_is_said_so() {
    for text in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET https://a.test/ HTTP/1.1\r\n\r\n",
        "GET ftp://a.test/ HTTP/1.1\r\n\r\n",
        "GET http:// HTTP/1.1\r\n\r\n",
        "GET http://[x/ HTTP/1.1\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01",
        "\0\0\0\0",
        "GET http://a.test/ HTTP/1.1\r\nbad header\r\n\r\n",
        "SSH-2.0-OpenSSH_9.6\r\n",
    ] {
        let read = read_head(text.as_bytes());
        assert!(matches!(read, HeadParse::Wrong(_)), "{text:?}: {read:?}");
    }
    let many = "a: b\r\n".repeat(200);
    let many = format!("CONNECT a:1 HTTP/1.1\r\n{many}\r\n");
    assert!(matches!(read_head(many.as_bytes()), HeadParse::Wrong(_)));
    assert_eq!(read_head(b"CONNECT a:1 HT"), HeadParse::Partial);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = read_head(&bytes);
    }

    /// However the target is written, one line of a request is sent on, with one host.
    #[test]
    fn no_target_adds_lines(target in "http://[!-~]{1,40}") {
        let text = format!("GET {target} HTTP/1.1\r\n\r\n");
        if let HeadParse::Whole(request) = read_head(text.as_bytes()) {
            let sent = String::from_utf8(request.forwarded.expect("is plain")).expect("is text");
            prop_assert_eq!(sent.matches("\r\n").count(), 4, "{}", sent);
            prop_assert_eq!(sent.matches("Host:").count(), 1 + target.matches("Host:").count());
        }
    }
}
