//! Part of fault 46: every listener that asks for no token, of each system whose clients need one.
//! Only ordinary programs of the same user are answered: no other user, no program that hob started,
//! and no page.

use super::neighbours::as_nobody;
use crate::faults::http;
use crate::faults::rig::{Rig, eventually};
use rustix::process::getuid;
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A listener: its surface, and a request that an ordinary program is answered.
struct OpenListener {
    surface: &'static str,
    /// A port, or the path of a socket.
    place: String,
    path: &'static str,
}

const PATHS: [(&str, &str); 3] = [
    ("agentloop", "/"),
    ("agentloop-speech", "/health"),
    ("looprunner", "/api/state"),
];

fn start(rig: &mut Rig) -> Vec<OpenListener> {
    let work = work(rig);
    fs::create_dir_all(&work).expect("a folder");
    let archy = work.join("archy.sock");
    for folder in [rig.scratch(), work.as_path()] {
        fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("a mode");
    }
    rig.env("HOB_LISTEN_ARCHY", &archy.display().to_string());
    rig.env("HOB_LISTEN_AGENTLOOP", "127.0.0.1:0");
    rig.env("HOB_DIALECT_AGENTLOOP_SPEECH", "127.0.0.1:0");
    rig.env("HOB_LISTEN_LOOPRUNNER", "127.0.0.1:0");
    rig.start();
    fs::set_permissions(&archy, Permissions::from_mode(0o666)).expect("a mode");
    let status = rig.peer().must("daemon.status", &json!({}));
    let lines = status["listeners"].as_array().expect("a list").iter();
    let lines: Vec<&str> = lines.filter_map(Value::as_str).collect();
    let port = |surface: &str| {
        let start = format!("{surface} 127.0.0.1:");
        let found = lines.iter().find_map(|line| line.strip_prefix(&start));
        found.unwrap_or_else(|| panic!("{surface} in {lines:?}"))
    };
    let mut open: Vec<OpenListener> = PATHS
        .iter()
        .map(|&(surface, path)| OpenListener {
            surface,
            place: port(surface).to_owned(),
            path,
        })
        .collect();
    open.push(OpenListener {
        surface: "archy",
        place: archy.display().to_string(),
        path: "",
    });
    open
}

/// The workspace of commands. The socket is in it, so that the sandbox does not hide it.
fn work(rig: &Rig) -> PathBuf {
    rig.scratch().join("work")
}

/// A program that connects, asks, and writes how much it was answered.
const ASKING: &str = r#"
import socket, sys
place, path, result = sys.argv[1:4]
try:
    if path:
        peer = socket.create_connection(("127.0.0.1", int(place)), 5)
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{place}\r\nConnection: close\r\n\r\n"
        peer.sendall(head.encode())
    else:
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(5)
        peer.connect(place)
        peer.sendall(b'{"action":"check_session","data":{}}')
    answer = peer.recv(64)
except OSError:
    answer = b""
open(result, "w").write(f"{len(answer)} ended")
"#;

/// A line of shell that asks a listener.
fn asks(listener: &OpenListener, script: &Path, result: &Path) -> String {
    let (script, result) = (script.display(), result.display());
    let (place, path) = (&listener.place, listener.path);
    format!("python3 '{script}' '{place}' '{path}' '{result}'")
}

/// Runs a line as a service of the person's, with the listeners that its file names.
fn by_service(rig: &Rig, name: &str, listen: &str, line: &str, result: &Path) -> String {
    let services = rig.home().join("services");
    fs::create_dir_all(&services).expect("a folder");
    let argv = json!(["bash", "-c", format!("{line}; sleep 600")]);
    let file = format!("{listen}restart = \"never\"\ncommand = {argv}\n");
    fs::write(services.join(format!("{name}.toml")), file).expect("a file");
    rig.peer().must("service.start", &json!({ "name": name }));
    let read = || fs::read_to_string(result).unwrap_or_default();
    eventually("it has asked", || read().contains("ended"));
    let _ = rig.peer().call("service.stop", &json!({ "name": name }));
    read()
}

#[test]
fn no_listener_of_a_dialect_answers_what_hob_started() {
    let mut rig = Rig::new();
    let listeners = start(&mut rig);
    let folder = work(&rig);
    let script = folder.join("asking.py");
    fs::write(&script, ASKING).expect("a file");
    for (number, listener) in listeners.iter().enumerate() {
        let surface = listener.surface;
        for (kind, listen, is_answered) in [
            ("plain", String::new(), false),
            // The positive control: the person gave this service the listener.
            ("given", format!("listen = [\"{surface}\"]\n"), true),
        ] {
            let name = format!("{kind}{number}");
            let result = rig.scratch().join(&name);
            let line = asks(listener, &script, &result);
            let told = by_service(&rig, &name, &listen, &line, &result);
            assert_eq!(told != "0 ended", is_answered, "{surface} {kind}: {told}");
        }
    }
    // A model's command cannot reach them either.
    for listener in &listeners {
        let result = folder.join(listener.surface);
        let params = json!({
            "name": "exec",
            "args": { "command": asks(listener, &script, &result), "network": "host" },
            "context": { "workspace": folder },
        });
        let told = rig.peer().must("tool.execute", &params);
        let answer = fs::read_to_string(&result).unwrap_or_default();
        let surface = listener.surface;
        assert_eq!(answer, "0 ended", "{surface} answered a command: {told}");
    }
}

#[test]
fn no_listener_of_a_dialect_answers_another_user() {
    if !getuid().is_root() {
        println!("not run: only root can become another user");
        return;
    }
    let mut rig = Rig::new();
    for listener in start(&mut rig) {
        let OpenListener {
            surface,
            place,
            path,
        } = listener;
        let ask = move || {
            if path.is_empty() {
                return socket_answers(&place);
            }
            let port = place.parse().expect("a port");
            let request = http::request("GET", port, path, &[], "");
            http::exchange(port, &request).is_ok()
        };
        assert!(ask.clone()(), "{surface} answers its own user");
        assert!(!as_nobody(ask), "{surface} answers another user");
    }
}

fn socket_answers(path: &str) -> bool {
    use std::io::{Read as _, Write as _};
    let Ok(mut stream) = std::os::unix::net::UnixStream::connect(path) else {
        return false;
    };
    let _ = stream.write_all(br#"{"action":"check_session","data":{}}"#);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    !answer.is_empty()
}

#[test]
fn no_listener_of_a_dialect_answers_a_page() {
    let mut rig = Rig::new();
    for listener in start(&mut rig) {
        let Ok(port) = listener.place.parse::<u16>() else {
            // A browser has no unix sockets.
            continue;
        };
        for line in [
            "Origin: http://evil.test",
            "Origin: null",
            "Host: evil.test",
            "Host: localhost.evil.test",
        ] {
            for (method, path) in [
                ("GET", listener.path),
                ("POST", "/tts"),
                ("POST", "/api/start"),
            ] {
                let request = http::request(method, port, path, &[], "{}");
                let request = String::from_utf8(request).expect("text");
                let host = format!("Host: 127.0.0.1:{port}");
                let lines = if line.starts_with("Host") {
                    line.to_owned()
                } else {
                    format!("{host}\r\n{line}")
                };
                let request = request.replace(&host, &lines).into_bytes();
                let reply = http::exchange(port, &request).expect("an answer");
                let surface = listener.surface;
                assert_eq!(
                    reply.status, 403,
                    "{surface} {line} {method} {path}: {reply:?}"
                );
            }
        }
    }
}
