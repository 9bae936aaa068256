//! Where words lead, and which hosts they name.

use super::*;

#[test]
fn a_path_is_read_step_by_step() {
    let at = |path: &str| CallPath::resolve(path, Some("/home/me"));
    let place = |path: &str, straight| CallPath::Known {
        steps: path.split('/').map(str::to_owned).collect(),
        straight,
    };
    assert_eq!(at("a//./b"), place("home/me/a/b", true));
    assert_eq!(at("a/../b"), place("home/me/b", false));
    assert_eq!(at("../../../etc"), place("etc", false));
    assert_eq!(at("/etc/x"), place("etc/x", true));
    assert_eq!(at("..a"), place("home/me/..a", true));
    assert_eq!(CallPath::resolve("a", None), CallPath::Unknown);
    assert_eq!(CallPath::resolve("a", Some("relative")), CallPath::Unknown);
    assert_eq!(at("a\0b"), CallPath::Unknown);
    assert_eq!(folder_steps("/a/../b"), None);
    assert_eq!(folder_steps("a"), None);
}

#[test]
fn a_host_is_what_a_connection_would_be_made_to() {
    let host = |text: &str| CallHost::parse(text).map(|host| (host.name, host.port));
    let named = |name: &str, port| Some((name.to_owned(), port));
    assert_eq!(
        host("https://Example.org/a"),
        named("example.org", Some(443))
    );
    assert_eq!(
        host("http://example.org.:8080?q"),
        named("example.org", Some(8080))
    );
    assert_eq!(host("example.org"), named("example.org", None));
    assert_eq!(host("example.org:22"), named("example.org", Some(22)));
    assert_eq!(host("https://[::1]:9/"), named("[::1]", Some(9)));
    assert_eq!(
        host("https://evil.test\\@good.org/"),
        named("evil.test", Some(443))
    );
    for unclear in [
        "https://good.org@evil.test/",
        "https:evil.test",
        "ftp://example.org",
        " https://example.org",
        "https://exa\tmple.org",
        "https://example%2eorg/",
        "https://exämple.org/",
        "https:///x",
        "",
        "example.org/x",
        "a b",
        "https://[x]/",
        "https://example.org:99999/",
    ] {
        assert_eq!(host(unclear), None, "{unclear}");
    }
}

#[test]
fn a_pattern_of_hosts_covers_what_it_says() {
    let fits = |pattern: &str, host: &str| {
        let pattern = HostPattern::parse(pattern).expect("is a pattern");
        pattern.matches(&CallHost::parse(host).expect("is a host"))
    };
    assert!(fits("example.org", "https://example.org/"));
    assert!(fits("Example.org", "example.org:8080"));
    assert!(!fits("example.org", "https://a.example.org/"));
    assert!(fits("*.example.org", "https://a.b.example.org/"));
    assert!(!fits("*.example.org", "https://example.org/"));
    assert!(!fits("*.example.org", "https://badexample.org/"));
    assert!(fits("*", "https://anything.test/"));
    assert!(fits("example.org:443", "https://example.org/"));
    assert!(!fits("example.org:443", "http://example.org/"));
    for wrong in ["", "a*.org", "*.", "https://example.org", "a/b", "*x"] {
        assert!(HostPattern::parse(wrong).is_none(), "{wrong}");
    }
}
