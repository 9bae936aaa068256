//! Headers and query of a webhook call.

use super::{QUERY_NAMES_MAX, joined_headers, parse_query};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

#[test]
fn a_query_is_read_by_names() {
    let read = parse_query("a=1&b=two%20words&c=x+y&d&a=2&%C3%A9=%FF");
    let pairs: Vec<_> = read.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(
        pairs,
        [
            ("a", "2"),
            ("b", "two words"),
            ("c", "x y"),
            ("d", ""),
            ("é", "\u{fffd}")
        ]
    );
    let many: Vec<_> = (0..200).map(|n| format!("n{n}=1")).collect();
    assert_eq!(parse_query(&many.join("&")).len(), QUERY_NAMES_MAX);
}

#[test]
fn header_lines_of_one_name_are_joined() {
    let mut lines = HeaderMap::new();
    for value in ["one", "two"] {
        let name = HeaderName::from_static("x-tag");
        lines.append(name, HeaderValue::from_static(value));
    }
    lines.append("X-Raw", HeaderValue::from_bytes(b"\xff").unwrap());
    let read = joined_headers(&lines);
    assert_eq!(read["x-tag"], "one, two");
    assert_eq!(read["x-raw"], "\u{fffd}");
}
