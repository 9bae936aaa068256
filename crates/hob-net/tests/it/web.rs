//! The web client: allowed names, redirects and bounds.

use crate::server::LONG;
use crate::site::{Site, answer, bomb, moved};
use hob_kit::clock::Clock;
use hob_net::{DnsLookupFuture, NetError, PageOutcome, PageRequest, PrivateHosts, WebClient};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Another address of this machine, which these tests take for the open internet.
const OUTSIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

fn asks(url: impl Into<String>) -> PageRequest {
    PageRequest {
        url: url.into(),
        accept: "*/*".into(),
        head_timeout: LONG,
    }
}

/// A way to the web where names lead where `lead` says: the count is of the questions so far.
fn web(
    lead: impl Fn(&str, usize) -> Vec<IpAddr> + Send + Sync + 'static,
) -> (WebClient, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let lookup = move |name: String| -> DnsLookupFuture {
        let found = lead(&name, counted.fetch_add(1, Ordering::SeqCst));
        Box::pin(async move { Ok(found) })
    };
    let web = WebClient::with_lookup(Clock::system(), Arc::new(lookup), vec![OUTSIDE]);
    (web, count)
}

fn plain_site(host: IpAddr, port: u16) -> Site {
    try_site(host, port).expect("has a port")
}

/// A site outside and one at home with the same port.
fn twins() -> (Site, Site) {
    let pair = || {
        let outside = plain_site(OUTSIDE, 0);
        let home = try_site(HOME, outside.address.port())?;
        Some((outside, home))
    };
    // Another program may use that port on this machine.
    let found = (0..100).find_map(|_| pair());
    found.expect("has a port that is free twice")
}

fn try_site(host: IpAddr, port: u16) -> Option<Site> {
    Site::try_start(SocketAddr::new(host, port), |path, stream| match path {
        "/same" => moved(stream, "/page"),
        "/loop" => moved(stream, "/loop"),
        "/other" => moved(stream, "http://other.test/secret"),
        "/home" => moved(stream, "http://127.0.0.1:1/secret"),
        "/file" => moved(stream, "file:///etc/passwd"),
        _ => answer(stream, 200, "content-type: text/plain\r\n", b"words"),
    })
}

fn open(site: &Site) -> PrivateHosts {
    PrivateHosts::new([site.address.to_string().as_str()])
}

async fn words(visit: PageOutcome) -> (String, String) {
    match visit {
        PageOutcome::Page { url, response } => {
            let (bytes, _) = response.bytes(LONG, 1_000_000).await.expect("comes");
            (url, String::from_utf8_lossy(&bytes).into_owned())
        }
        PageOutcome::OtherHost { url, status } => (url, status.to_string()),
    }
}

#[tokio::test]
async fn a_private_host_is_asked_only_when_it_is_opened() {
    let site = plain_site(HOME, 0);
    let web = WebClient::new(Clock::system());
    let closed = web
        .get(&asks(site.url("/page")), &PrivateHosts::default())
        .await;
    assert!(matches!(closed, Err(NetError::Refused(_))), "{closed:?}");
    assert!(site.asked().is_empty());
    let visit = web.get(&asks(site.url("/page#part")), &open(&site)).await;
    let (url, text) = words(visit.expect("is open")).await;
    assert_eq!((url, text.as_str()), (site.url("/page"), "words"));
}

#[tokio::test]
async fn redirects_stay_within_the_host_and_end() {
    let site = plain_site(HOME, 0);
    let web = WebClient::new(Clock::system());
    let get = async |path: &str| web.get(&asks(site.url(path)), &open(&site)).await;
    let (url, _) = words(get("/same").await.expect("comes")).await;
    assert_eq!(url, site.url("/page"));
    for (path, place) in [
        ("/other", "http://other.test/secret"),
        ("/home", "http://127.0.0.1:1/secret"),
        ("/file", "file:///etc/passwd"),
    ] {
        let outcome = words(get(path).await.expect("is told")).await;
        assert_eq!(outcome, (place.to_owned(), "302".to_owned()));
    }
    let endless = get("/loop").await;
    assert!(matches!(endless, Err(NetError::Refused(_))), "{endless:?}");
    let loops = site.asked().iter().filter(|path| *path == "/loop").count();
    assert_eq!(loops, hob_net::REDIRECTS_MAX + 1);
}

#[tokio::test]
async fn a_name_that_leads_home_is_not_asked() {
    let site = plain_site(HOME, 0);
    let port = site.address.port();
    let leads: [(&str, Vec<IpAddr>); 5] = [
        ("home.test", vec![HOME]),
        ("mixed.test", vec![OUTSIDE, HOME]),
        (
            "mapped.test",
            vec!["::ffff:127.0.0.1".parse().expect("is one")],
        ),
        (
            "meta.test",
            vec!["169.254.169.254".parse().expect("is one")],
        ),
        ("ula.test", vec!["fd00::1".parse().expect("is one")]),
    ];
    let names: Vec<&str> = leads.iter().map(|(name, _)| *name).collect();
    let known = leads.clone();
    let (web, _) = web(move |name, _| {
        let found = known.iter().find(|(known, _)| *known == name);
        found.map(|(_, found)| found.clone()).unwrap_or_default()
    });
    for name in names {
        let url = format!("http://{name}:{port}/page");
        let refused = web.get(&asks(url), &PrivateHosts::default()).await;
        assert!(
            matches!(refused, Err(NetError::Refused(_))),
            "{name}: {refused:?}"
        );
    }
    assert!(site.asked().is_empty(), "{:?}", site.asked());
    // The same name is requested once the user allowed it.
    let opened = PrivateHosts::new([format!("home.test:{port}").as_str()]);
    let asked = asks(format!("http://home.test:{port}/page"));
    let visit = web.get(&asked, &opened).await;
    assert_eq!(words(visit.expect("is open")).await.1, "words");
}

#[tokio::test]
async fn a_name_that_changes_its_mind_leads_nowhere_else() {
    let (outside, home) = twins();
    let port = outside.address.port();
    let (web, count) = web(|_, asked| vec![if asked == 0 { OUTSIDE } else { HOME }]);
    // One page: the name is asked for once, and its first address is the one connected to.
    let url = format!("http://rebind.test:{port}/page");
    let visit = web.get(&asks(&url), &PrivateHosts::default()).await;
    assert_eq!(words(visit.expect("comes")).await.1, "words");
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert_eq!(outside.asked(), ["/page"]);
    // Later it leads home.
    let later = web.get(&asks(&url), &PrivateHosts::default()).await;
    assert!(matches!(later, Err(NetError::Refused(_))), "{later:?}");
    assert!(home.asked().is_empty());
}

#[tokio::test]
async fn a_redirect_asks_for_the_name_again_and_checks_it_again() {
    let (outside, home) = twins();
    let port = outside.address.port();
    let (web, count) = web(|_, asked| vec![if asked == 0 { OUTSIDE } else { HOME }]);
    let url = format!("http://rebind.test:{port}/same");
    let refused = web.get(&asks(url), &PrivateHosts::default()).await;
    assert!(matches!(refused, Err(NetError::Refused(_))), "{refused:?}");
    assert_eq!(count.load(Ordering::SeqCst), 2);
    assert_eq!((outside.asked().len(), home.asked().len()), (1, 0));
}

#[tokio::test]
async fn what_is_packed_or_endless_is_cut_at_its_bound() {
    const BYTES_MAX: usize = 300_000;
    let packed = bomb(64);
    assert!(packed.len() < 1_000_000);
    let site = Site::start(SocketAddr::new(HOME, 0), move |path, stream| {
        if path == "/bomb" {
            return answer(stream, 200, "content-encoding: gzip\r\n", &packed);
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
        while stream.write_all(&[b'x'; 4_096]).is_ok() {}
    });
    let web = WebClient::new(Clock::system());
    for path in ["/bomb", "/endless"] {
        let visit = web.get(&asks(site.url(path)), &open(&site)).await;
        let Ok(PageOutcome::Page { response, .. }) = visit else {
            panic!("{visit:?}");
        };
        let (bytes, is_cut) = response.bytes(LONG, BYTES_MAX).await.expect("comes");
        assert_eq!((bytes.len(), is_cut), (BYTES_MAX, true), "{path}");
        let filler = if path == "/bomb" { 0 } else { b'x' };
        assert!(bytes.iter().all(|byte| *byte == filler), "{path}");
    }
}

#[tokio::test]
async fn a_body_that_stops_coming_is_not_waited_for() {
    let site = Site::start(SocketAddr::new(HOME, 0), |_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx");
        std::thread::sleep(LONG);
    });
    let web = WebClient::new(Clock::system());
    let visit = web.get(&asks(site.url("/")), &open(&site)).await;
    let Ok(PageOutcome::Page { response, .. }) = visit else {
        panic!("{visit:?}");
    };
    let silent = response.bytes(Duration::from_millis(300), 1_000).await;
    assert!(matches!(silent, Err(NetError::Silent { .. })), "{silent:?}");
}
