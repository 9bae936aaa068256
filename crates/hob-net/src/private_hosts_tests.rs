//! Matching of listed private hosts.

use super::PrivateHosts;
use reqwest::Url;

#[test]
fn an_opening_holds_for_its_host_and_port_alone() {
    let open = PrivateHosts::new([
        "127.0.0.1:8080",
        "nas.lan",
        "[::1]:9",
        "[fd00::1]",
        "x y",
        "a/b:1",
        "h:99999",
    ]);
    let holds = |url: &str| open.contains(&Url::parse(url).expect("is a URL"));
    assert!(holds("http://127.0.0.1:8080/x"));
    assert!(holds("http://nas.lan/") && holds("https://nas.lan:444/"));
    assert!(holds("http://[::1]:9/") && holds("http://[fd00::1]:80/"));
    assert!(!holds("http://127.0.0.1/") && !holds("http://127.0.0.1:8081/"));
    assert!(!holds("http://[::1]/") && !holds("http://localhost:8080/"));
    assert!(!holds("http://x.nas.lan/") && !holds("http://h/") && !holds("http://a/"));
}

#[test]
fn the_usual_port_can_be_named() {
    let open = PrivateHosts::new(["nas.lan:80"]);
    assert!(open.contains(&Url::parse("http://nas.lan/").expect("is a URL")));
    assert!(!open.contains(&Url::parse("https://nas.lan/").expect("is a URL")));
}
