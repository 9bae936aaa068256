//! Whoever asks on one connection: the calls its requests take, and whether it is still there.

use crate::archy::asker;
use crate::settings;
use crate::shared::Shared;
use hob_bus::Caller;
use hob_kit::settings::Settings;
use hob_wire::archy::Response;
use hob_wire::rooms::terminal::{self, Display, Terminal, TerminalState};
use hob_wire::{ErrorCode, Method, WireError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixStream;

/// Between two looks whether a client that waits is still there.
const LOOK: Duration = Duration::from_millis(500);
/// How long one call waits at the most.
const TURN_MAX: Duration = Duration::from_secs(1);

/// Why a request has no answer of its action's own.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What the client is told.
    Said(String),
    /// Nobody is left to be told.
    Gone,
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Failure {
        Failure::Said(error.message)
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Failure {
        Failure::Said(why)
    }
}

impl From<&str> for Failure {
    fn from(why: &str) -> Failure {
        Failure::Said(why.to_owned())
    }
}

pub(crate) struct Client<'c> {
    pub(crate) caller: &'c Caller,
    /// As they were when the request came.
    pub(crate) settings: Arc<Settings>,
    shared: &'c Shared,
    stream: &'c UnixStream,
}

impl<'c> Client<'c> {
    pub(crate) fn new(caller: &'c Caller, shared: &'c Shared, stream: &'c UnixStream) -> Self {
        Client {
            caller,
            settings: Arc::clone(&shared.settings.borrow()),
            shared,
            stream,
        }
    }

    pub(crate) async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Result, WireError> {
        self.caller.call::<M>(params).await
    }

    /// The terminal of this name, if it lives.
    pub(crate) async fn find(&self, session: &str) -> Result<Option<Terminal>, WireError> {
        let all = terminal::ListParams::default();
        let listed = self.call::<terminal::List>(&all).await?;
        let mut found = listed.terminals.into_iter();
        Ok(found.find(|it| it.name == session && Client::is_alive(it)))
    }

    pub(crate) fn is_alive(terminal: &Terminal) -> bool {
        !matches!(terminal.state, TerminalState::Lost | TerminalState::Closed)
    }

    /// The desktop of the asking process, if it has one.
    pub(crate) async fn display(&self) -> Option<Display> {
        asker::display(self.stream).await
    }

    /// How long one call may wait: less than the bus waits for its answer, and so short that no
    /// wait holds up the end of the house.
    pub(crate) fn turn(&self) -> Duration {
        let silence = settings::request_timeout_ms(&self.settings);
        Duration::from_millis(silence / 2).min(TURN_MAX)
    }

    /// Does `work`, unless nobody is left to be told of its end or hob stops first.
    pub(crate) async fn while_here<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            done = work => Ok(done),
            () = self.gone() => Err(Failure::Gone),
            () = self.shared.accepting.cancelled() => {
                Err("hob is stopping; what runs in the terminal runs on.".into())
            }
        }
    }

    /// Ends when the peer has closed. One that only sends no more still waits for its answer, which
    /// is why what can be read says nothing.
    async fn gone(&self) {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        loop {
            tokio::time::sleep(LOOK).await;
            let mut sockets = [PollFd::new(self.stream, PollFlags::empty())];
            let told = poll(&mut sockets, Some(&now));
            let over = PollFlags::HUP | PollFlags::ERR;
            if told.is_ok() && sockets[0].revents().intersects(over) {
                return;
            }
        }
    }
}

/// What is not there is an answer like any other, not a failure.
pub(crate) fn unless_not_found<T>(
    found: Result<T, WireError>,
    absent: &str,
) -> Result<Result<T, Response>, Failure> {
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(error) if error.code == ErrorCode::NotFound => Ok(Err(Response::failed(absent))),
        Err(error) => Err(error.into()),
    }
}

impl std::fmt::Debug for Client<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}
