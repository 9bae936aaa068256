//! Host and Origin, by table.

use super::HostList;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};

fn status(uri: &str, hosts: &[&str], origins: &[&str]) -> u16 {
    let list = HostList::for_listener("127.0.0.1:7717".parse().unwrap());
    let mut headers = HeaderMap::new();
    for host in hosts {
        headers.append(header::HOST, HeaderValue::from_str(host).unwrap());
    }
    for origin in origins {
        headers.append(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
    }
    let uri: Uri = uri.parse().unwrap();
    list.check(&uri, &headers)
        .map_or_else(|refusal| refusal.status, |()| StatusCode::OK)
        .as_u16()
}

#[test]
fn only_exact_hosts_pass() {
    for host in ["127.0.0.1:7717", "localhost:7717", "[::1]:7717"] {
        assert_eq!(status("/", &[host], &[]), 200, "{host}");
    }
    let wrong = [
        "evil.test:7717",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:80",
        "127.0.0.1:7717.evil.test",
        "127.0.0.1.evil.test:7717",
        "user@127.0.0.1:7717",
        "LOCALHOST:7717",
        "localhost.:7717",
        "127.1:7717",
        "0.0.0.0:7717",
        "[::ffff:127.0.0.1]:7717",
        "[0:0:0:0:0:0:0:1]:7717",
        "::1:7717",
        "",
    ];
    for host in wrong {
        assert_eq!(status("/", &[host], &[]), 403, "{host}");
    }
}

#[test]
fn exactly_one_host_is_needed() {
    assert_eq!(status("/", &[], &[]), 400);
    assert_eq!(status("/", &["127.0.0.1:7717", "127.0.0.1:7717"], &[]), 400);
    assert_eq!(status("/", &["127.0.0.1:7717", "evil.test"], &[]), 400);
}

#[test]
fn an_absolute_request_line_agrees_with_the_host() {
    let host = &["127.0.0.1:7717"];
    assert_eq!(status("http://127.0.0.1:7717/ws", host, &[]), 200);
    assert_eq!(status("http://localhost:7717/ws", host, &[]), 400);
    assert_eq!(status("http://evil.test/ws", host, &[]), 400);
    assert_eq!(status("http://evil.test/ws", &["evil.test"], &[]), 403);
}

#[test]
fn only_our_own_origin_or_none_passes() {
    let host = &["127.0.0.1:7717"];
    assert_eq!(status("/", host, &["http://127.0.0.1:7717"]), 200);
    assert_eq!(status("/", host, &["http://localhost:7717"]), 200);
    let wrong = [
        "null",
        "",
        "http://evil.test",
        "https://127.0.0.1:7717",
        "http://127.0.0.1:7718",
        "http://127.0.0.1:7717/",
        "http://127.0.0.1:7717@evil.test",
        "chrome-extension://abcdef",
        "file://",
    ];
    for origin in wrong {
        assert_eq!(status("/", host, &[origin]), 403, "{origin}");
    }
    let twice = ["http://127.0.0.1:7717", "http://127.0.0.1:7717"];
    assert_eq!(status("/", host, &twice), 403);
}
