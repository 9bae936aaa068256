//! Addresses that may and may not be asked.

use super::check;

#[test]
fn a_host_is_named_with_its_port() {
    let allowed = check("http://127.0.0.1:8080/v1").expect("is allowed");
    assert_eq!(allowed.host, "127.0.0.1:8080");
    assert_eq!(
        check("https://api.example.com").expect("is allowed").host,
        "api.example.com"
    );
}

#[test]
fn other_schemes_credentials_and_nonsense_are_refused() {
    for text in [
        "",
        "api.example.com",
        "file:///etc/passwd",
        "ftp://host/",
        "http://user:canary-secret@host/",
        "http://",
    ] {
        let refused = check(text).expect_err(text).to_string();
        assert!(!refused.contains("canary-secret"), "{refused}");
    }
    assert!(check(&format!("http://host/{}", "a".repeat(9_000))).is_err());
}
