//! How the owner of a terminal is reached.

use super::words::stopping;
use hob_exec::tmux::Control;
use hob_store::CommandRow;
use hob_wire::rooms::terminal::{Captured, Terminal, TerminalCommand, TerminalState};
use hob_wire::{CommandId, WireError};
use tokio::sync::{mpsc, oneshot, watch};

/// Orders that wait for an owner.
pub(super) const ORDERS_MAX: usize = 256;

pub(super) type Reply<T> = oneshot::Sender<T>;

/// What an owner is told.
#[derive(Debug)]
pub(super) enum Order {
    /// Commands are on record; their ends are told to who waits.
    Queued {
        rows: Vec<CommandRow>,
        ends: Option<Reply<Vec<TerminalCommand>>>,
    },
    /// Tells the ends of commands; those that are not known have ended before.
    Await {
        ids: Vec<CommandId>,
        ends: Reply<Vec<TerminalCommand>>,
    },
    /// Shows commands that have not ended.
    Look {
        ids: Vec<CommandId>,
        reply: Reply<Vec<TerminalCommand>>,
    },
    Capture {
        past_lines: u32,
        reply: Reply<Captured>,
    },
    Cancel {
        id: Option<CommandId>,
        reply: Reply<Vec<CommandId>>,
    },
    /// Gives the connection, for typing and windows.
    Control {
        reply: Reply<Option<Control>>,
    },
    Close {
        reply: Reply<()>,
    },
}

/// How an owner is reached; cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    pub(super) row_id: i64,
    /// Names the terminal's folder.
    pub(super) id: String,
    pub(super) orders: mpsc::Sender<Order>,
    pub(super) view: watch::Receiver<Terminal>,
}

impl Handle {
    pub(super) fn seen(&self) -> Terminal {
        self.view.borrow().clone()
    }

    /// Whether nothing more happens in it.
    pub(super) fn is_over(&self) -> bool {
        let state = self.view.borrow().state;
        matches!(state, TerminalState::Lost | TerminalState::Closed)
    }

    /// Waits until a terminal that is over is forgotten.
    pub(super) async fn forgotten(mut self) {
        while self.view.changed().await.is_ok() {}
    }

    /// Orders, and waits for the reply; none when the terminal is gone.
    pub(super) async fn ask<T>(&self, order: impl FnOnce(Reply<T>) -> Order) -> Option<T> {
        let (reply, replied) = oneshot::channel();
        self.orders.send(order(reply)).await.ok()?;
        replied.await.ok()
    }

    /// The connection to the terminal.
    pub(super) async fn control(&self) -> Result<Control, WireError> {
        let control = self.ask(|reply| Order::Control { reply }).await;
        control.flatten().ok_or_else(stopping)
    }
}
