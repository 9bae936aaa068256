//! Archy's stories from outside: the built binary, its socket, a real tmux and real shells.

mod bridge;
mod crowd;
mod hands;
mod restart;
mod windows;

use crate::support::House;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than anything here takes on a busy machine.
const DEADLINE: Duration = Duration::from_mins(3);

/// A house with Archy's socket open, and terminals that end with it.
struct Stage {
    house: House,
    socket: PathBuf,
}

impl Stage {
    fn new() -> Stage {
        Stage::with("")
    }

    fn with(config: &str) -> Stage {
        let mut house = House::builder().config(config).build();
        let socket = house.work().join("archy.sock");
        let config = format!("listen.archy = \"{}\"\n{config}", socket.display());
        std::fs::write(house.home().join("config.toml"), config).expect("it is writable");
        house.start_daemon();
        Stage { house, socket }
    }

    /// One request, alone on its connection, as Archy's own bridge sends it.
    fn ask(&self, action: &str, data: Value) -> Value {
        ask(&self.socket, action, data)
    }

    /// Runs a command to its end; its exit code and what it printed.
    fn run(&self, command: &str) -> (i64, String) {
        let answer = self.ask("execute_and_wait", json!({ "command": command }));
        assert_ne!(answer["exit_code"], -1, "it ends by itself: {answer}");
        ended(&answer)
    }

    /// What the terminal shows.
    fn screen(&self) -> String {
        text(&self.ask("capture", json!({})), "output")
    }

    fn rpc(&self, method: &str, params: &Value) -> Value {
        let said = self.house.hob(&["rpc", method, &params.to_string()]);
        serde_json::from_str(&said.success()).expect("JSON")
    }
}

impl Drop for Stage {
    /// Terminals outlive their daemon on purpose; a test's own end with it.
    fn drop(&mut self) {
        let server = self.house.home().join("run/tmux.sock");
        let server = server.display().to_string();
        let mut end = self
            .house
            .command_of("tmux", &["-S", &server, "kill-server"]);
        let _ = end.output();
    }
}

fn ask(socket: &Path, action: &str, data: Value) -> Value {
    let mut stream = UnixStream::connect(socket).expect("the socket is open");
    stream.set_read_timeout(Some(DEADLINE)).expect("a socket");
    let mut request = json!({ "action": action });
    request["data"] = data;
    stream
        .write_all(request.to_string().as_bytes())
        .expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{action}: {answer:?}"))
}

fn ended(answer: &Value) -> (i64, String) {
    let code = answer["exit_code"].as_i64();
    let code = code.unwrap_or_else(|| panic!("an exit code: {answer}"));
    (code, text(answer, "raw_output"))
}

fn text(answer: &Value, field: &str) -> String {
    let text = answer[field].as_str();
    text.unwrap_or_else(|| panic!("{field} is a text: {answer}"))
        .to_owned()
}
