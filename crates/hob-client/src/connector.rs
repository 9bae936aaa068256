//! [`Connector`]: connects to the daemon, and reconnects after a lost connection.
//! `hob_core::reconnect` decides when; this waits.

use crate::connection::DaemonConnection;
use crate::error::ClientError;
use crate::launcher::DaemonLauncher;
use crate::target::DaemonTarget;
use hob_core::reconnect::{ReconnectBackoff, ReconnectStep};
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use std::time::Duration;

/// The largest random reduction of a wait, so that many clients of one daemon do not reconnect in
/// the same instant.
const JITTER_PERCENT: u64 = 20;

#[derive(Clone, Debug)]
pub(crate) struct Connector {
    pub(crate) target: DaemonTarget,
    /// Starts the daemon, if this client may.
    pub(crate) launcher: Option<DaemonLauncher>,
    pub(crate) clock: Clock,
    pub(crate) randomness: Randomness,
    search: ReconnectBackoff,
}

impl Connector {
    pub(crate) fn new(target: DaemonTarget, launcher: Option<DaemonLauncher>) -> Self {
        Connector {
            target,
            launcher,
            clock: Clock::system(),
            randomness: Randomness::system(),
            search: ReconnectBackoff::default(),
        }
    }

    /// Connects with one attempt.
    pub(crate) async fn open(&self) -> Result<DaemonConnection, ClientError> {
        DaemonConnection::open(&self.target).await
    }

    /// Handles a failed attempt. Returns the error if it is final. Otherwise waits or starts a
    /// daemon, and the caller tries again.
    pub(crate) async fn after_failure(&mut self, error: ClientError) -> Result<(), ClientError> {
        if !error.is_transient() {
            return Err(error);
        }
        let now_ms = self.clock.monotonic_ms();
        match self.search.on_failure(now_ms, self.launcher.is_some()) {
            ReconnectStep::Wait { ms } => {
                let early = self.randomness.below(ms * JITTER_PERCENT / 100 + 1);
                tokio::time::sleep(Duration::from_millis(ms - early)).await;
            }
            ReconnectStep::StartDaemon => {
                if let Some(launcher) = &self.launcher {
                    // A failed start is not final: another program may start the daemon.
                    if let Err(error) = launcher.ensure().await {
                        tracing::warn!("{error}");
                    }
                }
            }
        }
        Ok(())
    }

    /// Tries until the daemon answers or an error is final.
    pub(crate) async fn reconnect(&mut self) -> Result<DaemonConnection, ClientError> {
        loop {
            match self.open().await {
                Ok(connection) => {
                    self.search.reset();
                    return Ok(connection);
                }
                Err(error) => self.after_failure(error).await?,
            }
        }
    }
}
