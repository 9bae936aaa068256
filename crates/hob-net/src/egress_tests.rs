//! Allowed and refused addresses.

use super::{check, check_page, check_redirect};
use crate::{NetError, PrivateHosts};
use reqwest::Url;
use std::net::IpAddr;

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

/// Fault 69: spellings of private addresses. None is requested, whatever the reason.
const INWARD: &[&str] = &[
    "http://127.0.0.1/",
    "http://127.0.0.1:80/",
    "https://127.0.0.1:8443/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://2130706433/",
    "http://127.0.0.01/",
    "http://127.000.000.001/",
    "http://0/",
    "http://0.0.0.0/",
    "http://0x0/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:53aa:64c:0:7fff:80ff:fffe]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://0xa9fea9fe/",
    "http://2852039166/",
    "http://[::ffff:169.254.169.254]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fc00::1]/",
    "http://[ff02::1]/",
    "http://168.63.129.16/",
    "http://100.100.100.200/",
    "http://10.0.0.1/",
    "http://10.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://192.168.257/",
    "http://100.64.0.1/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://127.0.0.1./",
    "http://%31%32%37.0.0.1/",
    "http:\\\\127.0.0.1/",
    "http:/127.0.0.1/",
    "http:127.0.0.1/",
    " http://127.0.0.1/",
    "http://\t127.0.0.1/",
    "http://user@127.0.0.1/",
    "http://example.com@127.0.0.1/",
    "http://127.0.0.1\\@example.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_x",
    "data:text/html,x",
    "ftp://127.0.0.1/",
    "http://example.com:25/",
    "http://example.com:0/",
];

#[test]
fn no_spelling_of_a_place_in_the_house_is_taken() {
    assert!(INWARD.len() >= 40);
    for text in INWARD {
        let checked = check_page(text, &PrivateHosts::default());
        assert!(
            matches!(checked, Err(NetError::Refused(_))),
            "{text}: {checked:?}"
        );
    }
}

/// The address alone decides too: were every spelling taken, none of these would lead inside.
#[test]
fn the_parsed_address_is_refused_by_itself() {
    let mut judged = 0;
    for text in INWARD {
        let Ok(url) = Url::parse(text) else { continue };
        let is_literal = matches!(url.host_str(), Some(host) if host.starts_with('[') || host.parse::<IpAddr>().is_ok());
        if is_literal {
            judged += 1;
            assert!(
                check_redirect(url, &PrivateHosts::default()).is_err(),
                "{text}"
            );
        }
    }
    assert!(judged >= 40, "{judged}");
}

#[test]
fn plain_addresses_of_the_open_internet_are_taken() {
    for text in [
        "https://example.com",
        "HTTPS://Example.COM/Path?q=a%20b#part",
        "http://example.com:8080/",
        "http://8.8.8.8/",
        "http://[2606:4700::1111]:8080/",
        "https://xn--bcher-kva.example/",
    ] {
        let (allowed, is_private_host) = check_page(text, &PrivateHosts::default()).expect(text);
        assert!(!is_private_host && !allowed.host.is_empty(), "{text}");
    }
    let other = check_page("http://134744072/", &PrivateHosts::default()).expect_err("is odd");
    assert!(other.to_string().contains("8.8.8.8"), "{other}");
}

#[test]
fn an_opened_host_is_taken_in_its_plain_spelling_only() {
    let open = PrivateHosts::new(["127.0.0.1:8080", "localhost:25"]);
    assert!(
        check_page("http://127.0.0.1:8080/x", &open)
            .expect("is open")
            .1
    );
    assert!(
        check_page("http://localhost:25/", &open)
            .expect("is open")
            .1
    );
    for text in [
        "http://127.1:8080/",
        "http://127.0.0.1:8081/",
        "http://[::ffff:127.0.0.1]:8080/",
    ] {
        check_page(text, &open).expect_err(text);
    }
}
