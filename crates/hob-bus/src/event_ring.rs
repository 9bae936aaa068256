//! The newest logged events in memory, so that a catch-up ends inside the pump instead of chasing
//! the log. Pure. Invariant: the ring holds every event after its floor.

use crate::event::NewEvent;
use std::collections::VecDeque;
use std::sync::Arc;

const EVENTS_MAX: usize = 4_096;
const BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct EventRing {
    events: VecDeque<(u64, Arc<NewEvent>)>,
    bytes: usize,
    /// Events up to here are only in the log.
    floor: u64,
}

impl EventRing {
    /// Creates a ring for the events after `floor`.
    pub(crate) fn after(floor: u64) -> Self {
        EventRing {
            events: VecDeque::new(),
            bytes: 0,
            floor,
        }
    }

    pub(crate) fn push(&mut self, seq: u64, event: Arc<NewEvent>) {
        self.bytes += weight(&event);
        self.events.push_back((seq, event));
        // One event above the byte bound empties the ring, itself included. The floor then sends
        // readers to the log.
        while (self.events.len() > EVENTS_MAX || self.bytes > BYTES_MAX)
            && let Some((seq, event)) = self.events.pop_front()
        {
            self.bytes -= weight(&event);
            self.floor = seq;
        }
    }

    /// The events after `cursor`; `None` if some of them are only in the log.
    pub(crate) fn since(&self, cursor: u64) -> Option<impl Iterator<Item = &(u64, Arc<NewEvent>)>> {
        let begin = self.events.partition_point(|(seq, _)| *seq <= cursor);
        (cursor >= self.floor).then(|| self.events.range(begin..))
    }
}

fn weight(event: &NewEvent) -> usize {
    event.topic.len() + event.payload.as_ref().map_or(0, bytes::Bytes::len)
}
