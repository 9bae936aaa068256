//! Fault 69: an address that a model came up with leads nowhere but to the open internet, in
//! whatever spelling, by whatever redirect. Reaching is counted at the ear.

use super::ear::Ear;
use super::proxied;
use super::tools::{LEVELS, Tools};
use crate::faults::trial::Trial;
use serde_json::json;

/// Hosts that are this machine, its network or its cloud, in spellings that some reader takes.
const HOSTS: &[&str] = &[
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "0.0.0.0",
    "0",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "localhost.localdomain",
    "a.localhost",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[fe80::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[ff02::1]",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "169.254.170.2",
    "metadata.google.internal",
    "198.18.0.1",
    "192.0.2.1",
    "224.0.0.1",
    "255.255.255.255",
    "240.0.0.1",
    "127.0.0.1%00.example.org",
    "127。0。0。1",
    "①②⑦.⓪.⓪.①",
    "1%32%37.0.0.1",
];

#[test]
fn f69_addresses_that_lead_inside() {
    let trial = Trial::begin(69);
    let ear = Ear::open();
    let mut tools = Tools::behind("bubblewrap", "", &[]);
    let port = ear.port;
    let hosts = HOSTS.iter().map(|host| format!("http://{host}:{port}/"));
    let odd = [
        format!("http://example.org@127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}@example.org/"),
        format!("http:\\\\127.0.0.1:{port}/"),
        format!("http:/127.0.0.1:{port}/"),
        format!("//127.0.0.1:{port}/"),
        format!("http://\t127.0.0.1:{port}/"),
        format!("ftp://127.0.0.1:{port}/"),
        format!("gopher://127.0.0.1:{port}/_GET"),
        "file:///etc/passwd".to_owned(),
        format!("file://127.0.0.1:{port}/etc/passwd"),
        "unix:/run/docker.sock".to_owned(),
        "data:text/plain,inside".to_owned(),
        format!("https://127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{}/health", tools.rig.port()),
    ];
    let mut tries = 0;
    for url in hosts.chain(odd) {
        tries += 1;
        let said = tools.call("web_fetch", &json!({ "url": url }));
        assert!(said.failed, "{url}: {said:?}");
        assert!(!said.text.contains("inside secrets"), "{url}: {said:?}");
        assert_eq!(ear.hits(), 0, "{url} reached the ear");
    }
    for level in LEVELS {
        tries += proxied::inward(level, HOSTS);
    }
    trial.figure("tries", tries + by_redirect(&ear));
    trial.figure("successes", 0);
}

/// A host that is opened may not lead on to one that is not; opened, it is read.
fn by_redirect(ear: &Ear) -> usize {
    let inner = Ear::open();
    let settings = format!("[web]\nprivate_hosts = [\"127.0.0.1:{}\"]\n", ear.port);
    let mut tools = Tools::behind("bubblewrap", &settings, &[]);
    let (open, closed) = (ear.port, inner.port);
    let control = json!({ "url": format!("http://127.0.0.1:{open}/page") });
    let said = tools.call("web_fetch", &control);
    assert!(said.text.contains("inside secrets"), "{said:?}");
    let places = [
        format!("http://127.0.0.1:{closed}/"),
        format!("http://localhost:{closed}/"),
        format!("http://0x7f.1:{closed}/"),
        format!("http://[::1]:{closed}/"),
        format!("//127.0.0.1:{closed}/"),
        "file:///etc/passwd".to_owned(),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
    ];
    for place in &places {
        let url = format!("http://127.0.0.1:{open}/to/{place}");
        let said = tools.call("web_fetch", &json!({ "url": url }));
        assert!(!said.text.contains("inside secrets"), "{place}: {said:?}");
        assert!(!said.text.contains("root:x:"), "{place}: {said:?}");
    }
    assert_eq!(inner.hits(), 0, "a redirect was followed inside");
    places.len()
}
