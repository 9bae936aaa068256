//! Part of fault 46: what hob itself started reaches for the listeners that ask for no token. They
//! are for programs of the person's; a command, a service nobody gave them to, and what outlived its
//! shim are refused.

use crate::faults::http;
use crate::faults::rig::{Rig, eventually};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// How a plain request is answered by the listener, if it is answered: it wants a WebSocket.
const ANSWERED: &str = "HTTP/1.1 426";

#[test]
fn what_hob_started_is_refused_by_the_listeners_without_tokens() {
    let mut rig = Rig::new();
    rig.env("HOB_LISTEN_VARGOS", "127.0.0.1:0");
    rig.start();
    let (tried, accepted) = accepted(&rig);
    assert!(accepted.is_empty(), "of {tried} tries: {accepted:?}");
}

/// Tries the listener for Vargos' clients as each kind of child; who was answered.
pub(super) fn accepted(rig: &Rig) -> (usize, Vec<String>) {
    let port = vargos_port(rig);
    // The positive control: this very process is an ordinary program of the same user.
    let own = http::exchange(port, &http::request("GET", port, "/", &[], ""));
    assert_eq!(own.expect("is answered").status, 426);
    let mut accepted = Vec::new();
    let folder = rig.scratch().join("children");
    fs::create_dir_all(&folder).expect("a folder");

    let command = asks(port, "answer-of-command");
    let told = by_exec(rig, &folder, &command);
    if answer(&folder, "answer-of-command").starts_with(ANSWERED) {
        accepted.push(format!("a command with the network: {told}"));
    }
    let tries = [
        ("plain", "", asks(port, "answer-of-plain"), false),
        (
            "elsewhere",
            "listen = [\"agentloop\"]\n",
            asks(port, "answer-of-elsewhere"),
            false,
        ),
        (
            "bridge",
            "listen = [\"vargos\"]\n",
            asks(port, "answer-of-bridge"),
            true,
        ),
        // Its grandchild asks when the shim is gone: nobody can tell whose it is any more.
        (
            "orphan",
            "listen = [\"vargos\"]\n",
            format!(
                "setsid bash -c '{}' >/dev/null 2>&1 & sleep 0.3; kill -9 $PPID; sleep 30",
                format!("sleep 2; {}", asks(port, "answer-of-orphan")).replace('\'', "'\\''")
            ),
            false,
        ),
    ];
    for (name, listen, line, admitted) in &tries {
        let answered = by_service(rig, &folder, name, listen, line);
        if *admitted {
            assert!(
                answered.starts_with(ANSWERED),
                "{name} is let in: {answered:?}"
            );
        } else if answered.starts_with(ANSWERED) {
            accepted.push(format!("the service {name}"));
        }
    }
    (tries.len(), accepted)
}

/// A line that asks the listener and keeps the beginning of what it says.
fn asks(port: u16, name: &str) -> String {
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port} && printf \"GET / HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nConnection: close\\r\\n\\r\\n\" >&3 && timeout 5 head -c 12 <&3 > {name}; echo ended >> {name}"
    )
}

fn vargos_port(rig: &Rig) -> u16 {
    let status = rig.peer().must("daemon.status", &json!({}));
    let listeners = status["listeners"].as_array().expect("a list");
    let lines = listeners.iter().filter_map(Value::as_str);
    let mut ports = lines.filter_map(|line| line.strip_prefix("vargos 127.0.0.1:"));
    ports.next().expect("it is open").parse().expect("a port")
}

/// Runs a line as the person's own sandboxed command with the network.
fn by_exec(rig: &Rig, folder: &Path, line: &str) -> Value {
    let command = format!("bash -c '{}'", line.replace('\'', "'\\''"));
    let params = json!({
        "name": "exec", "args": { "command": command, "network": true },
        "context": { "workspace": folder },
    });
    rig.peer().must("tool.execute", &params)
}

/// Runs a line as a service with this line in its file; what the listener answered.
fn by_service(rig: &Rig, folder: &Path, name: &str, listen: &str, line: &str) -> String {
    let services = rig.home().join("services");
    fs::create_dir_all(&services).expect("a folder");
    let line = format!("cd '{}'; {line}; sleep 600", folder.display());
    let file = format!(
        "{listen}restart = \"never\"\ncommand = [\"bash\", \"-c\", {}]\n",
        json!(line)
    );
    fs::write(services.join(format!("{name}.toml")), file).expect("a file");
    rig.peer().must("service.start", &json!({ "name": name }));
    let answered = format!("answer-of-{name}");
    eventually("it has asked", || {
        answer(folder, &answered).contains("ended")
    });
    let _ = rig.peer().call("service.stop", &json!({ "name": name }));
    answer(folder, &answered)
}

fn answer(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_default()
}
