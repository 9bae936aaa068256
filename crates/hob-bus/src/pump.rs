//! The one task that owns subscriptions and the order of events. Commands come in by a bounded
//! queue; it never waits for a consumer, so nobody waits for somebody else's.

use crate::board::Board;
use crate::catch_up::Resume;
use crate::event::NewEvent;
use crate::filter::Filter;
use crate::hub::{Hub, stopping};
use crate::log::PublisherInbox;
use crate::party::Party;
use crate::pending::Waiting;
use bytes::Bytes;
use hob_wire::{ErrorCode, WireError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::mpsc::{self, Receiver, Sender};

/// Commands waiting for the pump.
const COMMANDS_MAX: usize = 4_096;
/// Batches of logged events taken before a command has its turn.
const BATCHES_IN_ROW_MAX: usize = 16;
/// Payload bytes of volatile events waiting for the pump.
const VOLATILE_BYTES_MAX: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) enum Command {
    Subscribe(Subscription),
    Unsubscribe {
        /// The patterns to end; all when missing.
        patterns: Option<Vec<String>>,
        /// Who asked.
        waiting: Waiting,
    },
    Forget(u64),
    Emit(NewEvent),
    Resume(Resume),
}

#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) party: Arc<Party>,
    pub(crate) filters: Vec<Filter>,
    pub(crate) since: Option<u64>,
    pub(crate) reply: Reply,
}

/// How a subscription is answered. The pump does it, so that the answer precedes every event.
#[derive(Debug)]
pub(crate) enum Reply {
    /// A room of the house needs none.
    Nobody,
    Subscribed(Waiting),
    /// With the routing table; the filters replace those of the former registration.
    Registered(Waiting, Bytes),
}

/// The pump's door; shared by all of the bus.
#[derive(Debug)]
pub(crate) struct PumpHandle {
    commands: Sender<Command>,
    volatile_bytes: AtomicUsize,
    /// Some links closed while the queue was full: look for them.
    reap: AtomicBool,
}

impl PumpHandle {
    pub(crate) fn new() -> (Self, Receiver<Command>) {
        let (commands, receiver) = mpsc::channel(COMMANDS_MAX);
        let handle = PumpHandle {
            commands,
            volatile_bytes: AtomicUsize::new(0),
            reap: AtomicBool::new(false),
        };
        (handle, receiver)
    }

    /// Waits for a place in the queue; only the party that asks waits.
    pub(crate) async fn send(&self, command: Command) -> Result<(), WireError> {
        self.commands.send(command).await.map_err(|_| stopping())
    }

    /// Subscribes a room, which cannot wait.
    pub(crate) fn subscribe_now(&self, subscription: Subscription) -> Result<(), WireError> {
        let full = |_| {
            let message = "the bus is too busy to open a room";
            WireError::new(ErrorCode::Overloaded, message).retry_after(100)
        };
        let command = Command::Subscribe(subscription);
        self.commands.try_send(command).map_err(full)
    }

    /// Passes a volatile event on; false if there is no place for it.
    pub(crate) fn emit(&self, event: NewEvent) -> bool {
        let bytes = payload_bytes(&event);
        let before = self.volatile_bytes.fetch_add(bytes, Ordering::Relaxed);
        let sent = before + bytes <= VOLATILE_BYTES_MAX
            && self.commands.try_send(Command::Emit(event)).is_ok();
        if !sent {
            self.volatile_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        sent
    }

    /// Ends all subscriptions of a closed link.
    pub(crate) fn forget(&self, link: u64) {
        if self.commands.try_send(Command::Forget(link)).is_err() {
            self.reap.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs until the bus stops.
pub(crate) async fn run(hub: Arc<Hub>, mut commands: Receiver<Command>, inbox: PublisherInbox) {
    let mut board = Board::new(Arc::clone(&hub), hub.tally.seq.get());
    let mut inbox = inbox.0;
    let mut writing = true;
    loop {
        // What is committed stands before what was said afterwards.
        for _ in 0..BATCHES_IN_ROW_MAX {
            let Ok(batch) = inbox.try_recv() else { break };
            board.publish(batch);
        }
        if let Ok(command) = commands.try_recv() {
            apply(&mut board, &hub.pump, command);
            // A busy pump still lets others run.
            tokio::task::coop::consume_budget().await;
        } else {
            tokio::select! {
                biased;
                batch = inbox.recv(), if writing => match batch {
                    Some(batch) => board.publish(batch),
                    None => writing = false,
                },
                Some(command) = commands.recv() => apply(&mut board, &hub.pump, command),
                else => return,
            }
        }
        if hub.pump.reap.swap(false, Ordering::Relaxed) {
            board.reap();
        }
    }
}

fn apply(board: &mut Board, pump: &PumpHandle, command: Command) {
    match command {
        Command::Subscribe(subscription) => board.subscribe(subscription),
        Command::Unsubscribe { patterns, waiting } => {
            board.unsubscribe(patterns.as_deref(), waiting);
        }
        Command::Forget(link) => board.forget(link),
        Command::Emit(event) => {
            pump.volatile_bytes
                .fetch_sub(payload_bytes(&event), Ordering::Relaxed);
            board.volatile(event);
        }
        Command::Resume(resume) => board.resume(resume),
    }
}

fn payload_bytes(event: &NewEvent) -> usize {
    event.payload.as_ref().map_or(0, Bytes::len)
}
