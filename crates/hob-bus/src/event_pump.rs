//! The one task that owns subscriptions and the order of events. Commands come in by a bounded
//! queue; it never waits for a consumer, so nobody waits for somebody else's.

use crate::board::Board;
use crate::catch_up::Resume;
use crate::event::{LoggedEvent, NewEvent};
use crate::filter::Filter;
use crate::hub::Hub;
use crate::log::{EventLog, PublisherInbox};
use crate::party::Party;
use crate::pending::Waiting;
use crate::since::Since;
use bytes::Bytes;
use hob_wire::{ErrorCode, WireError};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::mpsc::{self, Receiver, Sender};

/// Commands waiting for the pump.
const COMMANDS_MAX: usize = 4_096;
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
    pub(crate) since: Option<Since>,
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

/// The bus has stopped; the command comes back, because someone may wait for its answer.
#[derive(Debug)]
pub(crate) struct PumpGone(pub(crate) Command);

/// A command and the last event of the log when it was given: it stands after that one.
#[derive(Debug)]
pub(crate) struct Given {
    command: Command,
    after: u64,
}

/// The pump's door; shared by all of the bus.
pub(crate) struct PumpHandle {
    log: Arc<dyn EventLog>,
    commands: Sender<Given>,
    volatile_bytes: AtomicUsize,
    /// Some links closed while the queue was full: look for them.
    reap: AtomicBool,
}

impl PumpHandle {
    pub(crate) fn new(log: Arc<dyn EventLog>) -> (Self, Receiver<Given>) {
        let (commands, receiver) = mpsc::channel(COMMANDS_MAX);
        let handle = PumpHandle {
            log,
            commands,
            volatile_bytes: AtomicUsize::new(0),
            reap: AtomicBool::new(false),
        };
        (handle, receiver)
    }

    /// Waits for a place in the queue; only the party that asks waits.
    pub(crate) async fn send(&self, command: Command) -> Result<(), PumpGone> {
        let sent = self.commands.send(self.given(command)).await;
        sent.map_err(|unsent| PumpGone(unsent.0.command))
    }

    /// Subscribes a room, which cannot wait.
    pub(crate) fn subscribe_now(&self, subscription: Subscription) -> Result<(), WireError> {
        let full = |_| {
            let message = "the bus is too busy to open a room";
            WireError::new(ErrorCode::Overloaded, message).retry_after(100)
        };
        let given = self.given(Command::Subscribe(subscription));
        self.commands.try_send(given).map_err(full)
    }

    /// Passes a volatile event on; false if there is no place for it.
    pub(crate) fn emit(&self, event: NewEvent) -> bool {
        let bytes = payload_bytes(&event);
        let before = self.volatile_bytes.fetch_add(bytes, Ordering::Relaxed);
        let sent = before + bytes <= VOLATILE_BYTES_MAX
            && self
                .commands
                .try_send(self.given(Command::Emit(event)))
                .is_ok();
        if !sent {
            self.volatile_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        sent
    }

    /// Ends all subscriptions of a closed link.
    pub(crate) fn forget(&self, link: u64) {
        let given = self.given(Command::Forget(link));
        if self.commands.try_send(given).is_err() {
            self.reap.store(true, Ordering::Relaxed);
        }
    }

    fn given(&self, command: Command) -> Given {
        Given {
            command,
            after: self.log.bounds().last,
        }
    }
}

/// Runs until the bus stops.
pub(crate) async fn run(hub: Arc<Hub>, mut commands: Receiver<Given>, inbox: PublisherInbox) {
    let mut pump = Pump {
        board: Board::new(Arc::clone(&hub), hub.tally.seq.get()),
        inbox: inbox.0,
        arrived: VecDeque::new(),
    };
    let mut writing = true;
    loop {
        tokio::select! {
            biased;
            batch = pump.inbox.recv(), if writing => match batch {
                Some(batch) => pump.arrived.extend(batch),
                None => writing = false,
            },
            Some(given) = commands.recv() => pump.apply(&hub.pump, given),
            else => return,
        }
        if !pump.arrived.is_empty() {
            // Whatever was said before these were committed is in the queue by now.
            for _ in 0..COMMANDS_MAX {
                let Ok(given) = commands.try_recv() else {
                    break;
                };
                pump.apply(&hub.pump, given);
            }
            pump.publish_up_to(u64::MAX);
        }
        if hub.pump.reap.swap(false, Ordering::Relaxed) {
            pump.board.reap();
        }
    }
}

/// Joins the two ways events come by into the order in which they happened.
struct Pump {
    board: Board,
    inbox: Receiver<Vec<LoggedEvent>>,
    /// Taken from the inbox and not yet shown.
    arrived: VecDeque<LoggedEvent>,
}

impl Pump {
    fn apply(&mut self, handle: &PumpHandle, given: Given) {
        self.catch_up_with(given.after);
        match given.command {
            Command::Subscribe(subscription) => self.board.subscribe(subscription),
            Command::Unsubscribe { patterns, waiting } => {
                self.board.unsubscribe(patterns.as_deref(), waiting);
            }
            Command::Forget(link) => self.board.forget(link),
            Command::Emit(event) => {
                handle
                    .volatile_bytes
                    .fetch_sub(payload_bytes(&event), Ordering::Relaxed);
                self.board.volatile(event);
            }
            Command::Resume(resume) => self.board.resume(resume),
        }
    }

    /// Shows what was committed before a command. What its giver saw committed was published
    /// before, so it is in the inbox if it is not here.
    fn catch_up_with(&mut self, last: u64) {
        self.publish_up_to(last);
        while self.board.seq() < last
            && let Ok(batch) = self.inbox.try_recv()
        {
            self.arrived.extend(batch);
            self.publish_up_to(last);
        }
    }

    fn publish_up_to(&mut self, last: u64) {
        while let Some(event) = self.arrived.pop_front_if(|event| event.seq <= last) {
            self.board.logged(event);
        }
    }
}

fn payload_bytes(event: &NewEvent) -> usize {
    event.payload.as_ref().map_or(0, Bytes::len)
}
