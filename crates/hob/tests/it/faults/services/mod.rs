//! Services that fail, hang, flood, fork and refuse to end.

mod bounds;
mod ending;
mod keeping;
mod printing;

use super::peer::Peer;
use super::rig::Rig;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A daemon that has no model server of this machine to find.
pub(super) fn rig() -> Rig {
    let rig = Rig::new();
    std::fs::create_dir_all(rig.home().join("services")).expect("a folder");
    let config = "[llm]\nservers = []\n";
    std::fs::write(rig.home().join("config.toml"), config).expect("a file");
    rig
}

/// Describes a service of the home that runs a line of shell.
pub(super) fn shell(rig: &Rig, name: &str, line: &str, more: &str) {
    let script = rig.scratch().join(format!("{name}.sh"));
    std::fs::write(&script, line).expect("a file");
    let text = format!("command = [\"sh\", \"{}\"]\n{more}\n", script.display());
    let file = rig.home().join(format!("services/{name}.toml"));
    std::fs::write(file, text).expect("a file");
}

/// Describes one with a health page; it writes to [`tale`] when it begins, is ready and ends.
pub(super) fn page(rig: &Rig, name: &str, delay: f64, more: &str) {
    let script = rig.scratch().join("page.py");
    std::fs::write(&script, PAGE).expect("a file");
    let text = format!(
        "kind = \"http\"\ncommand = [\"python3\", \"{}\", \"{name}\", \"{{port}}\", \"{}\", \"{delay}\"]\nport = 0\nhealth = \"/health\"\n{more}\n",
        script.display(),
        tale(rig).display(),
    );
    let file = rig.home().join(format!("services/{name}.toml"));
    std::fs::write(file, text).expect("a file");
}

/// Where pages write what they do.
pub(super) fn tale(rig: &Rig) -> PathBuf {
    rig.scratch().join("tale")
}

const PAGE: &str = r#"
import http.server, os, signal, sys, time
name, port, tale, delay = sys.argv[1:5]
def tell(what):
    with open(tale, "a") as file:
        file.write(f"{name} {what}\n")
def end(*_):
    tell("ends")
    os._exit(0)
signal.signal(signal.SIGTERM, end)
tell("begins")
time.sleep(float(delay))
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Page)
tell("is ready")
server.serve_forever()
"#;

pub(super) fn start(peer: &mut Peer, name: &str) -> Value {
    peer.must("service.start", &json!({ "name": name, "wait": true }))
}

pub(super) fn status(peer: &mut Peer, name: &str) -> Value {
    peer.must("service.status", &json!({ "name": name }))
}

/// Waits for a status; how long that took.
pub(super) fn until(
    peer: &mut Peer,
    name: &str,
    within: Duration,
    wanted: impl Fn(&Value) -> bool,
) -> (Value, Duration) {
    let begun = Instant::now();
    loop {
        let found = status(peer, name);
        if wanted(&found) {
            return (found, begun.elapsed());
        }
        assert!(begun.elapsed() < within, "after {within:?}: {found}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processes with this word on their command line, corpses aside.
pub(super) fn marked(word: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("proc is there").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let carries = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.windows(word.len()).any(|part| part == word.as_bytes())
    };
    pids.filter(carries).collect()
}

/// How long a small request takes while something else goes on, in milliseconds.
pub(super) fn answer_times(peer: &mut Peer, during: Duration) -> Vec<f64> {
    let until = Instant::now() + during;
    let mut times = Vec::new();
    while Instant::now() < until {
        let begun = Instant::now();
        peer.must("session.list", &json!({}));
        times.push(begun.elapsed().as_secs_f64() * 1_000.0);
        std::thread::sleep(Duration::from_millis(5));
    }
    times
}
