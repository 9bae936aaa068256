//! Archy's socket: a capture of a terminal's screen, one connection for each request as Archy's own
//! clients do it, against a bare program that answers the same bytes.

use crate::daemon::{BenchHome, start_answerer};
use crate::measure::{RoundPairs, rate};
use crate::report::BenchRow;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) const NOTE: &str = "a `capture` of a terminal with 100 lines of its past, one connection for each request, read until its end. The yardstick is a program of one thread that reads a document from each connection and answers the same bytes at once.";

const ROUNDS: usize = 5;
/// Anything slower is no measurement.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let count = if quick { 50 } else { 5_000 };
    let home = BenchHome::new()?;
    let socket = home.path().join("archy.sock");
    let config = format!("listen.archy = \"{}\"\n", socket.display());
    std::fs::write(home.path().join("config.toml"), config)?;
    let _daemon = home.start()?;
    let fill = json!({ "action": "execute_and_wait", "data": { "command": "seq 1 100" } });
    let filled: Value = serde_json::from_slice(&ask(&socket, &fill)?)?;
    ensure!(filled["success"] == true, "a terminal: {filled}");
    let capture = json!({ "action": "capture", "data": {} });
    let answer = ask(&socket, &capture)?;

    let answered = home.path().join("answer.json");
    std::fs::write(&answered, &answer)?;
    let bare = home.path().join("bare.sock");
    let _answerer = start_answerer(&bare, &answered)?;
    let mut rows = Vec::new();
    for clients in [1, 10] {
        let mut rounds = RoundPairs::default();
        for _ in 0..ROUNDS {
            let yardstick = requests(&bare, &capture, clients, count).await?;
            rounds.push(
                yardstick,
                requests(&socket, &capture, clients, count).await?,
            );
        }
        let many = if clients == 1 { "client" } else { "clients" };
        rows.push(BenchRow {
            name: format!("Archy's socket, {clients} {many}"),
            unit: "/s",
            hob: rounds.hob(),
            yardstick: Some(rounds.yardstick()),
            yardstick_name: "a bare program, the same bytes",
            goal: None,
        });
    }
    ask(&socket, &json!({ "action": "close_session", "data": {} }))?;
    Ok(rows)
}

/// The requests per second of that many clients.
async fn requests(socket: &Path, request: &Value, clients: usize, count: usize) -> Result<f64> {
    let (socket, request): (PathBuf, Value) = (socket.to_owned(), request.clone());
    let each = count / clients;
    let elapsed = tokio::task::spawn_blocking(move || {
        let started = Instant::now();
        std::thread::scope(|scope| {
            let work = || -> Result<()> {
                for _ in 0..each {
                    let answer = ask(&socket, &request)?;
                    ensure!(answer.starts_with(b"{\"success\":true"), "a refusal");
                }
                Ok(())
            };
            let threads: Vec<_> = (0..clients).map(|_| scope.spawn(work)).collect();
            for thread in threads {
                let ended = thread.join().ok();
                ended.context("a client panicked")??;
            }
            Ok::<Duration, anyhow::Error>(started.elapsed())
        })
    });
    Ok(rate(each * clients, elapsed.await??))
}

fn ask(socket: &Path, request: &Value) -> Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request.to_string().as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}
