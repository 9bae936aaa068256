//! The file in which AgentLoop's clients find the listener: `run/agentloop.json`, or the configured
//! path.

use crate::agentloop::settings;
use crate::agentloop::types::AgentLoopEndpoint;
use hob_gateway::shared::GatewayShared;
use hob_kit::atomic_file;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// Writes the listener's address to the file, and removes the file when the gateway stops
/// accepting. A failure is only logged, because a client may know the address otherwise.
pub(crate) fn announce(address: SocketAddr, shared: &Arc<GatewayShared>) {
    let path = settings::state_file(&shared.settings.borrow(), &shared.home);
    let engine = AgentLoopEndpoint {
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
            tracing::warn!("the AgentLoop listener file was not removed: {failure}");
        }
    });
}

fn write(path: &Path, engine: &AgentLoopEndpoint) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Not synced, because after a crash of the machine the address is wrong in any case.
    atomic_file::replace_unsynced(path, &serde_json::to_vec_pretty(engine)?)
}

/// Removes the file, unless another engine has replaced it.
fn remove(path: &Path, ours: &AgentLoopEndpoint) -> io::Result<()> {
    let found = std::fs::read(path)?;
    // Pid and start time are part of the file, so another engine's file is never equal.
    if serde_json::from_slice::<AgentLoopEndpoint>(&found)? == *ours {
        std::fs::remove_file(path)?;
    }
    Ok(())
}
