//! A program started bare: waited for with its output read to the end, or until it answers.

use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs it in a folder; it must succeed and print `lines` lines, or any number.
#[expect(
    clippy::disallowed_methods,
    reason = "a yardstick stands on nothing of ours"
)]
pub(crate) fn run(words: &[&str], folder: &Path, lines: Option<usize>) -> Result<Duration> {
    let [program, arguments @ ..] = words else {
        bail!("no program is named");
    };
    let started = Instant::now();
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .with_context(|| format!("start {program}; is it installed?"))?;
    let elapsed = started.elapsed();
    let printed = String::from_utf8_lossy(&output.stdout).lines().count();
    if !output.status.success() || lines.is_some_and(|lines| lines != printed) {
        bail!("{words:?} ended with {} and {printed} lines", output.status);
    }
    Ok(elapsed)
}

/// Starts a server with a free port as its last word, waits until it answers `GET /health`, and
/// ends it; the time until it answered.
#[expect(
    clippy::disallowed_methods,
    reason = "a yardstick stands on nothing of ours"
)]
pub(crate) fn ready(words: &[&str]) -> Result<Duration> {
    const PATIENCE: Duration = Duration::from_secs(30);
    const LOOK: Duration = Duration::from_millis(2);
    let [program, arguments @ ..] = words else {
        bail!("no program is named");
    };
    let started = Instant::now();
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port();
    let mut child = Command::new(program)
        .args(arguments)
        .arg(port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("start {program}; is it installed?"))?;
    let mut is_ready = false;
    while !is_ready && started.elapsed() < PATIENCE {
        is_ready = answers(port);
        if !is_ready {
            std::thread::sleep(LOOK);
        }
    }
    let elapsed = started.elapsed();
    child.kill()?;
    child.wait()?;
    ensure!(is_ready, "{program} did not answer within {PATIENCE:?}");
    Ok(elapsed)
}

fn answers(port: u16) -> bool {
    let Ok(mut socket) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
        return false;
    };
    let asked = socket.write_all(b"GET /health HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
    let mut answer = String::new();
    asked.is_ok() && socket.read_to_string(&mut answer).is_ok() && answer.contains(" 200 ")
}
