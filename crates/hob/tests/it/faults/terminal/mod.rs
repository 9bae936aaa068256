//! The shared terminal mistreated: programs that do not end, that print without end, that speak to
//! the terminal itself, and tmux killed under it. All of it on a real tmux.

mod abuse;
mod ending;
mod printing;

use super::peer::Peer;
use super::rig::Rig;
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long the answer of one request is waited for; more of them follow until it is there.
const WAIT_MS: u64 = 10_000;

/// A daemon whose terminals run bash, and the tmux they live in.
struct Desk {
    /// Ended before the rig's folder goes.
    server: Tmux,
    rig: Rig,
    peer: Peer,
}

impl Desk {
    fn new() -> Desk {
        let mut rig = Rig::new();
        std::fs::create_dir_all(rig.home()).expect("a folder");
        let config = "[llm]\nservers = []\n\n[terminal]\nshell = \"/bin/bash\"\n";
        std::fs::write(rig.home().join("config.toml"), config).expect("a file");
        // A person's own start files are none of this test's business.
        let person = rig.scratch().display().to_string();
        rig.env("HOME", &person);
        let tmux = Tmux {
            socket: rig.home().join("run/tmux.sock"),
        };
        rig.start();
        let peer = rig.peer();
        Desk {
            server: tmux,
            rig,
            peer,
        }
    }

    /// Has a command run; its id.
    fn begin(&mut self, command: &str, more: &Value) -> String {
        let mut params = json!({ "command": command, "detach": true });
        for (key, value) in more.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        let executed = self.peer.must("terminal.execute", &params);
        let id = executed["commands"][0]["id"].as_str();
        id.expect("a command").to_owned()
    }

    /// Waits for the end of a command, so long at the most.
    fn end(&mut self, id: &str, within: Duration) -> Value {
        let begun = Instant::now();
        loop {
            let params = json!({ "id": id, "waitMs": WAIT_MS.min(ms(within)) });
            let command = self.peer.must("terminal.command", &params);
            if !matches!(command["state"].as_str(), Some("queued" | "running")) {
                return command;
            }
            assert!(begun.elapsed() < within, "it goes on: {command}");
        }
    }

    fn run(&mut self, command: &str) -> Value {
        let id = self.begin(command, &json!({}));
        self.end(&id, super::rig::PATIENCE)
    }

    /// What tmux itself says.
    fn tmux(&self, args: &[&str]) -> String {
        let output = tmux(&self.server.socket, args);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

struct Tmux {
    socket: PathBuf,
}

impl Drop for Tmux {
    fn drop(&mut self) {
        tmux(&self.socket, &["kill-server"]);
    }
}

fn tmux(socket: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("tmux");
    command.arg("-S").arg(socket).args(args);
    let output = command.env_remove("TMUX").stdin(Stdio::null()).output();
    output.expect("tmux is installed")
}

/// Hears every event of a topic from now on. Somebody has to listen all the time: who falls behind
/// is sent away.
struct Ears(Arc<Mutex<Vec<Value>>>);

impl Ears {
    fn open(rig: &Rig, topic: &str) -> Ears {
        let mut peer = rig.peer();
        peer.must("gateway.subscribe", &json!({ "events": [topic] }));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ears = Ears(Arc::clone(&heard));
        let topic = topic.to_owned();
        // It ends with the connection.
        std::thread::spawn(move || {
            let mut quiet = 0;
            while quiet < 10 {
                match peer.frame() {
                    Ok(frame) if frame["event"] == topic.as_str() => {
                        heard
                            .lock()
                            .expect("held for a line")
                            .push(frame["payload"].clone());
                    }
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => quiet += 1,
                    Err(_) => return,
                }
            }
        });
        ears
    }

    fn heard(&self) -> Vec<Value> {
        self.0.lock().expect("held for a line").clone()
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
