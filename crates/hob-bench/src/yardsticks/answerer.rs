//! A program of one thread that answers each connection of a unix socket with the same bytes, once
//! it has read a JSON document: the least that a server of Archy's clients can do.

use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;

pub(crate) fn run(socket: &Path, answer: &Path) -> Result<()> {
    let answer = std::fs::read(answer).context("what to answer")?;
    let listener = UnixListener::bind(socket)?;
    writeln!(std::io::stdout(), "ANSWERER=ready")?;
    for stream in listener.incoming() {
        let mut stream = stream?;
        let mut request = Vec::new();
        let mut piece = [0; 8_192];
        while serde_json::from_slice::<serde_json::Value>(&request).is_err() {
            let read = stream.read(&mut piece)?;
            if read == 0 {
                break;
            }
            request.extend_from_slice(&piece[..read]);
        }
        // A client that left is no reason to leave the others.
        let _ = stream.write_all(&answer);
    }
    Ok(())
}
