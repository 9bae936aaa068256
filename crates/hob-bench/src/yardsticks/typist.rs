//! A bare program that has tmux run what it is asked for over a WebSocket: one client, one thread,
//! and nothing between the question and tmux.

use super::tmux::{ControlClient, EndDetection, SpawningClient};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpListener;
use std::time::Instant;
use tokio_tungstenite::tungstenite::{Message, accept};

pub(crate) fn run() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (mut control, mut starting) = (ControlClient::start()?, SpawningClient::start()?);
    writeln!(std::io::stdout(), "LISTENS={}", listener.local_addr()?)?;
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    let mut socket = accept(stream)?;
    loop {
        let Message::Text(text) = socket.read()? else {
            continue;
        };
        let began = Instant::now();
        let asked: Value = serde_json::from_str(&text)?;
        let params = &asked["params"];
        let commands: Vec<&str> = match &params["commands"] {
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            _ => params["command"].as_str().into_iter().collect(),
        };
        let outputs = match asked["method"].as_str().context("a method")? {
            "control" => control.run_all(&commands)?,
            "knowing" => starting.run_all(&commands, EndDetection::Knowing)?,
            "settled" => starting.run_all(&commands, EndDetection::Settled)?,
            "end" => Vec::new(),
            other => bail!("nobody knows '{other}'"),
        };
        let commands = commands.iter().zip(&outputs).map(|(command, output)| {
            json!({
                "terminal": "bench", "by": "client", "command": command, "state": "done",
                "exitCode": 0, "output": output, "outputBytes": output.len(), "truncated": false,
            })
        });
        let payload = json!({
            "name": "bench",
            "commands": commands.collect::<Vec<_>>(),
            "tookUs": u64::try_from(began.elapsed().as_micros())?,
        });
        let answer = json!({ "type": "res", "id": asked["id"], "ok": true, "payload": payload });
        if asked["method"] == "end" {
            // What it started is ended before it says so: whoever hears it may kill this process.
            drop((control, starting));
            return Ok(socket.send(Message::text(answer.to_string()))?);
        }
        socket.send(Message::text(answer.to_string()))?;
        control.rest()?;
    }
}
