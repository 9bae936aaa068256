//! The single task that owns the subscriptions and the order of events. Commands arrive by a
//! bounded queue. It never waits for a consumer, so a slow one delays no other.

use crate::catch_up::ResumeRequest;
use crate::endpoint::Endpoint;
use crate::event::{LoggedEvent, VolatileEvent};
use crate::event_dispatcher::EventDispatcher;
use crate::event_filter::EventFilter;
use crate::event_log::{EventLog, PublisherInbox};
use crate::hub::Hub;
use crate::pending_requests::PendingRequest;
use crate::since::SincePosition;
use bytes::Bytes;
use hob_wire::{ErrorCode, WireError};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::mpsc::{self, Receiver, Sender};

/// Commands that may wait for the pump.
const COMMANDS_MAX: usize = 4_096;
/// Payload bytes of volatile events that may wait for the pump.
const VOLATILE_BYTES_MAX: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) enum PumpCommand {
    Subscribe(SubscribeRequest),
    Unsubscribe {
        /// The patterns to remove; all if missing.
        patterns: Option<Vec<String>>,
        /// The request to answer.
        pending: PendingRequest,
    },
    Forget(u64),
    Emit(VolatileEvent),
    Resume(ResumeRequest),
}

#[derive(Debug)]
pub(crate) struct SubscribeRequest {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) filters: Vec<EventFilter>,
    pub(crate) since: Option<SincePosition>,
    pub(crate) reply: SubscribeReply,
}

/// The answer to a subscription. The pump sends it, so that it precedes every event.
#[derive(Debug)]
pub(crate) enum SubscribeReply {
    /// A room needs no answer.
    Nobody,
    Subscribed(PendingRequest),
    /// Answered with the routing table. The filters replace those of the former registration.
    Registered(PendingRequest, Bytes),
}

/// The pump has stopped. Gives the command back, because a caller may wait for its answer.
#[derive(Debug)]
pub(crate) struct PumpGone(pub(crate) PumpCommand);

/// A command and the last event of the log when it was sent. It applies after that event.
#[derive(Debug)]
pub(crate) struct SequencedCommand {
    command: PumpCommand,
    after: u64,
}

/// The handle by which the bus sends commands to the pump.
pub(crate) struct PumpHandle {
    log: Arc<dyn EventLog>,
    commands: Sender<SequencedCommand>,
    volatile_bytes: AtomicUsize,
    /// Set when an endpoint closed while the queue was full: the pump must look for it.
    reap: AtomicBool,
}

impl PumpHandle {
    pub(crate) fn new(log: Arc<dyn EventLog>) -> (Self, Receiver<SequencedCommand>) {
        let (commands, receiver) = mpsc::channel(COMMANDS_MAX);
        let handle = PumpHandle {
            log,
            commands,
            volatile_bytes: AtomicUsize::new(0),
            reap: AtomicBool::new(false),
        };
        (handle, receiver)
    }

    /// Sends a command and waits for a place in the queue. Only the requesting endpoint waits.
    pub(crate) async fn send(&self, command: PumpCommand) -> Result<(), PumpGone> {
        let sent = self.commands.send(self.sequenced(command)).await;
        sent.map_err(|unsent| PumpGone(unsent.0.command))
    }

    /// Subscribes a room without waiting.
    pub(crate) fn subscribe_now(&self, subscription: SubscribeRequest) -> Result<(), WireError> {
        let full = |_| {
            let message = "the bus is too busy to start a room";
            WireError::new(ErrorCode::Overloaded, message).retry_after(100)
        };
        let sequenced = self.sequenced(PumpCommand::Subscribe(subscription));
        self.commands.try_send(sequenced).map_err(full)
    }

    /// Sends a volatile event. Returns false if there is no place for it.
    pub(crate) fn emit(&self, event: VolatileEvent) -> bool {
        let bytes = event.payload_bytes();
        // The queue is bounded in commands only; without this, large payloads could fill memory.
        let before = self.volatile_bytes.fetch_add(bytes, Ordering::Relaxed);
        let sent = before + bytes <= VOLATILE_BYTES_MAX
            && self
                .commands
                .try_send(self.sequenced(PumpCommand::Emit(event)))
                .is_ok();
        if !sent {
            self.volatile_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        sent
    }

    /// Ends all subscriptions of a closed endpoint.
    pub(crate) fn forget(&self, link: u64) {
        let sequenced = self.sequenced(PumpCommand::Forget(link));
        // Closing never waits. If the queue is full, the flag makes the pump scan for closed ones.
        if self.commands.try_send(sequenced).is_err() {
            self.reap.store(true, Ordering::Relaxed);
        }
    }

    fn sequenced(&self, command: PumpCommand) -> SequencedCommand {
        SequencedCommand {
            command,
            after: self.log.bounds().last,
        }
    }
}

/// Runs until the bus stops.
pub(crate) async fn run(
    hub: Arc<Hub>,
    mut commands: Receiver<SequencedCommand>,
    inbox: PublisherInbox,
) {
    let mut pump = EventPump {
        dispatcher: EventDispatcher::new(Arc::clone(&hub), hub.counters.seq.get()),
        inbox: inbox.0,
        arrived: VecDeque::new(),
    };
    let mut inbox_open = true;
    loop {
        tokio::select! {
            // Committed events first: the store's writer blocks while the inbox is full.
            biased;
            batch = pump.inbox.recv(), if inbox_open => match batch {
                Some(batch) => pump.arrived.extend(batch),
                // A closed channel is always ready; without the flag this arm would win every turn.
                None => inbox_open = false,
            },
            Some(sequenced) = commands.recv() => pump.apply(&hub.pump, sequenced),
            else => return,
        }
        if !pump.arrived.is_empty() {
            // Commands sent before these events were committed are in the queue by now. They are
            // applied first, so that events keep their order relative to commands.
            for _ in 0..COMMANDS_MAX {
                let Ok(sequenced) = commands.try_recv() else {
                    break;
                };
                pump.apply(&hub.pump, sequenced);
            }
            pump.publish_up_to(u64::MAX);
        }
        if hub.pump.reap.swap(false, Ordering::Relaxed) {
            pump.dispatcher.remove_closed();
        }
    }
}

/// Merges committed events and commands into one order.
struct EventPump {
    dispatcher: EventDispatcher,
    inbox: Receiver<Vec<LoggedEvent>>,
    /// Taken from the inbox and not yet published.
    arrived: VecDeque<LoggedEvent>,
}

impl EventPump {
    fn apply(&mut self, handle: &PumpHandle, sequenced: SequencedCommand) {
        self.publish_before(sequenced.after);
        match sequenced.command {
            PumpCommand::Subscribe(subscription) => self.dispatcher.subscribe(subscription),
            PumpCommand::Unsubscribe { patterns, pending } => {
                self.dispatcher.unsubscribe(patterns.as_deref(), pending);
            }
            PumpCommand::Forget(link) => self.dispatcher.forget(link),
            PumpCommand::Emit(event) => {
                handle
                    .volatile_bytes
                    .fetch_sub(event.payload_bytes(), Ordering::Relaxed);
                self.dispatcher.publish_volatile(&event);
            }
            PumpCommand::Resume(resume) => self.dispatcher.resume(resume),
        }
    }

    /// Publishes the events that were committed before a command was sent. A commit is acknowledged
    /// after its events are in the inbox, so every event the sender knows of is here or in there.
    fn publish_before(&mut self, last: u64) {
        self.publish_up_to(last);
        // The log moves its bounds before it publishes, so an empty inbox ends the wait: the rest
        // is not acknowledged yet.
        while self.dispatcher.seq() < last
            && let Ok(batch) = self.inbox.try_recv()
        {
            self.arrived.extend(batch);
            self.publish_up_to(last);
        }
    }

    fn publish_up_to(&mut self, last: u64) {
        while let Some(event) = self.arrived.pop_front_if(|event| event.seq <= last) {
            self.dispatcher.publish_logged(event);
        }
    }
}
