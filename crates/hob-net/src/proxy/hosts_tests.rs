//! Host lists: allowed hosts and invalid entries.

use super::*;

#[test]
fn a_list_lets_through_what_it_says() {
    let list = [
        "Example.org",
        "*.crates.io",
        "api.test:8443",
        "1.2.3.4",
        "[2606:4700::1111]",
    ];
    let list = AllowedHosts::new(&list).expect("is a list");
    for (host, port, allowed) in [
        ("example.org", 443, true),
        ("example.org", 8080, true),
        ("a.example.org", 443, false),
        ("badexample.org", 443, false),
        ("example.org.evil.test", 443, false),
        ("static.crates.io", 443, true),
        ("a.b.crates.io", 443, true),
        ("crates.io", 443, false),
        (".crates.io", 443, false),
        ("evilcrates.io", 443, false),
        ("api.test", 8443, true),
        ("api.test", 443, false),
        ("1.2.3.4", 80, true),
        ("1.2.3.5", 80, false),
        ("[2606:4700::1111]", 443, true),
    ] {
        assert_eq!(list.allow(host, port), allowed, "{host}:{port}");
    }
}

#[test]
fn what_is_no_host_is_refused_by_name() {
    for wrong in [
        "",
        "*",
        "*.",
        "a*.org",
        "*x",
        "https://example.org",
        "a/b",
        "a b",
        "user@host",
        "a?b",
        "example.org:",
        "example.org:x",
        "example.org:99999",
        "example.org:+80",
        "127.1",
        "0x7f.1",
        "*.1.2.3.4",
        "example.org.",
        "exämple.org",
        "a\nb",
        "[::ffff:1.2.3.4]",
    ] {
        let refused = AllowedHosts::new(&[wrong]).expect_err(wrong);
        assert!(refused.contains("`hosts` takes"), "{refused}");
        assert!(!refused.contains('\n'), "{refused}");
    }
    let none: [&str; 0] = [];
    assert!(AllowedHosts::new(&none).is_err());
    assert!(AllowedHosts::new(&vec!["a.test"; HOSTS_MAX + 1]).is_err());
    assert!(AllowedHosts::new(&vec!["a.test"; HOSTS_MAX]).is_ok());
}
