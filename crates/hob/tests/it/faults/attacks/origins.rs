//! Fault 39: sockets opened by pages of other origins, in a real browser and by hand.

use crate::faults::http;
use crate::faults::process::Beside;
use crate::faults::rig::{PATIENCE, Rig};
use crate::faults::trial::Trial;
use crate::faults::websocket::Socket;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// What each page tries, by the name it reports under: two host names, the token in the subprotocol.
const FRAMES: [&str; 5] = ["page", "frame", "sandboxed", "data", "srcdoc"];
const HOSTS: [&str; 2] = ["127.0.0.1", "localhost"];
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

#[test]
fn f39_cross_origin_websocket() {
    let trial = Trial::begin(39);
    let mut rig = Rig::new();
    rig.env("HOB_LISTEN_LOOPRUNNER", "127.0.0.1:0").start();
    let by_hand = raw_origins(&rig);
    let own = format!("Origin: http://127.0.0.1:{}", rig.port());
    let bearer = format!("Authorization: Bearer {}", rig.token());
    let taken = Socket::open(rig.port(), &[&bearer, &own]).expect("an answer");
    assert!(taken.is_ok(), "hob's own origin is taken");

    let before = traces(&rig);
    let Some(reports) = browse(&rig) else {
        return trial.not_run("needs a browser: apt-get install chromium");
    };
    let opened: Vec<_> = reports
        .iter()
        .filter(|(what, outcome)| *what != "control" && *outcome == "open")
        .collect();
    assert_eq!(
        reports.get("control").map(String::as_str),
        Some("open"),
        "the page can open sockets: {reports:?}"
    );
    assert!(
        opened.is_empty(),
        "opened from a page of another origin: {opened:?}"
    );
    assert_eq!(reports.len(), 1 + FRAMES.len() * HOSTS.len(), "{reports:?}");
    assert_eq!(traces(&rig), before, "no page had an effect");
    let tries = by_hand + reports.len() - 1;
    trial.figure("accepted", format_args!("{}/{tries}", opened.len()));
    trial.figure("in_a_browser", reports.len() - 1);
}

/// What a page could have changed.
fn traces(rig: &Rig) -> Value {
    let mut peer = rig.peer();
    json!([
        peer.must("session.list", &json!({})),
        peer.must("loop.get", &json!({ "name": "default" })),
    ])
}

/// Foreign origins by hand, with the right token: 403 before any upgrade.
fn raw_origins(rig: &Rig) -> usize {
    let port = rig.port();
    let looprunner = rig.listener("looprunner");
    let bearer = format!("Authorization: Bearer {}", rig.token());
    let origins = [
        "http://evil.test".to_owned(),
        "null".to_owned(),
        "file://".to_owned(),
        String::new(),
        "chrome-extension://abcdefghijklmnopabcdefghijklmnop".to_owned(),
        "moz-extension://6f2a6a3e-6b0a-4b1c-9d5e-0a1b2c3d4e5f".to_owned(),
        "safari-web-extension://6F2A6A3E".to_owned(),
        "vscode-webview://x".to_owned(),
        "http://127.0.0.1".to_owned(),
        format!("http://127.0.0.1:{}", port ^ 1),
        format!("https://127.0.0.1:{port}"),
        format!("ws://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{port}.evil.test"),
        format!("http://127.0.0.1:{port}@evil.test"),
        format!("http://evil.test:{port}"),
        format!("http://127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}, http://evil.test"),
        format!("http://[::ffff:127.0.0.1]:{port}"),
        format!("http://127.1:{port}"),
    ];
    for origin in &origins {
        let line = format!("Origin: {origin}");
        let refused = Socket::open(port, &[&bearer, &line]).expect("an answer");
        let reply = refused.err().unwrap_or_else(|| panic!("{line} was taken"));
        assert_eq!(reply.status, 403, "{line}: {reply:?}");
        for (port, token) in [(port, bearer.as_str()), (looprunner, "X-No-Token: 1")] {
            let reply = http::post(port, "/api/start", &[token, &line], "");
            let reply = reply.expect("an answer");
            assert_eq!(reply.status, 403, "{line} starts a loop: {reply:?}");
        }
    }
    let own = format!("Origin: http://127.0.0.1:{port}");
    for pair in [
        [own.as_str(), "Origin: http://evil.test"],
        ["Origin: http://evil.test", own.as_str()],
    ] {
        let refused = Socket::open(port, &[&bearer, pair[0], pair[1]]).expect("an answer");
        assert!(
            refused
                .err()
                .is_some_and(|reply| [400, 403].contains(&reply.status)),
            "{pair:?}"
        );
    }
    origins.len() * 3 + 2
}

/// Opens a hostile page in a browser and collects what it reports; none without a browser.
fn browse(rig: &Rig) -> Option<BTreeMap<String, String>> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port for the page");
    let port = listener.local_addr().expect("an address").port();
    let pages = Pages {
        back: format!("http://127.0.0.1:{port}"),
        hob: rig.port(),
        looprunner: rig.listener("looprunner"),
        token: rig.token(),
    };
    let (sender, receiver) = sync_channel(64);
    std::thread::spawn(move || serve(&listener, &pages, &sender));
    let profile = rig.scratch().join("profile");
    let mut last_error = None;
    for browser in BROWSERS {
        let started = Beside::start(
            Command::new(browser)
                .args([
                    "--headless=new",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--disable-dev-shm-usage",
                ])
                .args([
                    "--disable-background-networking",
                    "--disable-component-update",
                    "--disable-sync",
                ])
                .args([
                    "--no-first-run",
                    "--no-default-browser-check",
                    "--disable-default-apps",
                ])
                .arg(format!("--user-data-dir={}", profile.display()))
                .arg(format!("http://127.0.0.1:{port}/page"))
                .env("HOME", rig.scratch())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        );
        match started {
            Ok(_running) => return Some(collect(&receiver)),
            Err(error) => last_error = Some(error),
        }
    }
    println!("no browser: {last_error:?}");
    None
}

fn collect(reports: &Receiver<(String, String)>) -> BTreeMap<String, String> {
    let deadline = Instant::now() + PATIENCE;
    let mut seen = BTreeMap::new();
    while seen.len() < 1 + FRAMES.len() * HOSTS.len() {
        match reports.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok((what, outcome)) => seen.insert(what, outcome),
            Err(_) => break,
        };
    }
    seen
}

/// The evil site.
struct Pages {
    back: String,
    hob: u16,
    looprunner: u16,
    token: String,
}

impl Pages {
    /// A page that tries to reach hob from wherever it is shown.
    fn attempt(&self, name: &str) -> String {
        let Pages {
            back,
            hob,
            looprunner,
            token,
        } = self;
        let hosts = json!(HOSTS);
        format!(
            r#"<!doctype html><script>
            const tell = (what, outcome) => fetch("{back}/report?" + what + "=" + outcome, {{ mode: "no-cors" }});
            const attempt = (what, url, protocols) => {{
                let socket;
                try {{ socket = new WebSocket(url, protocols); }} catch (error) {{ return tell(what, "threw"); }}
                socket.onopen = () => tell(what, "open");
                socket.onerror = () => tell(what, "refused");
            }};
            for (const host of {hosts}) {{
                fetch("http://" + host + ":{hob}/api/rpc/session.create",
                    {{ method: "POST", mode: "no-cors", body: '{{"sessionKey":"forged"}}' }}).catch(() => {{}});
                for (const path of ["config", "start"]) {{
                    const body = new Blob(['{{"user":"forged"}}']);
                    fetch("http://" + host + ":{looprunner}/api/" + path,
                        {{ method: "POST", mode: "no-cors", body }}).catch(() => {{}});
                }}
                attempt("{name}@" + host, "ws://" + host + ":{hob}/ws", ["hob.v1", "hob.token.{token}"]);
            }}
            if ("{name}" === "page") attempt("control", "{back}/control".replace("http", "ws"), []);
            </script>"#
        )
    }

    /// The page and the frames in it: another site, an opaque origin, and two made on the spot.
    fn page(&self) -> String {
        let other = self.back.replace("127.0.0.1", "localhost");
        let escape = |text: String| text.replace('&', "&amp;").replace('"', "&quot;");
        let data = self.attempt("data").replace('%', "%25").replace('#', "%23");
        format!(
            "{}<iframe src=\"{other}/frame\"></iframe><iframe sandbox=\"allow-scripts\" src=\"/sandboxed\"></iframe>\
             <iframe src=\"data:text/html,{}\"></iframe><iframe sandbox=\"allow-scripts\" srcdoc=\"{}\"></iframe>",
            self.attempt("page"),
            escape(data),
            escape(self.attempt("srcdoc")),
        )
    }
}

fn serve(listener: &TcpListener, pages: &Pages, reports: &SyncSender<(String, String)>) {
    for stream in listener.incoming().map_while(Result::ok) {
        // A browser opens connections in advance: one that says nothing must not stop the rest.
        let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
        let _ = answer(stream, pages, reports);
    }
}

fn answer(
    mut stream: TcpStream,
    pages: &Pages,
    reports: &SyncSender<(String, String)>,
) -> std::io::Result<()> {
    let head = http::read_head(&mut stream)?;
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    if target == "/control" {
        let key = http::header(&head, "sec-websocket-key").unwrap_or_default();
        let accept = tokio_tungstenite::tungstenite::handshake::derive_accept_key(key.as_bytes());
        let upgrade =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket";
        return write!(
            stream,
            "{upgrade}\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        );
    }
    if let Some((what, outcome)) = target
        .strip_prefix("/report?")
        .and_then(|report| report.split_once('='))
    {
        let _ = reports.send((what.replace("%40", "@"), outcome.to_owned()));
    }
    let body = match target.as_str() {
        "/page" => pages.page(),
        "/frame" => pages.attempt("frame"),
        "/sandboxed" => pages.attempt("sandboxed"),
        _ => String::new(),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}
