//! The sender of a request: its bus calls, and the check that it is still connected.

use crate::archy::client_display;
use crate::archy::types::ArchyResponse;
use hob_bus::Caller;
use hob_gateway::shared::GatewayShared;
use hob_kit::settings::Settings;
use hob_wire::rooms::terminal::{self, DisplayEnv, TerminalInfo, TerminalState};
use hob_wire::{ErrorCode, Method, WireError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixStream;

/// Time between two checks that a waiting client is still connected.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum time that one bus call waits.
const WAIT_SLICE_MAX: Duration = Duration::from_secs(1);

/// The reason why an action has no result.
#[derive(Debug)]
pub(crate) enum ArchyFailure {
    /// An error message for the client.
    Message(String),
    /// The client disconnected.
    Disconnected,
}

impl From<WireError> for ArchyFailure {
    fn from(error: WireError) -> ArchyFailure {
        ArchyFailure::Message(error.message)
    }
}

impl From<String> for ArchyFailure {
    fn from(why: String) -> ArchyFailure {
        ArchyFailure::Message(why)
    }
}

impl From<&str> for ArchyFailure {
    fn from(why: &str) -> ArchyFailure {
        ArchyFailure::Message(why.to_owned())
    }
}

pub(crate) struct ArchyClient<'c> {
    pub(crate) caller: &'c Caller,
    /// The settings at the time of the request.
    pub(crate) settings: Arc<Settings>,
    shared: &'c GatewayShared,
    stream: &'c UnixStream,
}

impl<'c> ArchyClient<'c> {
    pub(crate) fn new(
        caller: &'c Caller,
        shared: &'c GatewayShared,
        stream: &'c UnixStream,
    ) -> Self {
        ArchyClient {
            caller,
            settings: Arc::clone(&shared.settings.borrow()),
            shared,
            stream,
        }
    }

    pub(crate) async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Result, WireError> {
        self.caller.call::<M>(params).await
    }

    /// Returns the live terminal of this name.
    pub(crate) async fn find_terminal(
        &self,
        session: &str,
    ) -> Result<Option<TerminalInfo>, WireError> {
        let all = terminal::TerminalListParams::default();
        let listed = self.call::<terminal::List>(&all).await?;
        let mut found = listed.terminals.into_iter();
        Ok(found.find(|it| it.name == session && ArchyClient::is_alive(it)))
    }

    pub(crate) fn is_alive(terminal: &TerminalInfo) -> bool {
        !matches!(terminal.state, TerminalState::Lost | TerminalState::Closed)
    }

    /// The display of the client's process, if it has one.
    pub(crate) async fn display(&self) -> Option<DisplayEnv> {
        client_display::display(self.stream).await
    }

    /// The time that one bus call may wait: less than the bus's request timeout, and short enough
    /// not to delay hob's shutdown.
    pub(crate) fn wait_slice(&self) -> Duration {
        let silence = hob_gateway::settings::request_timeout_ms(&self.settings);
        // Half the timeout leaves room for a slow answer.
        Duration::from_millis(silence / 2).min(WAIT_SLICE_MAX)
    }

    /// Runs `work` until it ends, the client disconnects or hob stops.
    pub(crate) async fn while_connected<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, ArchyFailure> {
        tokio::select! {
            done = work => Ok(done),
            () = self.wait_disconnected() => Err(ArchyFailure::Disconnected),
            () = self.shared.accepting.cancelled() => {
                Err("hob is stopping; what runs in the terminal runs on.".into())
            }
        }
    }

    /// Waits until the peer has closed. Reading would not tell: a peer that only shut down its
    /// sending side still waits for its answer.
    async fn wait_disconnected(&self) {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let mut sockets = [PollFd::new(self.stream, PollFlags::empty())];
            let polled = poll(&mut sockets, Some(&now));
            let over = PollFlags::HUP | PollFlags::ERR;
            if polled.is_ok() && sockets[0].revents().intersects(over) {
                return;
            }
        }
    }
}

/// Turns "not found" into a normal answer.
pub(crate) fn unless_not_found<T>(
    found: Result<T, WireError>,
    absent: &str,
) -> Result<Result<T, ArchyResponse>, ArchyFailure> {
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(error) if error.code == ErrorCode::NotFound => Ok(Err(ArchyResponse::failed(absent))),
        Err(error) => Err(error.into()),
    }
}

impl std::fmt::Debug for ArchyClient<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArchyClient").finish_non_exhaustive()
    }
}
