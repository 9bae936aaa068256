//! The connection to a terminal's tmux, and making it again.

use super::Shared;
use hob_exec::tmux::{Control, Notices, Server, TmuxError};
use std::path::Path;
use std::time::Duration;

/// Times a terminal that lives is connected to.
const TRIES: u32 = 5;
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// A connection and what it notices.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) control: Control,
    pub(super) notices: Notices,
}

pub(super) async fn connect(server: &Server, name: &str) -> Result<Link, TmuxError> {
    let (control, notices) = server.connect(name).await?;
    Ok(Link { control, notices })
}

/// Connects to a terminal again; none if it is gone, or is another one by now.
pub(super) async fn again(shared: &Shared, name: &str, folder: &Path) -> Option<Link> {
    let server = shared.server().await.ok()?;
    for _ in 0..TRIES {
        match server.sessions().await {
            Ok(all) if !all.iter().any(|one| one.folder == folder) => return None,
            Ok(_) => match connect(&server, name).await {
                Ok(link) if link.control.session().folder == folder => return Some(link),
                _ => {}
            },
            // Who does not answer now may answer soon.
            Err(_) => {}
        }
        tokio::time::sleep(TRY_AGAIN).await;
    }
    None
}
