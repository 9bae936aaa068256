//! The file by which AgentLoop's clients find the listener: `run/agentloop.json`, or where they
//! say.

use crate::shared::Shared;
use hob_kit::file;
use hob_wire::agentloop::Engine;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes where the listener is, and takes it away when no client is let in any more. A client
/// that is told the address otherwise needs no file, so a failure is only said.
pub(crate) fn announce(address: SocketAddr, path: PathBuf, shared: &Arc<Shared>) {
    let engine = Engine {
        host: address.ip().to_string(),
        port: address.port(),
        pid: std::process::id(),
        started_at: shared.clock.wall_ms(),
    };
    if let Err(failure) = write(&path, &engine) {
        tracing::warn!("'{}' cannot be written: {failure}", path.display());
        return;
    }
    let accepting = shared.accepting.clone();
    shared.tasks.spawn("agentloop-file", async move {
        accepting.cancelled().await;
        let removed = tokio::task::spawn_blocking(move || remove(&path, &engine)).await;
        if let Ok(Err(failure)) = removed {
            tracing::warn!("the file of the AgentLoop listener stays: {failure}");
        }
    });
}

fn write(path: &Path, engine: &Engine) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    file::replace_unsynced(path, &serde_json::to_vec_pretty(engine)?)
}

/// Another engine's file is left alone.
fn remove(path: &Path, ours: &Engine) -> io::Result<()> {
    let found = std::fs::read(path)?;
    if serde_json::from_slice::<Engine>(&found)? == *ours {
        std::fs::remove_file(path)?;
    }
    Ok(())
}
