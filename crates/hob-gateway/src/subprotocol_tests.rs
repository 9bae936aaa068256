//! Subprotocol offers, by table.

use super::read;
use axum::http::{HeaderMap, HeaderValue, header};

fn headers(lines: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        let value = HeaderValue::from_str(line).unwrap();
        headers.append(header::SEC_WEBSOCKET_PROTOCOL, value);
    }
    headers
}

#[test]
fn a_browser_offers_version_and_token() {
    for lines in [&["hob.v1, hob.token.abc"][..], &["hob.token.abc", "hob.v1"]] {
        let headers = headers(lines);
        let offer = read(&headers).unwrap();
        assert_eq!(offer.token, Some("abc"));
        assert_eq!(offer.select().unwrap().unwrap(), "hob.v1");
    }
}

#[test]
fn no_version_means_ours_and_others_are_passed_over() {
    let headers = headers(&["graphql-ws"]);
    let offer = read(&headers).unwrap();
    assert_eq!(offer.token, None);
    assert_eq!(offer.select().unwrap(), None);
}

#[test]
fn a_newer_client_that_also_speaks_ours_is_served() {
    let headers = headers(&["hob.v2, hob.v1"]);
    let selected = read(&headers).unwrap().select().unwrap();
    assert_eq!(selected.unwrap(), "hob.v1");
}

#[test]
fn only_unknown_versions_are_refused_by_name() {
    let headers = headers(&["hob.v2, hob.v10"]);
    let refusal = read(&headers).unwrap().select().unwrap_err();
    assert_eq!(refusal.status, 400);
    assert!(refusal.error.message.contains("hob.v1"));
    assert!(refusal.error.message.contains("hob.v2, hob.v10"));
}

#[test]
fn two_tokens_are_one_too_many() {
    let headers = headers(&["hob.v1, hob.token.a, hob.token.b"]);
    assert_eq!(read(&headers).unwrap_err().status, 400);
}
