//! The connection to a terminal's tmux session, and reconnecting.

use super::TerminalContext;
use hob_exec::tmux::{TmuxConnection, TmuxError, TmuxNotices, TmuxServer};
use std::path::Path;
use std::time::Duration;

/// Attempts to connect to a session that tmux still lists.
const CONNECT_ATTEMPTS: u32 = 5;
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// A control connection and its notices.
#[derive(Debug)]
pub(super) struct TmuxLink {
    pub(super) control: TmuxConnection,
    pub(super) notices: TmuxNotices,
}

pub(super) async fn connect(server: &TmuxServer, name: &str) -> Result<TmuxLink, TmuxError> {
    let (control, notices) = server.connect(name).await?;
    Ok(TmuxLink { control, notices })
}

/// Connects again. Returns none if the session is gone or its name now belongs to another one.
pub(super) async fn reconnect(
    context: &TerminalContext,
    name: &str,
    folder: &Path,
) -> Option<TmuxLink> {
    let server = context.server().await.ok()?;
    for _ in 0..CONNECT_ATTEMPTS {
        // The folder identifies a session. A name can be used again after a terminal is closed.
        match server.sessions().await {
            Ok(all) if !all.iter().any(|one| one.folder == folder) => return None,
            Ok(_) => match connect(&server, name).await {
                Ok(link) if link.control.session().folder == folder => return Some(link),
                _ => {}
            },
            // tmux may be busy; only its answer proves that the session is gone.
            Err(_) => {}
        }
        tokio::time::sleep(RETRY_AFTER).await;
    }
    None
}
