//! The handle to a terminal's owner task, and the requests it takes.

use super::messages::stopping;
use super::session::RecordingView;
use hob_exec::tmux::TmuxConnection;
use hob_store::CommandRow;
use hob_wire::rooms::terminal::{
    TerminalCaptureResult, TerminalCommand, TerminalInfo, TerminalState,
};
use hob_wire::{CommandId, WireError};
use tokio::sync::{mpsc, oneshot, watch};

/// Requests that may wait for an owner.
pub(super) const OWNER_REQUESTS_MAX: usize = 256;

pub(super) type ReplySender<T> = oneshot::Sender<T>;

/// A request to the owner of a terminal.
#[derive(Debug)]
pub(super) enum OwnerRequest {
    /// Queues commands that are stored already. `reply` gets them all once they have ended.
    Enqueue {
        rows: Vec<CommandRow>,
        reply: Option<ReplySender<Vec<TerminalCommand>>>,
    },
    /// Waits for the ends of commands. Unknown ids have ended before and are left out.
    AwaitEnds {
        ids: Vec<CommandId>,
        reply: ReplySender<Vec<TerminalCommand>>,
    },
    /// Returns those of the commands that have not ended, with their output so far.
    Inspect {
        ids: Vec<CommandId>,
        reply: ReplySender<Vec<TerminalCommand>>,
    },
    Capture {
        past_lines: u32,
        reply: ReplySender<TerminalCaptureResult>,
    },
    Cancel {
        id: Option<CommandId>,
        reply: ReplySender<Vec<CommandId>>,
    },
    /// Returns the tmux connection, for typing and windows.
    Control {
        reply: ReplySender<Option<TmuxConnection>>,
    },
    Close {
        reply: ReplySender<()>,
    },
}

/// The handle to a terminal's owner task. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct TerminalHandle {
    pub(super) row_id: i64,
    /// The id that names the terminal's folder.
    pub(super) id: String,
    pub(super) requests: mpsc::Sender<OwnerRequest>,
    pub(super) view: watch::Receiver<TerminalInfo>,
    pub(super) recording: watch::Receiver<RecordingView>,
}

impl TerminalHandle {
    pub(super) fn snapshot(&self) -> TerminalInfo {
        self.view.borrow().clone()
    }

    /// Returns true if the terminal is closed or lost.
    pub(super) fn has_ended(&self) -> bool {
        let state = self.view.borrow().state;
        matches!(state, TerminalState::Lost | TerminalState::Closed)
    }

    /// Waits until the owner of an ended terminal has dropped its view: the name is free then.
    pub(super) async fn wait_until_forgotten(mut self) {
        while self.view.changed().await.is_ok() {}
    }

    /// Sends a request and waits for its reply; none when the owner is gone.
    pub(super) async fn request<T>(
        &self,
        order: impl FnOnce(ReplySender<T>) -> OwnerRequest,
    ) -> Option<T> {
        let (reply, replied) = oneshot::channel();
        self.requests.send(order(reply)).await.ok()?;
        replied.await.ok()
    }

    /// Returns the tmux connection of the terminal.
    pub(super) async fn control(&self) -> Result<TmuxConnection, WireError> {
        let control = self.request(|reply| OwnerRequest::Control { reply }).await;
        control.flatten().ok_or_else(stopping)
    }
}
