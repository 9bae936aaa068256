//! The proxy for commands: allowed hosts, refused hosts and bounded resources.

use crate::site::{Site, answer};
use hob_kit::clock::Clock;
use hob_net::{AllowedHosts, DnsLookupFuture, EgressProxy, PrivateHosts, REFUSED_MAX, WebClient};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Another address of this machine, which these tests take for the open internet.
const OUTSIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const LONG: Duration = Duration::from_secs(30);

/// A proxy that runs, a site outside and one at home that listen on the same port.
struct Trial {
    address: SocketAddr,
    proxy: EgressProxy,
    outside: Site,
    home: Site,
    lookups: Arc<AtomicUsize>,
    /// Ends the run that the proxy is for.
    end: Option<oneshot::Sender<()>>,
}

impl Trial {
    fn new() -> Trial {
        Trial::with(&[], &[])
    }

    /// `opened` are private hosts, `PORT` being the sites'; `hosts` the only ones to reach.
    fn with(opened: &[&str], hosts: &[&str]) -> Trial {
        let (outside, home) = twins();
        let port = outside.address.port().to_string();
        let lookups = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&lookups);
        let lookup = move |name: String| -> DnsLookupFuture {
            let turn = counted.fetch_add(1, Ordering::SeqCst);
            let found = match name.as_str() {
                "home.test" => vec![HOME],
                "both.test" => vec![OUTSIDE, HOME],
                "turning.test" if turn > 0 => vec![HOME],
                _ => vec![OUTSIDE],
            };
            Box::pin(async move { Ok(found) })
        };
        let web = WebClient::with_lookup(Clock::system(), Arc::new(lookup), vec![OUTSIDE]);
        let opened: Vec<String> = opened.iter().map(|it| it.replace("PORT", &port)).collect();
        let private_hosts = PrivateHosts::new(opened.iter().map(String::as_str));
        let hosts = (!hosts.is_empty()).then(|| AllowedHosts::new(hosts).expect("is a list"));
        let proxy = EgressProxy::new(web, private_hosts, hosts);
        let listener = std::net::TcpListener::bind((HOME, 0)).expect("has a port");
        listener.set_nonblocking(true).expect("is set");
        let address = listener.local_addr().expect("has one");
        let (end, ended) = oneshot::channel();
        let served = proxy.clone().serve(listener, async {
            let _ = ended.await;
        });
        #[expect(clippy::disallowed_methods, reason = "it ends with its trial")]
        tokio::spawn(served);
        Trial {
            address,
            proxy,
            outside,
            home,
            lookups,
            end: Some(end),
        }
    }

    fn port(&self) -> u16 {
        self.outside.address.port()
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("connects")
    }

    /// Says something to the proxy; everything it answers.
    async fn say(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        // The proxy may close before everything is sent.
        let _ = stream.write_all(bytes).await;
        read_all(stream).await
    }

    /// `CONNECT`, with a request right behind it.
    async fn tunnel(&self, authority: &str) -> String {
        self.say(format!("CONNECT {authority} HTTP/1.1\r\n\r\nGET /in HTTP/1.1\r\n\r\n").as_bytes())
            .await
    }

    async fn plain(&self, url: &str) -> String {
        self.say(format!("GET {url} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
            .await
    }

    /// SOCKS5 with a request right behind it; the code of the answer, and what came after it.
    async fn socks(&self, kind: u8, host: &[u8], port: u16) -> (u8, String) {
        let mut bytes = vec![5, 1, 0, 5, 1, 0, kind];
        if kind == 3 {
            bytes.push(u8::try_from(host.len()).expect("is short"));
        }
        bytes.extend(host);
        bytes.extend(port.to_be_bytes());
        bytes.extend(b"GET /in HTTP/1.1\r\n\r\n");
        let mut stream = self.connect().await;
        let _ = stream.write_all(&bytes).await;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.expect("is answered");
        assert_eq!(&head[..3], [5, 0, 5]);
        (head[3], read_all(stream).await)
    }

    /// What was refused so far.
    fn refused(&self) -> String {
        format!("{:?}", self.proxy.refused())
    }
}

async fn read_all(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(LONG, stream.read_to_end(&mut bytes)).await;
    assert!(
        read.is_ok(),
        "it never ends: {}",
        String::from_utf8_lossy(&bytes)
    );
    String::from_utf8_lossy(&bytes).into_owned()
}

fn twins() -> (Site, Site) {
    let site = |host, port| {
        Site::try_start(SocketAddr::new(host, port), |_, stream| {
            answer(stream, 200, "", b"words");
        })
    };
    let pair = || {
        let outside = site(OUTSIDE, 0)?;
        let home = site(HOME, outside.address.port())?;
        Some((outside, home))
    };
    // Another program may use that port on this machine.
    (0..100)
        .find_map(|_| pair())
        .expect("a port that is free twice")
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_the_open_internet_are_reached_in_every_way() {
    let trial = Trial::new();
    let port = trial.port();
    let tunnelled = trial.tunnel(&format!("site.test:{port}")).await;
    assert!(tunnelled.starts_with("HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200"));
    assert!(tunnelled.ends_with("words"), "{tunnelled}");
    let plain = trial
        .plain(&format!("http://site.test:{port}/plain?a=b"))
        .await;
    assert!(plain.ends_with("words"), "{plain}");
    let (code, text) = trial.socks(3, b"site.test", port).await;
    assert!(code == 0 && text.ends_with("words"), "{code} {text}");
    assert_eq!(trial.outside.asked(), ["/in", "/plain?a=b", "/in"]);
    assert!(trial.home.asked().is_empty());
    assert_eq!(trial.refused(), "[]");
}

/// Fault 69: spellings of this machine, its network and its cloud.
const INWARD: &[&str] = &[
    "127.0.0.1",
    "127.1",
    "0x7f.0.0.1",
    "0x7f000001",
    "2130706433",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.01",
    "0",
    "0.0.0.0",
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
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "168.63.129.16",
    "224.0.0.1",
    "255.255.255.255",
    "127.0.0.1.",
    "%31%32%37.0.0.1",
    "user@127.0.0.1",
    "site.test@127.0.0.1",
    "①②⑦.⓪.⓪.①",
    "home.test",
    "both.test",
    "HOME.test",
    "",
];

#[tokio::test(flavor = "multi_thread")]
async fn no_spelling_leads_inside() {
    let trial = Trial::new();
    let port = trial.port();
    for host in INWARD {
        let response = trial.tunnel(&format!("{host}:{port}")).await;
        let is_refused =
            response.starts_with("HTTP/1.1 403") || response.starts_with("HTTP/1.1 400");
        assert!(
            is_refused && !response.contains("words"),
            "{host}: {response}"
        );
        let response = trial.plain(&format!("http://{host}:{port}/")).await;
        let is_refused =
            response.starts_with("HTTP/1.1 403") || response.starts_with("HTTP/1.1 400");
        assert!(
            is_refused && !response.contains("words"),
            "{host}: {response}"
        );
        let (code, response) = trial.socks(3, host.as_bytes(), port).await;
        assert!(
            code == 2 && response.is_empty(),
            "{host}: {code} {response}"
        );
    }
    for address in [
        "127.0.0.1",
        "0.0.0.0",
        "10.0.0.1",
        "169.254.169.254",
        "192.168.1.1",
    ] {
        let octets = address.parse::<Ipv4Addr>().expect("is one").octets();
        assert_eq!(trial.socks(1, &octets, port).await.0, 2, "{address}");
        let mapped = address
            .parse::<Ipv4Addr>()
            .expect("is one")
            .to_ipv6_mapped();
        assert_eq!(
            trial.socks(4, &mapped.octets(), port).await.0,
            2,
            "{mapped}"
        );
    }
    for address in [
        "::1",
        "::",
        "fc00::1",
        "fe80::1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ] {
        let octets = address.parse::<Ipv6Addr>().expect("is one").octets();
        assert_eq!(trial.socks(4, &octets, port).await.0, 2, "{address}");
    }
    assert!(trial.home.asked().is_empty());
    let refused = trial.proxy.refused();
    assert_eq!(refused.len(), REFUSED_MAX, "it is bounded");
    let response = trial.tunnel(&format!("127.0.0.1:{port}")).await;
    assert!(
        response.contains("127.0.0.1") && response.contains("web.private_hosts"),
        "{response}"
    );
    // Ports of other protocols, as for a page.
    let response = trial.tunnel("site.test:25").await;
    assert!(response.starts_with("HTTP/1.1 403"), "{response}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_turns_inward_is_asked_once_and_checked() {
    let trial = Trial::new();
    let authority = format!("turning.test:{}", trial.port());
    let first = trial.tunnel(&authority).await;
    assert!(first.ends_with("words"), "{first}");
    assert_eq!(trial.lookups.load(Ordering::SeqCst), 1, "looked up once");
    let second = trial.tunnel(&authority).await;
    assert!(second.starts_with("HTTP/1.1 403"), "{second}");
    assert!(trial.home.asked().is_empty());
    assert!(trial.refused().contains("turning.test"));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_hosts_of_the_grant_are_reached_and_others_not_even_looked_up() {
    let trial = Trial::with(&[], &["site.test", "*.below.test"]);
    let port = trial.port();
    for (host, is_allowed) in [
        ("site.test", true),
        ("a.below.test", true),
        ("below.test", false),
        ("other.test", false),
        ("xsite.test", false),
        ("8.8.8.8", false),
    ] {
        let before = trial.lookups.load(Ordering::SeqCst);
        let response = trial.tunnel(&format!("{host}:{port}")).await;
        assert_eq!(
            response.ends_with("words"),
            is_allowed,
            "{host}: {response}"
        );
        let (code, _) = trial.socks(3, host.as_bytes(), port).await;
        assert_eq!(code, if is_allowed { 0 } else { 2 }, "{host}");
        if !is_allowed {
            assert!(response.contains("`hosts`"), "{response}");
            assert_eq!(trial.lookups.load(Ordering::SeqCst), before, "{host}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opened_host_is_reached_but_never_this_very_process() {
    // The sites of this test are this process's own, as hob's listeners are hob's.
    let trial = Trial::with(&["127.0.0.1:PORT", "home.test", "127.0.0.1:9"], &[]);
    let port = trial.port();
    for host in ["127.0.0.1", "home.test"] {
        let response = trial.tunnel(&format!("{host}:{port}")).await;
        assert!(response.starts_with("HTTP/1.1 403"), "{host}: {response}");
        assert!(response.contains("hob itself"), "{host}: {response}");
    }
    assert!(trial.home.asked().is_empty());
    // Allowed, but nothing listens there: the proxy tried to connect.
    let response = trial.tunnel("127.0.0.1:9").await;
    assert!(response.starts_with("HTTP/1.1 502"), "{response}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_words_are_bounded() {
    let trial = Trial::new();
    let port = trial.port();
    for bytes in [
        [
            b"CONNECT a.test:1 HTTP/1.1\r\nx: ".to_vec(),
            vec![b'a'; 1_000_000],
        ]
        .concat(),
        [b"GET http://".to_vec(), vec![b'a'; 1_000_000]].concat(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x00\xf4\x01\x00".to_vec(),
        vec![0; 10_000],
    ] {
        let begun = Instant::now();
        let response = trial.say(&bytes).await;
        assert!(
            response.is_empty() || response.starts_with("HTTP/1.1 400"),
            "{response}"
        );
        assert!(
            begun.elapsed() < Duration::from_secs(9),
            "{:?}",
            begun.elapsed()
        );
    }
    // To listen for others, and a method that is not spoken.
    assert!(
        trial
            .say(&[5, 1, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 80])
            .await
            .len()
            == 12
    );
    assert!(trial.say(&[5, 1, 2]).await.as_bytes()[0] == 5);
    assert!(
        trial
            .say(&[4, 1, 0, 80, 127, 0, 0, 1, 0])
            .await
            .starts_with("HTTP/1.1 400")
    );
    let control = trial.tunnel(&format!("site.test:{port}")).await;
    assert!(control.ends_with("words"), "{control}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_head_and_too_many_connections_hold_up_nobody_else_for_long() {
    let trial = Trial::new();
    let authority = format!("site.test:{}", trial.port());
    let mut idle = Vec::new();
    for _ in 0..64 {
        let mut stream = trial.connect().await;
        stream.write_all(b"CONNECT ").await.expect("is sent");
        idle.push(stream);
    }
    // Thousands more wait in the kernel's queue or are turned away there.
    let mut waiting = Vec::new();
    for _ in 0..1_000 {
        let connecting = TcpStream::connect(trial.address);
        match tokio::time::timeout(Duration::from_millis(5), connecting).await {
            Ok(Ok(stream)) => waiting.push(stream),
            _ => break,
        }
    }
    let begun = Instant::now();
    let mut first = idle.remove(0);
    let closed = tokio::time::timeout(LONG, first.read(&mut [0; 16])).await;
    assert!(matches!(closed, Ok(Ok(0) | Err(_))), "{closed:?}");
    let took = begun.elapsed();
    assert!(took > Duration::from_secs(4) && took < LONG, "{took:?}");
    drop((idle, waiting));
    let control = trial.tunnel(&authority).await;
    assert!(control.ends_with("words"), "{control}");
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_ends_with_the_run() {
    let mut trial = Trial::new();
    let authority = format!("site.test:{}", trial.port());
    let mut stream = trial.connect().await;
    let asked = format!("CONNECT {authority} HTTP/1.1\r\n\r\n");
    stream.write_all(asked.as_bytes()).await.expect("is sent");
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.expect("is answered");
    assert_eq!(&head, b"HTTP/1.1 200");
    drop(trial.end.take());
    let rest = tokio::time::timeout(LONG, stream.read_to_end(&mut Vec::new())).await;
    assert!(rest.is_ok(), "the tunnel is closed");
    let mut refused = false;
    for _ in 0..200 {
        refused = TcpStream::connect(trial.address).await.is_err();
        if refused {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(refused, "nobody listens any more");
}
